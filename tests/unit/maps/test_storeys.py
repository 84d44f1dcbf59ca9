"""Storeys of a building in space, cut apart."""

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.reference_space import house
from tests.support.sites import PLANE

import isovist as iv
from isovist.maps.storeys import storeys
from isovist.simulation import shared, tower
from isovist.simulation import storeys as drawn


@pytest.mark.slow
def test_a_building_is_cut_where_its_slabs_are():
    site = tower(0, 3, length=15.0, rows=2)
    parts = storeys(site.plan)
    assert list(parts) == ["floor 1", "floor 2", "floor 3"]
    for part, z in zip(parts.values(), site.heights, strict=True):
        low, high = part.bounds[:, 2]
        assert low == pytest.approx(z, abs=0.11)
        assert high == pytest.approx(z + 2.8, abs=0.16)
        np.testing.assert_array_equal(part.bounds[:, :2], site.plan.bounds[:, :2])
        level = round((part.corner[2] - site.plan.corner[2]) / part.resolution)
        np.testing.assert_array_equal(part.cells, site.plan.cells[level : level + len(part.cells)])
    floors = drawn(0, 3, length=15.0, rows=2)
    assert 0.5 < shared(floors[0], floors[1]) < 1.0


def test_one_storey_is_one_and_reflectances_go_along():
    cells = house().cells
    whole = iv.VoxelMap.from_array(cells, 0.1, (3, -2, 0.4), reflectance=np.arange(cells.size))
    (only,) = storeys(whole).values()
    np.testing.assert_array_equal(only.cells, whole.cells)
    np.testing.assert_array_equal(only.reflectance, whole.reflectance)


def test_what_has_no_storey_is_refused():
    with refused("world"):
        storeys(PLANE.world)
    poles = np.zeros((40, 20, 20), np.uint8)
    poles[:, ::5, ::5] = 1
    poles[0] = poles[10] = 1
    for cells in (poles[:11], np.zeros((5, 5, 5), np.uint8)):
        with refused(None, "empty"):
            storeys(iv.VoxelMap.from_array(cells, 0.1))
