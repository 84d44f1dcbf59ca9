"""Surveys as words, JSON, shapes, pages and pictures, in the plane and in space."""

import base64
import io
import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import shapely
from PIL import Image
from tests.support.command_line import one_line, run
from tests.support.reference_locate import twin_rooms
from tests.support.reference_space import house_atlas
from tests.support.reference_survey import (
    FEW,
    FULL,
    QUICK,
    corridor,
    hall,
    house_survey,
    nook,
    small_room,
)

import isovist as iv
from isovist.report import draw_surveys, save, surveys_json, surveys_text, write_surveys

pytestmark = pytest.mark.slow


def size(picture):
    """Width and height of a picture, in pixels."""
    with Image.open(picture) as image:
        return image.size


def surveyed(atlas, lidar=FULL):
    return iv.survey(atlas, lidar, max_scans=20, settings=FEW, localization=QUICK)


def square(side):
    """A bare room of so many cells."""
    cells = np.pad(np.zeros((side, side), dtype=np.uint8), 4, constant_values=1)
    return iv.OccupancyMap(cells, 0.05)


@pytest.fixture(scope="module", params=["plane", "space"])
def case(request):
    """An atlas and its survey."""
    if request.param == "space":
        return house_atlas(), house_survey()
    room = small_room()
    atlas = iv.build(iv.OccupancyMap(room.cells, room.resolution, iv.Pose(3.0, -2.0, 0.5)))
    return atlas, surveyed(atlas)


def test_the_summary_is_that_of_the_arrays(case):
    _, found = case
    told, arrays = surveys_json([found]), found.arrays() | found.samples.arrays()
    assert (told["asked"], told["nodes"]) == (20, len(arrays["x"]))
    assert told["asked_unique"] == found.samples.unique.sum()
    assert told["blind_share"] == 0.0
    assert told["median_sigma_m"] == pytest.approx(np.nanmedian(arrays["sigma_m"]))
    assert told["p95_sigma_m"] == pytest.approx(np.nanquantile(arrays["sigma_m"], 0.95))
    assert 0.0 < told["standard_error"] < 0.2
    text = surveys_text([found])
    assert re.match(r"[\d.]+% ", text)
    assert text.rstrip().count("\n") == 2 + len(told["areas"])


def test_shapes_cover_the_floor_and_hold_the_shares(case, tmp_path):
    atlas, found = case
    write_surveys(atlas, [found], tmp_path / "site.geojson", "site")
    told = json.loads((tmp_path / "site.geojson").read_text())
    summary, arrays = surveys_json([found]), found.arrays()
    assert told["type"] == "FeatureCollection"
    assert told["properties"]["unique_share"] == summary["unique_share"]
    kinds = [feature["properties"]["kind"] for feature in told["features"]]
    assert kinds.count("area") == len(summary["areas"])
    shapes = [f for f in told["features"] if f["properties"]["kind"] == "unique_share"]
    polygons = [shapely.geometry.shape(feature["geometry"]) for feature in shapes]
    areas = [polygon.area for polygon in polygons]
    np.testing.assert_allclose(areas, [f["properties"]["area_m2"] for f in shapes])
    assert sum(areas) == pytest.approx(summary["area_m2"])
    # Every node lies in the shape of its class.
    nodes = shapely.points(arrays["x"], arrays["y"])
    for feature, polygon in zip(shapes, polygons, strict=True):
        inside = arrays["unique_share"][shapely.contains(polygon, nodes)]
        assert inside.size
        if "z" not in arrays:
            assert (inside >= feature["properties"]["from"] - 1e-12).all()
            assert (inside <= feature["properties"]["to"] + 1e-12).all()


@pytest.mark.nightly
def test_a_page_holds_everything_and_fetches_nothing(case, tmp_path):
    atlas, found = case
    page, picture = tmp_path / "new" / "site.html", tmp_path / "site.png"
    write_surveys(atlas, [found], page, "site")
    save(draw_surveys(atlas, [found]), picture)
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert re.search(r"(https?:|<script|<link|url\(|@import)", text) is None
    (source,) = re.findall(r'src="([^"]*)"', text)
    inside = base64.b64decode(source.removeprefix("data:image/png;base64,"))
    assert size(io.BytesIO(inside)) == size(picture)
    assert size(picture)[0] > 500


