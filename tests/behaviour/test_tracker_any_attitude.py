"""Robots in space that are followed though nobody knows which way is up."""

import json
from itertools import pairwise

import numpy as np
import pytest
from tests.support.attitudes import HELD, START, look, way
from tests.support.bag_writer import link, quaternion, write_bag
from tests.support.bag_writer import odometry as odometry_row
from tests.support.cloud_writer import laid_out
from tests.support.errors import refused
from tests.support.reference_space import atlas_of, house_atlas, symmetric_room
from tests.support.sites import PLANE

from isovist import Pose, Pose3, Region, Tracker, Verdict, VoxelMap, build, write_atlas


def follow(tracker, poses, world=None, aided=True, jump=None, seed=0):
    """Beliefs along a way, by odometry without noise that does not know of a jump.

    Of the odometry: up is any way in its frame.
    """
    odometry, beliefs = START, []
    for k, pose in enumerate(poses):
        if k and k != jump:
            odometry = odometry @ (poses[k - 1].inverse @ pose)
        scan = look(pose, world, seed=seed + k)
        beliefs.append(tracker.update(odometry if aided else None, scan, time=0.3 * k))
    return beliefs


def off(pose, truth):
    """Distance in m and angle in °, about any axis, of a pose from the truth."""
    apart = truth.inverse @ pose
    cosine = 0.5 * (np.trace(apart.rotation) - 1.0)
    return np.linalg.norm(apart.position), np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))


def check(belief, truth):
    """Unique, and right by half a cell: 0.05 m at 1 m are 2.9°."""
    assert belief.verdict is Verdict.UNIQUE
    metres, turn = off(belief.best.pose, truth)
    assert metres < 0.1
    assert turn < 2.5


def held():
    return Tracker(house_atlas(), any_attitude=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize("aided", [True, False])
def test_a_robot_is_found_and_followed_in_any_attitude(name, aided):
    poses = way(HELD[name], turn=0.2) if aided else way(HELD[name], step=0.1, turn=0.03)
    tracker = held()
    for belief, pose in zip(follow(tracker, poses, aided=aided), poses, strict=True):
        check(belief, pose)
        assert belief.best.covariance.shape == (6, 6)
    # Level in its own frame: roll and pitch are what is left to fit.
    assert np.abs(tracker.state()["poses"][0][4:]).max() < np.radians(2.0)


@pytest.mark.slow
def test_a_robot_that_is_carried_away_is_found_in_another_attitude():
    there = Pose3(10.5, -0.6, 1.0, 1.4)
    second = [there @ HELD["nose up"] @ Pose3(0.0, 0.05 * k, 0.1 * k) for k in range(5)]
    beliefs = follow(held(), [*way(HELD["upside down"], 3), *second], jump=3)
    assert beliefs[2].verdict is Verdict.UNIQUE
    assert beliefs[3].verdict is not Verdict.UNIQUE
    check(beliefs[-1], second[-1])


@pytest.mark.slow
def test_places_in_other_attitudes_are_rivals_on_the_way():
    """Of a bare room: four attitudes explain every scan, two of them upside down."""
    cells = np.zeros((26, 42, 62), np.uint8)
    for axis in range(3):
        np.moveaxis(cells, axis, 0)[[0, -1]] = 1
    box = VoxelMap.from_array(cells, 0.1)
    poses = [Pose3(2.6 + 0.3 * k, 2.6, 0.4, 1.1, roll=1.2) for k in range(4)]
    tracker = Tracker(build(box), any_attitude=True)
    for belief, pose in zip(follow(tracker, poses, box), poses, strict=True):
        assert belief.verdict is Verdict.AMBIGUOUS
        alive = [one.pose for one in belief.estimates if not one.refuted]
        near = [off(one, pose) for one in alive]
        assert any(metres < 0.15 and turn < 3.0 for metres, turn in near)
        ups = [one.rotation[2] @ pose.rotation[2] for one in alive]
        assert min(ups) < -0.99
        assert max(ups) > 0.99


@pytest.mark.slow
def test_of_several_maps_the_right_one_is_told():
    maps = {"room": atlas_of(symmetric_room(False)), "house": house_atlas()}
    poses = way(HELD["any"], 3)
    belief = follow(Tracker(maps, any_attitude=True), poses)[-1]
    assert belief.map == "house"
    check(belief, poses[-1])


@pytest.mark.slow
def test_a_prior_holds_the_start_and_not_the_way():
    poses = way(HELD["any"], 4)
    near = Region.circle(poses[0].position[:2], 0.3)
    check(follow(Tracker(house_atlas(), region=near, any_attitude=True), poses)[-1], poses[-1])
    elsewhere = Region.circle([10.5, 0.5], 0.5)
    (belief,) = follow(Tracker(house_atlas(), region=elsewhere, any_attitude=True), poses[:1])
    assert belief.verdict is not Verdict.UNIQUE
    slack = 0.5 + 0.5  # `same` of the settings: odometry may be off by that
    assert all(np.hypot(e.pose.x - 10.5, e.pose.y - 0.5) <= slack for e in belief.estimates)


@pytest.mark.slow
def test_a_tracker_goes_on_from_its_state_to_the_bit():
    poses, one = way(HELD["nose up"], 4), held()
    follow(one, poses[:3])
    two = Tracker.from_state(house_atlas(), json.loads(json.dumps(one.state())))
    assert two.any_attitude
    odometry, scan = START @ (poses[0].inverse @ poses[3]), look(poses[3], seed=3)
    said = [tracker.update(odometry, scan, time=0.9) for tracker in (one, two)]
    np.testing.assert_array_equal(*(belief.best.pose.vector for belief in said))


@pytest.mark.slow
def test_between_scans_odometry_carries_the_attitude_along():
    tracker, motion = held(), Pose3(0.1, -0.1, 0.5, 0.05, 1.0, -0.3)
    (before,) = follow(tracker, way(HELD["any"], 1))
    belief = tracker.move(START @ motion, time=0.3)
    there = before.best.pose @ motion
    np.testing.assert_allclose(belief.best.pose.vector, there.vector, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "field", "code"),
    [
        (lambda: Tracker(PLANE.atlas, any_attitude=True), "any_attitude", "wrong_dimension"),
        (lambda: Tracker(house_atlas(), region=Region.facing(0.0, 0.5), any_attitude=True),
         "region", "conflict"),
        (lambda: held().reset(Region.facing(0.0, 0.5)), "region", "conflict"),
        (lambda: held().update(Pose(), look(way(HELD["any"], 1)[0])), "odometry", "conflict"),
    ],
)  # fmt: skip
def test_what_any_attitude_cannot_do_is_refused(make, field, code):
    with refused(field, code):
        make()


