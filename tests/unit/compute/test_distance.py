"""Distances on grids against SciPy, and descriptors without weights that no sum feels."""

import numpy as np
import pytest
from scipy.ndimage import binary_dilation, distance_transform_cdt, distance_transform_edt

from isovist import OccupancyMap
from isovist.atlas import bridge_gaps
from isovist.maps import Cell, distance_to, felt, king_moves, wall_faces


@pytest.fixture(autouse=True, params=[0, 10**9], ids=["kernels", "without"])
def _ways(request, monkeypatch):
    """Both ways, whatever the size of a map."""
    monkeypatch.setattr("isovist.maps.distance.LARGE", request.param)


SHAPES = [(1, 1), (1, 40), (37, 1), (50, 33), (20, 300), (300, 20), (12, 9, 7)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0.0, 0.003, 0.05, 0.6])
def test_distances_are_those_of_scipy_bit_for_bit(shape, share):
    random = np.random.default_rng(3)
    met = random.random(shape) < share
    met.ravel()[random.integers(met.size)] = True
    exact = distance_transform_edt(~met).astype(np.float32)
    np.testing.assert_array_equal(distance_to(met), exact)
    moves = np.minimum(distance_transform_cdt(~met, metric="chessboard"), 253)
    np.testing.assert_array_equal(king_moves(~met), moves)


def test_columns_without_a_cell_of_the_set_count_as_far():
    met = np.zeros((400, 3), dtype=np.bool_)
    met[399, 2] = True
    np.testing.assert_array_equal(distance_to(met), distance_transform_edt(~met).astype(np.float32))


def test_faces_and_bridged_gaps_are_those_of_scipy():
    random = np.random.default_rng(5)
    for _ in range(20):
        cells = random.choice([0, 1, 2, 2, 2, 2], (30, 40)).astype(np.uint8)
        world = OccupancyMap(cells, 0.05)
        near = binary_dilation(cells == Cell.FREE, np.ones((3, 3)))
        np.testing.assert_array_equal(wall_faces(world.cells), near & (cells == Cell.OCCUPIED))
        gap = float(random.choice([0.05, 0.1, 0.15, 0.2]))
        close = distance_transform_edt(cells != Cell.FREE) * 0.05 < gap - 1e-9
        bridged = np.where(close & (cells == Cell.UNKNOWN), Cell.FREE, cells)
        np.testing.assert_array_equal(bridge_gaps(world, gap).cells, bridged)


def test_weights_too_small_for_all_their_digits_are_none():
    given = np.array([[1.0, 1e-3, 2e-30, 1e-33, 1e-39, 1e-60, 0.0, -1e-40]])
    np.testing.assert_array_equal(felt(given), np.float32([[1, 1e-3, 2e-30, 0, 0, 0, 0, 0]]))
    assert felt(given).dtype == np.float32
