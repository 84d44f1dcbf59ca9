"""Pairs of features that were each tested alone and failed together."""

import shutil
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from tests.support.errors import known_fault, refused
from tests.support.sites import SITES

import isovist as iv

LIDAR = iv.Lidar(field_of_view=2.0 * np.pi, beams=360, range_max=12.0, noise=0.02)
TWINS = 14
"""Maps that look alike: more than an answer lists estimates."""


@pytest.fixture(params=SITES.values(), ids=lambda site: site.name)
def site(request):
    return request.param


@lru_cache
def alike_maps():
    """Maps of one building, each with a box of its own that the scans hardly see."""
    world = SITES["plane"].world
    free = np.argwhere(world.cells == 0)
    random, maps = np.random.default_rng(0), {}
    for k in range(TWINS):
        cells = world.cells.copy()
        row, column = free[random.integers(len(free))]
        cells[row : row + 2, column : column + 2] = 1
        maps[f"floor {k + 1}"] = iv.build(replace(world, cells=cells))
    return maps


def blind(scan):
    """A scan of which every return is farther than any wall of the map."""
    if isinstance(scan, iv.CloudScan):
        return replace(scan, points=scan.points * 1000.0, range_max=np.inf)
    return replace(scan, ranges=np.where(scan.valid, 500.0, np.nan), range_max=1000.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["floor 3", "floor 9", "floor 14"])
def test_check_judges_a_right_pose_among_more_alike_maps_than_are_listed(name):
    site = SITES["plane"]
    for pose in site.places:
        check = iv.check(alike_maps(), site.look(pose), pose, map=name)
        assert check.verdict != "disagrees", check.reasons
        assert check.fit is not None
        assert check.map == check.fit.map == name


@pytest.mark.slow
def test_all_maps_that_may_be_right_are_named_however_few_estimates_are_listed():
    site = SITES["plane"]
    few = iv.LocalizationSettings(listed=3)
    answer = iv.locate(alike_maps(), site.look(site.places[0]), settings=few)
    assert len(answer.estimates) == 3
    assert iv.Reason.SEVERAL_MAPS in answer.reasons
    assert len(answer.facts["maps"]) == answer.facts["competitors"] + 1 > 3


def test_a_certificate_is_no_part_of_locating(site):
    scan = site.look(site.places[0])
    with refused("certificate", "renamed") as caught:
        iv.locate(site.atlas, scan, certificate=True)
    assert "iv.certify" in str(caught.value)
    with refused("certificate", "renamed"):
        list(iv.locate_many(site.atlas, [scan], certificate=True))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("listed", 0), ("seeds", (0, 0)), ("finalists", (0, 4)), ("finalists", (3000, 0)),
        ("beams", ((0, 0.2), (0, 0.1))), ("sure", (0.5, 2.9, 5.0)), ("seen_share", (7.0, 7.0)),
        ("fine", (0.1, 0.0)), ("coarse", (0.0,)), ("same", (0.0, 0.1)), ("witnesses", 0),
        ("lead", 0.5), ("refuted", (1.0, 0.3, 0.0, 0.04)), ("block", (0.0, 0.75)),
    ],
)  # fmt: skip
def test_settings_with_which_no_scan_can_be_located_are_refused(field, value):
    with refused(field):
        iv.LocalizationSettings(**{field: value})


def test_a_tracker_restored_before_its_first_scan_trusts_a_missing_odometry_as_little(site):
    tracker = iv.Tracker(site.atlas)
    restored = iv.Tracker.from_state(site.atlas, tracker.state())
    scan = site.look(site.places[0])
    beliefs = [each.update(None, scan) for each in (tracker, restored)]
    assert tracker.drift == restored.drift
    np.testing.assert_array_equal(*(belief.best.covariance for belief in beliefs))


def test_a_restored_tracker_that_is_reset_fits_what_it_was_told_to_fit():
    site = SITES["space"]
    leaning = iv.Pose3(5.0, 0.0, 0.7, 1.1, 0.0, 0.12)
    scan = replace(site.look(leaning), roll=0.0, pitch=0.0)
    tracker = iv.Tracker(site.atlas)
    tracker.update(iv.Pose(), scan)
    restored = iv.Tracker.from_state(site.atlas, tracker.state())
    level = site.look(site.places[0])
    sizes = []
    for each in (tracker, restored):
        each.reset()
        sizes.append(each.update(iv.Pose(), level).best.covariance.shape)
    assert sizes[0] == sizes[1] == (4, 4)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_burst_with_a_blind_scan_is_located_by_the_others(site, number):
    places = site.places[0], *(site.places[0] @ type(site.places[0])(0.2 * k) for k in (1, 2))
    scans = [site.look(pose, seed=k) for k, pose in enumerate(places)]
    motions = [a.inverse @ b for a, b in pairwise(places)]
    scans[number] = blind(scans[number])
    answer = iv.locate(site.atlas, scans, motions=motions)
    assert answer.verdict is iv.Verdict.UNIQUE, answer.reasons
    gap = answer.best.pose.position - places[-1].position
    assert np.linalg.norm(gap) < 0.1
    assert not np.isnan(answer.best.covariance).any()


