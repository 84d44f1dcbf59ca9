"""Vector code for ends of beams, their ratings and floors of costs, against the plain loops."""

import math

import numpy as np
import pytest
from numba import njit
from tests.support.reference_beams import rate

from isovist import BeamModel
from isovist.compute import (
    ASTRAY,
    BLOCK_NODES,
    EXPLAINED,
    FLOAT_LANES,
    IN_UNKNOWN,
    SHORT,
    SUM_COUNT,
    TERMS_PER_BYTE,
    THROUGH,
    end_distances,
    end_distances_scalar,
    lower_bounds,
    lower_scalar,
    pack_ends,
    padded_beams,
    rate_beams,
    rate_scalar,
    rating_bound,
    sum_ends,
    sum_ends_scalar,
)
from isovist.compute.search.lower_bounds import BYTE_LANES, MAX_TERM, VECTORS_AT_ONCE


@njit
def summed(field, ends, x, y, yaw, scale, share, sums):
    sum_ends(field, ends, x, y, yaw, scale, share, sums)


@njit
def near_of(field, ends, x, y, yaw, near):
    end_distances(field, ends, x, y, yaw, near)


@njit
def rated(model, beams, ratings, kinds):
    rate_beams(model, beams, ratings, kinds)


@pytest.fixture
def random():
    return np.random.default_rng(11)


@pytest.fixture
def field(random):
    return random.uniform(0.0, 9.0, (30, 40)).astype(np.float32)


def laid_out(ends):
    out = np.empty((2, padded_beams(len(ends))), dtype=np.float32)
    pack_ends(ends, 1.0, out)
    return out


@pytest.mark.parametrize("corner", [(0, 0), (20_000, 3_000)])
def test_sums_are_those_of_the_plain_loop_wherever_beams_end(random, corner):
    """Inside the map, on its edge and outside; far from the corner of the map as well as near."""
    field = np.zeros((corner[1] + 30, corner[0] + 40), dtype=np.float32)
    field[corner[1] :, corner[0] :] = random.uniform(0.0, 9.0, (30, 40))
    m = 61
    ends = laid_out(random.normal(0.0, 15.0, (m, 2)))
    for x, y, yaw in random.uniform([0.0, 0.0, -4.0], [40.0, 30.0, 4.0], (40, 3)):
        scale = random.uniform(0.001, 0.2, ends.shape[1]).astype(np.float32)
        share = random.uniform(0.2, 1.0, ends.shape[1]).astype(np.float32)
        share[m:] = 0.0
        sums, twin = np.empty(SUM_COUNT), np.empty(SUM_COUNT)
        place = x, y, math.cos(yaw), math.sin(yaw)
        summed(field, ends, corner[0] + x, corner[1] + y, yaw, scale, share, sums)
        sum_ends_scalar(field, ends, corner, place, scale, share, twin)
        np.testing.assert_allclose(sums, twin, rtol=3e-5, atol=1e-5 * np.abs(twin).max())
        near, plain = np.empty(ends.shape[1], np.float32), np.empty(ends.shape[1], np.float32)
        near_of(field, ends, corner[0] + x, corner[1] + y, yaw, near)
        end_distances_scalar(field, ends, corner, place, plain)
        np.testing.assert_allclose(near, plain, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e300, -1e300])
def test_a_pose_that_is_nowhere_reads_nothing_outside_and_holds_nothing(field, random, wrong):
    ends, sums = laid_out(random.normal(0.0, 9.0, (20, 2))), np.empty(SUM_COUNT)
    scale, share = np.ones((2, ends.shape[1]), dtype=np.float32)
    for pose in ((wrong, 3.0, 0.1), (3.0, wrong, 0.1)):
        summed(field, ends, *pose, scale, share, sums)
        assert not sums[6] > 0.0


