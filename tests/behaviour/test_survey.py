"""`isovist survey` in the plane and in space: what it gives, says and refuses."""

import json

import numpy as np
import pytest
from tests.support.reference_locate import UNIT, building
from tests.support.reference_space import house, house_atlas
from tests.support.reference_survey import FEW, FULL, QUICK, RINGS, house_survey, nook, small_room
from typer.testing import CliRunner

from isovist import (
    InputError,
    Lidar,
    OccupancyMap,
    SurveyingSettings,
    build,
    survey,
    write_atlas,
    write_map,
    write_survey,
)
from isovist.apps import app
from isovist.maps import Cell
from isovist.report import draw_survey, percent, survey_json, survey_text

pytestmark = pytest.mark.slow


class Case:
    """An atlas without twins, a sensor that fits it, and the survey of both."""

    def __init__(self, atlas, lidar, found):
        self.atlas, self.lidar, self.found = atlas, lidar, found


@pytest.fixture(scope="module")
def plane():
    atlas = build(building())
    return Case(atlas, FULL, survey(atlas, FULL, most=20, settings=FEW, localization=QUICK))


@pytest.fixture(scope="module")
def space():
    return Case(house_atlas(), RINGS, house_survey())


@pytest.fixture(params=["plane", "space"])
def case(request):
    return request.getfixturevalue(request.param)


def test_a_building_without_symmetry_is_uniquely_localizable(case):
    found = case.found
    assert found.share >= 0.9
    assert len(found.asked) == 20
    assert found.asked.unique.mean() >= 0.9
    assert (found.asked.rivals[found.asked.unique] == 0).all()
    assert 0.0 < found.standard_error < 0.12
    assert found.areas == ()
    assert np.nanmax(found.sigma_m) < 0.2
    assert 0.5 * case.atlas.area < found.area < 1.001 * case.atlas.area


def test_arrays_are_one_row_per_node_and_cannot_be_written(case):
    found = case.found
    arrays = found.arrays()
    assert set(arrays) >= {"x", "y", "mu", "weakest", "unique_share"}
    assert ("z" in arrays) == (case.atlas.dimension == 3)
    for name, array in arrays.items():
        assert len(array) == len(found.nodes), name
        # A node of a map in space may have no neighbour to tell a slope by.
        assert np.isfinite(array).all() or (name == "mu" and "z" in arrays), name
        assert not array.flags.writeable, name
    np.testing.assert_allclose(np.hypot(*found.weakest.T), 1.0)
    for name in {"unique_share", "alias_similarity", "blind_share"} & set(arrays):
        assert ((arrays[name] >= 0.0) & (arrays[name] <= 1.0)).all(), name
    np.testing.assert_allclose(np.stack([arrays["x"], arrays["y"]], axis=1), found.places[:, :2])
    for array in found.asked.arrays().values():
        assert len(array) == len(found.asked)


def test_the_values_come_back_from_the_file(case, tmp_path):
    found = case.found
    write_survey(found, tmp_path / "site.npz")
    with np.load(tmp_path / "site.npz") as back:
        assert set(back) == set(found.arrays()) | set(found.asked.arrays())
        np.testing.assert_array_equal(back["unique_share"], found.unique_share)
        np.testing.assert_array_equal(back["asked"], found.asked.poses)
    path = tmp_path / "site.csv"
    with pytest.raises(InputError) as caught:
        write_survey(found, path)
    assert str(caught.value) == f"{path}: the values of a survey are written as .npz."


def test_the_summary_is_plain_data(case):
    found = case.found
    plain = json.loads(json.dumps(survey_json(found)))
    assert plain["unique_share"] == pytest.approx(found.share)
    assert plain["asked"] == 20
    assert plain["areas"] == []
    assert plain["median_sigma_m"] == pytest.approx(np.nanmedian(found.sigma_m))
    text = survey_text(found)
    assert text.startswith(f"{percent(found.share)} of the floor (")
    assert plain["blind_share"] == 0.0
    if case.atlas.dimension == 3:
        assert plain["sensor"]["rings"] == 8
        assert "uniquely localizable with a lidar of 8 rings (-15° to 15°, 12 m)." in text
    else:
        assert plain["sensor"]["field_of_view_deg"] == pytest.approx(360.0)
        assert "uniquely localizable with a 360°, 10 m lidar (360 beams, σ 0.03 m)." in text
    shares = [percent(share) for share in (0.0, 0.004, 0.4, 0.996)]
    assert shares == ["0.0%", "0.4%", "40%", "99.6%"]


def test_the_picture_has_its_maps_and_their_scales(case):
    figure = draw_survey(case.atlas, case.found)
    figure.draw_without_rendering()
    titles = [axes.get_title() for axes in figure.axes]
    assert "Where one scan is enough" in titles
    assert "What it can be mistaken for" in titles
    assert len(figure.axes) == 6


