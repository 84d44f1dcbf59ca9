"""Scans from any attitude: upside down, on the side, in a hand; nobody knows which way is up."""

import json
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from tests.support.attitudes import TALL, TURNS, look
from tests.support.reference_space import atlas_of, house, house_atlas, symmetric_room
from tests.support.sites import PLANE
from typer.testing import CliRunner

import isovist as iv
from isovist import CloudScan, InputError, Pose3, Region, Verdict, VoxelMap
from isovist.apps import app
from isovist.evaluation import measure, simulated_trials
from isovist.poses import swing, way_of
from isovist.report import answer_text
from isovist.sensing import ups_of


def off(answer, truth):
    """Distance in m and angle in °, about any axis, of the best estimate from the truth."""
    way, turn = way_of(truth.inverse @ answer.best.pose)
    return way, float(np.degrees(turn))


@lru_cache
def found(name):
    return iv.locate(house_atlas(), look(TURNS[name]), any_attitude=True, certificate=True)


@pytest.fixture(autouse=True)
def few_ways(monkeypatch):
    """All round takes long where a scan is to be lost."""
    monkeypatch.setattr("isovist.localization.attitudes.ALL_ROUND", 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", TURNS)
def test_a_way_that_may_be_up_is_within_9_degrees_of_up(name):
    ups = ups_of(look(TURNS[name]))
    np.testing.assert_allclose(np.linalg.norm(ups, axis=1), 1.0)
    assert (ups @ TURNS[name].rotation[2]).max() > np.cos(np.radians(9.0))
    assert len(ups) <= 24


@pytest.mark.slow
@pytest.mark.parametrize("name", TURNS)
def test_a_scan_from_any_attitude_has_one_place_and_its_full_rotation(name):
    answer, truth = found(name), TURNS[name]
    away, turn = off(answer, truth)
    assert answer.verdict is Verdict.UNIQUE
    assert answer.advice == "One place explains the scan, and no other comes near."
    # Half a cell, and half a cell at 2 m: a simulated beam ends at the face of a cell.
    assert away < 0.1
    assert turn < 2.0
    assert answer.best.covariance.shape == (6, 6)
    assert np.linalg.eigvalsh(answer.best.covariance).min() > 0.0
    assert answer.timing_ms["total"] >= answer.timing_ms["search"] > 0.0
    assert answer.certificate.mu > 0.0


@pytest.mark.slow
def test_turning_the_sensor_turns_the_answer_and_leaves_the_place():
    truth = TURNS["level"]
    scan, first = look(truth), found("level")
    turn = Pose3.from_quaternion([0.6, 0.1, -0.5, 0.2], np.zeros(3))
    turned = replace(scan, points=turn.inverse.apply(scan.points))
    answer = iv.locate(house_atlas(), turned, any_attitude=True)
    assert answer.verdict is Verdict.UNIQUE
    way, angle = way_of((first.best.pose @ turn).inverse @ answer.best.pose)
    assert way < 0.05
    assert np.degrees(angle) < 1.5


@pytest.mark.slow
def test_what_a_scan_tells_of_its_attitude_is_not_believed():
    scan = replace(look(TURNS["upside down"]), roll=0.4, pitch=-0.3)
    answer = iv.locate(house_atlas(), scan, any_attitude=True)
    np.testing.assert_allclose(answer.best.pose.vector, found("upside down").best.pose.vector)


@pytest.mark.slow
def test_the_answer_is_of_the_robot_and_not_of_the_sensor():
    mount = Pose3(0.2, -0.1, 0.5, 0.3, 0.8, -0.2)
    robot = TURNS["any"] @ mount.inverse
    scan = replace(look(TURNS["any"]), T_robot_sensor=mount)
    answer = iv.locate(house_atlas(), scan, any_attitude=True)
    away, turn = off(answer, robot)
    assert answer.frame == "robot"
    assert away < 0.1
    assert turn < 2.0


@pytest.mark.slow
def test_a_room_that_looks_the_same_turned_is_ambiguous_in_any_attitude():
    room = symmetric_room(False)
    truth = Pose3(2.2, 2.9, 0.4, 1.1, 2.0)
    answer = iv.locate(atlas_of(room), look(truth, room), any_attitude=True)
    assert answer.verdict is Verdict.AMBIGUOUS
    assert len(answer.rivals) == 1
    assert answer.best.probability == pytest.approx(0.5, abs=0.05)


@pytest.mark.slow
def test_a_place_in_another_attitude_is_a_rival():
    """A bare box is the same turned over: four attitudes, of which two are upside down."""
    cells = np.zeros((26, 42, 62), np.uint8)
    for axis in range(3):
        np.moveaxis(cells, axis, 0)[[0, -1]] = 1
    box = VoxelMap.from_array(cells, 0.1)
    answer = iv.locate(iv.build(box), look(Pose3(3.2, 2.6, 0.4, 1.1), box), any_attitude=True)
    assert answer.verdict is Verdict.AMBIGUOUS
    alive = [answer.best, *answer.rivals]
    assert sorted(e.pose.rotation[2, 2] > 0.0 for e in alive) == [False, False, True, True]
    assert all(e.probability == pytest.approx(0.25, abs=0.02) for e in alive)
    assert sum(e.probability for e in answer.estimates) <= 1.0


@pytest.mark.slow
def test_one_flat_wall_is_never_unique():
    u, v = np.meshgrid(np.linspace(-1.5, 1.5, 20), np.linspace(-1.5, 1.5, 20))
    wall = np.column_stack([np.full(u.size, 2.0), u.ravel(), v.ravel()])
    answer = iv.locate(house_atlas(), CloudScan(wall), any_attitude=True)
    assert answer.verdict is not Verdict.UNIQUE


@pytest.mark.slow
def test_a_cloud_that_is_of_no_place_is_lost_in_words(monkeypatch):
    monkeypatch.setattr("isovist.localization.attitudes.ups_of", lambda _: np.eye(3)[2:])
    monkeypatch.setattr("isovist.localization.attitudes.ALL_ROUND", 2)
    cloud = np.random.default_rng(7).normal(size=(200, 3)) * 3.0
    answer = iv.locate(house_atlas(), CloudScan(cloud), any_attitude=True)
    assert answer.verdict is Verdict.LOST
    assert answer.advice.startswith("Nowhere in the map does the scan fit: at best ")


@pytest.mark.slow
def test_ways_all_round_are_tried_where_planes_give_none(monkeypatch):
    monkeypatch.setattr("isovist.localization.attitudes.ups_of", lambda _: np.empty((0, 3)))
    monkeypatch.setattr("isovist.localization.attitudes.ALL_ROUND", 36)
    answer = iv.locate(house_atlas(), look(TURNS["upside down"]), any_attitude=True)
    away, turn = off(answer, TURNS["upside down"])
    assert answer.verdict is Verdict.UNIQUE
    assert away < 0.1
    assert turn < 2.0


@pytest.mark.slow
def test_the_answer_lies_in_a_prior_that_says_no_heading():
    near, far = Region.circle([5.0, 0.0], 0.5), Region.circle([10.5, 0.5], 0.5)
    scan = look(TURNS["any"])
    assert off(iv.locate(house_atlas(), scan, prior=near, any_attitude=True), TURNS["any"])[0] < 0.1
    elsewhere = iv.locate(house_atlas(), scan, prior=far, any_attitude=True)
    assert elsewhere.verdict is not Verdict.UNIQUE
    assert all(np.hypot(e.pose.x - 10.5, e.pose.y - 0.5) <= 0.5 for e in elsewhere.estimates)


@pytest.mark.slow
def test_of_several_maps_the_right_one_is_told():
    maps = {"room": atlas_of(symmetric_room(False)), "house": house_atlas()}
    answer = iv.locate(maps, look(TURNS["any"]), any_attitude=True)
    assert (answer.verdict, answer.map) == (Verdict.UNIQUE, "house")
    assert off(answer, TURNS["any"])[0] < 0.1


@pytest.mark.slow
def test_several_scans_joined_by_motions_in_space_are_one():
    last = Pose3.from_quaternion([0.5, 0.1, -0.4, 0.6], [5.4, 0.3, 1.6])
    scans = [look(TURNS["any"]), look(last, seed=5)]
    motion = TURNS["any"].inverse @ last
    answer = iv.locate(house_atlas(), scans, motions=[motion], any_attitude=True)
    away, turn = off(answer, last)
    assert answer.verdict is Verdict.UNIQUE
    assert away < 0.1
    assert turn < 2.0


@pytest.mark.slow
def test_many_scans_have_the_answers_of_each():
    (answer,) = iv.locate_many(house_atlas(), [look(TURNS["any"])], any_attitude=True)
    assert answer.verdict is found("any").verdict
    np.testing.assert_array_equal(answer.best.pose.vector, found("any").best.pose.vector)


@pytest.mark.slow
def test_what_any_attitude_cannot_do_is_said():
    scan = look(TURNS["any"])
    plane = PLANE.look(PLANE.places[0])
    cases = [
        ((PLANE.atlas, plane), {}, "`any_attitude` is for maps in space; this atlas is of the "
         "plane."),
        ((house_atlas(), scan), {"prior": Region.facing(0.0, 0.5)}, "A heading says nothing of a "
         "robot in any attitude. Give a `prior` without one, e.g. Region.circle."),
        ((house_atlas(), [scan, scan]), {"motions": [iv.Pose(0.1, 0.0, 0.0)]}, "A Pose is a motion "
         "on level ground. In any attitude give `motions` as Pose3."),
        ((house_atlas(), scan), {"prove": True}, "A proof is for maps of the plane; this atlas is "
         "in space."),
    ]  # fmt: skip
    for given, more, text in cases:
        with pytest.raises(InputError) as error:
            iv.locate(*given, any_attitude=True, **more)
        assert str(error.value) == text
    with pytest.raises(InputError) as error:
        CloudScan(np.zeros((0, 3)))
    assert str(error.value) == (
        "A scan in space needs at least 50 returns, got 0 among 0 points: the others are not "
        "finite, at the origin or outside [0, inf) m."
    )


def test_a_robot_that_looks_straight_up_has_a_covariance():
    level = Pose3(1.0, 2.0, 0.3, 0.5)[None]
    upright = level @ Pose3(pitch=-np.pi / 2.0)
    J = swing(level, upright, 6)
    assert np.isfinite(J).all()
    near = swing(level, level @ Pose3(pitch=-1.2), 6)
    np.testing.assert_allclose(J[:, :2], near[:, :2], atol=1e-12)


@pytest.mark.slow
def test_text_and_json_tell_roll_and_pitch(tmp_path):
    text = answer_text(found("upside down"))
    assert "   roll  177" in text or "   roll  176" in text or "   roll  178" in text
    assert "°   pitch " in text
    world = tmp_path / "house.xyz"
    np.savetxt(world, house().centres(house().grid.walls()))
    scan = tmp_path / "scan.bin"
    points = look(TURNS["upside down"]).points
    np.column_stack([points, np.zeros(len(points))]).astype(np.float32).tofile(scan)
    command = ["locate", str(world), str(scan), "--any-attitude", "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)["estimates"][0]
    pose = Pose3.from_vector([told[k] for k in ("x", "y", "yaw", "z", "roll", "pitch")])
    way, turn = way_of(TURNS["upside down"].inverse @ pose)
    assert way < 0.2
    assert np.degrees(turn) < 3.0


@pytest.mark.slow
def test_simulated_sensors_can_be_turned_at_random():
    trials = simulated_trials(house(), 6, TALL, seed=2, any_attitude=True)
    ups = np.array([trial.truth.rotation[2, 2] for trial in trials])
    assert (np.abs(ups) < 0.95).any()
    assert (ups < 0.0).any()
    assert all((trial.scan().roll, trial.scan().pitch) == (0.0, 0.0) for trial in trials)
    row = measure("house", house(), trials[4:5], any_attitude=True)
    assert row["success"] == 1.0
    assert row["false_confident"] == 0.0


def test_simulated_sensors_can_lean_untold():
    trials = simulated_trials(house(), 6, TALL, seed=2, lean=np.radians(5.0))
    tilts = np.array([[trial.truth.roll, trial.truth.pitch] for trial in trials])
    assert 1.0 < np.degrees(np.abs(tilts)).max() <= 5.0
    assert all((trial.scan().roll, trial.scan().pitch) == (0.0, 0.0) for trial in trials)
    with pytest.raises(InputError) as error:
        simulated_trials(house(), 6, TALL, lean=-0.1)
    assert str(error.value) == ("`lean` must be an angle from 0° to less than 90°, got -5.72958°.")
