"""Sweeps: ranges of many cells along one direction, and descriptors from them."""

import numpy as np
import pytest
from tests.support.cells import Ending, clutter
from tests.support.errors import refused
from tests.support.reference_3d import sweep_voxels_twin
from tests.support.reference_occupancy import sweep_twin

from isovist import Cell, DirectionalBasis, OccupancyMap, Pose, Range, VoxelMap
from isovist.maps import RangeSum, VoxelSweep, describe_field, free_nodes, free_voxels, sweep_ranges

ANGLES = 2 * np.pi * np.arange(24) / 24 + 0.017
CORNER = OccupancyMap.from_array(np.array([[0, 0], [0, 1]]), 1.0)


def flat_clutter(height, width, seed, share=0.03):
    rng = np.random.default_rng(seed)
    cells = (rng.random((height, width)) < share).astype(np.uint8)
    cells[rng.random((height, width)) < share / 2] = Cell.UNKNOWN
    return cells


def floor():
    """Rooms with doors, a round pillar and a slanted wall."""
    cells = np.zeros((240, 300), dtype=np.uint8)
    cells[[0, -1], :] = cells[:, [0, -1]] = Cell.OCCUPIED
    cells[80:83, :] = cells[:, 140:143] = Cell.OCCUPIED
    cells[80:83, 40:60] = cells[80:83, 200:216] = cells[150:168, 140:143] = Cell.FREE
    rows, cols = np.ogrid[:240, :300]
    cells[(rows - 170) ** 2 + (cols - 60) ** 2 < 80] = Cell.OCCUPIED
    steps = np.arange(0, 50, 0.3)
    cells[(110 + 0.6 * steps).astype(int), (200 + steps).astype(int)] = Cell.OCCUPIED
    return cells


def weights(n):
    centres = 2 * np.pi * np.arange(n) / n
    W = np.exp((np.cos(ANGLES[:, None] - centres) - 1) / 0.1)
    return W / W.sum(axis=1, keepdims=True) / len(ANGLES)


@pytest.mark.slow
@pytest.mark.parametrize(("height", "width"), [(15, 23), (19, 10), (1, 9), (8, 1)])
def test_sweeps_agree_with_the_slow_twin(height, width):
    cells = flat_clutter(height, width, seed=height)
    world = OccupancyMap.from_array(cells, 1.0)
    rows, cols = np.nonzero(cells == Cell.FREE)
    ranges, endings = sweep_ranges(world, ANGLES, rows, cols)
    for s, angle in enumerate(ANGLES):
        for k in range(0, rows.size, 3):
            reach, ending = sweep_twin(cells, rows[k], cols[k], np.cos(angle), np.sin(angle))
            least = 0.5 / max(abs(np.cos(angle)), abs(np.sin(angle)))
            assert ranges[s, k] == pytest.approx(max(reach, least), rel=1e-4, abs=1e-4)
            assert endings[s, k] == ending


def test_few_nodes_get_the_ranges_they_get_among_many():
    world = OccupancyMap.from_array(flat_clutter(50, 40, seed=3), 0.1)
    rows, cols = free_nodes(world, 1)
    ranges, endings = sweep_ranges(world, ANGLES, rows, cols)
    pick = np.random.default_rng(0).permutation(rows.size)[:60]
    few, few_endings = sweep_ranges(world, ANGLES, rows[pick], cols[pick])
    np.testing.assert_array_equal(few, ranges[:, pick])
    np.testing.assert_array_equal(few_endings, endings[:, pick])


@pytest.mark.parametrize("angle", [0.0, np.pi / 2, np.pi, -np.pi / 2])
def test_sweeps_along_the_axes_are_exact(angle):
    cells = flat_clutter(40, 60, seed=5)
    world = OccupancyMap.from_array(cells, 0.05)
    rows, cols = free_nodes(world, 3)
    ranges, endings = sweep_ranges(world, [angle], rows, cols)
    along = np.round([np.cos(angle), np.sin(angle)])
    hits = world.cast(world.centres(rows, cols), along)
    np.testing.assert_allclose(ranges[0], hits.ranges, rtol=1e-5)
    np.testing.assert_array_equal(endings[0], hits.endings)


