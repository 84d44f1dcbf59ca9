"""Is this pose the explanation?  The same tests on a site of the plane and on one in space."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.support.reports import checked, near
from tests.support.sites import PLANE, SITES, gap

import isovist as iv

pytestmark = pytest.mark.slow
BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


def moved(pose, x=0.0, y=0.0, yaw=0.0):
    """The pose moved in the axes of the world, in m and rad."""
    step = np.zeros(len(pose.vector))
    step[:3] = x, y, yaw
    return type(pose).from_vector(pose.vector + step)


@BOTH
@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("mounted", [False, True])
def test_the_pose_of_the_robot_agrees(site, k, mounted):
    truth = site.places[k]
    scan = site.look(truth, mount=site.mount if mounted else None)
    told = iv.check(site.atlas, scan, truth)
    assert (told.verdict, told.reasons) == ("agrees", (iv.Reason.POSE_CONFIRMED,))
    assert told.moved[0] < 0.1
    assert told.moved[1] < np.radians(1.5)
    assert told.rivals == ()
    assert told.inliers > 0.8
    assert (told.frame, told.map) == ("robot" if mounted else "sensor", None)
    assert set(told.timing_ms) == {"total"}
    again = replace(iv.check(site.atlas, scan, truth), timing_ms=told.timing_ms)
    assert checked(again) == checked(told)
    assert near(iv.locate(site.atlas, scan).best.pose, told.fit.pose, 0.02)


@BOTH
def test_a_pose_that_is_a_little_off_agrees_and_is_told_by_how_much(site):
    truth = site.places[0]
    told = iv.check(site.atlas, site.look(truth), moved(truth, 0.2, -0.1, 0.05))
    assert told.verdict == "agrees"
    assert gap(told.fit.pose, truth)[0] < 0.1
    assert told.moved[0] == pytest.approx(np.hypot(0.2, 0.1), abs=0.1)
    assert told.moved[1] == pytest.approx(0.05, abs=0.03)
    assert told.score < told.fit.score
    assert (np.linalg.eigvalsh(told.fit.covariance) > 0.0).all()


@BOTH
def test_a_pose_that_may_be_anywhere_agrees_where_the_scan_fits(site):
    truth = site.places[0]
    told = iv.check(site.atlas, site.look(truth), truth, np.diag([1e308, 1e-2, 1e-2]))
    assert told.verdict == "agrees"
    assert gap(told.fit.pose, truth)[0] < 0.1


@BOTH
@pytest.mark.parametrize("step", [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, np.radians(15.0))])
@pytest.mark.parametrize("thorough", [False, True])
def test_a_pose_that_is_far_off_disagrees(site, step, thorough):
    truth = site.places[0]
    claim = moved(truth, *step)
    told = iv.check(site.atlas, site.look(truth), claim, thorough=thorough)
    assert (told.verdict, told.reasons) == ("disagrees", (iv.Reason.FIT_DISPLACED,))
    assert (told.facts["distance"], told.facts["rotation"]) == told.moved
    assert told.moved == pytest.approx(gap(told.fit.pose, claim))
    assert gap(told.fit.pose, truth)[0] < 0.1


@BOTH
def test_a_pose_elsewhere_disagrees_and_the_right_place_is_a_rival(site):
    truth = site.places[0]
    told = iv.check(site.atlas, site.look(truth), site.places[1])
    assert told.verdict == "disagrees"
    assert min(gap(rival.pose, truth)[0] for rival in told.rivals) < 0.1
    outside = iv.check(site.atlas, site.look(truth), moved(truth, 500.0))
    assert (outside.verdict, outside.reasons) == ("disagrees", (iv.Reason.NO_FIT_NEARBY,))
    assert (outside.moved, outside.fit) == (None, None)


@BOTH
def test_of_two_places_alike_neither_can_be_told(site):
    scan = site.look(site.lonely, world=site.twins, seed=6)
    for pose, other in ((site.lonely, site.twin), (site.twin, site.lonely)):
        told = iv.check(site.twin_atlas, scan, pose)
        assert told.verdict == "cannot tell"
        assert told.reasons[0] == "competitors"
        assert gap(told.fit.pose, pose)[0] < 0.1
        assert min(gap(rival.pose, other)[0] for rival in told.rivals) < 0.1
    # Beside a pose where the scan fits no other places are looked for.
    beside = iv.check(site.twin_atlas, scan, moved(site.lonely, yaw=0.27))
    assert (beside.verdict, beside.reasons) == ("disagrees", (iv.Reason.FIT_DISPLACED,))
    assert beside.rivals == ()


@BOTH
def test_a_scan_of_another_building_agrees_nowhere(site):
    for place in site.places:
        assert iv.check(site.atlas, site.elsewhere(), place).verdict != "agrees"


@BOTH
def test_a_wide_claim_allows_more(site):
    truth = site.places[0]
    scan, claim = site.look(truth), moved(truth, 0.7)
    assert iv.check(site.atlas, scan, claim).verdict == "disagrees"
    wide = iv.check(site.atlas, scan, claim, np.diag([0.25, 0.25, 0.01]))
    assert wide.verdict == "agrees"
    assert wide.moved[0] == pytest.approx(0.7, abs=0.1)


@BOTH
def test_a_scan_that_cannot_be_of_the_map_disagrees(site):
    far = site.look(site.places[0]).scaled(1000.0)
    told = iv.check(site.atlas, far, site.places[0])
    assert (told.verdict, told.reasons) == ("disagrees", (iv.Reason.OUTSIDE_MAP,))
    assert (told.inliers, told.fit, told.rivals) == (0.0, None, ())
    assert (checked(told)["score"], checked(told)["fit"]) == (None, None)


def test_a_narrow_view_cannot_be_told():
    truth = PLANE.places[0]
    whole = PLANE.look(truth)
    ahead = np.abs(whole.bearings) < np.radians(20.0)
    narrow = iv.Scan(whole.bearings[ahead], whole.ranges[ahead])
    assert iv.check(PLANE.atlas, narrow, truth).verdict == "cannot tell"


@BOTH
def test_settings_reach_the_check(site):
    scan = site.look(site.places[0])
    strict = iv.LocalizationSettings().with_values(
        {"decision.min_score_nats": 50.0, "alternatives.good_score_nats": 50.0}
    )
    told = iv.check(site.atlas, scan, site.places[0], settings=strict)
    assert (told.verdict, told.reasons) == ("disagrees", (iv.Reason.POOR_FIT,))


# Several maps.


@BOTH
@pytest.mark.parametrize("thorough", [False, True])
def test_the_pose_of_the_robot_agrees_on_its_own_map(site, thorough):
    truth = site.places[0]
    maps, scan = {"hall": site.twin_atlas, "house": site.atlas}, site.look(truth)
    told = iv.check(maps, scan, truth, map="house", thorough=thorough)
    assert (told.verdict, told.map, told.fit.map) == ("agrees", "house", "house")
    assert gap(told.fit.pose, truth)[0] < 0.1
    assert told.moved[0] < 0.1
    alone = iv.check(site.atlas, scan, truth)
    assert (told.inliers, told.score) == (alone.inliers, alone.score)
    assert gap(alone.fit.pose, told.fit.pose)[0] < 0.02


@BOTH
def test_the_same_numbers_on_another_map_disagree(site):
    truth = site.places[0]
    maps = {"house": site.atlas, "hall": site.twin_atlas}
    told = iv.check(maps, site.look(truth), truth, map="hall")
    assert (told.verdict, told.map) == ("disagrees", "hall")
    assert told.reasons[0] in ("no_fit_nearby", "better_elsewhere")
    if told.fit is None:
        assert told.rivals[0].map == "house"
        assert gap(told.rivals[0].pose, truth)[0] < 0.1
    else:
        assert "house" in told.facts["place"]


@BOTH
def test_a_rival_on_a_map_alike_counts_and_is_named(site):
    truth, mounted = site.places[0], site.mount
    maps = {"floor 1": site.atlas, "floor 2": site.atlas}
    for name, other in (("floor 1", "floor 2"), ("floor 2", "floor 1")):
        told = iv.check(maps, site.look(truth, mount=mounted), truth, map=name)
        assert told.verdict == "cannot tell"
        assert told.reasons[:2] == ("competitors", "several_maps")
        assert set(told.facts["maps"]) == set(maps)
        assert told.fit.map == name
        assert [rival.map for rival in told.rivals] == [other]
        assert gap(told.rivals[0].pose, truth)[0] < 0.1
        report = checked(told)
        assert (report["map"], report["rivals"][0]["map"]) == (name, other)


def test_each_map_has_its_own_frame():
    truth, step = PLANE.places[1], iv.Pose(40.0, -7.0, 0.5)
    world = replace(PLANE.world, origin=step @ PLANE.world.origin)
    maps = {"drawn": replace(PLANE.atlas, world=world), "other": PLANE.twin_atlas}
    told = iv.check(maps, PLANE.look(truth), step @ truth, map="drawn")
    assert (told.verdict, told.fit.map) == ("agrees", "drawn")
    assert gap(told.fit.pose, step @ truth)[0] < 0.1
    wide = iv.check(maps, PLANE.look(truth), truth, np.diag([1e7, 1e7, 9.0]), map="other")
    assert wide.verdict == "disagrees"  # however wide a claim is, it is of its own map


# The command.


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    for name, world in (("first", PLANE.world), ("second", PLANE.twins)):
        iv.write_map(world, folder / f"{name}.yaml")
    iv.write_scan(PLANE.look(PLANE.places[2]), folder / "scan.json")
    return [folder / name for name in ("first.yaml", "second.yaml", "scan.json")]


def test_the_command_judges_a_pose(files, typed):
    first, _, scan = files
    x, y, yaw = PLANE.places[2].vector
    assert yaw < 0.0
    code, printed, _ = typed("check", first, scan, x, y, yaw)
    assert code == 0
    lines = printed.splitlines()
    starts = ("agrees: ", "  as it stands: ", "  fit: x ", "  moved by 0.0")
    assert all(line.startswith(start) for line, start in zip(lines, starts, strict=False))
    assert "  frame: sensor" in lines
    code, printed, _ = typed("check", first, scan, x - 1.0, y, yaw, "--json")
    told = json.loads(printed)
    assert (code, told["verdict"], told["reasons"]) == (1, "disagrees", ["fit_displaced"])
    assert {"frame", "pose", "inliers", "score", "fit", "rivals", "timing_ms"} < set(told)
    assert told["moved"]["distance"] == pytest.approx(1.0, abs=0.1)
    wide = "check", first, scan, x - 0.7, y, yaw, "--spread", 0.5, 0.1, "--thorough"
    assert typed(*wide)[0] == 0
    code, printed, _ = typed("check", *files, x, y, yaw, "--map", "first")
    assert (code, printed.splitlines()[0].split(":")[0]) == (0, "agrees on first")
    assert printed.splitlines()[2].startswith("  fit: first:  x ")
    code, printed, _ = typed("check", *files, x, y, yaw, "--map", "second", "--json")
    told = json.loads(printed)
    assert (code, told["verdict"], told["map"]) == (1, "disagrees", "second")


@pytest.mark.parametrize(
    "words",
    [
        ("nan", 0, 0), (1, 2, 3, "--z", 1), (1, 2, 3, "--spread", -1, 0), (1, 2, 3, "--map", "x"),
    ],
)  # fmt: skip
def test_bad_arguments_of_the_command_are_one_line(files, words, typed):
    code, printed, error = typed("check", files[0], files[2], *words)
    assert (code, printed, error.count("\n")) == (2, "", 1)
