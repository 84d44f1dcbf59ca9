"""Messages: round trips through CDR, hashes of types, and what they say in our words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_typestore
from tests.support.errors import refused

import isovist as iv
from isovist.apps import odometry_message, scan_message
from isovist.apps.ros import messages
from isovist.io import LASER_SCAN, ODOMETRY, scan_of, time_of

NUMBER = st.floats(-1e4, 1e4)
POSE = st.builds(iv.Pose, NUMBER, NUMBER, st.floats(-3.1, 3.1))
TIME = st.floats(0.0, 2e9).map(lambda t: round(t, 6))
TEXT = st.text(max_size=20).filter(lambda text: "\0" not in text)
ESTIMATE = st.builds(
    lambda pose, a, b, p: iv.Estimate(pose, np.diag([a, a, b]), p, 0.5, 1.0),
    POSE, st.floats(1e-9, 4.0), st.floats(1e-9, 1.0), st.floats(0.0, 1.0),
)  # fmt: skip


def through(kind, message):
    """The message after a way over the wire; a second way gives the same bytes."""
    data = messages.encode(kind, message)
    back = messages.decode(kind, data)
    assert messages.encode(kind, back) == data
    return back


@pytest.mark.slow
@given(ESTIMATE, TIME)
def test_a_pose_with_covariance_comes_back_and_has_no_variance_of_zero(estimate, time):
    message = through(messages.POSE, messages.stamped_pose(estimate, time, "map"))
    pose, covariance = messages.pose_of(message)
    np.testing.assert_allclose(pose.vector, estimate.pose.vector, atol=1e-9)
    np.testing.assert_allclose(covariance, np.maximum(estimate.covariance, 0), atol=2e-6)
    variances = np.diag(message.pose.covariance.reshape(6, 6))
    assert (variances >= 1e-7).all()
    assert (variances[2:5] <= 1e-3).all()
    assert time_of(message.header) == pytest.approx(time, abs=1e-6)


@pytest.mark.slow
@given(st.lists(ESTIMATE, max_size=4), TIME, TEXT)
def test_places_markers_and_verdicts_come_back(estimates, time, text):
    places = through(messages.POSES, messages.poses_message(estimates, time, "map"))
    assert len(places.poses) == len(estimates)
    markers = through(messages.MARKERS, messages.markers_message(estimates, time, "map")).markers
    assert [marker.action for marker in markers] == [3] + [0] * len(estimates)
    message = messages.verdict_message(time, "map", "isovist", 1, text, {"a": text})
    status = through(messages.VERDICT, message).status[0]
    assert (status.level, status.message, status.values[0].value) == (1, text, text)


@pytest.mark.slow
@given(POSE, TIME)
def test_links_and_odometry_come_back(pose, time):
    link = through(messages.TRANSFORM, messages.transforms_message(pose, time, "map", "odom"))
    at = link.transforms[0].transform
    T = messages.transform_of(at.translation, at.rotation)
    np.testing.assert_allclose(T.flat.vector, pose.vector, atol=1e-9)
    at = through(ODOMETRY, odometry_message(pose, time, "odom", "base")).pose.pose
    T = messages.transform_of(at.position, at.orientation)
    np.testing.assert_allclose(T.flat.vector, pose.vector, atol=1e-9)


@pytest.mark.slow
@given(st.lists(st.sampled_from([0, 1, 2]), min_size=12, max_size=12), POSE)
def test_a_map_comes_back(cells, origin):
    cells[0] = 0
    world = iv.OccupancyMap(np.array(cells, dtype=np.uint8).reshape(3, 4), 0.05, origin)
    back = messages.map_of(through(messages.MAP, messages.map_message(world, 1.0, "map")))
    np.testing.assert_array_equal(back.cells, world.cells)
    np.testing.assert_allclose(back.origin.vector, origin.vector, atol=1e-9)
    assert back.resolution == 0.05


@pytest.mark.slow
@given(st.lists(st.floats(0.5, 9.0), min_size=8, max_size=30), TIME)
def test_a_scan_comes_back(ranges, time):
    scan = iv.Scan(np.linspace(-1.5, 1.5, len(ranges)), np.array(ranges), 0.1, 10.0)
    back = scan_of("a", through(LASER_SCAN, scan_message(scan, time, "laser")))
    np.testing.assert_allclose(back.ranges, ranges, rtol=1e-6)
    np.testing.assert_allclose(back.bearings, scan.bearings, atol=1e-5)


def test_requests_and_responses_come_back():
    kind = messages.TRIGGER
    assert messages.encode(f"{kind}_Request", messages.decode(f"{kind}_Request", b"\0\1\0\0\0"))
    response = messages.ros_type(f"{kind}_Response")(success=True, message="yes")
    back = through(f"{kind}_Response", response)
    assert (back.success, back.message) == (True, "yes")


def test_the_hash_of_the_service_is_that_of_its_parts():
    """As REP 2011 says; rosbags takes char for another type than uint8, which ROS does not."""
    store, one = get_typestore(Stores.ROS2_JAZZY), lambda name: (Nodetype.NAME, name)
    info, name = "service_msgs/msg/ServiceEventInfo", messages.TRIGGER
    constants, fields = store.fielddefs[info]
    gid = (Nodetype.ARRAY, ((Nodetype.BASE, ("uint8", 0)), 16))
    store.fielddefs[info] = constants, [(n, gid if n == "client_gid" else k) for n, k in fields]
    parts = messages.typestore().fielddefs
    several = {k: (Nodetype.SEQUENCE, (one(f"{name}_{k}"), 1)) for k in ("Request", "Response")}
    store.register({
        f"{name}_Request": parts[f"{name}_Request"],
        f"{name}_Response": parts[f"{name}_Response"],
        f"{name}_Event": ([], [("info", one(info)), ("request", several["Request"]),
                               ("response", several["Response"])]),
        name: ([], [(f"{k.lower()}_message", one(f"{name}_{k}"))
                    for k in ("Request", "Response", "Event")]),
    })  # fmt: skip
    assert store.hash_rihs01(name) == messages.hash_of(name)


def test_hashes_are_those_that_ros_publishes():
    assert messages.hash_of("std_msgs/msg/String") == (
        "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
    )
    assert messages.hash_of(LASER_SCAN).startswith("RIHS01_64c191398013af96")


@pytest.mark.parametrize("data", [b"", b"\0\1\0\0", b"\0\1\0\0" + b"\xff" * 40])
def test_damaged_messages_are_refused(data):
    with refused("data", "invalid_file"):
        messages.decode(LASER_SCAN, data)


@pytest.mark.parametrize("w", [np.nan, 0.5])
def test_a_pose_that_is_none_is_refused(w):
    message = messages.pose_message(iv.Pose3(1.0, 2.0, 3.0, 4.0))
    message.orientation.w = w
    with refused("pose"):
        messages.transform_of(message.position, message.orientation)