def test_beams_too_long_for_singles_have_no_say(field, random):
    """They may be anything; fits go by the others."""
    few = random.normal(0.0, 9.0, (24, 2))
    more = np.concatenate([few, [[1e200, 0.0], [0.0, -1e30]]])
    found = []
    for ends in (few, more):
        across = laid_out(ends)
        scale, share = np.full(across.shape[1], 0.1, "f4"), np.ones(across.shape[1], "f4")
        share[len(ends) :] = 0.0
        found.append(np.empty(SUM_COUNT))
        summed(field, across, 20.2, 15.3, 0.4, scale, share, found[-1])
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-4)
    assert found[0][6] > 0.0


def test_every_beam_model_agrees_with_one_twin(random):
    """The plain loop, vector code and the upper bound. `test_conformance` holds backends to it."""
    model = BeamModel().row(12.0, 0.0144)
    beams = np.empty((6, 800 * FLOAT_LANES), dtype=np.float32)
    for row in beams:
        row[:] = random.uniform(0.02, 12.0, beams.shape[1])
    sigma, z, r, wall, limit, near = beams
    sigma[:] = random.uniform(0.05, 0.5, sigma.shape)
    sigma[::4] = model[0]
    near[:] = np.abs(random.normal(0.0, 0.3, near.shape))
    close = random.random(z.shape) < 0.5
    r[close] = z[close] + random.normal(0.0, 0.2, close.sum())
    r[:] = np.maximum(r, 0.0)
    wall[:] = np.maximum(r, wall)
    limit[:] = np.where(random.random(z.shape) < 0.7, np.inf, r - np.float32(model[8]))
    wall[limit == np.inf] = r[limit == np.inf]
    in_unknown = z > limit
    columns = (*beams[:4].astype(float), near.astype(float), in_unknown)
    twin, twin_kinds = np.array([rate(model, *beam) for beam in zip(*columns, strict=True)]).T
    ratings, kinds = np.empty_like(z), np.empty(z.shape, dtype=np.uint8)
    for implementation in (rated, rate_scalar):
        implementation(model, beams, ratings, kinds)
        np.testing.assert_allclose(ratings, twin, rtol=1e-5, atol=2e-5)
        assert (kinds != twin_kinds).sum() <= 1  # at a limit, where rounding decides
    assert set(kinds) == {EXPLAINED, SHORT, THROUGH, IN_UNKNOWN, ASTRAY}
    for k in range(0, len(z), 4):
        dark = abs(z[k] - r[k]) if in_unknown[k] else 1e9
        assert twin[k] <= rating_bound(model, float(z[k]), float(near[k]), float(dark)) + 1e-6


def test_floors_in_vector_code_are_those_of_the_plain_loop():
    random = np.random.default_rng(2)
    channels, n, start = 3 * TERMS_PER_BYTE, 12, 5
    table = random.integers(-128, 128, (2, 2 * n, BLOCK_NODES)).astype(np.int8)
    asked = np.column_stack([random.integers(0, 2, channels), random.integers(0, n, channels)])
    middle = random.integers(-128, 128, (channels, 1))
    between = np.array([0, -MAX_TERM, 15])
    levels = np.clip(middle + between, -128, 127).astype(np.int8)
    levels[-1] = 7  # fills up, and costs nothing
    allowed = np.arange(n) % 5 != 1
    least = np.full((2, BLOCK_NODES), 65535, dtype=np.uint16)
    twin = least.copy()
    lower_bounds(table, asked, levels, n, allowed, start, least)
    for block in range(2):
        for turn in np.flatnonzero(allowed):
            rows = (asked[:, 0] * n + (asked[:, 1] + turn) % n).astype(np.int32)
            for at in range(0, BLOCK_NODES, BYTE_LANES * VECTORS_AT_ONCE):
                lower_scalar(table[block], rows, levels, start, at, twin[block])
    np.testing.assert_array_equal(least, twin)
    terms = np.abs(
        np.clip(table[1, rows, 3], levels[:, 1], levels[:, 2]) - levels[:, 0].astype(int)
    )
    assert twin[1, 3] <= start + terms.sum()
