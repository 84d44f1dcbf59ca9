"""Occupancy maps: what they hold, exact rays through them, and what rays count."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from tests.support.reference_occupancy import cast_twin, passes_twin

from isovist import Cell, OccupancyMap, Pose, SegmentMap
from isovist.compute import (
    FREE,
    MAX_OFFSET,
    PACKET_SIZE,
    STATE_ROWS,
    cast_fan,
    mark_passes,
    padded_rays,
    trace_packet,
    trace_scalar,
)
from isovist.maps import Ending, classify

DX, DY, PER_X, PER_Y, _, _, AROUND, FAR, ASIDE = range(STATE_ROWS)

ROOM = np.array(
    [
        [1, 1, 1, 1, 1, 1],
        [1, 0, 0, 0, 0, 1],
        [1, 0, 1, 0, 0, 2],
        [1, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, 1, 1],
    ],
    dtype=np.uint8,
)


@st.composite
def rays(draw):
    """A small random grid, an origin and a direction; halves and whole numbers make ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    height, width = rng.integers(2, 14, 2)
    share = rng.choice([0.02, 0.1, 0.3])
    cells = (rng.random((height, width)) < share).astype(np.uint8)
    cells[rng.random((height, width)) < share / 3] = Cell.UNKNOWN
    cells[rng.integers(height), rng.integers(width)] = Cell.FREE
    if rng.random() < 0.3:
        x, y = rng.random(2) * [width, height]
    else:
        x, y = rng.integers(0, 2 * width + 1) / 2, rng.integers(0, 2 * height + 1) / 2
    kind = rng.integers(3)
    if kind == 0:
        dx, dy = rng.normal(size=2)
    elif kind == 1:
        dx, dy = rng.integers(-4, 5, 2).astype(float)
        dx = 1.0 if dx == 0.0 and dy == 0.0 else dx
    else:
        angle = rng.integers(16) * np.pi / 8
        dx, dy = np.cos(angle), np.sin(angle)
    return cells, np.array([x, y]), np.array([dx, dy])


@pytest.mark.slow
@settings(deadline=None)
@given(rays(), st.one_of(st.just(np.inf), st.integers(1, 40).map(lambda k: k / 4)))
def test_rays_agree_with_the_rational_twin_ties_included(ray, maximum):
    cells, origin, direction = ray
    hits = OccupancyMap.from_array(cells, 1.0).cast(origin, direction, maximum=maximum)
    length = np.hypot(*direction)
    t, ending = cast_twin(cells, *origin, *direction)
    if float(t) * length > maximum:
        t, ending = maximum / length, Ending.MAXIMUM
    assert hits.endings == ending
    assert hits.ranges == pytest.approx(float(t) * length, rel=1e-13, abs=1e-13)


@pytest.mark.nightly
@pytest.mark.slow
@settings(deadline=None)
@given(rays(), st.one_of(st.just(1e6), st.integers(1, 40).map(lambda k: k / 4)))
def test_a_fan_of_rays_has_those_of_the_rational_twin_ties_included(ray, maximum):
    cells, origin, direction = ray
    angles = np.arctan2(*direction[::-1]) + np.arange(PACKET_SIZE + 3) * np.pi / 8
    unit = np.stack([np.cos(angles), np.sin(angles)])
    unit[:, :3] = [[1.0, 0.0, -1.0], [0.0, -1.0, 0.0]]
    ranges, endings = np.empty(len(angles)), np.empty(len(angles), dtype=np.uint8)
    skip = OccupancyMap.from_array(cells, 1.0).skip
    rays = np.empty((STATE_ROWS, padded_rays(len(angles))), np.float32)
    at = np.empty(rays.shape[1], np.int32)
    assert rays.shape[1] == 2 * PACKET_SIZE
    cast_fan(skip, *origin, unit[0], unit[1], maximum, rays, at, ranges, endings)
    for k, (dx, dy) in enumerate(unit.T):
        t, ending = cast_twin(cells, *origin, dx, dy)
        if float(t) > maximum:
            t, ending = maximum, Ending.MAXIMUM
        assert endings[k] == ending
        assert ranges[k] == pytest.approx(float(t), rel=1e-6, abs=1e-4)


