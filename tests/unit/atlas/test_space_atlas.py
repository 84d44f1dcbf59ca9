"""Nodes and descriptors in space, and meshes as cells."""

import numpy as np
import pytest
from tests.support.atlas_parts import FAR, bridge_gaps, search_rings
from tests.support.errors import refused
from tests.support.reference_space import UNIT, house, house_atlas, house_cells

import isovist as iv
from isovist import MeshMap, VoxelMap


def test_nodes_stand_at_their_height_in_free_cells():
    atlas = house_atlas()
    assert atlas.dimension == 3
    z = atlas.positions[:, 2]
    assert np.abs(z - 1.5).max() <= 0.11
    assert house().contains(atlas.positions).all()
    assert atlas.spacing == pytest.approx(0.3)
    assert atlas.area == pytest.approx(len(atlas.nodes) * 0.09)
    assert atlas.area == pytest.approx(35.0, rel=0.1)


@pytest.mark.slow
def test_a_drone_has_nodes_at_several_heights():
    drone = iv.build(house(), spacing=0.6, height=(0.6, 1.9))
    above = np.unique(np.round(drone.positions[:, 2] - 0.5, 1))
    assert len(above) >= 3
    assert drone.heights == (0.6, 1.9)


@pytest.mark.slow
def test_descriptors_are_those_of_rays_cast_one_by_one():
    atlas = house_atlas()
    basis, world = search_rings(16, 64), house()
    azimuth = 2.0 * np.pi * np.arange(64 * 2) / (64 * 2)
    z = (2.0 * (np.arange(2, 14)[:, None] + (np.arange(2) + 0.5) / 2) / 16 - 1.0).ravel()
    flat = np.sqrt(1.0 - z * z)[:, None]
    rays = np.stack(
        np.broadcast_arrays(flat * np.cos(azimuth), flat * np.sin(azimuth), z[:, None]), -1
    ).reshape(-1, 3)
    W = basis.weights(rays).reshape(len(rays), 16, 64)[:, 2:14].reshape(len(rays), -1)
    some = np.linspace(0, len(atlas.nodes) - 1, 7).astype(int)
    r = world.cast(atlas.positions[some][:, None], rays).ranges
    exact = np.log1p(np.minimum(r, 30.0)) @ W / W.sum(axis=0)
    found = atlas.descriptors[some].reshape(7, -1)
    # A sweep reads the nearest of parallel lines, half a cell off at most.
    assert np.abs(found - exact).mean() < 0.01
    assert np.quantile(np.abs(found - exact), 0.99) < 0.15


@pytest.mark.slow
def test_unknown_space_is_looked_through_and_the_open_is_far():
    cells = house_cells()
    cells[1:27, 1:43, 60:90][cells[1:27, 1:43, 60:90] == 0] = 2
    shares = []
    atlas = iv.build(VoxelMap.from_array(cells, UNIT), spacing=1.0, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    full = iv.build(VoxelMap.from_array(house_cells(), UNIT), spacing=1.0)
    same = np.isin(full.nodes, atlas.nodes)
    gap = np.abs(atlas.descriptors - full.descriptors[same])
    assert (atlas.descriptors < FAR).all()
    assert np.quantile(gap, 0.9) < 0.1
    open_top = house_cells()
    open_top[-1] = 0
    assert (iv.build(VoxelMap.from_array(open_top, UNIT), spacing=1.0).descriptors == FAR).any()


def test_gaps_between_rays_are_bridged():
    cells = house_cells()
    cells[10, 20, 25] = 2
    assert bridge_gaps(VoxelMap.from_array(cells, UNIT), 0.15).cells[10, 20, 25] == 0
    assert bridge_gaps(house(), 0.15) is house()


@pytest.mark.parametrize("gap", [0.1501, 0.15, 0.1001])
def test_a_gap_is_as_wide_in_space_as_in_the_plane(gap):
    cells = np.full((9, 9, 9), 2, np.uint8)
    cells[:, :, 0] = 0
    solid = bridge_gaps(VoxelMap.from_array(cells, 0.05), gap)
    flat = bridge_gaps(iv.OccupancyMap(cells[0], 0.05), gap)
    np.testing.assert_array_equal(solid.cells[4, 4], flat.cells[4])
    assert (flat.cells[4] == 0).sum() == (4 if gap > 0.15 else 3)


def test_a_mesh_becomes_the_cells_that_its_faces_touch():
    room = MeshMap.join([MeshMap.box((0, 0, 0), (4, 3, 2)), MeshMap.box((1, 1, 0.5), (2, 2, 1))])
    cells = VoxelMap.from_mesh(room, 0.2)
    assert cells.contains([[0.5, 0.5, 0.5], [3.0, 1.5, 1.5]]).all()
    inside_pillar, outside = cells.index([[1.5, 1.5, 0.7], [-0.25, 1.0, 1.0]])
    assert cells.cells.ravel()[inside_pillar] == 2
    assert cells.cells.ravel()[outside] == 2
    rng = np.random.default_rng(0)
    places = rng.uniform((0.2, 0.2, 0.2), (3.8, 2.8, 1.8), (300, 3))
    places = places[cells.contains(places)]
    d = rng.normal(size=places.shape)
    exact, found = room.cast(places, d).ranges, cells.cast(places, d).ranges
    assert (found <= exact + 1e-9).all()
    # A wall of cells is at most one thick on either side of its face.
    assert np.median(exact - found) < 0.2


def test_an_open_mesh_is_free_everywhere_else_and_keeps_reflectances():
    sheet = MeshMap.from_triangles(
        [[[0, 0, 0], [4, 0, 0], [0, 4, 1]]], free="everywhere", reflectance=[0.7]
    )
    cells = VoxelMap.from_mesh(sheet, 0.25)
    walls = cells.cells.ravel() == 1
    assert set(np.unique(cells.cells)) == {0, 1}
    np.testing.assert_allclose(cells.reflectance[walls], 0.7)
    with refused("resolution", "too_large"):
        VoxelMap.from_mesh(sheet, 1e-3)
