"""A survey in JSON, in words and in a picture."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.support.reference_locate import UNIT
from tests.support.reference_space import house_atlas
from tests.support.reference_survey import FEW, FULL, QUICK, house_survey, small_room
from tests.support.sites import PLANE

from isovist import Lidar, OccupancyMap, build, survey
from isovist.report import area_words, draw_survey, percent, survey_json, survey_text
from isovist.surveying import Area, Reason

HOW = {"most": 20, "settings": FEW, "localization": QUICK}


@pytest.fixture(scope="module", params=["plane", "space"])
def case(request):
    if request.param == "space":
        return house_atlas(), house_survey()
    return PLANE.atlas, survey(PLANE.atlas, FULL, **HOW)


@pytest.mark.slow
def test_the_summary_is_plain_data(case):
    atlas, found = case
    plain = json.loads(json.dumps(survey_json(found)))
    assert plain["unique_share"] == pytest.approx(found.share)
    assert (plain["asked"], plain["areas"], plain["blind_share"]) == (20, [], 0.0)
    assert plain["median_sigma_m"] == pytest.approx(np.nanmedian(found.sigma_m))
    sensor = {"rings": 8} if atlas.dimension == 3 else {"field_of_view_deg": 360.0, "beams": 360}
    assert plain["sensor"].items() >= sensor.items()
    text = survey_text(found)
    assert text.startswith(f"{percent(found.share)} ")
    numbers = "8 rings (-15° to 15°, 12 m)", "360°, 10 m lidar (360 beams, σ 0.03 m)"
    assert numbers[atlas.dimension == 2] in text
    area = Area(12.34, 4.56, 23.4, 0.08, Reason.ALIASED, alias=(30.1, 4.5))
    assert area_words(area) in survey_text(replace(found, areas=(area,)))


@pytest.mark.slow
def test_the_picture_has_its_maps_and_their_scales(case):
    figure = draw_survey(*case)
    figure.draw_without_rendering()
    assert len(figure.axes) == 6


@pytest.mark.slow
def test_maps_of_a_tall_site_stand_side_by_side():
    atlas = build(OccupancyMap(np.ascontiguousarray(small_room().cells.T), UNIT))
    figure = draw_survey(atlas, survey(atlas, Lidar(range_max=3.0), **HOW))
    figure.draw_without_rendering()
    left, middle = (figure.axes[k].get_position() for k in (0, 1))
    assert left.x1 < middle.x0
    assert left.y0 == pytest.approx(middle.y0, abs=0.05)


def test_shares_have_as_many_digits_as_they_deserve():
    shares = [percent(share) for share in (0.0, 0.004, 0.4, 0.996)]
    assert shares == ["0.0%", "0.4%", "40%", "99.6%"]


@pytest.mark.parametrize(
    ("reason", "more", "numbers"),
    [
        (Reason.SLIDES, {"axis_deg": 179.8}, "(0°)"),
        (Reason.ALIASED, {"alias": (30.1, 4.5)}, "(30.1, 4.5)"),
        (Reason.ALIASED, {"turn_deg": 90.0}, "90°"),
        (Reason.BLIND, {}, ""),
    ],
)
def test_an_area_is_put_in_words_with_its_numbers(reason, more, numbers):
    words = area_words(Area(12.34, 4.56, 23.4, 0.08, reason, **more))
    assert words.startswith("around (12.3, 4.6), 23 m², 8% unique: ")
    assert words.endswith(numbers)
