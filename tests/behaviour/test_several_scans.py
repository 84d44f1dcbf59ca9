"""Several scans joined by odometry, located as one: the same tests in the plane and in space."""

import json
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from tests.support.sites import PLANE, SITES, SPACE, gap

import isovist as iv
from isovist import InputError, Pose, Pose3
from isovist.localization.contrast import contrast
from isovist.localization.several import beams_of, seek
from isovist.report import answer_json
from isovist.sensing.joined import joined

USUAL = iv.LocalizationSettings()
STEPS = (Pose(0.25, 0.1, 0.5), Pose(0.3, -0.05, -0.2))
"""Motions from each scan to the next."""


@pytest.fixture(params=SITES.values(), ids=SITES)
def site(request):
    return request.param


def way(last, steps=STEPS):
    """Poses of a robot that comes to its last one by some steps."""
    poses = [last]
    for step in reversed(steps):
        poses.insert(0, poses[0] @ (step.inverse if isinstance(last, Pose) else lifted(step)))
    return poses


def lifted(step):
    return Pose3.lifted(step).inverse


def looks(site, poses, **options):
    return [site.look(pose, seed=k, **options) for k, pose in enumerate(poses)]


@lru_cache
def told(name, mounted=False):
    """Scans of a way to the first place, and their answer."""
    site = SITES[name]
    scans = looks(site, way(site.places[0]), mount=site.mount if mounted else None)
    return scans, iv.locate(site.atlas, scans, motions=STEPS, certificate=True)


def in_the_dark(scan, metres=1.0):
    """What is left of a scan of a sensor that sees hardly anything."""
    held = scan.within(metres)
    assert held is not None
    return held


def same(one, other):
    assert one.verdict is other.verdict
    assert one.advice == other.advice
    assert len(one.estimates) == len(other.estimates)
    for a, b in zip(one.estimates, other.estimates, strict=True):
        assert a.pose == b.pose
        assert (a.probability, a.inliers, a.score, a.refuted) == (
            b.probability, b.inliers, b.score, b.refuted
        )  # fmt: skip
        np.testing.assert_array_equal(a.covariance, b.covariance)


@pytest.mark.slow
def test_one_scan_in_a_list_is_that_scan(site):
    scan = site.look(site.places[0], mount=site.mount)
    alone = iv.locate(site.atlas, scan, certificate=True)
    listed = iv.locate(site.atlas, [scan], motions=[], certificate=True)
    same(alone, listed)
    assert alone.certificate == listed.certificate
    same(alone, iv.locate(site.atlas, (scan,)))


@pytest.mark.parametrize("mounted", [False, True])
def test_several_scans_find_the_robot_at_the_last_of_them(site, mounted):
    truth = site.places[0]
    _, answer = told(site.name, mounted)
    assert answer.verdict is iv.Verdict.UNIQUE
    away, turn = gap(answer.best.pose, truth)
    assert away < 0.1
    assert turn < np.radians(1.5)
    assert answer.certificate is not None
    assert answer.frame == ("robot" if mounted else "sensor")
    assert set(answer.timing_ms) == {"search", "refine", "judge", "total"}
    json.dumps(answer_json(answer), allow_nan=False)


@pytest.mark.slow
def test_sensors_may_sit_in_different_places(site):
    truth = site.places[1]
    first, second = way(truth, STEPS[:1])
    scans = [site.look(first, mount=site.mount), site.look(second)]
    answer = iv.locate(site.atlas, scans, motions=STEPS[:1])
    assert gap(answer.best.pose, truth)[0] < 0.1
    assert answer.frame == "sensor"


@pytest.mark.slow
def test_a_prior_is_of_the_robot_at_the_last_scan(site):
    truth = site.places[0]
    scans = looks(site, way(truth), mount=site.mount)
    prior = iv.Region.around(truth, 0.15, np.radians(15.0))
    answer = iv.locate(site.atlas, scans, motions=STEPS, prior=prior)
    assert answer.estimates
    assert gap(answer.best.pose, truth)[0] < 0.1
    corners = np.array([truth.x, truth.y]) + 0.2 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    square = iv.Region.polygon(corners)
    also = iv.locate(site.atlas, scans, motions=STEPS, prior=square)
    for region, told in ((prior, answer), (square, also)):
        assert gap(told.best.pose, truth)[0] < 0.1
        assert all(region.holds(e.pose.vector[None])[0] for e in told.estimates)
    nowhere = iv.Region.circle([900.0, 0.0], 1.0)
    lost = iv.locate(site.atlas, scans, motions=STEPS, prior=nowhere)
    assert (lost.verdict, lost.estimates) == (iv.Verdict.LOST, ())


