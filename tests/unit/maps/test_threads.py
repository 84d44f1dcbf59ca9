"""The same input gives the same bits, whatever the number of threads."""

import numpy as np
import pytest
from tests.support.cells import clutter
from tests.support.meshes import sphere

from isovist import MeshMap, OccupancyMap, VoxelMap
from isovist.basis import fibonacci_sphere
from isovist.maps import VoxelSweep, describe_field, free_nodes, free_voxels

DIRECTIONS = np.random.default_rng(2).standard_normal((3000, 3))
ANGLES = 2 * np.pi * np.arange(24) / 24 + 0.017
WEIGHTS = np.random.default_rng(0).random((24, 16))


def rays():
    hits = MeshMap.from_arrays(*sphere(16)).cast([0.1, 0.2, 0.3], DIRECTIONS)
    return hits.ranges, hits.walls


def field():
    world = OccupancyMap.from_array(clutter((60, 80), 6, 0.03), 0.1)
    nodes = free_nodes(world, 2)
    return describe_field(world, ANGLES, WEIGHTS, *nodes, transform="logarithmic")


def sweep():
    world = VoxelMap.from_array(clutter((30, 50, 60), 3, 0.01), 0.1)
    nodes = VoxelSweep.over(world, free_voxels(world, 2))
    return nodes.describe(fibonacci_sphere(24), WEIGHTS)


@pytest.mark.parametrize("ask", [rays, field, sweep])
def test_the_number_of_threads_changes_no_bit(monkeypatch, ask):
    told = []
    for threads in (1, 3):
        monkeypatch.setattr("isovist.kernels.threads.COUNT", threads)
        told.append(ask())
    for one, many in zip(*told, strict=True):
        np.testing.assert_array_equal(one, many)
