"""Floors of a building in space, and storeys cut apart."""

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.reference_space import UNIT, house, house_cells
from tests.support.sites import PLANE
from tests.support.worlds import tower

from isovist import VoxelMap
from isovist.maps import floor_levels
from isovist.maps.grid3d.building_floors import building_floors


@pytest.mark.slow
def test_a_building_is_cut_where_its_slabs_are():
    site = tower(0, 3, length=15.0, rows=2)
    parts = building_floors(site.plan)
    assert list(parts) == ["floor 1", "floor 2", "floor 3"]
    for part, z in zip(parts.values(), site.heights, strict=True):
        low, high = part.bounds[:, 2]
        assert low == pytest.approx(z, abs=0.11)
        assert high == pytest.approx(z + 2.8, abs=0.16)
        np.testing.assert_array_equal(part.bounds[:, :2], site.plan.bounds[:, :2])
        level = round((part.corner[2] - site.plan.corner[2]) / part.resolution)
        np.testing.assert_array_equal(part.cells, site.plan.cells[level : level + len(part.cells)])


def test_one_storey_is_one_and_reflectances_go_along():
    cells = house().cells
    whole = VoxelMap.from_array(cells, 0.1, (3, -2, 0.4), reflectance=np.arange(cells.size))
    (only,) = building_floors(whole).values()
    np.testing.assert_array_equal(only.cells, whole.cells)
    np.testing.assert_array_equal(only.reflectance, whole.reflectance)


def test_what_has_no_storey_is_refused():
    with refused("world"):
        building_floors(PLANE.world)
    poles = np.zeros((40, 20, 20), np.uint8)
    poles[:, ::5, ::5] = 1
    poles[0] = poles[10] = 1
    for cells in (poles[:11], np.zeros((5, 5, 5), np.uint8)):
        with refused(None, "empty"):
            building_floors(VoxelMap.from_array(cells, 0.1))


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