def test_a_region_grows_with_the_way_and_turns_with_the_robot():
    grown = iv.Region.around(Pose(1.0, 2.0, 3.0), 0.5, 0.1).grown(2.0, 0.5)
    assert grown.radius == 2.5
    assert grown.heading == pytest.approx(3.5 - 2.0 * np.pi)
    square = iv.Region.polygon([[0, 0], [1, 0], [1, 1], [0, 1]]).grown(1.0, 0.5)
    np.testing.assert_array_equal(
        square.contains([[-0.9, 0.5], [-0.8, -0.8], [1.9, 0.5]]), [True, False, True]
    )
    assert square.heading is None


@pytest.mark.slow
def test_tilt_is_fitted_in_space_and_refused_in_the_plane(site):
    truth = site.places[0]
    scans = looks(site, way(truth))
    if site.name == "plane":
        with pytest.raises(InputError) as error:
            iv.locate(site.atlas, scans, motions=STEPS, tilt=True)
        assert str(error.value) == "`tilt` is for maps in space; this atlas is of the plane."
        return
    leaning = truth @ Pose3(roll=0.03, pitch=-0.02)
    poses = way(leaning)
    unaware = [replace(scan, roll=0.0, pitch=0.0) for scan in looks(site, poses)]
    answer = iv.locate(site.atlas, unaware, motions=[Pose3.lifted(s) for s in STEPS], tilt=True)
    assert gap(answer.best.pose, leaning)[0] < 0.12
    assert answer.best.covariance.shape == (6, 6)
    assert abs(answer.best.pose.roll - leaning.roll) < 0.02
    assert abs(answer.best.pose.pitch - leaning.pitch) < 0.02


@pytest.mark.slow
def test_a_motion_of_the_plane_is_on_level_ground_however_the_robot_leans():
    truth = SPACE.places[0] @ Pose3(roll=0.1, pitch=-0.08)
    step = Pose(0.4, 0.1, 0.6)
    level = Pose3(truth.x, truth.y, truth.yaw, truth.z)
    before = level @ Pose3.lifted(step).inverse @ Pose3(roll=-0.05, pitch=0.1)
    scans = looks(SPACE, [before, truth])
    flat, solid = joined(scans, [step]), joined(scans, [before.inverse @ truth])
    for a, b in zip(flat.views, solid.views, strict=True):
        np.testing.assert_allclose(a.vector, b.vector, atol=1e-9)
    assert abs(flat.views[0].roll) + abs(flat.views[0].pitch) < 1e-9
    assert gap(iv.locate(SPACE.atlas, scans, motions=[step]).best.pose, truth)[0] < 0.1


def test_views_lie_where_odometry_puts_them(site):
    poses = way(site.places[0])
    several = joined(looks(site, poses, mount=site.mount), STEPS)
    here = poses[-1] @ several.T_level_robot.inverse
    for pose, scan, view in zip(poses, several.scans, several.views, strict=True):
        there = pose @ scan.T_level_robot.inverse
        np.testing.assert_allclose((here @ view).vector, there.vector, atol=1e-9)
    assert several.errors.shape == (3, 6)
    assert (several.errors[-1] == 0.0).all()
    assert (np.diff(several.errors, axis=0) < 0.0).all()
    drift = iv.Drift()
    first = drift.covariance(STEPS[1])
    length = np.hypot(STEPS[1].x, STEPS[1].y)
    assert several.errors[1, 2] == pytest.approx(first[2, 2])
    assert several.errors[1, 0] == pytest.approx(first[0, 0] + first[2, 2] * length**2)