@pytest.mark.slow
def test_sweeps_are_as_exact_as_stated():
    world = OccupancyMap.from_array(floor(), 1.0)
    rows, cols = free_nodes(world, 2)
    angles = 2 * np.pi * np.arange(48) / 48 + 0.013
    ranges, _ = sweep_ranges(world, angles, rows, cols)
    centres = world.centres(rows, cols)
    errors, clear = [], []
    for angle, swept in zip(angles, ranges, strict=True):
        along = np.array([np.cos(angle), np.sin(angle)])
        aside = 0.499 * (np.abs(along) < np.abs(along[::-1]))
        exact = world.cast(centres, along).ranges
        jumps = [world.cast(centres + sign * aside, along).ranges - exact for sign in (-1, 1)]
        clear.append(np.abs(jumps).max(axis=0) < 2.0)
        errors.append(np.abs(swept - exact))
    error, away = np.concatenate(errors), np.concatenate(clear)
    assert np.median(error) < 0.01
    assert np.quantile(error, 0.99) < 1.5
    assert away.mean() > 0.8
    assert np.quantile(error[away], 0.99) < 0.6
    signed = np.concatenate(
        [
            r - world.cast(centres, [np.cos(a), np.sin(a)]).ranges
            for a, r in zip(angles, ranges, strict=True)
        ]
    )[away]
    assert abs(signed.mean()) < 0.01


def test_the_maximum_clips_and_is_reported():
    world = OccupancyMap.from_array(np.zeros((20, 30), dtype=np.uint8), 0.5)
    ranges, endings = sweep_ranges(world, [0.0, 0.3], [10, 10], [2, 28], maximum=4.0)
    np.testing.assert_allclose(ranges[0], [4.0, 0.75])
    assert endings[0].tolist() == [Ending.MAXIMUM, Ending.EDGE]


def test_a_turned_map_is_swept_in_world_directions():
    cells = flat_clutter(30, 30, seed=9)
    flat = OccupancyMap.from_array(cells, 0.1)
    turned = OccupancyMap.from_array(cells, 0.1, Pose(5.0, 5.0, 0.4))
    rows, cols = free_nodes(flat, 4)
    a, _ = sweep_ranges(flat, ANGLES, rows, cols)
    b, _ = sweep_ranges(turned, ANGLES + 0.4, rows, cols)
    np.testing.assert_allclose(a, b, rtol=1e-5)


def test_nodes_are_the_free_cells_of_a_lattice():
    cells = np.zeros((9, 9), dtype=np.uint8)
    cells[4, 4] = Cell.OCCUPIED
    rows, cols = free_nodes(OccupancyMap.from_array(cells, 1.0), 3)
    assert list(zip(rows.tolist(), cols.tolist(), strict=True)) == [
        (1, 1), (1, 4), (1, 7), (4, 1), (4, 7), (7, 1), (7, 4), (7, 7),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "share"), [((5, 9, 11), 0.1), ((12, 4, 7), 0.02), ((1, 6, 5), 0.1), ((3, 1, 1), 0.0)]
)
def test_sweeps_in_space_agree_with_the_slow_twin(shape, share):
    cells = clutter(shape, 3, share)
    world = VoxelMap.from_array(cells, 1.0)
    nodes = free_voxels(world)
    directions = np.concatenate([DirectionalBasis.fibonacci(14).directions, np.eye(3), -np.eye(3)])
    ranges, endings = VoxelSweep.over(world, nodes).ranges(directions)
    for s, along in enumerate(directions):
        for k in range(s % 5, nodes.size, 5):
            reach, ending = sweep_voxels_twin(cells, nodes[k], along)
            assert ranges[s, k] == pytest.approx(reach, rel=1e-4, abs=1e-4)
            assert endings[s, k] == ending


def room():
    cells = np.zeros((30, 50, 60), np.uint8)
    for axis in range(3):
        np.moveaxis(cells, axis, 0)[[0, -1]] = Cell.OCCUPIED
    cells[:, 20:24, 20:26] = Cell.OCCUPIED
    cells[8:10, 30:44, 34:52] = Cell.OCCUPIED
    return VoxelMap.from_array(cells, 0.1, corner=(1.0, 2.0, 3.0))