def test_a_group_of_rays_is_followed_as_by_the_plain_loop():
    random = np.random.default_rng(3)
    cells = (random.random((40, 50)) < 0.05).astype(np.uint8)
    skip = OccupancyMap.from_array(cells, 1.0).skip

    @njit
    def vector(every, begin, width, place, first, rays, at):
        trace_packet(every, begin, width, place, first, rays, at)

    ended = np.zeros(3, dtype=int)
    for _ in range(300):
        x, y = random.uniform(1.0, [49.0, 39.0])
        begin = (int(y) + 1) * skip.shape[1] + int(x) + 1
        around = float(skip.reshape(-1)[begin]) - FREE
        angles = random.uniform(-np.pi, np.pi, 3 * PACKET_SIZE)
        rays = np.zeros((STATE_ROWS, len(angles)), dtype=np.float32)
        rays[DX], rays[DY] = np.cos(angles), np.sin(angles)
        rays[PER_X : PER_Y + 1] = 1.0 / rays[: DY + 1]
        rays[AROUND] = around
        rays[AROUND, 0] = -1.0  # one that has ended before
        others, rays = rays, rays.copy()
        twin, cells_of = rays.copy(), np.full((2, len(angles)), -1, dtype=np.int32)
        for some, at, way in zip((rays, twin), cells_of, (vector, trace_scalar), strict=True):
            for first in (0, 2 * PACKET_SIZE):
                place = x % 1.0, y % 1.0, 15.0
                way(skip.reshape(-1), begin, skip.shape[1], place, first, some, at)
            left = slice(PACKET_SIZE, 2 * PACKET_SIZE)
            np.testing.assert_array_equal(some[:, left], others[:, left])
            assert (at[left] == -1).all()
        mine = np.arange(len(angles)) // PACKET_SIZE != 1
        rays, twin, cells_of = rays[:, mine], twin[:, mine], cells_of[:, mine]
        sure = twin[ASIDE] < MAX_OFFSET
        np.testing.assert_array_equal(cells_of[0, sure], cells_of[1, sure])
        np.testing.assert_array_equal(rays[ASIDE] < MAX_OFFSET, sure)
        out = slice(FAR, None)
        np.testing.assert_allclose(rays[out, sure], twin[out, sure], rtol=2e-6, atol=1e-4)
        assert (rays[AROUND] < 0.0).all()
        if around >= 0.0:
            far = twin[FAR, 1:] > 15.0
            ended += far.sum(), (~far).sum(), (~sure).sum()
    assert (ended[:2] > 100).all()
    assert ended[2] < 30  # few are left to be followed otherwise


@pytest.mark.parametrize("origin", [Pose(), Pose(-1.0, 2.0, 0.3)])
def test_rays_agree_with_a_segment_map_of_the_same_cells(origin):
    rng = np.random.default_rng(7)
    cells = (rng.random((40, 50)) < 0.08).astype(np.uint8)
    cells[[0, -1], :] = cells[:, [0, -1]] = Cell.OCCUPIED
    world = OccupancyMap.from_array(cells, 0.125, origin)
    segments = SegmentMap.from_segments(world.to_segments())
    rows, cols = np.nonzero(cells == Cell.FREE)
    pick = rng.integers(0, rows.size, 400)
    origins = world.centres(rows[pick], cols[pick])
    origins[:200] += rng.uniform(-0.05, 0.05, (200, 2))
    directions = rng.normal(size=(400, 2))
    # From centres along whole numbers, rays meet corners.
    directions[200:] = np.array([[1, 1], [-1, 1], [3, 1], [1, -3], [1, 0]])[rng.integers(0, 5, 200)]
    directions /= np.hypot(*directions.T)[:, None]
    hits, same = world.cast(origins, directions), segments.cast(origins, directions)
    assert (hits.endings == Ending.WALL).all()
    np.testing.assert_allclose(hits.ranges[:200], same.ranges[:200], rtol=1e-12)
    np.testing.assert_allclose(hits.normals[:200], same.normals[:200], atol=1e-12)
    assert (hits.normals * directions).sum(axis=-1).max() < 0.0
    if origin == Pose():
        np.testing.assert_allclose(hits.ranges, same.ranges, rtol=1e-12)