@pytest.mark.slow
def test_a_robot_that_stands_still_learns_nothing(site):
    """As many witnesses as one scan has, and no covariance that shrinks with their number."""
    truth = site.places[0]
    scans, still = looks(site, [truth] * 4), [Pose()] * 3
    several = joined(scans, still)
    for thin in USUAL.beams:
        one = beams_of(site.atlas, scans[-1], thin, USUAL.block)
        all_ = beams_of(site.atlas, several, thin, USUAL.block)
        assert len(all_) > 3 * len(one)
        assert all_.blocks <= 1.25 * one.blocks
    alone = iv.locate(site.atlas, scans[-1]).best
    together = iv.locate(site.atlas, scans, motions=still).best
    most = 1.3 if site.atlas.dimension == 2 else np.inf  # one alone has a last fit as well
    for a, b in zip(np.diag(alone.covariance), np.diag(together.covariance), strict=True):
        assert 0.75 * a < b < most * a


@pytest.mark.slow
def test_what_earlier_scans_saw_counts(site):
    """A sensor that went almost blind knows from what it saw before, to within the drift."""
    truth = site.places[0]
    scans = looks(site, way(truth))
    scans[-1] = in_the_dark(scans[-1], 1.6)
    alone = iv.locate(site.atlas, scans[-1])
    together = iv.locate(site.atlas, scans, motions=STEPS)
    assert alone.verdict is not iv.Verdict.UNIQUE
    assert together.verdict is iv.Verdict.UNIQUE
    assert gap(together.best.pose, truth)[0] < 0.15
    full = iv.locate(site.atlas, site.look(truth)).best
    loose = iv.locate(
        site.atlas, scans, motions=STEPS, drift=iv.Drift(along=0.2, heading=0.2, turning=0.2)
    ).best
    widths = [np.sqrt(np.trace(e.covariance[:2, :2])) for e in (full, together.best, loose)]
    assert widths[0] < widths[1] < widths[2]


@pytest.mark.slow
def test_scans_may_move_against_each_other_by_the_drift(site):
    """Odometry that errs by 4 cm and 2° over half a metre costs little."""
    truth = site.places[0]
    scans, right = told(site.name)
    wrong = [STEPS[0] @ Pose(0.04, -0.02, np.radians(2.0)), STEPS[1] @ Pose(-0.03, 0.02, -0.03)]
    erring = iv.locate(site.atlas, scans, motions=wrong)
    assert erring.verdict is iv.Verdict.UNIQUE
    assert gap(erring.best.pose, truth)[0] < 0.1
    assert right.best.score > erring.best.score > right.best.score - 0.5


@pytest.mark.slow
def test_motions_that_never_were_are_not_believed(site):
    scans, right = told(site.name)
    answer = iv.locate(site.atlas, scans, motions=[Pose(1.5, 0.0, 2.0), Pose(1.5, 0.0, 2.0)])
    assert answer.best.score < right.best.score - 1.0


@pytest.mark.slow
def test_candidates_of_every_scan_are_tried(site):
    poses = way(site.places[0])
    several = joined(looks(site, poses), STEPS)
    found = seek(site.atlas, several, None, USUAL)
    assert len(found.each) == 3
    radius, turn = USUAL.candidates_apart(site.atlas)
    here = np.asarray((poses[-1] @ several.T_level_robot.inverse).vector)
    one = found.each[-1][0].lead(here, 1.5 * radius, 1.5 * turn)
    assert found.lead(here, 1.5 * radius, 1.5 * turn) >= one


@pytest.mark.slow
def test_mirrored_scans_are_doubted_and_hinted_at(site):
    steps = STEPS[:1]
    scans = [scan.mirrored() for scan in looks(site, way(site.places[0], steps))]
    answer = iv.locate(site.atlas, scans, motions=steps)
    assert answer.verdict is not iv.Verdict.UNIQUE
    causes = {hint.cause for hint in iv.hints(site.atlas, scans, answer, motions=steps)}
    assert "mirror" in causes


@pytest.mark.slow
def test_two_places_are_contrasted_by_the_beams_of_all_scans(site):
    last, before = site.lonely, site.lonely @ Pose(-0.2, 0.0, 0.0)
    scans = [site.look(pose, world=site.twins, seed=6) for pose in (before, last)]
    answer = iv.locate(site.twin_atlas, scans, motions=[Pose(0.2, 0.0, 0.0)])
    assert answer.verdict is iv.Verdict.AMBIGUOUS
    several = joined(scans, [Pose(0.2, 0.0, 0.0)])
    both = contrast(site.twin_atlas, several, answer)
    one = contrast(site.twin_atlas, scans[-1], answer)
    assert len(both) > 1.5 * len(one)
    np.testing.assert_array_equal(both.favour[-len(one) :], one.favour)


