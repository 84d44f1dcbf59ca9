"""Occupancy maps from line segments, and back to them."""

import numpy as np
import pytest
import shapely

from isovist import Cell, OccupancyMap, Pose


def square(side, x=0.0, y=0.0):
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * side + [x, y]
    return np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)


def test_a_room_is_walled_free_inside_and_unknown_outside():
    world = OccupancyMap.from_segments(square(4.03, -1.01, 2.02), 0.1)
    assert world.contains([1.0, 4.0])
    rows, cols = world.index([[-1.01, 4.0], [1.0, 2.02], [-1.15, 4.0]])
    assert world.cells[rows, cols].tolist() == [Cell.OCCUPIED, Cell.OCCUPIED, Cell.UNKNOWN]
    assert world.free_area == pytest.approx(40 * 39 * 0.01)
    angles = np.linspace(0, 2 * np.pi, 100)
    hits = world.cast([1.0, 4.0], np.stack([np.cos(angles), np.sin(angles)], axis=-1))
    assert (hits.endings == 0).all()


def test_outside_can_be_free():
    world = OccupancyMap.from_segments([[[0.0, 0.0], [1.0, 0.3]]], 0.1, outside=Cell.FREE)
    assert np.count_nonzero(world.cells == Cell.UNKNOWN) == 0
    assert world.contains([0.5, 0.4])
    assert not world.contains([0.5, 0.15])


def test_every_cell_that_a_segment_passes_through_is_occupied():
    rng = np.random.default_rng(5)
    segments = rng.uniform(0, 3, (30, 2, 2))
    world = OccupancyMap.from_segments(segments, 0.1, outside=Cell.FREE)
    t = np.linspace(0, 1, 2001)[:, None, None]
    points = segments[:, 0] * (1 - t) + segments[:, 1] * t
    rows, cols = world.index(points)
    assert (world.cells[rows, cols] == Cell.OCCUPIED).all()
    lines = shapely.union_all(shapely.linestrings(segments))
    rows, cols = np.nonzero(world.cells == Cell.OCCUPIED)
    centres = shapely.points(world.centres(rows, cols))
    assert shapely.distance(lines, centres).max() <= 0.1 * np.sqrt(0.5) + 1e-9


def test_walls_of_any_slope_are_closed():
    corners = 2.0 * np.exp(1j * np.linspace(0, 2 * np.pi, 8)[:-1] + 0.3j)
    ring = np.stack([corners.real, corners.imag], axis=-1)
    world = OccupancyMap.from_segments(np.stack([ring, np.roll(ring, -1, axis=0)], axis=1), 0.02)
    assert world.free_area == pytest.approx(shapely.Polygon(ring).area, rel=0.03)


@pytest.mark.parametrize("yaw", [0.0, 0.5])
def test_outlines_are_the_faces_of_the_cells(yaw):
    rng = np.random.default_rng(2)
    cells = (rng.random((25, 30)) < 0.4).astype(np.uint8)
    world = OccupancyMap.from_array(cells, 0.1, Pose(1.0, -2.0, yaw))
    segments = world.to_segments()
    rows, cols = np.nonzero(cells == Cell.OCCUPIED)
    boxes = shapely.box(cols, rows, cols + 1, rows + 1)
    faces = shapely.boundary(shapely.union_all(boxes))
    lengths = np.hypot(*(segments[:, 1] - segments[:, 0]).T)
    assert lengths.sum() == pytest.approx(faces.length * 0.1)
    in_cells = shapely.union_all(shapely.linestrings(world.to_grid(segments)))
    assert in_cells.hausdorff_distance(faces) < 1e-9
    middles = segments.mean(axis=1)
    along = (segments[:, 1] - segments[:, 0]) / lengths[:, None]
    left = np.stack([-along[:, 1], along[:, 0]], axis=-1)
    # The unit face at the middle of a side may end there; look a little to one end of it.
    look = middles + 0.003 * along + 0.001 * left
    found = world.index(look)
    assert (world.cells[found] == Cell.OCCUPIED).all()


def test_simplified_outlines_stay_within_the_tolerance():
    angles = np.linspace(0, 2 * np.pi, 200)
    ring = np.stack([3 * np.cos(angles), 2 * np.sin(angles)], axis=-1)
    walls = np.stack([ring[:-1], ring[1:]], axis=1)
    world = OccupancyMap.from_segments(walls, 0.05)
    exact, few = world.to_segments(), world.to_segments(0.06)
    assert len(few) < len(exact) / 5
    kept = shapely.union_all(shapely.linestrings(few))
    assert shapely.distance(kept, shapely.points(exact[:, 0])).max() <= 0.06 + 1e-9


def test_a_lone_cell_survives_any_tolerance():
    cells = np.zeros((5, 5), dtype=np.uint8)
    cells[2, 2] = Cell.OCCUPIED
    world = OccupancyMap.from_array(cells, 1.0)
    assert 3 <= len(world.to_segments(10.0)) <= 4
    assert OccupancyMap.from_array(np.zeros((2, 2), int), 1.0).to_segments().shape == (0, 2, 2)
