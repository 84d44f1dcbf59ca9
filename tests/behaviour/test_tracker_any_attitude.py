"""Robots in space that are followed though nobody knows which way is up."""

import json
from itertools import pairwise

import numpy as np
import pytest
from tests.support.attitudes import HELD, START, look, way
from tests.support.bag_writer import link, quaternion, write_bag
from tests.support.bag_writer import odometry as odometry_row
from tests.support.cloud_writer import laid_out
from tests.support.reference_space import atlas_of, house_atlas, symmetric_room
from tests.support.sites import PLANE
from typer.testing import CliRunner

import isovist as iv
from isovist import InputError, Pose3, Region, Verdict, VoxelMap
from isovist.apps import app
from isovist.poses import way_of
from isovist.tracking.attitude import followed, tilt_by
from isovist.tracking.bank import unlike_turned

"""Of the odometry: up is any way in its frame."""


def follow(tracker, poses, world=None, aided=True, jump=None, seed=0):
    """Beliefs along a way, by odometry without noise that does not know of a jump."""
    odometry, beliefs = START, []
    for k, pose in enumerate(poses):
        if k and k != jump:
            odometry = odometry @ (poses[k - 1].inverse @ pose)
        scan = look(pose, world, seed=seed + k)
        beliefs.append(tracker.update(odometry if aided else None, scan, time=0.3 * k))
    return beliefs


def off(belief, truth):
    """Distance in m and angle in °, about any axis, of the best estimate from the truth."""
    metres, turn = way_of(truth.inverse @ belief.best.pose)
    return metres, float(np.degrees(turn))


@pytest.mark.slow
@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize("aided", [True, False])
def test_a_robot_is_found_and_followed_in_any_attitude(name, aided):
    poses = way(HELD[name], turn=0.2) if aided else way(HELD[name], step=0.1, turn=0.03)
    tracker = iv.Tracker(house_atlas(), any_attitude=True)
    for belief, pose in zip(follow(tracker, poses, aided=aided), poses, strict=True):
        metres, turn = off(belief, pose)
        assert belief.verdict is Verdict.UNIQUE
        assert metres < 0.1
        assert turn < 2.5  # half a cell of 0.1 m at 1 m is 2.9°
        assert belief.best.covariance.shape == (6, 6)
    # Level in its own frame: roll and pitch are what is left to fit.
    assert np.abs(tracker.bank.poses[0, 4:]).max() < np.radians(2.0)


@pytest.mark.slow
def test_a_robot_that_is_carried_away_is_found_in_another_attitude():
    first = way(HELD["upside down"], 3)
    there = Pose3(10.5, -0.6, 1.0, 1.4)
    second = [there @ HELD["nose up"] @ Pose3(0.0, 0.05 * k, 0.1 * k) for k in range(5)]
    tracker = iv.Tracker(house_atlas(), any_attitude=True)
    beliefs = follow(tracker, [*first, *second], jump=3)
    assert beliefs[2].verdict is Verdict.UNIQUE
    assert beliefs[3].verdict is not Verdict.UNIQUE
    assert beliefs[-1].verdict is Verdict.UNIQUE
    metres, turn = off(beliefs[-1], second[-1])
    assert metres < 0.1
    assert turn < 2.5


def box():
    """A bare room: four attitudes explain every scan, two of them upside down."""
    cells = np.zeros((26, 42, 62), np.uint8)
    for axis in range(3):
        np.moveaxis(cells, axis, 0)[[0, -1]] = 1
    return VoxelMap.from_array(cells, 0.1)


@pytest.mark.slow
def test_places_in_other_attitudes_are_rivals_on_the_way():
    poses = [Pose3(2.6 + 0.3 * k, 2.6, 0.4, 1.1, roll=1.2) for k in range(4)]
    tracker = iv.Tracker(iv.build(box()), any_attitude=True)
    for belief, pose in zip(follow(tracker, poses, box()), poses, strict=True):
        assert belief.verdict is Verdict.AMBIGUOUS
        alive = [one for one in belief.estimates if not one.refuted]
        near = [way_of(pose.inverse @ one.pose) for one in alive]
        assert any(metres < 0.15 and turn < np.radians(3.0) for metres, turn in near)
        ups = [one.pose.rotation[2] @ pose.rotation[2] for one in alive]
        assert min(ups) < -0.99
        assert max(ups) > 0.99