@pytest.mark.slow
def test_the_answer_names_the_frame_that_all_scans_have(site):
    scans = [replace(s, frame="base_link") for s in looks(site, way(site.places[0]))]
    assert iv.locate(site.atlas, scans, motions=STEPS).frame == "base_link"


FLAT, SOLID = PLANE.look(PLANE.places[0]), SPACE.look(SPACE.places[0])


@pytest.mark.parametrize(
    ("atlas", "scans", "options", "text"),
    [
        (PLANE, [], {}, "At least one scan is needed, got an empty list."),
        (
            PLANE, [FLAT, FLAT], {},
            "`motions` must hold one motion from each scan to the next, 1 for 2 scans, got 0.",
        ),
        (
            SPACE, [SOLID, SOLID], {"motions": [Pose(), Pose()]},
            "`motions` must hold one motion from each scan to the next, 1 for 2 scans, got 2.",
        ),
        (
            PLANE, FLAT, {"motions": [Pose()]},
            "`motions` and `drift` are for several scans. Give a list: "
            "locate(atlas, [first, second], motions=[motion]).",
        ),
        (
            PLANE, [FLAT, SOLID], {"motions": [Pose()]},
            "The scans must all be of the plane, or all in space, got both.",
        ),
        (
            PLANE, [FLAT, 3], {"motions": [Pose()]},
            "Every scan must be a Scan or a CloudScan, got int.",
        ),
        (
            SPACE, [FLAT, FLAT], {"motions": [Pose()]},
            "The scan is of the plane, and the atlas is of a map in space. "
            "Give points: Scan.from_points.",
        ),
        (
            PLANE, [FLAT, FLAT], {"motions": [(0.5, 0.0, 0.0)]},
            "A motion must be Pose(x, y, yaw), got tuple.",
        ),
        (
            PLANE, [FLAT, FLAT], {"motions": [Pose3()]},
            "A motion must be Pose(x, y, yaw), got Pose3.",
        ),
        (
            SPACE, [SOLID, SOLID], {"motions": [0.5]},
            "A motion must be Pose(x, y, yaw) or Pose3(x, y, yaw, z), got float.",
        ),
        (
            PLANE, [FLAT, FLAT], {"motions": [Pose(np.nan)]},
            "A motion must be finite, got Pose(x=nan, y=0, yaw=0).",
        ),
        (
            PLANE, [FLAT, FLAT], {"motions": [Pose()], "drift": 0.1},
            "`drift` must be a Drift, got float.",
        ),
        (
            PLANE, [replace(FLAT, frame="base"), replace(FLAT, frame="arm")], {"motions": [Pose()]},
            "The scans must be of one robot, got the frames arm, base.",
        ),
        (
            PLANE, [FLAT, FLAT], {"motions": [Pose()], "prove": True},
            "A proof is of one scan, got several. Prove the last one alone.",
        ),
        (
            PLANE, "scan.json", {},
            "`locate` needs an atlas and a scan, got PlaneAtlas and str. "
            "`build` makes an atlas of a map, `read_scan` a scan of a file.",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_joined_is_refused_in_words(atlas, scans, options, text):
    with pytest.raises(InputError) as error:
        iv.locate(atlas.atlas, scans, **options)
    assert str(error.value) == text


def test_motions_longer_than_the_map_are_refused(site):
    scan = site.look(site.places[0])
    with pytest.raises(InputError) as error:
        iv.locate(site.atlas, [scan, scan], motions=[Pose(500.0)])
    assert str(error.value) == (
        f"By `motions` the scans lie 500.0 m apart, and the map is {site.atlas.diagonal:.1f} m "
        "wide. Are the motions in m, each from one scan to the next?"
    )


def test_single_beams_that_are_not_seen_again_go_with_their_column(site):
    """What stood in the way of them is no witness on its own."""
    last = site.places[0]
    before = way(last, STEPS[:1])[0]
    first, second = looks(site, [before, last])
    many = beams_of(site.atlas, joined([first, second], STEPS[:1]), USUAL.beams[1], USUAL.block)
    views = len(many.views[0].beams)
    column, own = many.column_of, many.views[0].beams.column_of
    again = np.isin(column[:views], column[views:])
    shares = [again[own == one].mean() for one in np.unique(own)]
    assert max(shares) == 1.0
    assert all(share == 1.0 or share <= 0.5 for share in shares)