def test_a_burst_of_blind_scans_is_lost(site):
    scan = blind(site.look(site.places[0]))
    answer = iv.locate(site.atlas, [scan, scan], motions=[type(site.places[0])()])
    assert answer.reasons == (iv.Reason.OUTSIDE_MAP,)


def test_a_region_cannot_hold_a_blind_last_scan(site):
    scan = site.look(site.places[0])
    region = iv.Region.circle(tuple(site.places[0].position[:2]), 2.0)
    still = [type(site.places[0])()]
    answer = iv.locate(site.atlas, [scan, blind(scan)], motions=still, prior=region)
    assert answer.verdict is iv.Verdict.LOST


def test_a_time_for_no_proof_is_refused(site):
    with refused("budget_s", "conflict"):
        iv.locate(site.atlas, site.look(site.places[0]), budget_s=1.0)


def test_a_tilt_in_any_attitude_is_refused():
    site = SITES["space"]
    with refused("tilt", "conflict"):
        iv.locate(site.atlas, site.look(site.places[0]), tilt=True, any_attitude=True)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The floor of the site among rooms that are nothing like it: too many to search each."""
    folder = tmp_path_factory.mktemp("floors")
    for k in range(20):
        iv.write_atlas(iv.build(iv.SegmentMap.room(3.0 + 0.1 * k, 2.5)), folder / f"room {k}")
    iv.write_atlas(SITES["plane"].atlas, folder / "floor")
    return folder


def unreadable_rooms(folder, scan):
    """A library that has compared all maps, of which the rooms cannot be read any more."""
    library = iv.read_library(folder, memory=1)
    assert iv.locate(library, scan).map == "floor"
    for path in folder.glob("room */descriptors*"):
        path.unlink()
    assert iv.locate(library, scan).map == "floor"
    return library


@pytest.mark.slow
@known_fault("only one scan without a region is compared with all maps", iv.FileError)
@pytest.mark.parametrize("verb", ["check", "several scans", "region"])
def test_maps_that_cannot_be_right_are_not_opened(library, tmp_path, verb):
    site = SITES["plane"]
    pose = site.places[0]
    scan = site.look(pose)
    maps = unreadable_rooms(shutil.copytree(library, tmp_path / "floors"), scan)
    if verb == "check":
        assert iv.check(maps, scan, pose, map="floor").verdict == "agrees"
    elif verb == "several scans":
        assert iv.locate(maps, [scan, scan], motions=[iv.Pose()]).map == "floor"
    else:
        anywhere = dict.fromkeys(maps)
        assert iv.locate(maps, scan, prior=anywhere).map == "floor"


@pytest.mark.slow
def test_a_leaning_scan_is_located_among_many_maps(tmp_path):
    site = SITES["space"]
    for k in range(17):
        room = iv.MeshMap.extrude(iv.SegmentMap.room(4.0 + 0.2 * k, 5.0), 0.0, 2.5)
        iv.write_atlas(iv.build(room, height=1.0), tmp_path / f"room {k}")
    iv.write_atlas(site.atlas, tmp_path / "house")
    truth = iv.Pose3(5.0, 0.0, 0.7, 1.1, 0.03, 0.06)
    scan = replace(site.look(truth), roll=0.0, pitch=0.0)
    answer = iv.locate(iv.read_library(tmp_path), scan)
    assert answer.map == "house"
    assert np.linalg.norm(answer.best.pose.position - truth.position) < 0.1


@pytest.mark.slow
@known_fault("the proof is of the sensor, and its regions of the robot")
def test_a_proof_of_uniqueness_holds_for_a_robot_with_its_sensor_far_out():
    site = SITES["plane"]
    pose, mount = iv.Pose(5.2, 6.4, -1.9), iv.Pose(1.0, 0.0, 0.0)
    answer = iv.locate(site.atlas, site.look(pose, mount=mount), prove=True, budget_s=20.0)
    assert answer.proof.complete
    assert answer.proof.unique
    x, y, _, radius, _ = answer.proof.regions.T
    gaps = np.hypot(x - answer.best.pose.x, y - answer.best.pose.y) + radius
    assert gaps.max() <= 0.5