@pytest.mark.slow
def test_of_several_maps_the_right_one_is_told():
    maps = {"room": atlas_of(symmetric_room(False)), "house": house_atlas()}
    poses = way(HELD["any"], 3)
    belief = follow(iv.Tracker(maps, any_attitude=True), poses)[-1]
    assert (belief.verdict, belief.map) == (Verdict.UNIQUE, "house")
    assert off(belief, poses[-1])[0] < 0.1


@pytest.mark.slow
def test_a_prior_holds_the_start_and_not_the_way():
    poses = way(HELD["any"], 4)
    near = Region.circle(poses[0].position[:2], 0.3)
    belief = follow(iv.Tracker(house_atlas(), prior=near, any_attitude=True), poses)[-1]
    assert belief.verdict is Verdict.UNIQUE
    assert off(belief, poses[-1])[0] < 0.1
    elsewhere = Region.circle([10.5, 0.5], 0.5)
    (belief,) = follow(iv.Tracker(house_atlas(), prior=elsewhere, any_attitude=True), poses[:1])
    assert belief.verdict is not Verdict.UNIQUE
    slack = 0.5 + 0.5  # `same` of the settings: odometry may be off by that
    assert all(np.hypot(e.pose.x - 10.5, e.pose.y - 0.5) <= slack for e in belief.estimates)


@pytest.mark.slow
def test_a_tracker_goes_on_from_its_state_to_the_bit():
    poses = way(HELD["nose up"], 4)
    one = iv.Tracker(house_atlas(), any_attitude=True)
    follow(one, poses[:3])
    state = json.loads(json.dumps(one.state()))
    two = iv.Tracker.from_state(house_atlas(), state)
    odometry = START @ (poses[0].inverse @ poses[3])
    scan = look(poses[3], seed=3)
    said = [tracker.update(odometry, scan, time=0.9) for tracker in (one, two)]
    np.testing.assert_array_equal(*(belief.best.pose.vector for belief in said))
    assert two.any_attitude


@pytest.mark.slow
def test_between_scans_odometry_carries_the_attitude_along():
    poses = way(HELD["any"], 2)
    tracker = iv.Tracker(house_atlas(), any_attitude=True)
    (before,) = follow(tracker, poses[:1])
    motion = Pose3(0.1, -0.1, 0.5, 0.05, 1.0, -0.3)
    belief = tracker.move(START @ motion, time=0.3)
    there = before.best.pose @ motion
    np.testing.assert_allclose(belief.best.pose.vector, there.vector, atol=1e-9)


def test_what_any_attitude_cannot_do_is_said():
    scan = look(way(HELD["any"], 1)[0])
    cases = [
        (lambda: iv.Tracker(PLANE.atlas, any_attitude=True),
         "`any_attitude` is for maps in space; this atlas is of the plane."),
        (lambda: iv.Tracker(house_atlas(), prior=Region.facing(0.0, 0.5), any_attitude=True),
         "A heading says nothing of a robot in any attitude. Give a `prior` without one, e.g. "
         "Region.circle."),
        (lambda: iv.Tracker(house_atlas(), any_attitude=True).reset(Region.facing(0.0, 0.5)),
         "A heading says nothing of a robot in any attitude. Give a `prior` without one, e.g. "
         "Region.circle."),
        (lambda: iv.Tracker(house_atlas(), any_attitude=True).update(iv.Pose(), scan),
         "A pose x, y, yaw is of a robot on level ground. In any attitude `odometry` must be a "
         "Pose3, x, y, yaw, z, roll, pitch, or none."),
    ]  # fmt: skip
    for wrong, text in cases:
        with pytest.raises(InputError) as error:
            wrong()
        assert str(error.value) == text


