"""Floor plans as GeoJSON."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isovist import FileError, InputError
from isovist.io import read_geojson, write_geojson

SQUARE = [[0, 0], [4, 0], [4, 3], [0, 3], [0, 0]]
HOLE = [[1, 1], [2, 1], [2, 2]]


def write(folder, content):
    path = folder / "plan.geojson"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def geometry(kind, coordinates):
    return {"type": kind, "coordinates": coordinates}


def feature(kind, coordinates, **properties):
    return {"type": "Feature", "properties": properties, "geometry": geometry(kind, coordinates)}


def test_lines_are_walls(tmp_path):
    line = [[0, 0], [1, 0, 9.5], [1, 0], [1, 2]]
    plan = read_geojson(write(tmp_path, geometry("LineString", line)))
    assert plan.walls.tolist() == [[[0, 0], [1, 0]], [[1, 0], [1, 2]]]
    assert plan.rooms == ()
    assert plan.obstacles == ()
    several = geometry("MultiLineString", [[[0, 0], [1, 1]], [[2, 2], [3, 3]]])
    assert read_geojson(write(tmp_path, several)).walls.shape == (2, 2, 2)


def test_polygons_are_rooms_or_obstacles_and_their_rings_are_walls(tmp_path):
    content = {
        "type": "FeatureCollection",
        "features": [
            feature("Polygon", [SQUARE, HOLE]),
            feature("MultiPolygon", [[HOLE], [[[9, 9], [8, 9], [9, 8]]]], obstacle=True),
            feature("LineString", [[5, 5], [6, 6]], obstacle="yes"),
            {"type": "Feature", "properties": None, "geometry": None},
        ],
    }
    plan = read_geojson(write(tmp_path, content))
    assert plan.walls.shape == (4 + 3 + 3 + 3 + 1, 2, 2)
    assert [[ring.tolist() for ring in room] for room in plan.rooms] == [[SQUARE[:-1], HOLE]]
    assert len(plan.obstacles) == 2
    assert not plan.walls.flags.writeable
    assert plan.walls[4 + 2].tolist() == [[2, 2], [1, 1]], "an open ring is closed"


def test_one_feature_or_a_collection_of_geometries_is_enough(tmp_path):
    assert len(read_geojson(write(tmp_path, feature("Polygon", [SQUARE]))).rooms) == 1
    members = [geometry("Polygon", [SQUARE]), geometry("LineString", [[0, 0], [1, 1]])]
    collection = {"type": "GeometryCollection", "geometries": members}
    assert len(read_geojson(write(tmp_path, collection)).walls) == 5
    nested = {"type": "Feature", "properties": {"obstacle": True}, "geometry": collection}
    assert len(read_geojson(write(tmp_path, nested)).obstacles) == 1


@pytest.mark.slow
@settings(deadline=None)
@given(
    walls=hnp.arrays(
        float,
        st.tuples(st.integers(1, 9), st.just(2), st.just(2)),
        elements=st.floats(-1e6, 1e6),
        unique=True,
    )
)
def test_walls_read_back_as_they_were_written(tmp_path_factory, walls):
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    write_geojson(walls, path)
    assert read_geojson(path).walls.tolist() == walls.tolist()


def test_walls_that_are_none_are_not_written(tmp_path):
    with pytest.raises(InputError) as error:
        write_geojson(np.zeros((3, 2)), tmp_path / "plan.json")
    assert str(error.value) == "`segments` must have shape (any, 2, 2), got (3, 2)."


POINT = "a point must be two finite numbers in m, at most 1e9, got"
BAD = [
    ([1], "plan.geojson is not GeoJSON: `type` is missing in [1]."),
    ({"x": 1}, "plan.geojson is not GeoJSON: `type` is missing in {'x': 1}."),
    (
        geometry("Point", [1, 2]),
        "plan.geojson: a geometry must be a LineString, MultiLineString, Polygon or "
        "MultiPolygon, got 'Point'.",
    ),
    (geometry("LineString", [[0, 0]]), "plan.geojson: a wall needs 2 points, got [[0.0, 0.0]]."),
    (
        geometry("LineString", [[1, 1], [1, 1]]),
        "plan.geojson: a wall needs 2 points, got [[1.0, 1.0], [1.0, 1.0]].",
    ),
    (
        geometry("Polygon", [[[0, 0], [1, 1], [0, 0]]]),
        "plan.geojson: a ring needs 3 different points, got [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]].",
    ),
    (geometry("Polygon", []), "plan.geojson has a polygon without a ring."),
    (geometry("LineString", 5), "plan.geojson: `coordinates` must be a list, got 5."),
    (geometry("MultiLineString", None), "plan.geojson: `coordinates` must be a list, got None."),
    (geometry("LineString", [[0, 0], [0]]), f"plan.geojson: {POINT} [0]."),
    (geometry("LineString", [[0, 0], ["a", 1]]), f"plan.geojson: {POINT} ['a', 1]."),
    (geometry("LineString", [[0, 0], [True, 1]]), f"plan.geojson: {POINT} [True, 1]."),
    (geometry("LineString", [[0, 0], [float("nan"), 1]]), f"plan.geojson: {POINT} [nan, 1]."),
    (geometry("LineString", [[0, 0], [1e99, 1]]), f"plan.geojson: {POINT} [1e+99, 1]."),
    (
        {"type": "FeatureCollection", "features": []},
        "plan.geojson draws nothing; a plan needs at least one wall.",
    ),
    (
        {"type": "FeatureCollection", "features": 1},
        "plan.geojson: `features` must be a list, got 1.",
    ),
    ("", "plan.geojson is empty; a GeoJSON plan was expected."),
]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_a_bad_plan_is_one_line(tmp_path, content, message):
    with pytest.raises(FileError) as error:
        read_geojson(write(tmp_path, content))
    assert str(error.value) == message


def test_what_is_no_json_is_one_line(tmp_path):
    with pytest.raises(FileError, match=r"^plan\.geojson is not JSON: "):
        read_geojson(write(tmp_path, "{'type': 1}"))
    deep = 400 * '{"type": "GeometryCollection", "geometries": [' + 400 * "]}"
    with pytest.raises(FileError) as error:
        read_geojson(write(tmp_path, deep))
    assert "\n" not in str(error.value)
