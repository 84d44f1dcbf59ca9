import numpy as np
import pytest
from tests.support.reference_locate import (
    UNIT,
    bilinear,
    building,
    costs_of_node,
    fit_step,
    rating,
    spread_out,
    steps_above,
)
from tests.support.reference_space import ring_costs

from isovist import BeamModel, Scan, build
from isovist.atlas import Window, bare_walls, bridge_gaps
from isovist.compute import add_plain, add_terms, computing, distance_at, distance_in_space, spread
from isovist.compute.search.correlate_terms import LANES, VECTORS
from isovist.localization import best_headings
from isovist.maps import distance_to_walls

SHORT = 0.25


@pytest.fixture
def random():
    return np.random.default_rng(7)


@pytest.mark.parametrize("keep", [1, 3])
@pytest.mark.parametrize(
    ("n", "phases", "m", "rings"),
    [
        *((16, 1, 16, 1), (16, 2, 9, 1), (16, 2, 5, 3), (64, 2, 33, 1), (72, 2, 72, 1)),
        *((5, 3, 4, 3), (1, 8, 1, 1), (130, 1, 100, 1), (32, 1, 32, 20)),
    ],
)
def test_correlation_finds_the_least_local_minima_of_the_twin(
    backend, random, n, phases, m, rings, keep
):
    nodes = random.uniform(0.0, 3.0, (12, 1 + rings, n)).astype(np.float32)
    nodes[random.uniform(size=nodes.shape) < 0.2] = 1e3
    nodes[:, 0] = 7.0  # a ring that the scan does not see
    values = random.uniform(0.0, 3.0, (phases, rings, m)).astype(np.float32)
    seen = random.uniform(size=values.shape) < 0.8
    values[-1], seen[-1] = values[0], seen[0]  # costs that are equal
    window, active = Window(values, seen), np.array([11, 0, 4, 7])
    codes = window.codes(SHORT)
    steps, above = steps_above(nodes, codes), (codes.values, seen, codes.short, codes.long)
    known = [ring_costs(steps[node, 1:], *above) for node in active]
    exact = [ring_costs(nodes[node, 1:], values, seen, SHORT, 2.0 * SHORT) for node in active]
    off = 1.01 * codes.step * seen.sum(axis=(1, 2)).max()
    assert rings < 20 or np.min(known) > 65535  # beyond sixteen bits
    for share in (1.0, 0.6, 0.0):
        allowed = random.uniform(size=n * phases) < share
        costs, headings = np.empty((4, keep), np.float32), np.empty((4, keep), np.int32)
        backend.correlate(
            nodes, 1, active, codes.values, window.seen, allowed, codes.base, codes.step,
            codes.short, codes.long, costs, headings,
        )  # fmt: skip
        for row, every in enumerate(known):
            whole = np.where(allowed, every, np.inf)
            least = (whole <= np.roll(whole, 1)) & (whole <= np.roll(whole, -1)) & allowed
            order = np.flatnonzero(least)[np.argsort(whole[least], kind="stable")][:keep]
            found = np.isfinite(costs[row])
            assert found.sum() == len(order)
            np.testing.assert_array_equal(headings[row][found], order)
            np.testing.assert_array_equal(costs[row][found], whole[order] * codes.step)
            np.testing.assert_allclose(costs[row][found], exact[row][order], rtol=0.0, atol=off)


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
    assert computing() is backend
    for node, cost, heading in zip(nodes, costs[:, 0], headings[:, 0], strict=True):
        exact = costs_of_node(node, window.values[:, 0], window.seen[:, 0], short, 2.0 * short)
        assert cost == pytest.approx(exact[heading], abs=1.01 * n * step)
        assert cost == pytest.approx(exact.min(), abs=1.01 * n * step)


