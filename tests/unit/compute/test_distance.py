"""Distances on grids against SciPy, and descriptors without weights that no sum feels."""

import numpy as np
import pytest
from scipy.ndimage import binary_dilation, distance_transform_cdt, distance_transform_edt

from isovist import Cell, OccupancyMap
from isovist.atlas import bridge_gaps
from isovist.compute.grids import distance as kernels
from isovist.maps import distance_to, king_moves, wall_faces, without_negligible

SHAPES = [(1, 1), (1, 40), (37, 1), (50, 33), (20, 300), (300, 20), (12, 9, 7)]


def check(met):
    """Against SciPy, by the kernels whatever the size of the map is, and as the map chooses."""
    exact = distance_transform_edt(~met).astype(np.float32)
    moves = np.minimum(distance_transform_cdt(~met, metric="chessboard"), 253)
    np.testing.assert_array_equal(distance_to(met), exact)
    np.testing.assert_array_equal(king_moves(~met), moves)
    if met.ndim == 2:
        gaps, distance = np.empty(met.shape, np.int32), np.empty(met.shape, np.float32)
        kernels.along_columns(met, np.arange(met.shape[1]), gaps)
        kernels.along_rows(gaps, distance)
        np.testing.assert_array_equal(distance, exact)
        told = np.empty(met.shape, np.uint8)
        kernels.count_king_moves(~met, told)
        np.testing.assert_array_equal(told, moves)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0.0, 0.003, 0.05, 0.6])
def test_distances_are_those_of_scipy_bit_for_bit(shape, share):
    random = np.random.default_rng(3)
    met = random.random(shape) < share
    met.ravel()[random.integers(met.size)] = True
    check(met)


def test_columns_without_a_cell_of_the_set_count_as_far():
    met = np.zeros((400, 3), dtype=np.bool_)
    met[399, 2] = True
    check(met)


@pytest.mark.slow
def test_a_large_map_has_the_same_distances():
    met = np.random.default_rng(4).random((1500, 1400)) < 1e-4
    check(met)


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
    np.testing.assert_array_equal(
        without_negligible(given), np.float32([[1, 1e-3, 2e-30, 0, 0, 0, 0, 0]])
    )
    assert without_negligible(given).dtype == np.float32
