import json

import numpy as np
import pytest
from typer.testing import CliRunner

from isovist import FileError, OccupancyMap, SegmentMap, read_map, write_map
from isovist.apps import app
from isovist.maps import Cell
from isovist.poses import unit_vectors


def plan(*features):
    return json.dumps({"type": "FeatureCollection", "features": list(features)})


def feature(kind, coordinates, **properties):
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "properties": properties, "geometry": geometry}


SQUARE = [[0, 0], [6, 0], [6, 4], [0, 4], [0, 0]]
PILLAR = [[4.5, 1.5], [5, 1.5], [5, 2.5], [4.5, 2.5], [4.5, 1.5]]


@pytest.mark.parametrize(
    "features",
    [
        [feature("Polygon", [SQUARE, PILLAR]), feature("LineString", [[3, 1], [3, 3]])],
        [
            feature("Polygon", [SQUARE]),
            feature("Polygon", [PILLAR], obstacle=True),
            feature("LineString", [[3, 1], [3, 3]]),
        ],
    ],
)
def test_a_plan_becomes_the_map_it_draws(tmp_path, features):
    path = tmp_path / "room.geojson"
    path.write_text(plan(*features))
    world = read_map(path)
    built = SegmentMap.room(6, 4, walls=[[[3, 1], [3, 3]]], pillars=[(4.5, 1.5, 5, 2.5)])
    places = np.random.default_rng(0).uniform((-1, -1), (7, 5), (400, 2))
    np.testing.assert_array_equal(world.contains(places), built.contains(places))
    inside = places[built.contains(places)][:40]
    directions = unit_vectors(np.linspace(0.1, 6.3, 50))
    np.testing.assert_allclose(
        world.cast(inside[:, None], directions).ranges,
        built.cast(inside[:, None], directions).ranges,
        rtol=1e-12,
    )


def test_a_plan_written_and_read_again_is_the_same_map(tmp_path):
    world = SegmentMap.room(6, 4, walls=[[[3, 1], [3, 3]]])
    write_map(world, tmp_path / "room.geojson")
    again = read_map(tmp_path / "room.geojson")
    np.testing.assert_array_equal(again.walls, world.walls)
    assert again.free.equals(world.free)


def test_walls_become_cells_and_cells_become_walls(tmp_path):
    room, grid, walls = (tmp_path / name for name in ("room.geojson", "grid.yaml", "walls.geojson"))
    write_map(SegmentMap.room(6, 4), room)
    runner = CliRunner()
    first = runner.invoke(app, ["convert", str(room), str(grid), "--resolution", "0.1"])
    assert first.exit_code == 0
    cells = read_map(grid)
    assert isinstance(cells, OccupancyMap)
    assert cells.free_area == pytest.approx(24.0, abs=2.5)
    assert runner.invoke(app, ["convert", str(grid), str(walls)]).exit_code == 0
    back = read_map(walls)
    hits = back.cast([3.0, 2.0], unit_vectors([0.0, np.pi / 2]))
    np.testing.assert_allclose(hits.ranges, [3.0, 2.0], atol=0.15)


@pytest.mark.slow
def test_a_ros_map_is_written_in_cells_of_the_side_that_was_asked_for(tmp_path):
    fine, coarse, same = (tmp_path / name for name in ("fine.yaml", "coarse.yaml", "same.yaml"))
    world = OccupancyMap.from_segments(SegmentMap.room(6, 4).walls.reshape(-1, 2, 2), 0.05)
    write_map(world, fine)
    runner = CliRunner()
    assert runner.invoke(app, ["convert", str(fine), str(same)]).exit_code == 0
    np.testing.assert_array_equal(read_map(same).cells, world.cells)
    done = runner.invoke(app, ["convert", str(fine), str(coarse), "--resolution", "0.12"])
    assert done.exit_code == 0, done.exception
    found = read_map(coarse)
    assert found.resolution == 0.12
    np.testing.assert_array_equal(found.cells, world.resampled(0.12).cells)
    ranges = found.cast([3.0, 2.0], unit_vectors([0.0, np.pi / 2])).ranges
    np.testing.assert_allclose(ranges, [3.0, 2.0], atol=0.05 + 0.12)
    plan = tmp_path / "room.geojson"
    write_map(SegmentMap.room(6, 4), plan)
    other = str(tmp_path / "other.geojson")
    refused = runner.invoke(app, ["convert", str(plan), other, "--resolution", "0.1"])
    assert str(refused.exception) == (
        "`--resolution` is the side of cells, and a plan has none. Leave it out."
    )


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        (
            "map.bmp",
            "x",
            "map.bmp: a map is one of .yaml (ROS map with its image), .geojson (plan in m), "
            ".bt or .ot (OctoMap), .stl, .obj, .off, .glb or .ply (mesh), "
            ".ply, .pcd, .las, .laz, .bin or .xyz (point cloud).",
        ),
        (
            "room.geojson",
            plan(feature("Polygon", [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]])),
            "room.geojson: A polygon of the plan crosses itself: Self-intersection[0.5 0.5].",
        ),
        (
            "room.geojson",
            plan(feature("Polygon", [PILLAR]), feature("Polygon", [SQUARE], obstacle=True)),
            "room.geojson: The obstacles of the plan cover its rooms: no free space is left.",
        ),
    ],
)
def test_bad_maps_are_refused(tmp_path, name, content, text):
    (tmp_path / name).write_text(content)
    with pytest.raises(FileError) as caught:
        read_map(tmp_path / name)
    assert str(caught.value) == text


def test_a_map_is_not_written_in_the_format_of_another_kind(tmp_path):
    world = OccupancyMap.from_array(np.full((2, 2), Cell.FREE), 0.1)
    with pytest.raises(FileError) as caught:
        write_map(world, tmp_path / "map.geojson")
    assert str(caught.value) == (
        "map.geojson: an OccupancyMap is written as .yaml, a SegmentMap as .geojson, "
        "and other maps are not written."
    )
