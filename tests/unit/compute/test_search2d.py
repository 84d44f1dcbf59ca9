import numpy as np
import pytest
from tests.support.reference_locate import bilinear, costs_of_node, spread_out

from isovist.atlas import Window
from isovist.compute import (
    active_backend,
    add_scalar,
    add_terms,
    distance_3d,
    distance_at,
    select_distinct,
)
from isovist.compute.search.correlate_terms import VECTORS_AT_ONCE, WORD_LANES
from isovist.localization import best_headings

SHORT = 0.25


@pytest.fixture
def random():
    return np.random.default_rng(7)


@pytest.mark.parametrize("short", [0.001, 0.25, 40.0])
def test_codes_hold_whatever_the_limits_are(backend, random, short):
    """Steps are as fine as 16 bits allow, and saturated channels cost what they should."""
    n = 16
    nodes = random.uniform(-1.0, 9.0, (5, n)).astype(np.float32)
    nodes[:, 3] = 1e3
    window = Window(random.uniform(0.0, 8.0, (1, 1, n)).astype(np.float32), np.ones((1, 1, n), "?"))
    step = window.codes(short).step
    assert step <= max(short / 256.0, 20.0 * short / 32767.0, 20.0 / 32767.0)
    costs, headings = best_headings(nodes[:, None], np.arange(5), window, 1, short)
    assert active_backend() is backend
    for node, cost, heading in zip(nodes, costs[:, 0], headings[:, 0], strict=True):
        exact = costs_of_node(node, window.values[:, 0], window.seen[:, 0], short, 2.0 * short)
        assert cost == pytest.approx(exact[heading], abs=1.01 * n * step)
        assert cost == pytest.approx(exact.min(), abs=1.01 * n * step)


@pytest.mark.parametrize(
    "headings", [WORD_LANES, VECTORS_AT_ONCE * WORD_LANES, (VECTORS_AT_ONCE + 3) * WORD_LANES]
)
def test_terms_are_those_of_the_plain_loop(random, headings):
    m = 40
    f = random.integers(0, 32768, headings + m).astype(np.int16)
    o = random.integers(1000, 31000, m)
    low, high = o - random.integers(0, 1000, m), o + random.integers(0, 1000, m)
    given = [part.astype(np.int16) for part in (o, low, high)]
    channels = random.permutation(m)[:30]
    begin = random.integers(0, 1000, headings).astype(np.uint16)
    sums, twin = begin.copy(), begin.copy()
    add_terms(f, channels, 2, 27, *given, sums)
    for start in range(0, headings, WORD_LANES):
        add_scalar(f, start, channels, 2, 27, *given, twin)
    np.testing.assert_array_equal(sums, twin)
    for k in (0, headings - 1):
        terms = [abs(int(np.clip(f[c + k], low[c], high[c])) - int(o[c])) for c in channels[2:27]]
        assert sums[k] == begin[k] + sum(terms)


def test_spread_chooses_like_its_twin(random):
    poses = np.column_stack([random.uniform(0, 5, (200, 2)), random.uniform(-4, 4, 200)])
    chosen = np.empty(30, np.int64)
    count = select_distinct(poses, 1.0, 0.7, chosen)
    assert list(chosen[:count]) == spread_out(poses, 1.0, 0.7, 30)


@pytest.mark.slow
def test_distance_is_bilinear_inside_and_grows_outside(random):
    field = random.uniform(0.0, 5.0, (7, 9)).astype(np.float32)
    for x, y in random.uniform(-3.0, 12.0, (300, 2)):
        value, _, _ = distance_at(field, x, y)
        assert value == pytest.approx(bilinear(field, x, y), abs=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("jit", [True, False])
def test_what_is_no_number_comes_out_and_reads_nothing_outside(random, jit):
    """Without the compiler an index that is no number, or is too large, is an error."""
    field = random.uniform(0.0, 5.0, (7, 9)).astype(np.float32)
    block = random.uniform(0.0, 5.0, (4, 7, 9)).astype(np.float32)
    flat, solid = (f if jit else getattr(f, "py_func", f) for f in (distance_at, distance_3d))
    with np.errstate(invalid="ignore", over="ignore"):
        for wrong in (np.nan, np.inf, -np.inf, 1e308, -1e308):
            for ask, values, place in ((flat, field, [3.0, 3.0]), (solid, block, [3.0, 3.0, 1.0])):
                for k in range(len(place)):
                    given = np.array(place)
                    given[k] = wrong
                    value = ask(values, *given)[0]
                    assert np.isnan(value) if np.isnan(wrong) else value >= 1e308
