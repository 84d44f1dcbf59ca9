"""Surveys as files, and two sensors side by side, in the plane and in space."""

import base64
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import shapely
from PIL import Image
from tests.support.reference_space import house_atlas
from tests.support.reference_survey import FEW, FULL, QUICK, house_survey, nook, small_room
from typer.testing import CliRunner

from isovist import InputError, OccupancyMap, Pose, build, survey, write_map
from isovist.apps import app
from isovist.report import (
    difference_text,
    draw_surveys,
    share_text,
    survey_json,
    surveys_json,
    surveys_text,
    write_surveys,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["plane", "space"])
def case(request):
    if request.param == "space":
        return house_atlas(), house_survey()
    room = small_room()
    atlas = build(OccupancyMap(room.cells, room.resolution, Pose(3.0, -2.0, 0.5)))
    return atlas, survey(atlas, FULL, most=20, settings=FEW, localization=QUICK)


def test_shapes_cover_the_floor_and_hold_the_shares(case, tmp_path):
    atlas, found = case
    write_surveys(atlas, [found], tmp_path / "site.geojson", "site")
    told = json.loads((tmp_path / "site.geojson").read_text())
    assert told["type"] == "FeatureCollection"
    summary = survey_json(found)
    assert told["properties"]["unique_share"] == summary["unique_share"]
    kinds = [feature["properties"]["kind"] for feature in told["features"]]
    assert kinds.count("area") == len(found.areas)
    shapes = [f for f in told["features"] if f["properties"]["kind"] == "unique_share"]
    polygons = [shapely.geometry.shape(feature["geometry"]) for feature in shapes]
    areas = [polygon.area for polygon in polygons]
    np.testing.assert_allclose(areas, [f["properties"]["area_m2"] for f in shapes])
    assert sum(areas) == pytest.approx(found.area)
    # Every node lies in the shape of its class.
    nodes = shapely.points(found.places[:, :2])
    for feature, polygon in zip(shapes, polygons, strict=True):
        inside = found.unique_share[shapely.contains(polygon, nodes)]
        assert inside.size
        if atlas.dimension == 2:
            assert (inside >= feature["properties"]["from"] - 1e-12).all()
            assert (inside <= feature["properties"]["to"] + 1e-12).all()


def test_a_page_holds_everything_and_fetches_nothing(case, tmp_path):
    atlas, found = case
    write_surveys(atlas, [found], tmp_path / "new" / "site.html", "A & B")
    page = (tmp_path / "new" / "site.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>Survey of A &amp; B</title>" in page
    assert share_text(found) in page
    assert re.search(r"(https?:|<script|<link|url\(|@import)", page) is None
    sources = re.findall(r'src="([^"]*)"', page)
    assert len(sources) == 1
    picture = base64.b64decode(sources[0].removeprefix("data:image/png;base64,"))
    assert Image.open(io.BytesIO(picture)).size[0] > 500


def test_two_sensors_stand_side_by_side(case, tmp_path):
    atlas, found = case
    worse = replace(found, share=found.share - 0.3, standard_error=0.05)
    better = replace(found, standard_error=0.05)
    assert difference_text([worse, better]) == (
        "The second sensor is unique on more of the floor, by 30.0 ± 7.1 points."
    )
    assert difference_text([better, worse]).startswith("The first sensor is unique on more ")
    assert difference_text([better, better]) == (
        "The sensors cannot be told apart: their shares differ by 0.0 ± 7.1 points."
    )
    plain = surveys_json([worse, better])
    assert plain["difference"] == pytest.approx(0.3)
    assert plain["surveys"] == [survey_json(worse), survey_json(better)]
    lines = surveys_text([worse, better]).splitlines()
    assert lines[0].startswith("sensor ")
    assert lines[-1] == plain["text"]
    write_surveys(atlas, [worse, better], tmp_path / "both.html", "site")
    assert (tmp_path / "both.html").read_text().count("<td>") >= 12
    figure = draw_surveys(atlas, [worse, better])
    figure.draw_without_rendering()
    assert figure.get_suptitle() == plain["text"]
    assert [axes.get_xlabel() for axes in figure.axes[:2]] == ["x (m)", "x (m)"]
    with pytest.raises(InputError) as caught:
        write_surveys(atlas, [worse, better], tmp_path / "both.npz", "site")
    text = f"{tmp_path / 'both.npz'}: two sensors that are compared are written as .html."
    assert str(caught.value) == text


def test_the_command_compares_two_sensors(tmp_path):
    write_map(nook(), tmp_path / "site.yaml")
    words = ["survey", str(tmp_path / "site.yaml"), "--count", "20", "--beams", "90"]
    pair = ["--compare", "range-max=2", "field-of-view=180,beams=60"]
    page = tmp_path / "both.html"
    result = CliRunner().invoke(app, [*words, *pair, "--json", "-o", str(page)])
    assert result.exit_code == 0, repr(result.exception)
    first, second = (row["sensor"] for row in json.loads(result.stdout)["surveys"])
    assert first == {"field_of_view_deg": 360.0, "beams": 90, "range_max": 2.0, "noise": 0.05}
    assert second == {"field_of_view_deg": 180.0, "beams": 60, "range_max": 10.0, "noise": 0.05}
    assert "Survey of site" in page.read_text()


@pytest.mark.parametrize("wrong", ["view=270", "range-max", "range-max=far", "beams=1.5"])
def test_a_sensor_in_other_words_is_refused(tmp_path, wrong):
    write_map(nook(), tmp_path / "site.yaml")
    words = ["survey", str(tmp_path / "site.yaml"), "--compare", "range-max=2", wrong]
    assert str(CliRunner().invoke(app, words).exception) == (
        "A sensor to compare is told by field-of-view, beams, range-max, noise or rings, "
        f"e.g. range-max=30,beams=720, got '{wrong}'."
    )
