"""Cells by blocks against grids that are laid out."""

import tracemalloc

import numpy as np
import pytest
from scipy.ndimage import distance_transform_cdt, distance_transform_edt
from tests.support.errors import refused

from isovist.compute import BLOCK_SIDE, FIRST_OWN_ROW, FREE_BLOCK
from isovist.maps import BlockGrid, Cloud, RayGrid, WallDistances, surface, wall_faces

GRIDS = {
    "mostly free": ((40, 50, 70), (0.99, 0.01, 0.0)),
    "half unknown": ((33, 20, 90), (0.5, 0.01, 0.49)),
    "flat": ((5, 3, 100), (0.9, 0.05, 0.05)),
    "empty blocks": ((100, 120, 90), (0.9999, 0.0001, 0.0)),
}


@pytest.fixture(params=GRIDS, scope="module")
def cells(request):
    shape, shares = GRIDS[request.param]
    codes = np.random.default_rng(0).choice(3, shape, p=shares).astype(np.uint8)
    codes[:20, :18, :20] = 2
    codes[-6:, -18:, -20:] = 1
    return codes


def laid_out(grid):
    """The rows of a table, each where its block is."""
    z, y, x = grid.index.shape
    rows = grid.table[np.maximum(grid.index, 0)].transpose(0, 3, 1, 4, 2, 5)
    levels, height, width = grid.shape
    return rows.reshape(z * BLOCK_SIDE, y * BLOCK_SIDE, x * BLOCK_SIDE)[:levels, :height, :width]


def test_blocks_hold_the_cells_that_they_were_made_of(cells):
    blocks = BlockGrid.from_array(cells)
    np.testing.assert_array_equal(blocks.array(), cells)
    np.testing.assert_array_equal(blocks.array(3, 30), cells[3:30])
    np.testing.assert_array_equal(blocks.walls(), np.flatnonzero(cells == 1))
    np.testing.assert_array_equal(
        blocks.crop(slice(1, cells.shape[1]), slice(17, 60)).array(), cells[:, 1:, 17:60]
    )
    assert blocks.has_unknown
    some = np.random.default_rng(1).integers(0, cells.size, (30, 40))
    np.testing.assert_array_equal(blocks.at(some), cells.ravel()[some])


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1, 4100, 4100), (262_160, 1, 3), (17, 1, 262_200)])
def test_blocks_are_the_same_whatever_is_sorted_at_once(shape):
    """Of more blocks than that, which laid out take 16 times the bytes of the cells and more."""
    cells = np.full(shape, 2, dtype=np.uint8)
    random = np.random.default_rng(0)
    for level, row, column in random.integers(0, shape, (40, 3)):
        cells[level, row : row + 20, column : column + 20] = random.integers(3)
    tracemalloc.start()
    blocks = BlockGrid.from_array(cells)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 250e6
    np.testing.assert_array_equal(blocks.walls(), np.flatnonzero(cells == 1))
    np.testing.assert_array_equal(blocks.array(), cells)


def test_blocks_of_walls_alone_are_those_of_their_cells(cells):
    walls = np.where(cells == 1, cells, np.uint8(0))
    blocks = BlockGrid.from_walls(np.flatnonzero(walls), cells.shape)
    np.testing.assert_array_equal(blocks.array(), walls)
    np.testing.assert_array_equal(blocks.index, BlockGrid.from_array(walls).index)
    assert not blocks.has_unknown


@pytest.mark.slow
def test_free_blocks_take_no_memory():
    walls = np.array([5, 10**9])
    blocks = BlockGrid.from_walls(walls, (1000, 1000, 5000))
    assert len(blocks.table) == FIRST_OWN_ROW + 2
    np.testing.assert_array_equal(blocks.walls(), walls)
    near = WallDistances.from_grid(blocks, 20)
    assert near.table.nbytes < 2_000_000


def test_surfaces_are_those_of_the_grid(cells):
    blocks = BlockGrid.from_array(cells)
    index, codes = blocks.surface()
    expected = surface(cells)[1:-1, 1:-1, 1:-1].ravel()
    np.testing.assert_array_equal(index, np.flatnonzero(expected))
    np.testing.assert_array_equal(codes, expected[index])
    index, codes = blocks.surface(corners=True)
    touched = wall_faces(cells)
    np.testing.assert_array_equal(index[codes == 1], np.flatnonzero(touched))


@pytest.mark.slow
@pytest.mark.parametrize("limit", [5, 17, 40])
def test_distances_near_walls_are_exact_to_the_last_bit(cells, limit):
    faces = wall_faces(cells)
    expected = np.minimum(distance_transform_edt(~faces), limit).astype(np.float32)
    near = WallDistances.from_grid(BlockGrid.from_array(cells), limit)
    told, exact = near.array(), expected < (12.0 if limit > 17 else np.inf)
    np.testing.assert_array_equal(told[exact], expected[exact])
    assert (told <= expected).all()
    assert (expected - told).max() < 0.5
    # What stands behind a block is that of the next one.
    for z, y, x in np.argwhere(near.index[:-1, :-1, :-1] > 0)[:3]:
        behind = near.roots[near.table[near.index[z, y, x], -1, 0, 0]]
        assert behind == told[(z + 1) * BLOCK_SIDE, y * BLOCK_SIDE, x * BLOCK_SIDE]


@pytest.mark.slow
def test_steps_of_rays_are_moves_of_a_king(cells):
    walk = RayGrid.from_grid(BlockGrid.from_array(cells))
    codes, free = laid_out(walk), cells == 0
    np.testing.assert_array_equal(codes[~free], cells[~free] - 1)
    known = free & (codes != FREE_BLOCK)
    moves = np.minimum(distance_transform_cdt(free, metric="chessboard"), BLOCK_SIDE) + 2
    np.testing.assert_array_equal(codes[known], moves[known])
    # Around a block that is all free so many blocks are.
    for z, y, x in np.argwhere(walk.index < -1):
        b = -walk.index[z, y, x] - 1
        low = [max(k - b, 0) * BLOCK_SIDE for k in (z, y, x)]
        part = tuple(
            slice(a, (k + b + 1) * BLOCK_SIDE) for a, k in zip(low, (z, y, x), strict=True)
        )
        assert free[part].all()


@pytest.mark.parametrize(
    ("length", "count", "side"),
    [(5.0, 20_000, 0.1), (5.0, 2_000, 0.2), (60.0, 20_000, 0.2), (900.0, 20_000, 0.4)],
)
def test_dense_clouds_have_small_cells_and_large_ones_have_large_cells(length, count, side):
    """Of points on the floor and on two walls of a room."""
    rng = np.random.default_rng(0)
    points = rng.uniform(0.0, 1.0, (count, 3)) * [length, length, 3.0]
    points[np.arange(count), rng.integers(3, size=count)] = 0.0
    assert Cloud(points).resolution() == side


def test_blocks_without_a_wall_have_no_distances():
    with refused(code="empty"):
        WallDistances.from_grid(BlockGrid.from_array(np.zeros((20, 20, 20), np.uint8)), 10)