def test_a_ray_says_what_ended_it():
    world = OccupancyMap.from_array(ROOM, 0.5, Pose(1.0, 2.0))
    at = world.centres([3, 2, 3, 1], [1, 3, 3, 1])
    along = [[-1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]
    hits = world.cast(at, along, maximum=1.6)
    assert hits.endings.tolist() == [Ending.WALL, Ending.UNKNOWN, Ending.EDGE, Ending.MAXIMUM]
    np.testing.assert_allclose(hits.ranges, [0.25, 0.75, 1.25, 1.6], rtol=1e-13)
    assert hits.walls.tolist() == [18, 17, -1, -1]
    np.testing.assert_array_equal(hits.normals, [[1, 0], [-1, 0], [0, 0], [0, 0]])


def test_a_ray_between_two_walls_that_meet_at_a_corner_is_stopped():
    cells = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=np.uint8)
    hits = OccupancyMap.from_array(cells, 1.0).cast([0.5, 0.5], [1.0, 1.0])
    assert hits.ranges == pytest.approx(np.sqrt(0.5))
    assert hits.endings == Ending.WALL


def test_a_ray_along_a_grid_line_runs_through_the_cells_on_its_left():
    cells = np.zeros((4, 4), dtype=np.uint8)
    cells[2, 3] = cells[1, 0] = Cell.OCCUPIED
    world = OccupancyMap.from_array(cells, 1.0)
    hits = world.cast([1.5, 2.0], [[1.0, 0.0], [-1.0, 0.0]])
    assert hits.ranges.tolist() == [1.5, 0.5]
    assert hits.endings.tolist() == [Ending.WALL, Ending.WALL]
    hits = world.cast([1.5, 3.0], [[1.0, 0.0], [-1.0, 0.0]])
    assert hits.ranges.tolist() == [2.5, 1.5]
    assert hits.endings.tolist() == [Ending.EDGE, Ending.EDGE]


def test_an_origin_that_is_not_in_free_space_sees_nothing():
    world = OccupancyMap.from_array(ROOM, 1.0)
    hits = world.cast([[0.5, 0.5], [5.5, 2.5], [-3.0, 1.0], [1.0, 1.5]], [[-1.0, 0.2]])
    assert hits.ranges.tolist() == [0.0, 0.0, 0.0, 0.0]
    ends = [Ending.WALL, Ending.UNKNOWN, Ending.EDGE, Ending.WALL]
    assert hits.endings.tolist() == ends
    assert world.cast([1.0, 1.5], [1.0, 0.2]).ranges > 3.0


def test_origins_and_directions_broadcast():
    world = OccupancyMap.from_array(ROOM, 1.0)
    hits = world.cast(np.full((3, 1, 2), 1.5), np.ones((4, 2)))
    assert hits.ranges.shape == hits.walls.shape == hits.endings.shape == (3, 4)
    assert hits.normals.shape == (3, 4, 2)


def test_centres_and_index_are_inverse():
    world = OccupancyMap.from_array(ROOM, 0.05, Pose(-4.0, 7.0, 2.0))
    rows, cols = np.indices(world.shape)
    found_rows, found_cols = world.index(world.centres(rows, cols))
    np.testing.assert_array_equal(found_rows, rows)
    np.testing.assert_array_equal(found_cols, cols)
    np.testing.assert_array_equal(world.contains(world.centres(rows, cols)), ROOM == Cell.FREE)
    assert world.index([100.0, 0.0]) == (-1, -1)
    assert not world.contains([100.0, 0.0])


