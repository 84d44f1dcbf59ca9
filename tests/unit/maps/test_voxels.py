"""Maps of voxels: rays against the rational twin, and the same building as walls and as faces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cells import Ending, clutter
from tests.support.errors import refused
from tests.support.large_maps import by_blocks
from tests.support.paper_parts import EqualArea
from tests.support.reference_3d import cast_voxels_twin

from isovist import Cell, Descriptor, DirectionalBasis, MeshMap, OccupancyMap, SegmentMap, VoxelMap

# Coordinates on faces and at middles of cells make ties common, directions with zeros grazing.
halves = st.integers(-1, 18).map(lambda k: k / 2)
steps = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 3.0])


@pytest.mark.slow
@given(
    st.tuples(*[st.integers(1, 8)] * 3),
    st.integers(0, 99),
    st.sampled_from([0.02, 0.1, 0.3]),
    st.lists(st.tuples(halves, halves, halves, steps, steps, steps), min_size=1, max_size=6),
    st.sampled_from([np.inf, 2.5]),
)
def test_rays_with_ties_end_where_the_rational_twin_says(shape, seed, share, rays, maximum):
    cells = clutter(shape, seed, share)
    rays = np.array(rays)
    origins, directions = rays[:, :3], rays[:, 3:]
    directions[~directions.any(axis=1)] = [1.0, -0.5, 0.25]
    compare(cells, origins, directions, maximum)


@pytest.mark.slow
def test_random_rays_end_where_the_rational_twin_says():
    rng = np.random.default_rng(5)
    cells = clutter((20, 24, 30), 7, 0.004)
    origins = rng.uniform(0, 1, (300, 3)) * cells.shape[::-1]
    compare(cells, origins, rng.standard_normal((300, 3)), np.inf)


def compare(cells, origins, directions, maximum):
    world = VoxelMap.from_array(cells, 1.0)
    hits = world.cast(origins, directions, maximum=maximum)
    large = by_blocks(cells).cast(origins, directions, maximum=maximum)
    for name in ("ranges", "endings", "walls", "normals"):
        np.testing.assert_array_equal(getattr(large, name), getattr(hits, name))
    lengths = np.linalg.norm(directions, axis=1)
    for k, (o, d, length) in enumerate(zip(origins, directions, lengths, strict=True)):
        limit = None if maximum == np.inf else maximum / length
        t, ending = cast_voxels_twin(cells, o, d, limit)
        assert hits.ranges[k] == pytest.approx(float(t) * length, rel=1e-12, abs=1e-12)
        # At exactly the maximum in floats either ending is right.
        if limit is None or abs(float(t) - limit) > 1e-12:
            assert hits.endings[k] == ending
        if hits.walls[k] >= 0:
            assert cells.ravel()[hits.walls[k]] == hits.endings[k] + 1


def test_normals_face_the_origin():
    cells = np.zeros((5, 6, 7), np.uint8)
    cells[2, 3, 6] = Cell.OCCUPIED
    world = VoxelMap.from_array(cells, 0.5, corner=(1.0, 2.0, 3.0))
    hit = world.cast(world.centres(world.index([1.1, 3.6, 4.1])), [1.0, 0.0, 0.0])
    assert hit.normals.tolist() == [-1.0, 0.0, 0.0]
    assert hit.ranges == pytest.approx(2.75)
    assert hit.endings == Ending.WALL
    assert hit.walls == np.ravel_multi_index((2, 3, 6), cells.shape)


def building(resolution):
    """One room with a pillar, as walls, as faces and as cells."""
    plan = SegmentMap.room(6.0, 4.0, pillars=[(2.0, 1.0, 3.0, 2.0)])
    mesh = MeshMap.extrude(plan, 0.0, 2.4)
    flat = OccupancyMap.from_segments(plan.walls.reshape(-1, 2, 2), resolution)
    cells = np.repeat(flat.cells[None], round(2.4 / resolution) + 2, axis=0)
    cells[[0, -1]] = Cell.OCCUPIED
    corner = (flat.origin.x, flat.origin.y, -resolution)
    return plan, mesh, VoxelMap.from_array(cells, resolution, corner)


@pytest.mark.slow
@pytest.mark.parametrize("resolution", [0.1, 0.05])
def test_walls_faces_and_cells_of_one_building_agree(resolution):
    plan, mesh, voxels = building(resolution)
    rng = np.random.default_rng(0)
    points = rng.uniform([0.3, 0.3, 0.3], [5.7, 3.7, 2.1], (60, 3))
    points = points[mesh.contains(points) & voxels.contains(points)]
    level = unit(rng.standard_normal((300, 3)) * [1, 1, 0])
    flat = plan.cast(points[:, None, :2], level[:, :2]).ranges
    np.testing.assert_allclose(mesh.cast(points[:, None], level).ranges, flat, atol=1e-9)
    for theta in (level, unit(rng.standard_normal((300, 3)))):
        exact = mesh.cast(points[:, None], theta)
        coarse = voxels.cast(points[:, None], theta)
        # Every wall lies in occupied cells, so cells end a ray no later than faces.
        assert (coarse.ranges <= exact.ranges + 1e-9).all()
        slant = np.abs(np.einsum("...d,...d", exact.normals, theta))
        early = exact.ranges - coarse.ranges
        assert (early <= 2.0 * resolution / np.maximum(slant, 1e-9)).mean() > 0.97
        assert np.median(early) <= 1.5 * resolution


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


@pytest.mark.slow
def test_the_descriptor_of_cells_comes_near_that_of_faces():
    _, mesh, voxels = building(0.05)
    descriptor = Descriptor(DirectionalBasis.fibonacci(24), quadrature=EqualArea(20_000), step=0.1)
    F, J = descriptor.at(mesh, [1.0, 2.5, 1.2], jacobian=True)
    G, K = descriptor.at(voxels, [1.0, 2.5, 1.2], jacobian=True)
    assert np.linalg.norm(G - F) < 0.04 * np.linalg.norm(F)
    assert np.linalg.norm(K - J) < 0.1 * np.linalg.norm(J)


def test_a_cloud_becomes_cells_with_mean_reflectance():
    points = np.tile([[0.05, 0.05, 0.05], [0.95, 0.45, 0.25]], (60, 1))
    values = np.tile([0.2, 0.6, 0.4, 0.8], 30)
    world = VoxelMap.from_points(points, 0.1, reflectance=values)
    assert world.shape == (5, 7, 12)
    np.testing.assert_allclose(world.corner, [-0.1, -0.1, -0.1])
    index = world.index(points[:2])
    assert (world.cells.ravel()[index] == Cell.OCCUPIED).all()
    assert np.count_nonzero(world.cells) == 2
    np.testing.assert_allclose(world.reflectance[index], [0.3, 0.7])
    assert world.index([9.0, 0.0, 0.0]) == -1
    assert np.allclose(world.centres(index), points[:2])


def test_a_cloud_that_is_far_apart_becomes_cells_but_not_with_reflectances():
    points = np.random.default_rng(0).uniform(0.0, 1.0, (200, 3)) * [1500.0, 1500.0, 20.0]
    world = VoxelMap.from_points(points, 0.1)
    assert np.ptp(world.bounds, axis=0) == pytest.approx(np.ptp(points, axis=0), abs=0.5)
    with refused("resolution", "too_large"):
        VoxelMap.from_points(points, 0.1, reflectance=np.ones(200))


def test_reflectances_that_memory_cannot_hold_are_refused(monkeypatch):
    def none_left(*given, **options):
        if "minlength" in options:
            raise MemoryError
        return count(*given)

    points, count = np.random.default_rng(0).uniform(0.0, 3.0, (200, 3)), np.bincount
    monkeypatch.setattr(np, "bincount", none_left)
    with refused("resolution", "too_large"):
        VoxelMap.from_points(points, 0.1, reflectance=np.ones(200))
