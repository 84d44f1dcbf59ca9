"""Sweeps of voxel maps against the slow twin, against rays, and into descriptors."""

import numpy as np
import pytest
from tests.support.cells import clutter
from tests.support.reference_3d import sweep_voxels_twin

from isovist import InputError, Range, VoxelMap
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


def test_answers_do_not_depend_on_the_number_of_threads(monkeypatch):
    world = room()
    sweep = VoxelSweep.over(world, free_voxels(world, 2))
    W = np.ones((11, 3))
    monkeypatch.setattr("isovist.kernels.threads.COUNT", 3)
    many = sweep.describe(fibonacci_sphere(11), W)
    monkeypatch.setattr("isovist.kernels.threads.COUNT", 1)
    one = sweep.describe(fibonacci_sphere(11), W)
    assert np.array_equal(many[0], one[0])
    assert np.array_equal(many[1], one[1])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda w: VoxelSweep.over(w, [0]), "`nodes` must name free cells of the map."),
        (lambda w: VoxelSweep.over(w, []), "`nodes` must be a list of flat indices of cells."),
        (lambda w: VoxelSweep.over(w, np.repeat(free_voxels(w), 2)),
         "`nodes` must not name a cell twice."),
        (lambda w: VoxelSweep.over(w, free_voxels(w)).ranges(np.zeros((1, 3))),
         "`directions` must not be empty, and none of them zero."),
        (lambda w: VoxelSweep.over(w, free_voxels(w)).ranges(np.eye(3), maximum=-1.0),
         "`maximum` must be a positive length in m, got -1.0."),
        (lambda w: VoxelSweep.over(w, free_voxels(w)).describe(np.eye(3), np.ones((2, 4))),
         "`weights` must have shape (3, any), got (2, 4)."),
        (lambda w: VoxelSweep.over(w, free_voxels(w)).describe(
            np.eye(3), np.ones((3, 4)), transform="cube"),
         "`transform` must be one of linear, logarithmic, saturating, got cube."),
        (lambda w: VoxelSweep.over(w, free_voxels(w)).describe(
            np.eye(3), np.ones((3, 4)), scale=0.0),
         "`scale` must be a positive length in m, got 0.0."),
        (lambda w: free_voxels(w, 0), "`stride` must be at least 1 cell, got 0."),
        (lambda w: free_voxels(w, heights=(90.0, 91.0)),
         "No free cell lies on a lattice of 1 cells at those heights; "
         "take a smaller `stride` or other `heights`."),
    ],
)  # fmt: skip
def test_bad_sweeps_are_one_clear_line(make, text):
    with pytest.raises(InputError) as error:
        make(room())
    assert str(error.value) == text
