"""Several scans joined by odometry, located as one: the same tests in the plane and in space."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from tests.support.answers import bits
from tests.support.reports import near, off, told
from tests.support.sites import SITES, SPACE, gap
from tests.support.ways import STEPS, looks, motions, way

import isovist as iv

pytestmark = pytest.mark.slow
BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


@lru_cache
def asked(name, mounted=False):
    """Scans of a way to the first place, and their answer."""
    site = SITES[name]
    scans = looks(site, way(site.places[0]), mount=site.mount if mounted else None)
    return scans, iv.locate(site.atlas, scans, motions=STEPS)


def blind(scan):
    """A scan of which every return is farther than any wall of the map."""
    if isinstance(scan, iv.CloudScan):
        return replace(scan, points=scan.points * 1000.0, range_max=np.inf)
    return replace(scan, ranges=np.where(scan.valid, 500.0, np.nan), range_max=1000.0)


@BOTH
def test_one_scan_in_a_list_is_that_scan(site):
    scan = site.look(site.places[0], mount=site.mount)
    alone = bits(iv.locate(site.atlas, scan))
    assert bits(iv.locate(site.atlas, [scan], motions=[])) == alone
    assert bits(iv.locate(site.atlas, (scan,))) == alone


@BOTH
@pytest.mark.parametrize("mounted", [False, True])
def test_several_scans_find_the_robot_at_the_last_of_them(site, mounted):
    _, answer = asked(site.name, mounted)
    assert answer.verdict == "unique"
    assert near(answer.best.pose, site.places[0])
    assert answer.frame == ("robot" if mounted else "sensor")
    assert set(answer.timing_ms) == {"search", "refine", "judge", "total"}
    assert told(answer)["verdict"] == "unique"


@BOTH
def test_sensors_may_sit_in_different_places(site):
    truth = site.places[1]
    first, second = way(truth, STEPS[:1])
    scans = [site.look(first, mount=site.mount), site.look(second)]
    answer = iv.locate(site.atlas, scans, motions=STEPS[:1])
    assert near(answer.best.pose, truth)
    assert answer.frame == "sensor"
    named = [replace(scan, frame="base_link") for scan in scans]
    assert iv.locate(site.atlas, named, motions=STEPS[:1]).frame == "base_link"


@BOTH
def test_a_prior_is_of_the_robot_at_the_last_scan(site):
    truth = site.places[0]
    scans = looks(site, way(truth), mount=site.mount)
    corners = np.array([truth.x, truth.y]) + 0.2 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    here = iv.Region.around(truth, 0.15, np.radians(15.0))
    for region in (here, iv.Region.polygon(corners)):
        answer = iv.locate(site.atlas, scans, motions=STEPS, region=region)
        assert near(answer.best.pose, truth)
        assert all(region.holds(e.pose.vector[None])[0] for e in answer.estimates)
    nowhere = iv.Region.circle([900.0, 0.0], 1.0)
    lost = iv.locate(site.atlas, scans, motions=STEPS, region=nowhere)
    assert (lost.verdict, lost.estimates) == ("lost", ())


def test_a_region_grows_with_the_way_and_turns_with_the_robot():
    grown = iv.Region.around(iv.Pose(1.0, 2.0, 3.0), 0.5, 0.1).grown(2.0, 0.5)
    assert grown.radius == 2.5
    assert grown.heading == pytest.approx(3.5 - 2.0 * np.pi)
    square = iv.Region.polygon([[0, 0], [1, 0], [1, 1], [0, 1]]).grown(1.0, 0.5)
    np.testing.assert_array_equal(
        square.contains([[-0.9, 0.5], [-0.8, -0.8], [1.9, 0.5]]), [True, False, True]
    )
    assert square.heading is None


def test_tilt_is_fitted_of_several_scans():
    truth = SPACE.places[0] @ iv.Pose3(roll=0.03, pitch=-0.02)
    unaware = [replace(scan, roll=0.0, pitch=0.0) for scan in looks(SPACE, way(truth))]
    solid = [iv.Pose3.lifted(step) for step in STEPS]
    best = iv.locate(SPACE.atlas, unaware, motions=solid, tilt=True).best
    assert near(best.pose, truth, 0.12)
    assert best.covariance.shape == (6, 6)
    assert off(best.pose, truth)[1] < 1.7


def test_a_motion_of_the_plane_is_on_level_ground_however_the_robot_leans():
    truth = SPACE.places[0] @ iv.Pose3(roll=0.1, pitch=-0.08)
    step = iv.Pose(0.4, 0.1, 0.6)
    level = iv.Pose3(truth.x, truth.y, truth.yaw, truth.z)
    before = level @ iv.Pose3.lifted(step).inverse @ iv.Pose3(roll=-0.05, pitch=0.1)
    scans = looks(SPACE, [before, truth])
    flat, solid = (
        iv.locate(SPACE.atlas, scans, motions=[motion]) for motion in (step, before.inverse @ truth)
    )
    assert near(flat.best.pose, truth)
    assert max(off(flat.best.pose, solid.best.pose)) < 1e-6


@BOTH
def test_a_robot_that_stands_still_learns_nothing(site):
    """No covariance shrinks with the number of scans, nor do groups grow with it."""
    scans, still = looks(site, [site.places[0]] * 4), [iv.Pose()] * 3
    alone = iv.locate(site.atlas, scans[-1])
    together = iv.locate(site.atlas, scans, motions=still)
    assert together.facts["groups"] <= 1.25 * alone.facts["groups"]
    most = 1.3 if site.name == "plane" else np.inf  # one alone has a last fit as well
    before, after = (np.diag(each.best.covariance) for each in (alone, together))
    assert ((0.75 * before < after) & (after < most * before)).all()


@BOTH
def test_what_earlier_scans_saw_counts(site):
    """A sensor that went almost blind knows from what it saw before, to within the drift."""
    truth = site.places[0]
    scans = looks(site, way(truth))
    scans[-1] = scans[-1].within(1.6)
    assert iv.locate(site.atlas, scans[-1]).verdict != "unique"
    together = iv.locate(site.atlas, scans, motions=STEPS)
    assert together.verdict == "unique"
    assert near(together.best.pose, truth, 0.15, 5.0)
    full = iv.locate(site.atlas, site.look(truth)).best
    drift = iv.Drift(along=0.2, heading=0.2, turning=0.2)
    loose = iv.locate(site.atlas, scans, motions=STEPS, drift=drift).best
    widths = [np.trace(e.covariance[:2, :2]) for e in (full, together.best, loose)]
    assert widths[0] < widths[1] < widths[2]


@BOTH
def test_scans_may_move_against_each_other_by_the_drift(site):
    """Odometry that errs by 4 cm and 2° over half a metre costs little."""
    scans, right = asked(site.name)
    errors = iv.Pose(0.04, -0.02, np.radians(2.0)), iv.Pose(-0.03, 0.02, -0.03)
    wrong = [step @ error for step, error in zip(STEPS, errors, strict=True)]
    erring = iv.locate(site.atlas, scans, motions=wrong)
    assert erring.verdict == "unique"
    assert gap(erring.best.pose, site.places[0])[0] < 0.1
    assert right.best.score > erring.best.score > right.best.score - 0.5
    never = iv.locate(site.atlas, scans, motions=[iv.Pose(1.5, 0.0, 2.0)] * 2)
    assert never.best.score < right.best.score - 1.0


@BOTH
def test_mirrored_scans_are_doubted_and_hinted_at(site):
    scans = [scan.mirrored() for scan in looks(site, way(site.places[0], STEPS[:1]))]
    answer = iv.locate(site.atlas, scans, motions=STEPS[:1])
    assert answer.verdict != "unique"
    hints = iv.hints(site.atlas, scans, answer, motions=STEPS[:1])
    assert "mirror" in {hint.cause for hint in hints}


@BOTH
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_burst_with_a_blind_scan_is_located_by_the_others(site, number):
    places = [site.places[0] @ type(site.places[0])(0.2 * k) for k in range(3)]
    scans = looks(site, places)
    scans[number] = blind(scans[number])
    answer = iv.locate(site.atlas, scans, motions=motions(places))
    assert answer.verdict == "unique", answer.reasons
    assert gap(answer.best.pose, places[-1])[0] < 0.1
    assert not np.isnan(answer.best.covariance).any()


@BOTH
def test_a_burst_that_ends_far_from_the_last_scan_that_sees_is_uncertain(site):
    """The way since then is known by odometry alone, and that drifts."""
    scan = site.look(site.places[0])
    step = type(site.places[0])(1.0)
    drift = iv.Drift(along=1.0)
    answer = iv.locate(site.atlas, [scan, blind(scan)], motions=[step], drift=drift)
    assert (answer.verdict, answer.reasons) == ("ambiguous", (iv.Reason.POSITION_SLIDES,))
    assert answer.facts["position_std"] > 0.5
    assert gap(answer.best.pose, site.places[0] @ step)[0] < 0.1


@BOTH
def test_a_burst_that_cannot_be_placed_is_lost(site):
    scan, still = site.look(site.places[0]), [type(site.places[0])()]
    nothing = iv.locate(site.atlas, [blind(scan)] * 2, motions=still)
    assert nothing.reasons == (iv.Reason.OUTSIDE_MAP,)
    # A region cannot hold a last scan that sees nothing.
    region = iv.Region.circle(tuple(site.places[0].position[:2]), 2.0)
    held = iv.locate(site.atlas, [scan, blind(scan)], motions=still, region=region)
    assert held.verdict == "lost"
