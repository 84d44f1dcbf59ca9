"""Floors, nodes and descriptors in space, and meshes as cells."""

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.reference_space import UNIT, house, house_atlas, house_cells

import isovist as iv
from isovist import AtlasSettings, MeshMap, VoxelMap
from isovist.atlas import FAR, SpaceAtlas, bridge_gaps, kept_rings, search_rings
from isovist.maps import floor_levels


def test_the_floor_is_the_top_of_its_slab_below_furniture_too():
    floor = floor_levels(house())
    inner = floor[10:-10, 10:-10]
    np.testing.assert_allclose(inner, 0.5, atol=0.06)
    assert floor.shape == (44, 94)


def test_a_table_over_an_unseen_floor_and_cells_below_it_do_not_move_the_floor():
    cells = house_cells()
    cells[0, 24:43, 1:12] = 2  # unseen
    cells[9, 26:42, 2:11] = 1  # a table of 1.6 × 0.9 m over it
    deep = np.concatenate([np.full((10, 44, 94), 2, np.uint8), cells])
    deep[2, 20:24, 60:64] = 1  # a reflection, 1 m below
    world = VoxelMap.from_array(deep, UNIT)
    np.testing.assert_allclose(floor_levels(world)[5:-5, 5:-5], 1.1, atol=0.11)


def test_a_ramp_is_a_floor():
    rise = (np.arange(200) * 0.12).astype(int)
    solid = np.arange(40)[:, None, None] <= rise
    cells = np.broadcast_to(solid, (40, 60, 200)).astype(np.uint8)
    floor = floor_levels(VoxelMap.from_array(cells, UNIT))
    np.testing.assert_allclose(floor, np.broadcast_to((rise + 1) * UNIT, floor.shape), atol=0.21)


def test_nodes_stand_at_their_height_in_free_cells():
    atlas = house_atlas()
    assert isinstance(atlas, SpaceAtlas)
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
    rose, world = search_rings(16, 64), house()
    azimuth = 2.0 * np.pi * np.arange(64 * 2) / (64 * 2)
    kept = kept_rings(AtlasSettings())
    assert kept == slice(2, 14)
    z = (2.0 * (np.arange(2, 14)[:, None] + (np.arange(2) + 0.5) / 2) / 16 - 1.0).ravel()
    flat = np.sqrt(1.0 - z * z)[:, None]
    rays = np.stack(
        np.broadcast_arrays(flat * np.cos(azimuth), flat * np.sin(azimuth), z[:, None]), -1
    ).reshape(-1, 3)
    W = rose.weights(rays).reshape(len(rays), 16, 64)[:, kept].reshape(len(rays), -1)
    some = np.linspace(0, len(atlas.nodes) - 1, 7).astype(int)
    r = world.cast(atlas.positions[some][:, None], rays).ranges
    exact = np.log1p(np.minimum(r, 30.0)) @ W / W.sum(axis=0)
    found = atlas.descriptors[some].reshape(7, -1)
    # A sweep reads the nearest of parallel lines, half a cell off at most.
    assert np.abs(found - exact).mean() < 0.01
    assert np.quantile(np.abs(found - exact), 0.99) < 0.15


@pytest.mark.slow
def test_turning_the_house_turns_the_descriptors():
    # So wide that the nodes of the turned house lie on those of the house.
    cells = np.pad(house_cells(), ((0, 0), (0, 0), (0, 4)), constant_values=1)
    turned = iv.build(VoxelMap.from_array(np.rot90(cells, 1, (1, 2)).copy(), UNIT), spacing=0.7)
    plain = iv.build(VoxelMap.from_array(cells, UNIT), spacing=0.7)
    p = plain.positions
    q = np.column_stack([p[:, 1], 9.8 - p[:, 0], p[:, 2]])
    index = turned.world.index(q)
    both = np.flatnonzero(np.isin(index, turned.nodes))
    assert len(both) > 20
    there = np.searchsorted(turned.nodes, index[both])
    shifted = np.roll(plain.descriptors[both], -64 // 4, axis=2)
    gap = np.abs(turned.descriptors[there] - shifted)
    assert np.quantile(gap, 0.95) < 0.12


@pytest.mark.slow
def test_unknown_space_is_looked_through_and_the_open_is_far():
    cells = house_cells()
    cells[1:27, 1:43, 60:90][cells[1:27, 1:43, 60:90] == 0] = 2
    atlas = iv.build(VoxelMap.from_array(cells, UNIT), spacing=1.0)
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
    room = MeshMap.joined([MeshMap.box((0, 0, 0), (4, 3, 2)), MeshMap.box((1, 1, 0.5), (2, 2, 1))])
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
