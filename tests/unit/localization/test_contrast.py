"""Why an answer is unique or not: which beams tell its two best places apart."""

import numpy as np
import pytest
from tests.support.fits import together
from tests.support.reports import compared, contrast, contrast_json
from tests.support.sites import PLANE, SITES

import isovist as iv

BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


@pytest.mark.slow
@BOTH
def test_twins_are_told_apart_by_hardly_a_beam_however_many_scans(site):
    scan, answer = site.asked_alike()
    told = contrast(site.twin_atlas, scan, answer)
    assert told.telling.mean() < 0.1
    assert told.numbers == (1, 2)
    assert told.poses == (answer.estimates[0].pose, answer.estimates[1].pose)
    before = site.look(site.lonely @ iv.Pose(-0.2, 0.0, 0.0), world=site.twins, seed=6)
    several = together([before, scan], [iv.Pose(0.2, 0.0, 0.0)])
    both = contrast(site.twin_atlas, several, answer)
    assert len(both) > 1.5 * len(told)
    np.testing.assert_array_equal(both.favour[-len(told) :], told.favour)


@pytest.mark.slow
@BOTH
def test_a_wrong_place_is_contradicted_by_many_beams_whatever_the_mount(site):
    for mount in (None, site.mount):
        scan = site.look(site.places[0], mount=mount)
        answer = iv.locate(site.atlas, scan)
        told = contrast(site.atlas, scan, answer)
        for_first, for_second = told.counts
        assert for_first > 5 * for_second
        assert told.favour.sum() > 0.0
        # The mean of δ is the difference of the scores that the answer has; in space those of the
        # fits before the last.
        scores = [answer.estimates[number - 1].score for number in told.numbers]
        slack = 1e-4 if site.name == "plane" else 0.2
        assert told.favour.mean() == pytest.approx(scores[0] - scores[1], abs=slack)


@pytest.mark.slow
@BOTH
def test_maps_that_are_the_same_are_told_apart_by_nothing(site):
    maps = {"floor 1": site.twin_atlas, "floor 2": site.atlas, "floor 3": site.atlas}
    scan = site.look(site.places[0])
    told = contrast(maps, scan, iv.locate(maps, scan))
    assert told.numbers == (1, 2)
    np.testing.assert_allclose(told.favour, 0.0, atol=0.2)


@pytest.mark.parametrize(
    ("favour", "degrees", "for_first", "for_second", "by_sector"),
    [
        ([0.2, -0.9], [0, 57], 0, 0, [0] * 8),
        ([1.0, 0.0], [130, 0], 1, 0, [0, 0, 0, 1, 0, 0, 0, 0]),
        ([2.0, -3.0, -1.0, 0.0], [130, 130, 0, 57], 1, 2, [1, 0, 0, 2, 0, 0, 0, 0]),
        ([2.0] * 5, [0, 90, 180, 190, 270], 5, 0, [1, 0, 1, 0, 2, 0, 1, 0]),
    ],
)
def test_beams_that_tell_are_counted_by_where_they_look(
    favour, degrees, for_first, for_second, by_sector
):
    bearings, pose = np.radians(degrees), iv.Pose()
    ends = 2.0 * np.stack([np.cos(bearings), np.sin(bearings)], axis=1)
    told, counts = compared((1, 3), (pose, pose), ends, favour)
    assert (told["for_first"], told["for_second"]) == (for_first, for_second) == counts
    assert told["telling"] == for_first + for_second
    assert told["by_sector"] == by_sector
    assert told["places"] == [1, 3]


def test_an_answer_with_one_place_has_nothing_to_compare():
    scan = PLANE.look(PLANE.places[0])
    answer = iv.locate(
        PLANE.atlas,
        scan,
        settings=iv.LocalizationSettings().with_values({"decision.max_estimates": 1}),
    )
    assert contrast(PLANE.atlas, scan, answer) is None
    assert contrast_json(None) is None
