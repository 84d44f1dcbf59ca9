"""Surveys as words, JSON, shapes, pages and pictures, in the plane and in space."""

import base64
import io
import json
import re
from itertools import pairwise

import numpy as np
import pytest
import shapely
from PIL import Image
from tests.support.command_line import one_line, run
from tests.support.reference_locate import twin_rooms
from tests.support.reference_space import house
from tests.support.reference_survey import corridor, hall, nook, small_room

import isovist as iv

pytestmark = pytest.mark.slow


def size(picture):
    """Width and height of a picture, in pixels."""
    with Image.open(picture) as image:
        return image.size


def surveyed(site, *words):
    """What the command says of a site, as JSON."""
    line = run("survey", site, "--count", 20, *words, "--json")
    assert line.code == 0, line
    return line.json


def square(side):
    """A bare room of so many cells."""
    cells = np.pad(np.zeros((side, side), dtype=np.uint8), 4, constant_values=1)
    return iv.OccupancyMap(cells, 0.05)


@pytest.fixture(scope="module", params=["plane", "space"])
def case(request, tmp_path_factory):
    """A site, the options of a sensor, its survey as JSON, its arrays, and a folder."""
    folder, sensor = tmp_path_factory.mktemp(request.param), ("--beams", 90)
    if request.param == "plane":
        room = small_room()
        world = iv.OccupancyMap(room.cells, room.resolution, iv.Pose(3.0, -2.0, 0.5))
        atlas, sensor = iv.build(world), ("--beams", 90, "--noise", 0.03)
    else:
        atlas = iv.build(house(), spacing=0.8)
    iv.write_atlas(atlas, folder / "site")
    told = surveyed(folder / "site", *sensor, "-o", folder / "site.npz")
    with np.load(folder / "site.npz") as arrays:
        return folder / "site", sensor, told, dict(arrays), folder


def test_the_summary_is_that_of_the_arrays(case):
    site, sensor, told, arrays, _ = case
    assert (told["asked"], told["nodes"]) == (20, len(arrays["x"]))
    assert told["asked_unique"] == arrays["asked_unique"].sum()
    assert told["blind_share"] == 0.0
    assert told["median_sigma_m"] == pytest.approx(np.nanmedian(arrays["sigma_m"]))
    assert told["p95_sigma_m"] == pytest.approx(np.nanquantile(arrays["sigma_m"], 0.95))
    assert 0.0 < told["standard_error"] < 0.2
    line = run("survey", site, "--count", 20, *sensor)
    assert re.match(r"[\d.]+% ", line.out)
    assert line.out.count("\n") == 3 + len(told["areas"])


def test_shapes_cover_the_floor_and_hold_the_shares(case):
    site, sensor, summary, arrays, folder = case
    surveyed(site, *sensor, "-o", folder / "site.geojson")
    told = json.loads((folder / "site.geojson").read_text())
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


def test_a_page_holds_everything_and_fetches_nothing(case):
    site, sensor, *_, folder = case
    page, picture = folder / "new" / "site.html", folder / "new" / "site.png"
    surveyed(site, *sensor, "-o", page, "--figure", picture)
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
        (corridor(280), ("--range-max", 4), r"axis \((0|1|2|3|177|178|179)°\)"),
        (twin_rooms(), (), r"like \(-?[\d.]+, -?[\d.]+\)"),
        (square(36), (), r" by (9|18|27)0°"),
        (hall(), ("--field-of-view", 180, "--range-max", 2), "too little"),
    ],
)
def test_areas_are_told_with_their_numbers_and_drawn(tmp_path, world, sensor, said):
    site, page = tmp_path / "A & B.yaml", tmp_path / "site.html"
    iv.write_map(world, site)
    line = run("survey", site, "--count", 20, *sensor, "-o", page)
    areas = re.findall(r"around \(.*", line.out)
    assert any(re.search(f"{said}$", area) for area in areas)
    assert all(area in page.read_text() for area in areas)
    assert "A &amp; B" in page.read_text()


def test_maps_of_a_tall_site_stand_side_by_side_and_those_of_a_wide_one_above_each_other(tmp_path):
    cells, site = corridor(100).cells, tmp_path / "site.yaml"
    for turned in (False, True):
        iv.write_map(
            iv.OccupancyMap(np.ascontiguousarray(cells.T) if turned else cells, 0.05), site
        )
        surveyed(site, "--figure", tmp_path / "site.png")
        wide, tall = size(tmp_path / "site.png")
        assert (wide > tall) is turned


def test_two_sensors_stand_side_by_side(tmp_path):
    iv.write_map(nook(), tmp_path / "site.yaml")
    less, more = "range-max=1,beams=40", "range-max=10,beams=180"
    rows = []
    for first, second in pairwise((less, more, less, less)):
        words = ("--beams", 90, "--compare", first, second, "-o", tmp_path / "site.html")
        rows.append(surveyed(tmp_path / "site.yaml", *words))
    one, two = (row["unique_share"] for row in rows[0]["surveys"])
    assert rows[0]["difference"] == pytest.approx(two - one)
    errors = [row["standard_error"] for row in rows[0]["surveys"]]
    assert rows[0]["standard_error"] == pytest.approx(np.hypot(*errors))
    assert rows[0]["difference"] == pytest.approx(-rows[1]["difference"])
    assert [row["text"].split()[1] for row in rows] == ["second", "first", "sensors"]
    sensors = [row["sensor"] for row in rows[0]["surveys"]]
    assert sensors == [
        {"field_of_view_deg": 360.0, "beams": 40, "range_max": 1.0, "noise": 0.05},
        {"field_of_view_deg": 360.0, "beams": 180, "range_max": 10.0, "noise": 0.05},
    ]
    assert (tmp_path / "site.html").read_text().count("<td>") >= 12
    words = ("survey", tmp_path / "site.yaml", "--count", 20, "--compare", less, more)
    line = run(*words, "--figure", tmp_path / "site.png")
    assert line.out.splitlines()[-1] == rows[0]["text"]
    assert size(tmp_path / "site.png")[0] > 500
    assert one_line(*words, "-o", tmp_path / "both.npz").reason == "unknown_format"