def test_a_map_knows_its_size():
    world = OccupancyMap.from_array(ROOM, 0.5, Pose(1.0, 2.0))
    assert world.dimension == 2
    assert world.shape == (5, 6)
    assert world.free_area == pytest.approx(12 * 0.25)
    np.testing.assert_allclose(world.bounds, [[1.0, 2.0], [4.0, 4.5]])
    turned = OccupancyMap.from_array(ROOM, 0.5, Pose(0.0, 0.0, np.pi / 2))
    np.testing.assert_allclose(turned.bounds, [[-2.5, 0.0], [0.0, 3.0]], atol=1e-15)


def test_cells_are_copied_and_read_only():
    cells = ROOM.copy()
    world = OccupancyMap.from_array(cells, 0.5)
    cells[:] = Cell.FREE
    np.testing.assert_array_equal(world.cells, ROOM)
    with pytest.raises(ValueError, match="read-only"):
        world.cells[0, 0] = 0


def test_one_ray_from_one_place_is_a_ray():
    world = OccupancyMap(np.zeros((4, 6), dtype=np.uint8), 0.5)
    assert world.cast([1.0, 1.0], [[1.0, 0.0]]).ranges.tolist() == [2.0]


@pytest.mark.parametrize("side", [0.05, 0.1, 0.15, 0.07, 0.125, 0.02, 0.033, 5.0])
def test_cells_of_another_side_are_occupied_where_any_part_of_them_is(side):
    random = np.random.default_rng(4)
    cells = random.choice([0, 0, 0, 0, 1, 2, 2], (13, 17)).astype(np.uint8)
    cells[0, 0] = Cell.FREE
    if side == 5.0:
        cells[cells == Cell.OCCUPIED] = Cell.FREE  # or nothing free would be left
        cells[6, 8] = Cell.FREE
    world = OccupancyMap(cells, 0.05, Pose(1.0, -2.0, 0.3))
    found = world.resampled(side)
    assert found.origin == world.origin
    assert found.resolution == side
    q = side / 0.05
    assert found.shape == tuple(int(np.ceil(n / q - 1e-9)) for n in world.shape)
    for (row, column), cell in np.ndenumerate(found.cells):
        rows, columns = (
            [k for k in range(n) if k + 1 > at * q + 1e-6 and k < (at + 1) * q - 1e-6]
            for at, n in ((row, 13), (column, 17))
        )
        if (cells[np.ix_(rows, columns)] == Cell.OCCUPIED).any():
            assert cell == Cell.OCCUPIED
        else:
            middle = min(int((row + 0.5) * q), 12), min(int((column + 0.5) * q), 16)
            assert cell == cells[middle]


def test_passes_agree_with_the_rational_twin():
    rng = np.random.default_rng(1)
    starts, ends = rng.uniform(0, [50, 40], (60, 2)), rng.uniform(0, [50, 40], (60, 2))
    starts[:10], ends[5:15] = np.floor(starts[:10]), np.floor(ends[5:15])
    ends[20, 1], ends[21, 0] = starts[20, 1], starts[21, 0]
    steps = np.zeros((41, 52), dtype=np.int32)
    mark_passes(starts, ends, steps)
    passes = np.cumsum(steps, axis=1)
    assert (passes[:, -1] == 0).all()
    np.testing.assert_array_equal(passes[:, :-1], passes_twin(starts, ends, (41, 51)))


def test_cells_follow_the_rule_of_shares():
    hits = np.array([[0, 0, 1, 1, 5]], dtype=np.int32)
    misses = np.array([[0, 3, 3, 4, 0]], dtype=np.int32)
    assert classify(hits, misses, 0.25).tolist() == [[2, 0, 1, 0, 1]]
