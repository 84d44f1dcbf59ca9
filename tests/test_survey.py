"""`isovist survey`: what it finds on maps that are hard in one way each."""

import json

import numba
import numpy as np
import pytest
from typer.testing import CliRunner

from isovist.atlas.plane import build
from isovist.cli.app import app
from isovist.errors import InputError
from isovist.io.maps.read import write_map
from isovist.maps.cells import Cell, OccupancyMap
from isovist.sensing.lidar import Lidar
from isovist.surveying.regions import Area, Reason
from isovist.surveying.survey import survey, write_survey
from isovist.viz.surveys import area_words, draw_survey, percent, survey_json, survey_text
from reference_locate import UNIT, building, twin_rooms
from reference_survey import corridor, hall

FULL = Lidar(range_max=10.0, noise=0.03)


@pytest.fixture(scope="module")
def found():
    return survey(build(building()), FULL, most=30)


def test_a_building_without_symmetry_is_uniquely_localizable(found):
    assert found.share > 0.9
    assert found.asked == 30
    assert 0.0 < found.standard_error < 0.08
    assert found.areas == ()
    assert (found.blind_share == 0.0).all()
    assert (found.sigma_m < 0.2).all()


def test_arrays_are_one_row_per_node_and_cannot_be_written(found):
    for name, array in found.arrays().items():
        assert len(array) == len(found.x), name
        assert np.isfinite(array).all(), name
        assert not array.flags.writeable, name
    np.testing.assert_allclose(np.hypot(*found.weakest.T), 1.0)
    for name in ("unique_share", "alias_similarity", "blind_share"):
        assert ((found.arrays()[name] >= 0.0) & (found.arrays()[name] <= 1.0)).all(), name
    assert found.area == pytest.approx(len(found.x) * 0.25**2)


def test_twin_rooms_are_aliased_with_each_other():
    world = twin_rooms()
    found = survey(build(world), FULL, most=30)
    assert found.share < 0.1
    assert {area.reason for area in found.areas} == {Reason.ALIASED}
    for area in found.areas:
        assert abs(area.alias[0] - area.x) > 3.0
    assert "looks like" in survey_text(found)


def test_a_small_square_room_looks_like_itself_turned():
    cells = np.full((44, 44), Cell.OCCUPIED, dtype=np.uint8)
    cells[5:39, 5:39] = Cell.FREE
    found = survey(build(OccupancyMap(cells, UNIT)), FULL, most=20)
    assert found.share < 0.1
    turned = [area.turn_deg for area in found.areas if area.turn_deg is not None]
    assert turned
    assert turned[0] % 90.0 == pytest.approx(0.0, abs=6.0)


def test_a_bare_corridor_slides_along_its_axis():
    found = survey(build(corridor()), Lidar(range_max=4.0, noise=0.03), most=40)
    assert found.share < 0.5
    worst = found.areas[0]
    assert worst.reason is Reason.SLIDES
    assert min(worst.axis_deg, 180.0 - worst.axis_deg) < 5.0
    middle = (found.x > 8.0) & (found.x < 22.0)
    assert (found.unique_share[middle] < 0.2).all()
    assert np.median(np.abs(found.weakest[middle, 0])) > 0.99
    assert found.sigma_m[middle].min() > 1.0
    assert found.mu[middle].max() < found.mu[~middle].max()


def test_the_middle_of_a_hall_sees_too_little_with_a_short_sensor():
    lidar = Lidar(field_of_view=np.pi, beams=180, range_max=3.0, noise=0.03)
    found = survey(build(hall()), lidar, most=40)
    middle = np.hypot(found.x - 9.0, found.y - 7.0) < 2.0
    assert (found.blind_share[middle] == 1.0).all()
    assert (found.unique_share[middle] == 0.0).all()
    assert np.isnan(found.alias_xy[middle]).all()
    assert (found.rivals[middle] == 0.0).all()
    assert np.isfinite(found.alias_xy[found.blind_share == 0.0]).all()
    assert Reason.BLIND in {area.reason for area in found.areas}
    assert "no wall is in reach at" in survey_text(found)


def test_a_survey_is_the_same_twice_whatever_the_number_of_threads():
    atlas = build(twin_rooms())
    lidar = Lidar(field_of_view=np.radians(200.0), beams=200, range_max=5.0)
    one = survey(atlas, lidar, most=20, seed=3)
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        other = survey(atlas, lidar, most=20, seed=3)
    finally:
        numba.set_num_threads(threads)
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, other.arrays()[name], err_msg=name)


@pytest.mark.parametrize(
    ("lidar", "options", "text"),
    [
        (
            Lidar(range_max=0.2),
            {},
            "From nowhere on the map does the sensor see a wall within 0.2 m.",
        ),
        (
            Lidar(range_max=0.01),
            {},
            "`range_max` must be more than `range_min`, 0.05 m, got 0.01 m.",
        ),
        (Lidar(noise=np.nan), {}, "`noise` must be a length in m, got nan."),
        (FULL, {"seed": -1}, "`seed` must not be negative, got -1."),
        (FULL, {"most": 5}, "A survey needs at least 20 simulated scans, got 5."),
    ],
)
def test_a_survey_that_cannot_be_made_says_why(lidar, options, text):
    with pytest.raises(InputError) as caught:
        survey(build(hall()), lidar, **options)
    assert str(caught.value) == text


