"""The server and the ROS node on robots of which nobody knows which way is up."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.attitudes import HELD, START, TURNS, look, way
from tests.support.reference_space import house_atlas
from tests.support.ros_robot import Wire
from tests.support.serve_door import laser, library, plainly, serving, untimed
from tests.support.sites import PLANE

import isovist as iv
from isovist import Estimate, InputError, Pose3
from isovist.apps import Node, Parameters
from isovist.poses import way_of
from isovist.report import update_json
from isovist.ros import messages
from isovist.tracking.replay import Update

HEADED = (
    "A heading says nothing of a robot in any attitude. Give a `prior` without one, e.g. "
    "Region.circle."
)
FLAT = "`any_attitude` is for maps in space; this atlas is of the plane."


def posed(told):
    """The pose of an estimate in JSON."""
    return Pose3(*(told[key] for key in ("x", "y", "yaw", "z", "roll", "pitch")))


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    folder = tmp_path_factory.mktemp("maps")
    iv.write_atlas(house_atlas(), folder / "house.atlas")
    with serving(folder) as (_, client):
        yield client


@pytest.mark.slow
def test_a_scan_in_any_attitude_is_located(door):
    truth = TURNS["upside down"]
    points = look(truth).points.tolist()
    told = door.post("/locate", json={"scan": {"points": points}, "any_attitude": True}).json()
    metres, turn = way_of(truth.inverse @ posed(told["estimates"][0]))
    assert told["verdict"] == "unique"
    assert metres < 0.1
    assert np.degrees(turn) < 2.0
    level = door.post("/locate", json={"scan": {"points": points}, "hints": False}).json()
    assert level["verdict"] != "unique"


@pytest.mark.slow
@pytest.mark.parametrize("aided", [True, False])
def test_a_robot_in_any_attitude_is_followed_as_by_a_tracker(door, aided):
    tracker = iv.Tracker(house_atlas(), any_attitude=True)
    key = door.post("/track", json={"any_attitude": True}).json()["session"]
    poses = way(HELD["nose up"], 3, step=0.1, turn=0.03)
    for k, pose in enumerate(poses):
        scan = look(pose, seed=k)
        odometry = START @ (poses[0].inverse @ pose) if aided else None
        row = odometry.vector.tolist() if aided else None
        ask = {"odometry": row, "scan": {"points": scan.points.tolist()}, "time": float(k)}
        told = untimed(door.post(f"/track/{key}", json=ask).json())
        exact = Pose3(*row) if aided else None  # as the numbers of the request are
        belief = tracker.update(exact, scan, time=float(k))
        assert told == plainly(update_json(Update(k, float(k), exact, belief)))
        assert told["verdict"] == "unique"
        assert way_of(pose.inverse @ posed(told["estimates"][0]))[0] < 0.1


@pytest.mark.slow
def test_a_level_robot_is_followed_in_space_with_its_tilt(door):
    key = door.post("/track", json={"tilt": True}).json()["session"]
    truth = Pose3(5.0, 0.0, 0.7, 1.5, 0.05, -0.04)
    ask = {"odometry": [0.0, 0.0, 0.0], "scan": {"points": look(truth).points.tolist()}}
    told = door.post(f"/track/{key}", json=ask).json()
    assert np.shape(told["estimates"][0]["covariance"]) == (6, 6)
    metres, turn = way_of(truth.inverse @ posed(told["estimates"][0]))
    assert metres < 0.1
    assert np.degrees(turn) < 2.0


def refused(answer):
    return answer.status_code, answer.json()["error"]


@pytest.mark.slow
def test_what_cannot_be_asked_is_one_line(door, tmp_path):
    cloud = {"points": look(TURNS["any"]).points.tolist()}
    ask = {"scan": cloud, "any_attitude": True, "heading": [0.0, 0.5]}
    assert refused(door.post("/locate", json=ask)) == (400, HEADED)
    begin = {"any_attitude": True, "heading": [0.0, 0.5]}
    assert refused(door.post("/track", json=begin)) == (400, HEADED)
    assert refused(door.post("/track", json={"any_attitude": 1})) == (
        400, "`any_attitude` must be true or false, got 1.",
    )  # fmt: skip
    key = door.post("/track", json={"any_attitude": True}).json()["session"]
    assert refused(door.post(f"/track/{key}", json={"odometry": [0, 0, 0], "scan": cloud})) == (
        400,
        "A pose x, y, yaw is of a robot on level ground. In any attitude `odometry` must be a "
        "Pose3, x, y, yaw, z, roll, pitch, or none.",
    )
    assert refused(door.post(f"/track/{key}", json={"odometry": [0.0], "scan": cloud})) == (
        400,
        "`odometry` must be [x, y, yaw] or [x, y, yaw, z, roll, pitch] in m and rad, got [0.0].",
    )
    scan = laser(PLANE.look(PLANE.places[0]))
    with serving(library(tmp_path / "plane")) as (_, client):
        assert refused(client.post("/locate", json={"scan": scan, "any_attitude": True})) == (
            400, FLAT,
        )  # fmt: skip
        assert refused(client.post("/track", json={"any_attitude": True})) == (400, FLAT)
        assert refused(client.post("/track", json={"tilt": True})) == (
            400, "`tilt` is for maps in space; this atlas is of the plane.",
        )  # fmt: skip
        key = client.post("/track", json={}).json()["session"]
        assert refused(client.post(f"/track/{key}", json={"scan": scan})) == (
            400,
            "`odometry` must be [x, y, yaw] or [x, y, yaw, z, roll, pitch] in m and rad, got None.",
        )


def test_the_page_of_the_server_tells_of_it(door):
    paths = door.get("/openapi.json").json()["paths"]
    for path in ("/locate", "/track"):
        body = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert body["properties"]["any_attitude"]["type"] == "boolean"
        assert body["properties"]["tilt"]["type"] == "boolean"
    assert "nothing says which way is up" in door.get("/").text


def cloud_message(scan, time):
    points = scan.points.astype("<f4")
    fields = [
        messages.make("sensor_msgs/msg/PointField", name=name, offset=4 * k, datatype=7, count=1)
        for k, name in enumerate("xyz")
    ]
    return messages.make(
        "sensor_msgs/msg/PointCloud2", header=messages.header(time, "lidar"), height=1,
        width=len(points), fields=fields, is_bigendian=False, point_step=12,
        row_step=12 * len(points), data=np.frombuffer(points.tobytes(), np.uint8), is_dense=True,
    )  # fmt: skip


TURNED = Parameters(scan="/points", odom="", any_attitude=True)


@pytest.mark.slow
def test_a_node_locates_clouds_in_any_attitude():
    wire, truth = Wire(), TURNS["any"]
    Node(wire, TURNED, house_atlas())
    wire.send("/points", cloud_message(look(truth), 5.0))
    (told,) = wire.said["/initialpose"]
    pose = messages.transform_of(told.pose.pose.position, told.pose.pose.orientation)
    metres, turn = way_of(truth.inverse @ pose)
    assert metres < 0.1
    assert np.degrees(turn) < 2.0
    ((_, _, values),) = wire.verdicts
    assert values["verdict"] == "unique"
    assert float(values["roll"]) == pytest.approx(pose.roll, abs=1e-4)
    assert float(values["pitch"]) == pytest.approx(pose.pitch, abs=1e-4)


@pytest.mark.slow
def test_a_click_is_a_place_without_a_heading():
    wire, truth = Wire(), TURNS["any"]
    node = Node(wire, TURNED, house_atlas())
    click = iv.Pose(truth.x, truth.y, 0.0)  # whatever arrow somebody drew
    estimate = Estimate(click, 0.01 * np.eye(3), 1.0, 1.0, 0.0, False)
    wire.send("/initialpose", messages.stamped_pose(estimate, 4.0, "map"))
    wire.send("/points", cloud_message(look(truth), 5.0))
    assert node.last.best is not None
    assert way_of(truth.inverse @ node.last.best.pose)[0] < 0.1
    assert wire.verdicts[-1][2]["verdict"] == "unique"


def test_a_node_says_what_any_attitude_cannot_do():
    cases = [
        (lambda: Node(Wire(), TURNED, PLANE.atlas), FLAT),
        (lambda: Node(Wire(), TURNED), "`any_attitude` is for maps in space, and a map on a topic "
         "is of the plane. Give an atlas in space."),
        (lambda: replace(TURNED, publish=("pose", "tf")), "`publish` must be of initialpose, pose "
         "in any attitude: tf is of a robot on level ground."),
    ]  # fmt: skip
    for wrong, text in cases:
        with pytest.raises(InputError) as error:
            wrong()
        assert str(error.value) == text
