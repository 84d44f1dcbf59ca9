"""Surveys in space."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from isovist.atlas.plane import FAR, build
from isovist.cli.app import app
from isovist.errors import InputError
from isovist.report.surveys import draw_any, json_of, text_of
from isovist.sensing.lidar import Lidar
from isovist.sensing.spinning import SpinningLidar
from isovist.surveying.space import descriptor_slopes, survey_space
from isovist.surveying.survey import survey_any, write_survey
from reference_space import house_atlas, symmetric_room

LIDAR = SpinningLidar(rings=8, azimuths=180, range_max=12.0, noise=0.02)


@pytest.fixture(scope="module")
def found():
    return survey_space(house_atlas(), LIDAR, most=20)


def test_a_house_without_twins_is_mostly_unique(found):
    assert found.share >= 0.9
    assert found.unique_share.shape == (len(house_atlas().nodes),)
    assert (found.unique_share >= 0.0).all()
    assert (found.unique_share <= 1.0).all()
    assert 0.0 < found.standard_error < 0.12
    assert (found.rivals[found.unique] == 0).all()


def test_a_symmetric_room_is_never_unique_and_names_the_other_place():
    atlas = build(symmetric_room(shiny=False))
    seen = survey_any(atlas, LIDAR, most=20)
    assert seen.share == 0.0
    low, high = atlas.positions[:, :2].min(axis=0), atlas.positions[:, :2].max(axis=0)
    mirrored = low + high - seen.asked[:, :2]
    gap = np.hypot(*(seen.alias_xy - mirrored).T)
    assert np.mean(np.minimum(gap, np.hypot(*(seen.alias_xy - seen.asked[:, :2]).T)) < 0.5) > 0.7
    assert "not unique at" in text_of(seen)


def test_slopes_are_differences_between_neighbouring_nodes():
    atlas = house_atlas()
    mu, weakest = descriptor_slopes(atlas)
    places = atlas.positions
    F = atlas.descriptors.reshape(len(places), -1).astype(float)
    h = atlas.spacing
    checked = 0
    for k in range(0, len(places), 37):
        columns = []
        for axis in (0, 1):
            step = np.zeros(3)
            step[axis] = h
            a = np.flatnonzero(np.linalg.norm(places - places[k] - step, axis=1) < 1e-6)
            b = np.flatnonzero(np.linalg.norm(places - places[k] + step, axis=1) < 1e-6)
            if a.size == 0 or b.size == 0:
                break
            both = (F[a[0]] < FAR) & (F[b[0]] < FAR)
            columns.append(np.where(both, F[a[0]] - F[b[0]], 0.0) / (2.0 * h))
        if len(columns) == 2:
            _, s, V = np.linalg.svd(np.stack(columns, axis=1), full_matrices=False)
            assert mu[k] == pytest.approx(s[1], rel=1e-6, abs=1e-6)
            assert abs(V[1] @ weakest[k]) == pytest.approx(1.0, abs=1e-4)
            checked += 1
    assert checked > 3


def test_values_a_picture_and_words(found, tmp_path):
    write_survey(found, tmp_path / "house.npz")
    with np.load(tmp_path / "house.npz") as kept:
        np.testing.assert_array_equal(kept["unique_share"], found.unique_share)
        assert set(kept.files) == set(found.arrays())
    assert len(draw_any(house_atlas(), found).axes) == 4
    assert json_of(found)["sensor"]["rings"] == 8
    assert "of the floor is uniquely localizable with a lidar of 8 rings" in text_of(found)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"most": 3}, r"^A survey needs at least 20 simulated scans, got 3\.$"),
        ({"seed": -1}, r"^`seed` must not be negative, got -1\.$"),
    ],
)
def test_bad_numbers_are_refused(change, text):
    with pytest.raises(InputError, match=text):
        survey_space(house_atlas(), LIDAR, **change)


def test_a_planar_lidar_does_not_survey_space():
    with pytest.raises(InputError, match=r"^A map in space needs a spinning lidar"):
        survey_any(house_atlas(), Lidar())


def test_the_command_line_surveys_an_atlas_in_space(tmp_path):
    from isovist.atlas.store import write_atlas

    write_atlas(house_atlas(), tmp_path / "house")
    call = ["survey", str(tmp_path / "house"), "--count", "20", "--beams", "180", "--json"]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, repr(result.exception)
    assert json.loads(result.stdout)["asked"] == 20
    narrow = CliRunner().invoke(app, [*call, "--field-of-view", "90"])
    assert isinstance(narrow.exception, InputError)
    assert str(narrow.exception).startswith("A spinning lidar sees 360° around;")