def test_a_map_without_room_for_a_sensor_is_told_so():
    cells = np.full((40, 200), Cell.OCCUPIED, dtype=np.uint8)
    cells[18:24, 4:196] = Cell.FREE
    with pytest.raises(InputError) as caught:
        survey(build(OccupancyMap(cells, UNIT)), FULL)
    assert str(caught.value) == "No free place of the map is 0.25 m from all walls."


def test_nodes_that_miss_all_standing_room_are_told_so():
    cells = np.full((60, 60), Cell.OCCUPIED, dtype=np.uint8)
    cells[40:51, 40:51] = Cell.FREE
    cells[10:12, 10:12] = Cell.FREE
    atlas = build(OccupancyMap(cells, UNIT), spacing=1.1)
    with pytest.raises(InputError) as caught:
        survey(atlas, FULL)
    assert str(caught.value) == (
        "No node of the atlas has room for a sensor; build it with less than 1.1 m between nodes."
    )


def test_areas_are_put_in_words():
    area = Area(12.34, 4.56, 23.4, 0.08, Reason.SLIDES, axis_deg=179.8)
    head = "around (12.3, 4.6), 23 m², 8% unique"
    assert area_words(area) == f"{head}: slides along its axis (0°)"
    area = Area(12.34, 4.56, 23.4, 0.08, Reason.ALIASED, alias=(30.1, 4.5))
    assert area_words(area) == f"{head}: looks like (30.1, 4.5)"
    area = Area(12.34, 4.56, 23.4, 0.08, Reason.ALIASED, turn_deg=90.0)
    assert area_words(area) == f"{head}: looks like itself turned by 90°"
    area = Area(12.34, 4.56, 23.4, 0.08, Reason.BLIND)
    assert area_words(area) == f"{head}: the sensor sees too little"


def test_the_values_come_back_from_the_file(found, tmp_path):
    write_survey(found, tmp_path / "site.npz")
    with np.load(tmp_path / "site.npz") as back:
        assert set(back) == set(found.arrays())
        np.testing.assert_array_equal(back["unique_share"], found.unique_share)
        assert back["weakest"].shape == back["alias_xy"].shape == (len(found.x), 2)
    with pytest.raises(InputError) as caught:
        write_survey(found, tmp_path / "site.csv")
    path = tmp_path / "site.csv"
    assert str(caught.value) == f"{path}: the values of a survey are written as .npz."


def test_the_summary_is_plain_data(found):
    plain = json.loads(json.dumps(survey_json(found)))
    assert plain["unique_share"] == pytest.approx(found.share)
    assert plain["sensor"]["field_of_view_deg"] == pytest.approx(360.0)
    assert plain["areas"] == []
    text = survey_text(found)
    assert text.startswith(f"{percent(found.share)} of the floor (")
    assert [percent(share) for share in (0.0, 0.004, 0.4, 0.996)] == [
        "0.0%",
        "0.4%",
        "40%",
        "99.6%",
    ]
    assert "uniquely localizable with a 360°, 10 m lidar (360 beams, σ 0.03 m)." in text


@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_the_picture_has_three_maps_side_by_side_or_stacked(shape):
    world = building()
    if shape == "tall":
        world = OccupancyMap(np.ascontiguousarray(world.cells.T), UNIT)
    found = survey(build(world), Lidar(range_max=3.0), most=20)
    figure = draw_survey(world, found)
    figure.canvas.draw()
    titles = [axes.get_title() for axes in figure.axes]
    assert "Where one scan is enough" in titles
    assert "What it can be mistaken for" in titles
    assert len(figure.axes) == 6


def test_the_command_writes_values_and_a_picture(tmp_path):
    write_map(building(), tmp_path / "site.yaml")
    files = ["-o", str(tmp_path / "site.npz"), "--figure", str(tmp_path / "site.png")]
    sensor = ["--field-of-view", "270", "--beams", "270", "--range-max", "8", "--noise", "0.03"]
    arguments = ["survey", str(tmp_path / "site.yaml"), *sensor, "--count", "20", *files]
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    row = json.loads(result.stdout)
    assert row["asked"] == 20
    assert row["sensor"] == {
        "field_of_view_deg": 270.0, "beams": 270, "range_max": 8.0, "noise": 0.03
    }  # fmt: skip
    assert (tmp_path / "site.npz").stat().st_size > 1000
    assert (tmp_path / "site.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("option", "name", "text"),
    [
        ("-o", "site.txt", "the values of a survey are written as .npz."),
        ("--figure", "site.doc", "a picture must end in .png, .pdf or .svg."),
    ],
)
def test_a_name_that_cannot_be_written_is_told_before_the_work(tmp_path, option, name, text):
    arguments = ["survey", str(tmp_path / "missing.yaml"), option, str(tmp_path / name)]
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == f"{tmp_path / name}: {text}"