def test_the_level_frame_follows_the_best_place_and_spares_the_others():
    tilt = Pose3(roll=2.0, pitch=0.3)
    up = tilt.rotation[2]
    assert followed(tilt, up[None]) is tilt  # nothing turned
    turned = Pose3(roll=0.2).rotation @ up
    after = followed(tilt, turned[None])
    np.testing.assert_allclose(after.rotation @ turned, [0.0, 0.0, 1.0], atol=1e-12)
    assert way_of(after @ tilt.inverse)[1] == pytest.approx(np.arccos(turned @ up), abs=0.01)
    # A rival that would look straight up: the frame is turned about the vertical of the best.
    rival = tilt.rotation[0]
    spared = followed(tilt, np.stack([up, rival]))
    np.testing.assert_allclose(spared.rotation @ up, [0.0, 0.0, 1.0], atol=1e-12)
    assert abs(spared.rotation[0] @ rival) <= np.sin(np.radians(60.0))
    mount = tilt.inverse @ Pose3(0.1, 0.2, 0.0, 0.3)
    np.testing.assert_allclose(tilt_by(mount).rotation, tilt.rotation, atol=1e-12)


def test_poses_are_alike_in_place_and_attitude_or_not_at_all():
    rows = [[0, 0, 0, 0, 0, 0], [0.1, 0, 0.05, 0, 0, 0], [0.1, 0, 0.05, 0, np.pi, 0],
            [0, 0, 0, 0.9, 0, 0], [0, 0, np.pi, 0, np.pi, -np.pi]]  # fmt: skip
    assert unlike_turned(Pose3.from_vector(np.array(rows, float)), 0.5, 0.2) == [0, 2, 3]


@pytest.mark.slow
def test_the_command_line_follows_in_any_attitude(tmp_path):
    iv.write_atlas(house_atlas(), tmp_path / "house")
    poses, rows, at = way(HELD["upside down"], 4), [], START
    for k, (before, pose) in enumerate(pairwise([poses[0], *poses])):
        at = at @ (before.inverse @ pose)
        cloud = dict(zip("xyz", look(pose, seed=k).points.T, strict=True))
        rows.append(laid_out(10.0 + 0.1 * k, cloud, "velodyne"))
        turn = quaternion(at.roll, at.pitch, at.yaw)
        topic, kind, time, said = odometry_row(10.0 + 0.1 * k, (at.x, at.y, at.yaw), turn=turn)
        said = said | {"at": at.position}
        rows.append((topic, kind, time, said))
    sits = link(0.0, "base", "lidar", np.zeros(3), Pose3().quaternion, topic="/tf_static")
    write_bag(tmp_path, [sits, *rows], "mcap", "run")
    command = ["track", str(tmp_path / "house"), str(tmp_path / "run"), "--any-attitude", "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout.splitlines()[-1])["estimates"][0]
    pose = Pose3(*(told[key] for key in ("x", "y", "yaw", "z", "roll", "pitch")))
    metres, turn = way_of(poses[-1].inverse @ pose)
    assert metres < 0.1
    assert np.degrees(turn) < 2.5


def test_the_command_line_refuses_the_plane_and_the_paper_in_a_line(tmp_path):
    log = tmp_path / "run.log"
    log.write_text("FLASER 3 1.0 1.0 1.0 0 0 0 0 0 0 1.0 host 1.0\n" * 2)
    cells = np.zeros((20, 20), np.uint8)
    cells[[0, -1]] = cells[:, [0, -1]] = 1
    iv.write_atlas(iv.build(iv.OccupancyMap.from_array(cells, 0.2)), tmp_path / "room")
    command = ["track", str(tmp_path / "room"), str(log), "--any-attitude"]
    texts = {
        (): "`--any-attitude` is for maps in space; this atlas is of the plane.",
        ("--method", "paper"): "`--method paper` follows robots in the plane, and `--any-attitude` "
        "is in space.",
    }
    for more, text in texts.items():
        result = CliRunner().invoke(app, [*command, *more])
        assert isinstance(result.exception, InputError)
        assert str(result.exception) == text