@pytest.mark.slow
def test_sweeps_err_by_about_the_side_of_a_cell():
    world = room()
    nodes = free_voxels(world, 3)
    directions = DirectionalBasis.fibonacci(20).directions
    ranges, _ = VoxelSweep.over(world, nodes).ranges(directions)
    exact = world.cast(world.centres(nodes), directions[:, None])
    error = np.abs(ranges - exact.ranges)
    assert np.median(error) < 1e-5
    assert (error < 0.15).mean() > 0.95


def test_sweeps_stop_at_the_maximum():
    world = room()
    nodes = free_voxels(world, 5)
    ranges, endings = VoxelSweep.over(world, nodes).ranges(
        DirectionalBasis.fibonacci(9).directions, maximum=1.0
    )
    assert ranges.max() == pytest.approx(1.0)
    assert np.array_equal(endings == Ending.MAXIMUM, ranges >= np.float32(1.0))


def test_descriptors_are_sums_over_the_swept_ranges():
    world = room()
    nodes = free_voxels(world, 4, heights=(3.9, 4.3))
    heights = world.centres(nodes)[:, 2]
    assert heights.min() >= 3.9
    assert heights.max() <= 4.3
    directions = DirectionalBasis.fibonacci(37).directions
    W = np.random.default_rng(0).random((37, 6))
    sweep = VoxelSweep.over(world, nodes)
    ranges, endings = sweep.ranges(directions)
    known = endings == Ending.WALL
    for transform in ("linear", "logarithmic", "saturating"):
        f = Range(transform=transform, scale=2.0).of_ranges(ranges)
        F, K = sweep.describe(directions, W, RangeSum(transform, 2.0))
        np.testing.assert_allclose(F, (known * f).T @ W, rtol=2e-5)
        np.testing.assert_allclose(K, known.T @ W, rtol=2e-5)


def field(angles=(0.0,), weights=((1.0,),), rows=(1,), cols=(0,), **options):
    return describe_field(CORNER, angles, weights, (rows, cols), RangeSum(**options))


def small_room():
    return VoxelMap.from_array(np.pad(np.zeros((3, 4, 5), int), 1, constant_values=1), 0.1)


def sweep(nodes=None):
    world = small_room()
    return VoxelSweep.over(world, free_voxels(world) if nodes is None else nodes)


def twice():
    return np.repeat(free_voxels(small_room()), 2)


@pytest.mark.parametrize(
    ("make", "field", "code"),
    [
        (lambda: field(cols=[1]), "rows", "not_free"),
        (lambda: field(rows=[0], cols=[2]), "rows", "not_free"),
        (lambda: field(rows=[-1]), "rows", "not_free"),
        (lambda: field(rows=[0, 0]), "rows", "invalid_value"),
        (lambda: field(rows=[0.5]), "rows", "invalid_value"),
        (lambda: field(angles=[]), "angles", "missing"),
        (lambda: field(weights=[1.0]), "weights", "invalid_value"),
        (lambda: field(transform="square"), "transform", "invalid_value"),
        (lambda: field(scale=-1.0), "scale", "invalid_value"),
        (lambda: field(maximum=0.0), "maximum", "invalid_value"),
        (lambda: free_nodes(CORNER, 0), "stride", "invalid_value"),
        (lambda: free_nodes(CORNER, 5), None, "empty"),
        (lambda: sweep([0]), "nodes", "not_free"),
        (lambda: sweep([]), "nodes", "invalid_value"),
        (lambda: sweep(twice()), "nodes", "invalid_value"),
        (lambda: sweep().ranges(np.zeros((1, 3))), "directions", "missing"),
        (lambda: sweep().ranges(np.eye(3), maximum=-1.0), "maximum", "invalid_value"),
        (lambda: sweep().describe(np.eye(3), np.ones((2, 4))), "weights", "invalid_value"),
        (
            lambda: sweep().describe(np.eye(3), np.ones((3, 4)), RangeSum("cube")),
            "transform", "invalid_value",
        ),
        (
            lambda: sweep().describe(np.eye(3), np.ones((3, 4)), RangeSum(scale=0.0)),
            "scale", "invalid_value",
        ),
        (lambda: free_voxels(room(), 0), "stride", "invalid_value"),
        (lambda: free_voxels(room(), heights=(90.0, 91.0)), None, "empty"),
    ],
)  # fmt: skip
def test_what_cannot_be_swept_is_refused(make, field, code):
    with refused(field, code):
        make()
