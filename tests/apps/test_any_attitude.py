"""The server and the ROS node on robots of which nobody knows which way is up."""

import numpy as np
import pytest
from tests.support.attitudes import HELD, START, TURNS, look, way
from tests.support.errors import refused
from tests.support.reference_space import house_atlas
from tests.support.reports import said, untimed
from tests.support.ros_robot import pose_in_space, turned
from tests.support.serve_door import followed, refusal, serving
from tests.support.sites import PLANE

import isovist as iv

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    folder = tmp_path_factory.mktemp("maps")
    iv.write_atlas(house_atlas(), folder / "house.atlas")
    with serving(folder) as (_, client):
        yield client


def cloud(scan):
    return {"points": scan.points.tolist()}


def near(pose, truth):
    """Whether a pose is the true one, within 0.1 m and 2° about any axis."""
    gap = truth.inverse @ pose
    turn = np.arccos(np.clip((np.trace(gap.rotation) - 1.0) / 2.0, -1.0, 1.0))
    return np.linalg.norm(gap.position) < 0.1 and np.degrees(turn) < 2.0


def posed(told):
    """The pose of the best estimate in JSON."""
    best = told["estimates"][0]
    return iv.Pose3(*(best[key] for key in ("x", "y", "yaw", "z", "roll", "pitch")))


def test_a_scan_in_any_attitude_is_located(door):
    truth = TURNS["upside down"]
    scan = look(truth)
    told = door.post("/locate", json={"scan": cloud(scan), "any_attitude": True}).json()
    assert untimed(told) == said(iv.locate(house_atlas(), scan, any_attitude=True))
    assert told["verdict"] == "unique"
    assert near(posed(told), truth)
    level = door.post("/locate", json={"scan": cloud(scan), "hints": False}).json()
    assert level["verdict"] != "unique"


@pytest.mark.parametrize("aided", [True, False])
def test_a_robot_in_any_attitude_is_followed_as_by_a_tracker(door, aided):
    tracker = iv.Tracker(house_atlas(), any_attitude=True)
    key = door.post("/track", json={"any_attitude": True}).json()["session"]
    poses = way(HELD["nose up"], 3, step=0.1, turn=0.03)
    for k, pose in enumerate(poses):
        scan = look(pose, seed=k)
        row = (START @ (poses[0].inverse @ pose)).vector.tolist() if aided else None
        ask = {"odometry": row, "scan": cloud(scan), "time": float(k)}
        told = door.post(f"/track/{key}", json=ask).json()
        exact = iv.Pose3(*row) if aided else None  # as the numbers of the request are
        assert untimed(told) == followed(tracker, k, exact, scan, float(k))
        assert told["verdict"] == "unique"
        assert np.linalg.norm(posed(told).position - pose.position) < 0.1


def test_a_level_robot_is_followed_in_space_with_its_tilt(door):
    key = door.post("/track", json={"tilt": True}).json()["session"]
    truth = iv.Pose3(5.0, 0.0, 0.7, 1.5, 0.05, -0.04)
    ask = {"odometry": [0.0, 0.0, 0.0], "scan": cloud(look(truth))}
    told = door.post(f"/track/{key}", json=ask).json()
    assert np.shape(told["estimates"][0]["covariance"]) == (6, 6)
    assert near(posed(told), truth)


def test_what_cannot_be_asked_is_refused(door):
    turned = {"any_attitude": True, "heading": [0.0, 0.5]}
    scan = cloud(look(TURNS["any"]))
    for address, ask in (("/locate", {"scan": scan, **turned}), ("/track", turned)):
        assert refusal(door.post(address, json=ask))[:2] == (400, "conflict")
    key = door.post("/track", json={"any_attitude": True}).json()["session"]
    for row, code in (([0, 0, 0], "conflict"), ([0.0], "invalid_value")):
        told = door.post(f"/track/{key}", json={"odometry": row, "scan": scan})
        assert refusal(told) == (400, code, "odometry")


def test_a_node_locates_clouds_in_any_attitude():
    truth, robot = TURNS["any"], turned(house_atlas())
    robot.see(look(truth), 5.0)
    (told,) = robot.wire.said["/initialpose"]
    pose = pose_in_space(told)
    assert near(pose, truth)
    ((_, _, values),) = robot.wire.verdicts
    assert values["verdict"] == "unique"
    assert float(values["roll"]) == pytest.approx(pose.roll, abs=1e-4)
    assert float(values["pitch"]) == pytest.approx(pose.pitch, abs=1e-4)


def test_a_click_is_a_place_without_a_heading():
    truth, robot = TURNS["any"], turned(house_atlas())
    robot.click(iv.Pose(truth.x, truth.y, 0.0), 4.0)  # whatever arrow somebody drew
    robot.see(look(truth), 5.0)
    assert np.linalg.norm(robot.node.last.best.pose.position - truth.position) < 0.1
    assert robot.wire.verdicts[-1][2]["verdict"] == "unique"


@pytest.mark.parametrize(
    ("atlas", "more", "field", "code"),
    [
        ([PLANE.atlas], {}, "map", "wrong_dimension"),
        ([], {}, "map", "wrong_dimension"),
        ([], {"publish": ("pose", "tf")}, "publish", "conflict"),
    ],
)
def test_a_node_says_what_any_attitude_cannot_do(atlas, more, field, code):
    with refused(field, code):
        turned(*atlas, **more)
