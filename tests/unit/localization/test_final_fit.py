"""The last fit in space: beams spread over what they see, and what it leaves alone."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.reference_space import LIDAR, at, house, house_atlas
from tests.support.worlds import tilt_between

import isovist as iv
from isovist import Answer, CloudScan, Estimate, LocalizationSettings, Verdict
from isovist.localization import look as verb
from isovist.localization.maps import on_map, site_of
from isovist.localization.refine import refit
from isovist.localization.settle import HELD, RESTS, SHARP, SIDE, even_beams, last_fit, settle

USUAL = LocalizationSettings()
TRUTH = at(5.0, 0.0, 0.7)


def seen(truth=TRUTH, seed=0):
    return LIDAR.scan(house(), truth, np.random.default_rng(seed))


def answer_at(pose, *, refuted=False, fitted=6):
    here = Estimate(pose, np.eye(fitted), 0.9, 0.9, 4.0, False)
    there = Estimate(pose, np.eye(fitted), 0.1, 0.9, 4.0, refuted)
    times = dict.fromkeys(("search", "refine", "judge", "total"), 1.0)
    return Answer(Verdict.AMBIGUOUS, "Here.", (here, there), times)


def test_every_cube_that_holds_returns_has_the_one_nearest_to_its_middle():
    rng = np.random.default_rng(1)
    scan = CloudScan(rng.uniform(-3.0, 2.0, (500, 3)), roll=0.2, pitch=-0.1)
    side, p = 0.7, scan.level_points
    best = {}
    for k, point in enumerate(p):
        cube = tuple(np.floor(point / side).astype(int))
        off = np.linalg.norm(point - (np.array(cube) + 0.5) * side)
        if cube not in best or off < best[cube][0]:
            best[cube] = off, k
    assert scan.spread_out(side).tolist() == sorted(k for _, k in best.values())
    assert len(best) < 400
    assert len(scan.spread_out(0.35)) > len(best)
    # Widths of directions and sides of cubes are kept apart.
    assert len(scan.spread(side)) != len(best)


def test_the_last_fit_sees_each_part_of_the_map_once():
    atlas, scan = house_atlas(), seen()
    ends = even_beams(atlas, scan, USUAL).ends
    cubes = np.floor(ends / (SIDE * atlas.resolution))
    assert len(np.unique(cubes, axis=0)) == len(ends) > 300


@pytest.mark.parametrize("fitted", [4, 6])
def test_a_place_is_drawn_to_where_the_scan_was_taken(fitted):
    off = at(5.06, 0.0, 0.72)
    told = settle(house_atlas(), seen(), answer_at(off, fitted=fitted), None, USUAL)
    for estimate in told.estimates:
        away = estimate.pose.position - TRUTH.position
        assert np.hypot(*away[:2]) < 0.01
        assert abs(away[2]) < 0.03  # beams end at the face of the floor, half a cell early
        assert abs(estimate.pose.yaw - TRUTH.yaw) < 0.002
        assert estimate.covariance.shape == (fitted, fitted)
        assert not estimate.covariance.flags.writeable
        assert tilt_between(estimate.pose, TRUTH) < (0.5 if fitted > 4 else 1e-6)
        assert 0.005 < np.sqrt(estimate.covariance[0, 0]) < 0.05


def test_a_fit_that_would_rest_half_way_begins_from_the_attitude_that_was_told_too():
    steep = CloudScan(seen().points, roll=0.4, pitch=0.4)
    off = iv.Pose3(5.0, 0.0, 0.7, TRUTH.z, 0.4, 0.4)
    ways = settle(house_atlas(), steep, answer_at(off), None, USUAL, told=seen()).estimates[0]
    alone = settle(house_atlas(), steep, answer_at(off), None, USUAL).estimates[0]
    assert tilt_between(ways.pose, TRUTH) < 1.0
    assert tilt_between(alone.pose, TRUTH) > 1.0


def test_what_was_refuted_or_would_leave_the_prior_or_its_place_stays():
    off = at(5.06, 0.0, 0.7)
    atlas, scan = house_atlas(), seen()
    told = settle(atlas, scan, answer_at(off, refuted=True), None, USUAL)
    assert told.estimates[0].pose != off
    assert told.estimates[1].pose == off
    here = iv.Region.around(off, 0.02)
    assert settle(atlas, scan, answer_at(off), here, USUAL).estimates[0].pose == off
    narrow = replace(USUAL, same=(0.02, 0.1))
    assert settle(atlas, scan, answer_at(off), None, narrow).estimates[0].pose == off


@pytest.mark.slow
def test_on_several_maps_a_place_is_fitted_to_its_own():
    maps = {"left": house_atlas(), "right": iv.build(house(), height=1.0)}
    off = at(5.06, 0.0, 0.7)
    alone = settle(house_atlas(), seen(), answer_at(off), None, USUAL).estimates[0].pose
    site = site_of(maps)
    told = settle(site, seen(), answer_at(site.placed("right", off)), None, USUAL).estimates[0]
    assert told.map is None
    assert on_map(site, told).map == "right"
    assert on_map(site, told).pose.vector == pytest.approx(alone.vector)


@pytest.mark.slow
def test_locate_ends_with_the_last_fit():
    answer, scan = iv.locate(house_atlas(), seen(), tilt=True), seen()
    assert answer.best is not None
    start = np.atleast_2d(answer.best.pose.vector)
    again = last_fit(house_atlas(), scan, start, 6, USUAL)[0].poses[0]
    many = house_atlas().beams(scan, USUAL.beams[1], USUAL.block)
    other = refit(house_atlas(), many, start, USUAL, tilt=True).poses[0]
    moved = np.linalg.norm(again - start[0])
    assert moved < 0.2 * np.linalg.norm(other - start[0])


@pytest.mark.slow
def test_a_first_look_that_does_not_lead_is_not_polished(monkeypatch):
    asked = []
    judge = verb.judge

    def counted(atlas, scan, fits, settings, *, nearby=True):
        asked.append(nearby)
        return judge(atlas, scan, fits, settings, nearby=nearby)

    monkeypatch.setattr(verb, "judge", counted)
    for lead, nearby in ((0.0, [False, True]), (1e9, [False])):
        asked.clear()
        hurried = replace(USUAL, lead=lead)
        verb.attempt(house_atlas(), seen(), None, hurried)
        assert asked == nearby


@pytest.mark.parametrize("roll", [0.06, -0.08])
def test_a_fit_of_the_attitude_goes_on_until_it_rests(roll):
    truth = at(5.0, 0.0, 0.7, roll=roll, pitch=0.03)
    scan = CloudScan(LIDAR.scan(house(), truth, np.random.default_rng(4)).points)
    atlas = house_atlas()
    beams, widths = even_beams(atlas, scan, USUAL), USUAL.fine_widths(atlas)
    level = np.atleast_2d(at(5.0, 0.0, 0.7).vector)
    once = atlas.fit(beams, level, widths, 6, held=HELD)
    fit, _ = last_fit(atlas, scan, level, 6, USUAL)
    again = atlas.fit(beams, fit.poses, SHARP * widths, 6, held=HELD)
    assert np.abs(again.poses - fit.poses).max() < 10.0 * RESTS
    off = [tilt_between(iv.Pose3.from_vector(one.poses[0]), truth) for one in (once, fit)]
    assert off[1] < 0.15 < off[0]
