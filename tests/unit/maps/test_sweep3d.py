"""Sweeps of voxel maps against the slow twin, against rays, and into descriptors."""

import numpy as np
import pytest
from tests.support.cells import clutter
from tests.support.reference_3d import sweep_voxels_twin

from isovist import Range, VoxelMap
from isovist.basis import fibonacci_sphere
from isovist.maps import Cell, Ending, VoxelSweep, free_voxels


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "share"), [((5, 9, 11), 0.1), ((12, 4, 7), 0.02), ((1, 6, 5), 0.1), ((3, 1, 1), 0.0)]
)
def test_sweeps_agree_with_the_slow_twin(shape, share):
    cells = clutter(shape, 3, share)
    world = VoxelMap.from_array(cells, 1.0)
    nodes = free_voxels(world)
    directions = np.concatenate([fibonacci_sphere(14), np.eye(3), -np.eye(3)])
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
    directions = fibonacci_sphere(20)
    ranges, _ = VoxelSweep.over(world, nodes).ranges(directions)
    exact = world.cast(world.centres(nodes), directions[:, None])
    error = np.abs(ranges - exact.ranges)
    assert np.median(error) < 1e-5
    assert (error < 0.15).mean() > 0.95


def test_sweeps_stop_at_the_maximum():
    world = room()
    nodes = free_voxels(world, 5)
    ranges, endings = VoxelSweep.over(world, nodes).ranges(fibonacci_sphere(9), maximum=1.0)
    assert ranges.max() == pytest.approx(1.0)
    assert np.array_equal(endings == Ending.MAXIMUM, ranges >= np.float32(1.0))


def test_descriptors_are_sums_over_the_swept_ranges():
    world = room()
    nodes = free_voxels(world, 4, heights=(3.9, 4.3))
    heights = world.centres(nodes)[:, 2]
    assert heights.min() >= 3.9
    assert heights.max() <= 4.3
    directions = fibonacci_sphere(37)
    W = np.random.default_rng(0).random((37, 6))
    sweep = VoxelSweep.over(world, nodes)
    ranges, endings = sweep.ranges(directions)
    known = endings == Ending.WALL
    for transform in ("linear", "logarithmic", "saturating"):
        f = Range(transform=transform, scale=2.0).of_ranges(ranges)
        F, K = sweep.describe(directions, W, transform=transform, scale=2.0)
        np.testing.assert_allclose(F, (known * f).T @ W, rtol=2e-5)
        np.testing.assert_allclose(K, known.T @ W, rtol=2e-5)