@pytest.mark.parametrize(
    ("world", "sensor", "said"),
    [
        (corridor(280), {"range_max": 4.0}, r"axis \((0|1|2|3|177|178|179)°\)"),
        (twin_rooms(), {}, r"like \(-?[\d.]+, -?[\d.]+\)"),
        (square(36), {}, r" by (9|18|27)0°"),
        (hall(), {"field_of_view": np.pi, "range_max": 2.0}, "too little"),
    ],
)
def test_areas_are_told_with_their_numbers_and_drawn(tmp_path, world, sensor, said):
    atlas, page = iv.build(world), tmp_path / "site.html"
    found = surveyed(atlas, replace(FULL, **sensor))
    write_surveys(atlas, [found], page, "A & B")
    areas = re.findall(r"around \(.*", surveys_text([found]))
    assert any(re.search(f"{said}$", area) for area in areas)
    assert all(area in page.read_text() for area in areas)
    assert "A &amp; B" in page.read_text()


@pytest.mark.nightly
def test_maps_of_a_tall_site_stand_side_by_side_and_those_of_a_wide_one_above_each_other(tmp_path):
    cells = corridor(100).cells
    for turned in (False, True):
        turn = np.ascontiguousarray(cells.T) if turned else cells
        atlas = iv.build(iv.OccupancyMap(turn, 0.05))
        save(draw_surveys(atlas, [surveyed(atlas)]), tmp_path / "site.png")
        wide, tall = size(tmp_path / "site.png")
        assert (wide > tall) is turned


def test_two_sensors_stand_side_by_side(tmp_path):
    atlas = iv.build(nook())
    less, more = (
        surveyed(atlas, iv.Lidar(beams=beams, range_max=reach, noise=0.05))
        for beams, reach in ((40, 1.0), (180, 10.0))
    )
    rows = [surveys_json(pair) for pair in pairwise((less, more, less, less))]
    one, two = (row["unique_share"] for row in rows[0]["surveys"])
    assert rows[0]["difference"] == pytest.approx(two - one)
    errors = [row["standard_error"] for row in rows[0]["surveys"]]
    assert rows[0]["standard_error"] == pytest.approx(np.hypot(*errors))
    assert rows[0]["difference"] == pytest.approx(-rows[1]["difference"])
    assert [row["text"].split()[1] for row in rows] == ["second", "first", "sensors"]
    assert [row["sensor"] for row in rows[0]["surveys"]] == [
        {"field_of_view_deg": 360.0, "beams": 40, "range_max": 1.0, "noise": 0.05},
        {"field_of_view_deg": 360.0, "beams": 180, "range_max": 10.0, "noise": 0.05},
    ]
    write_surveys(atlas, [less, more], tmp_path / "site.html", "site")
    assert (tmp_path / "site.html").read_text().count("<td>") >= 12


def test_the_command_writes_what_the_library_says(tmp_path):
    iv.write_map(nook(), tmp_path / "site.yaml")
    words = (
        "survey",
        tmp_path / "site.yaml",
        "--count",
        20,
        "--beams",
        180,
        "--field-of-view",
        270,
    )
    line = run(*words, "--json", "-o", tmp_path / "site.npz", "--figure", tmp_path / "site.png")
    lidar = iv.Lidar(np.radians(270.0), beams=180, range_max=10.0, noise=0.05)
    found = iv.survey(iv.build(nook()), lidar, max_scans=20)
    assert line.json == json.loads(json.dumps(surveys_json([found])))
    with np.load(tmp_path / "site.npz") as arrays:
        np.testing.assert_array_equal(arrays["unique_share"], found.unique_share)
    assert size(tmp_path / "site.png")[0] > 500
    less, more = "range-max=1,beams=40", "range-max=10,beams=180"
    words = (*words, "--compare", less, more)
    line = run(*words, "--figure", tmp_path / "both.png")
    assert line.out.splitlines()[-1].split()[1] == "second"
    assert size(tmp_path / "both.png")[0] > 500
    assert one_line(*words, "-o", tmp_path / "both.npz").reason == "unknown_format"