@pytest.mark.parametrize("headings", [LANES, VECTORS * LANES, (VECTORS + 3) * LANES])
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
    for start in range(0, headings, LANES):
        add_plain(f, start, channels, 2, 27, *given, twin)
    np.testing.assert_array_equal(sums, twin)
    for k in (0, headings - 1):
        terms = [abs(int(np.clip(f[c + k], low[c], high[c])) - int(o[c])) for c in channels[2:27]]
        assert sums[k] == begin[k] + sum(terms)


def test_spread_chooses_like_its_twin(random):
    poses = np.column_stack([random.uniform(0, 5, (200, 2)), random.uniform(-4, 4, 200)])
    chosen = np.empty(30, np.int64)
    count = spread(poses, 1.0, 0.7, chosen)
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
    flat, solid = (f if jit else getattr(f, "py_func", f) for f in (distance_at, distance_in_space))
    with np.errstate(invalid="ignore", over="ignore"):
        for wrong in (np.nan, np.inf, -np.inf, 1e308, -1e308):
            for ask, values, place in ((flat, field, [3.0, 3.0]), (solid, block, [3.0, 3.0, 1.0])):
                for k in range(len(place)):
                    given = np.array(place)
                    given[k] = wrong
                    value = ask(values, *given)[0]
                    assert np.isnan(value) if np.isnan(wrong) else value >= 1e308


@pytest.mark.parametrize("noisy", [False, True])
def test_a_fit_takes_the_steps_of_its_twin(backend, random, noisy):
    world = building()
    field = distance_to_walls(world.cells)
    ends = random.uniform(-30.0, 30.0, (40, 2))
    start = np.array([[60.3, 40.7, 0.4], [90.2, 88.1, -2.0]])
    poses, normal = start.copy(), np.empty((2, 8))
    widths = np.array([8.0, 4.0])
    noise = random.uniform(0.0, 9.0, 40) if noisy else np.zeros(40)
    backend.align(field, ends, noise if noisy else noise[:0], widths, 0.02, poses, normal)
    for k in range(2):
        pose = start[k]
        for sigma in widths:
            pose, before = fit_step(field, ends, sigma, 0.02, pose, noise)
        np.testing.assert_allclose(poses[k], pose, atol=1e-4)
        # The normal matrix is that of the pose which is handed back, not of the one before.
        _, H = fit_step(field, ends, widths[-1], 0.02, poses[k], noise)
        np.testing.assert_allclose(normal[k, :6], H[np.triu_indices(3)], rtol=1e-3, atol=1e-2)
        assert np.abs(H - before).max() > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("noisy", [False, True])
def test_ratings_are_those_of_the_twin(backend, random, noisy):
    atlas = build(building())
    bearings = np.linspace(-np.pi, np.pi, 40, endpoint=False)
    ranges = random.uniform(0.2, 8.0, 40)
    poses = np.array([[60.3, 40.7, 0.4], [150.2, 88.1, -2.0], [120.5, 150.5, 1.0]])
    poses *= [UNIT, UNIT, 1.0]
    sigmas = random.uniform(0.0, 0.5, 40) if noisy else None
    beams = atlas.beams(Scan(bearings, ranges, sigmas=sigmas), (40, 0.0), (0.2, 0.0))
    assert computing() is backend
    ratings, kinds = atlas.rate(beams, poses, BeamModel())
    model = atlas.model(BeamModel())
    assert model[0] == pytest.approx(np.hypot(0.055, UNIT / np.sqrt(12.0)))
    clear, walls = bridge_gaps(atlas.world, 0.15), bare_walls(atlas.world)
    for q, pose in enumerate(poses):
        for k in range(40):
            own = model.copy()
            own[0] = np.hypot(model[0], 0.0 if sigmas is None else sigmas[k])
            twin = rating(clear, walls, atlas.wall_distance, own, pose, bearings[k], ranges[k])
            assert ratings[q, k] == pytest.approx(twin, abs=1e-4)
    assert set(np.unique(kinds)) <= {0, 1, 2, 3, 4}
