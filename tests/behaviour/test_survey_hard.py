"""What a survey finds on maps that are hard in one way each."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.reference_locate import UNIT
from tests.support.reference_space import atlas_of, symmetric_room
from tests.support.reference_survey import FEW, FULL, QUICK, RINGS, corridor, hall, raised
from tests.support.sites import PLANE

from isovist import OccupancyMap, Reason, build, survey
from isovist.maps import Cell
from isovist.report import area_words, survey_text
from isovist.surveying import Area

pytestmark = pytest.mark.slow


@pytest.fixture
def space(monkeypatch):
    """Makes surveys in space; of ten poses, where asking takes longest and all say the same."""
    monkeypatch.setattr("isovist.surveying.survey.LEAST", 10)

    def surveyed(atlas, most=10, **sensor):
        lidar = replace(RINGS, **sensor)
        return survey(atlas, lidar, most=most, settings=FEW, localization=QUICK)

    return surveyed


@pytest.fixture(params=["plane", "space"])
def site(request):
    """Makes the survey of a map of the plane, or of the same raised to a building."""
    if request.param == "space":
        in_space = request.getfixturevalue("space")
        return lambda world, **sensor: in_space(build(raised(world)), **sensor)

    def surveyed(world, most=20, **sensor):
        lidar = replace(FULL, **sensor)
        return survey(build(world), lidar, most=most, settings=FEW, localization=QUICK)

    return surveyed


def test_twin_rooms_are_aliased_with_each_other():
    found = survey(atlas_of(PLANE.twins), FULL, most=20, settings=FEW, localization=QUICK)
    assert found.share < 0.1
    assert {area.reason for area in found.areas} == {Reason.ALIASED}
    for area in found.areas:
        assert abs(area.alias[0] - area.x) > 3.0
    assert "looks like" in survey_text(found)
    there = found.looks.alias_xy - found.places[:, :2]
    assert np.median(np.abs(there[:, 0])) == pytest.approx(5.2, abs=0.4)
    assert np.median(found.looks.alias_similarity) > 0.8  # nodes of twins do not lie alike
    assert found.areas[0].size == pytest.approx(found.area, rel=0.6)


def test_a_symmetric_room_of_space_is_never_unique_and_names_the_other_place(space):
    atlas = atlas_of(symmetric_room(False))
    found = space(atlas)
    assert found.share < 0.1
    assert not found.asked.unique.any()
    low, high = atlas.positions[:, :2].min(axis=0), atlas.positions[:, :2].max(axis=0)
    here, alias = found.asked.poses[:, :2], found.asked.alias_xy
    gap = np.hypot(*(alias - (low + high - here)).T)
    assert np.mean(np.minimum(gap, np.hypot(*(alias - here).T)) < 0.5) > 0.7
    there = np.hypot(*(found.looks.alias_xy - (low + high - found.places[:, :2])).T)
    assert np.mean(there < 0.7) > 0.7
    assert np.median(found.looks.alias_similarity) > 0.8
    assert {area.reason for area in found.areas} == {Reason.ALIASED}
    assert "looks like" in survey_text(found)
    assert found.areas[0].size == pytest.approx(found.area, rel=0.6)


def test_a_small_square_room_looks_like_itself_turned(site):
    cells = np.full((44, 44), Cell.OCCUPIED, dtype=np.uint8)
    cells[4:40, 4:40] = Cell.FREE
    found = site(OccupancyMap(cells, UNIT), most=20)
    assert found.share < (0.1 if found.places.shape[1] == 2 else 0.2)
    turned = [area.turn_deg for area in found.areas if area.turn_deg is not None]
    assert turned
    assert turned[0] % 90.0 == pytest.approx(0.0, abs=6.0)


def test_a_bare_corridor_slides_along_its_axis(site):
    found = site(corridor(280), range_max=4.0)
    assert found.share < 0.5
    worst = found.areas[0]
    assert worst.reason is Reason.SLIDES
    assert min(worst.axis_deg, 180.0 - worst.axis_deg) < 5.0
    x = found.places[:, 0]
    middle = (x > 5.5) & (x < 8.9)
    assert (found.unique_share[middle] < 0.2).all()
    assert np.median(np.abs(found.weakest[middle, 0])) > 0.99
    assert found.sigma_m[middle].min() > 1.0
    assert found.mu[middle].max() < np.nanmax(found.mu[~middle])


def test_the_middle_of_a_hall_sees_too_little_with_a_short_sensor(site):
    found = site(hall(), field_of_view=np.pi, range_max=2.0)
    looks = found.looks
    middle = np.hypot(*(found.places[:, :2] - [6.0, 4.7]).T) < 1.2
    assert looks.unique_by_heading.shape == (len(found.nodes), 8)
    assert (looks.blind_share[middle] == 1.0).all()
    assert (found.unique_share[middle] == 0.0).all()
    assert np.isnan(looks.alias_xy[middle]).all()
    assert (looks.rivals[middle] == 0.0).all()
    assert np.isfinite(looks.alias_xy[looks.blind_share == 0.0]).all()
    assert Reason.BLIND in {area.reason for area in found.areas}
    assert "no wall is in reach at" in survey_text(found)


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