@pytest.mark.slow
def test_the_command_line_follows_in_any_attitude(tmp_path, typed):
    write_atlas(house_atlas(), tmp_path / "house")
    poses, rows, at = way(HELD["upside down"], 4), [], START
    for k, (before, pose) in enumerate(pairwise([poses[0], *poses])):
        at = at @ (before.inverse @ pose)
        cloud = dict(zip("xyz", look(pose, seed=k).points.T, strict=True))
        rows.append(laid_out(10.0 + 0.1 * k, cloud, "velodyne"))
        turn = quaternion(at.roll, at.pitch, at.yaw)
        topic, kind, time, said = odometry_row(10.0 + 0.1 * k, (at.x, at.y, at.yaw), turn=turn)
        rows.append((topic, kind, time, said | {"at": at.position}))
    sits = link(0.0, "base", "lidar", np.zeros(3), Pose3().quaternion, topic="/tf_static")
    write_bag(tmp_path, [sits, *rows], "mcap", "run")
    code, out, _ = typed("track", tmp_path / "house", tmp_path / "run", "--any-attitude", "--json")
    assert code == 0
    told = json.loads(out.splitlines()[-1])["estimates"][0]
    pose = Pose3(*(told[key] for key in ("x", "y", "yaw", "z", "roll", "pitch")))
    metres, turn = off(pose, poses[-1])
    assert metres < 0.1
    assert turn < 2.5


def test_the_command_line_refuses_the_plane_in_a_line(tmp_path, typed):
    log = tmp_path / "run.log"
    log.write_text("FLASER 3 1.0 1.0 1.0 0 0 0 0 0 0 1.0 host 1.0\n" * 2)
    write_atlas(PLANE.atlas, tmp_path / "building")
    code, out, err = typed("track", tmp_path / "building", log, "--any-attitude")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "attitude`" in err