def test_maps_of_a_tall_site_stand_side_by_side():
    atlas = build(OccupancyMap(np.ascontiguousarray(small_room().cells.T), UNIT))
    found = survey(atlas, Lidar(range_max=3.0), most=20, settings=FEW, localization=QUICK)
    figure = draw_survey(atlas, found)
    figure.draw_without_rendering()
    left, middle = (figure.axes[k].get_position() for k in (0, 1))
    assert left.x1 < middle.x0
    assert left.y0 == pytest.approx(middle.y0, abs=0.05)


def test_a_survey_is_the_same_twice_whatever_the_number_of_threads(monkeypatch):
    atlas = build(small_room())
    lidar = Lidar(field_of_view=np.radians(200.0), beams=200, range_max=5.0)
    monkeypatch.setattr("isovist.kernels.threads.COUNT", 3)
    how = {"most": 20, "seed": 3, "settings": FEW, "localization": QUICK}
    one = survey(atlas, lidar, **how)
    monkeypatch.setattr("isovist.kernels.threads.COUNT", 1)
    other = survey(atlas, lidar, **how)
    for name, array in (one.arrays() | one.asked.arrays()).items():
        again = (other.arrays() | other.asked.arrays())[name]
        np.testing.assert_array_equal(array, again, err_msg=name)


def test_asking_ends_when_the_share_is_known_well_enough():
    few = SurveyingSettings(asked=(20, 10, 60, 9000, 0.05))
    found = survey(build(small_room()), FULL, settings=few, localization=QUICK)
    assert 20 <= len(found.asked) < 60
    assert found.standard_error <= 0.05


def test_fewer_poses_are_asked_on_large_maps_and_in_space():
    settings = SurveyingSettings()
    assert [settings.affordable(n, 2) for n in (100, 9000, 25_000)] == [1000, 1000, 600]
    assert settings.affordable(100, 3) == 250


@pytest.mark.parametrize(
    ("lidar", "options", "text"),
    [
        ({"range_max": 0.01}, {}, "`range_max` must be more than `range_min`, 0.05 m, got 0.01 m."),
        ({"noise": np.nan}, {}, "`noise` must be a length in m, 0 or more, got nan."),
        ({}, {"seed": -1}, "`seed` must not be negative, got -1."),
        ({}, {"most": 5}, "A survey needs at least 20 simulated scans, got 5."),
        (
            {},
            {"settings": QUICK},
            "`settings` must be SurveyingSettings, got LocalizationSettings.",
        ),
    ],
)
def test_a_survey_that_cannot_be_made_says_why(case, lidar, options, text):
    with pytest.raises(InputError) as caught:
        survey(case.atlas, type(case.lidar)(**lidar), **options)
    assert str(caught.value) == text


def test_the_sensor_must_fit_the_map(plane, space):
    for atlas, lidar in ((plane.atlas, RINGS), (space.atlas, FULL)):
        with pytest.raises(InputError) as caught:
            survey(atlas, lidar)
        assert str(caught.value) == (
            "A map in space needs a spinning lidar, one of the plane a planar one."
        )


def test_a_sensor_that_reaches_no_wall_is_told_so(plane):
    with pytest.raises(InputError) as caught:
        survey(plane.atlas, Lidar(range_max=0.2))
    assert str(caught.value) == "From nowhere on the map does the sensor see a wall within 0.2 m."


def test_a_map_without_room_for_a_sensor_is_told_so():
    cells = np.full((40, 60), Cell.OCCUPIED, dtype=np.uint8)
    cells[18:24, 4:56] = Cell.FREE
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


def test_the_command_writes_values_and_a_picture(tmp_path):
    write_map(nook(), tmp_path / "site.yaml")
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


def test_the_command_line_surveys_an_atlas_in_space(tmp_path):
    write_atlas(build(house(), spacing=0.8), tmp_path / "house")
    call = ["survey", str(tmp_path / "house"), "--count", "20", "--beams", "90", "--json"]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, repr(result.exception)
    assert json.loads(result.stdout)["asked"] == 20
    narrow = CliRunner().invoke(app, [*call, "--field-of-view", "90"])
    assert isinstance(narrow.exception, InputError)
    assert str(narrow.exception).startswith("A spinning lidar sees 360° around;")


@pytest.mark.parametrize(
    ("option", "name", "text"),
    [
        ("-o", "site.txt", "a survey is written as .npz, .geojson or .html."),
        ("--figure", "site.doc", "a picture must end in .png, .pdf or .svg."),
    ],
)
def test_a_name_that_cannot_be_written_is_told_before_the_work(tmp_path, option, name, text):
    arguments = ["survey", str(tmp_path / "missing.yaml"), option, str(tmp_path / name)]
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == f"{tmp_path / name}: {text}"
