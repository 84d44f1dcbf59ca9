"""Occupancy maps from scans with known poses."""

import numpy as np

from isovist import Cell, OccupancyMap, Pose, Scan


def room_scans():
    """Scans of 180° in a room with a pillar, and their poses."""
    cells = np.zeros((80, 120), dtype=np.uint8)
    cells[[0, -1], :] = cells[:, [0, -1]] = Cell.OCCUPIED
    cells[30:40, 50:60] = Cell.OCCUPIED
    world = OccupancyMap.from_array(cells, 0.05, Pose(-1.0, 3.0))
    rng = np.random.default_rng(8)
    bearings = np.linspace(-np.pi / 2, np.pi / 2, 181)
    scans, poses = [], []
    while len(scans) < 40:
        pose = np.append(rng.uniform(*world.bounds), rng.uniform(-np.pi, np.pi))
        if not world.contains(pose[:2]):
            continue
        angles = bearings + pose[2]
        hits = world.cast(pose[:2], np.stack([np.cos(angles), np.sin(angles)], axis=-1))
        scans.append(Scan(bearings, hits.ranges + 0.01))
        poses.append(pose)
    return world, scans, np.array(poses)


def test_a_room_is_mapped_with_closed_thin_walls():
    world, scans, poses = room_scans()
    made = OccupancyMap.from_scans(scans, poses)
    occupied = np.argwhere(made.cells == Cell.OCCUPIED)
    truth = world.index(made.centres(*occupied.T))
    assert (world.cells[truth] == Cell.OCCUPIED).all()
    free = np.argwhere(made.cells == Cell.FREE)
    truth = world.index(made.centres(*free.T))
    assert np.mean(world.cells[truth] == Cell.FREE) > 0.999
    angles = np.linspace(0, 2 * np.pi, 200)
    hits = made.cast([0.0, 6.0], np.stack([np.cos(angles), np.sin(angles)], axis=-1))
    exact = world.cast([0.0, 6.0], np.stack([np.cos(angles), np.sin(angles)], axis=-1))
    np.testing.assert_array_equal(hits.endings, exact.endings)
    np.testing.assert_allclose(hits.ranges, exact.ranges, atol=1e-6)


def test_beams_without_a_return_clear_nothing():
    scan = Scan(np.array([0.0, 1.0]), np.array([1.0, np.nan]))
    world = OccupancyMap.from_scans([scan], [[0.05, 0.05, 0.0]], 0.1)
    assert np.count_nonzero(world.cells == Cell.FREE) == 10
    assert np.count_nonzero(world.cells == Cell.OCCUPIED) == 1


def test_returns_beyond_the_maximum_clear_and_mark_nothing():
    scan = Scan(np.array([0.0]), np.array([9.0]))
    world = OccupancyMap.from_scans([scan], [[0.05, 0.05, 0.0]], 0.1, maximum=1.0)
    assert np.count_nonzero(world.cells == Cell.FREE) == 10
    assert np.count_nonzero(world.cells == Cell.OCCUPIED) == 0
