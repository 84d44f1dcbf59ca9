"""Floor plans as GeoJSON, and maps that are converted."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.support.errors import refused
from tests.support.small_files import feature, laid, plan

import isovist as iv
from isovist import OccupancyMap, SegmentMap, read_map, write_map

SQUARE = [[0, 0], [6, 0], [6, 4], [0, 4], [0, 0]]
PILLAR = [[4.5, 1.5], [5, 1.5], [5, 2.5], [4.5, 2.5]]
MEMBERS = [feature("Polygon", [SQUARE])["geometry"], feature("LineString", [[3, 1], [3, 3]])]
WALLED = SegmentMap.room(6, 4, walls=[[[3, 1], [3, 3]]], pillars=[(4.5, 1.5, 5, 2.5)])


def read(folder, content):
    return read_map(laid(folder / "plan.geojson", content))


def along(*angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def collection(*geometries):
    return {"type": "GeometryCollection", "geometries": [*geometries]}


def test_lines_are_walls(tmp_path):
    world = read(tmp_path, feature("LineString", [[0, 0], [1, 0, 9.5], [1, 0], [1, 2]])["geometry"])
    assert world.walls.tolist() == [[0, 0, 1, 0], [1, 0, 1, 2]]
    several = feature("MultiLineString", [[[0, 0], [1, 1]], [[2, 2], [3, 3]]])
    assert len(read(tmp_path, several).walls) == 2


@pytest.mark.parametrize(
    "content",
    [
        # An open ring is closed, and an obstacle may be one of a collection in a feature.
        plan(feature("Polygon", [SQUARE, PILLAR]), MEMBERS[1], {"type": "Feature"}),
        plan(feature("MultiPolygon", [[SQUARE]]), feature("Polygon", [PILLAR], obstacle=True),
             feature("LineString", [[3, 1], [3, 3]], obstacle="yes")),
        plan(collection(*MEMBERS), {
            "type": "Feature", "properties": {"obstacle": True},
            "geometry": collection(feature("Polygon", [PILLAR])["geometry"]),
        }),
    ],
)  # fmt: skip
def test_a_plan_becomes_the_map_it_draws(tmp_path, content):
    world = read(tmp_path, content)
    places = np.random.default_rng(0).uniform((-1, -1), (7, 5), (400, 2))
    np.testing.assert_array_equal(world.contains(places), WALLED.contains(places))
    inside = places[WALLED.contains(places)][:40, None]
    around = along(*np.linspace(0.1, 6.3, 50))
    expected = WALLED.cast(inside, around).ranges
    np.testing.assert_allclose(world.cast(inside, around).ranges, expected, rtol=1e-12)
    assert not world.walls.flags.writeable


def test_a_reflectance_is_that_of_all_walls_of_a_feature(tmp_path):
    parts = [
        feature("Polygon", [SQUARE], reflectance=0.3),
        feature("Polygon", [PILLAR], reflectance=1),
    ]
    world = read(tmp_path, plan(*parts))
    assert world.reflectance[world.parents].tolist() == 4 * [0.3] + 4 * [1.0]
    write_map(world, tmp_path / "again.geojson")
    again = read_map(tmp_path / "again.geojson")
    assert again.reflectance[again.parents].tolist() == 4 * [0.3] + 4 * [1.0]


@pytest.mark.slow
@settings(deadline=None)
@given(
    ends=hnp.arrays(
        float, st.tuples(st.integers(1, 9), st.just(2)), elements=st.floats(-1e6, 1e6), unique=True
    )
)
def test_walls_read_back_as_they_were_written(tmp_path_factory, ends):
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    walls = [[[x, 2.0 * k], [y, 2.0 * k + 1.0]] for k, (x, y) in enumerate(ends)]
    world = SegmentMap.from_segments(walls)
    write_map(world, path)
    again = read_map(path)
    np.testing.assert_array_equal(again.walls, world.walls)
    assert (again.free is None) == (world.free is None)


def test_walls_become_cells_and_cells_become_walls_or_others(tmp_path, typed):
    room, grid, walls, same, coarse, other = (
        tmp_path / name
        for name in ("a.geojson", "b.yaml", "c.geojson", "d.yaml", "e.yaml", "f.geojson")
    )
    write_map(SegmentMap.room(6, 4), room)
    assert read_map(room).free.equals(SegmentMap.room(6, 4).free)
    for paths in ((room, grid), (grid, walls), (grid, same), (grid, coarse, "--resolution", 0.12)):
        assert not typed("map", "convert", *paths)[0]
    world, made = read_map(grid), read_map(coarse)
    cells = OccupancyMap.from_segments(SegmentMap.room(6, 4).walls.reshape(-1, 2, 2), 0.05)
    np.testing.assert_array_equal(world.cells, cells.cells)
    np.testing.assert_array_equal(read_map(same).cells, cells.cells)
    assert (world.resolution, made.resolution) == (0.05, 0.12)
    np.testing.assert_array_equal(made.cells, world.resampled(0.12).cells)
    for found, off in ((read_map(walls), 0.15), (made, 0.17)):
        hits = found.cast([3.0, 2.0], along(0.0, np.pi / 2))
        np.testing.assert_allclose(hits.ranges, [3.0, 2.0], atol=off)
    for some, side in ((room, 0.1), (grid, 11), (grid, 1e-4)):
        code, _, told = typed("map", "convert", some, other, "--resolution", side)
        assert code == 2
        assert "--resolution" in told


def test_a_map_is_written_only_in_the_format_of_its_kind(tmp_path):
    world = OccupancyMap(np.zeros((2, 2), np.uint8), 0.1)
    for some, name in (
        (world, "map.geojson"), (world, "map.pgm"), (SegmentMap.room(2, 2), "map.yaml"),
        (iv.VoxelMap.from_array(np.zeros((2, 2, 2), int), 0.1), "map.bt"),
    ):  # fmt: skip
        with refused(code="unknown_format", kind=iv.FileError):
            write_map(some, tmp_path / name)
    with refused(code="file_not_writable", kind=iv.FileError):
        write_map(world, tmp_path / "no" / "map.yaml")
    assert not list(tmp_path.iterdir())


def test_only_clouds_have_cells_to_choose(tmp_path):
    path = laid(tmp_path / "room.geojson", json.dumps(plan(feature("Polygon", [SQUARE]))))
    with refused("resolution", "invalid_file", iv.FileError):
        read_map(path, resolution=0.1)
