"""Scans and odometry in bags that rosbags writes for the test."""

import builtins

import numpy as np
import pytest

from isovist import FileError, InputError, MissingExtraError, Pose, read_log, read_scan
from isovist.io import read_bag_scan, read_bag_scans

rosbag1 = pytest.importorskip("rosbags.rosbag1")
rosbag2 = pytest.importorskip("rosbags.rosbag2")
typesys = pytest.importorskip("rosbags.typesys")

FORMATS = ["bag", "sqlite3", "mcap"]


def messages(store, topics):
    """(topic, type, time in ns, message) of three scans per topic and three poses."""
    types = store.types
    ros1 = "seq" in store.fielddefs["std_msgs/msg/Header"][1][0]

    def header(k):
        stamp = types["builtin_interfaces/msg/Time"](sec=100 + k, nanosec=500_000_000)
        extra = {"seq": k} if ros1 else {}
        return types["std_msgs/msg/Header"](stamp=stamp, frame_id="laser", **extra)

    for k in range(3):
        for topic in topics:
            scan = types["sensor_msgs/msg/LaserScan"](
                header=header(k),
                angle_min=-1.0,
                angle_max=1.0,
                angle_increment=0.5,
                time_increment=0.0,
                scan_time=0.1,
                range_min=0.5,
                range_max=8.0,
                ranges=np.array([1 + k, np.inf, 2, np.nan, 8], dtype=np.float32),
                intensities=np.array([], dtype=np.float32),
            )
            if topic == "/blind":
                scan.ranges[:] = 9.0
            yield topic, "sensor_msgs/msg/LaserScan", (100 + k) * 10**9, scan
        geometry = "geometry_msgs/msg/"
        turn = types[geometry + "Quaternion"](x=0.0, y=0.0, z=np.sin(0.1 * k), w=np.cos(0.1 * k))
        zero = types[geometry + "Vector3"](x=0.0, y=0.0, z=0.0)
        pose = types[geometry + "Pose"](
            position=types[geometry + "Point"](x=float(k), y=2.0, z=0.0), orientation=turn
        )
        odometry = types["nav_msgs/msg/Odometry"](
            header=header(k),
            child_frame_id="base",
            pose=types[geometry + "PoseWithCovariance"](pose=pose, covariance=np.zeros(36)),
            twist=types[geometry + "TwistWithCovariance"](
                twist=types[geometry + "Twist"](linear=zero, angular=zero), covariance=np.zeros(36)
            ),
        )
        yield "/odom", "nav_msgs/msg/Odometry", (100 + k) * 10**9, odometry


def write_bag(folder, kind, topics=("/scan",)):
    """A bag of that kind; ROS 2 bags as their folder."""
    stores = typesys.Stores
    if kind == "bag":
        store, path = typesys.get_typestore(stores.ROS1_NOETIC), folder / "run.bag"
        writer = rosbag1.Writer(path)
    else:
        store, path = typesys.get_typestore(stores.ROS2_HUMBLE), folder / "run"
        plugin = rosbag2.StoragePlugin[kind.upper()]
        writer = rosbag2.Writer(path, version=9, storage_plugin=plugin)
    with writer:
        connections = {}
        for topic, msgtype, time, message in messages(store, topics):
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, msgtype, typestore=store)
            encode = store.serialize_ros1 if kind == "bag" else store.serialize_cdr
            writer.write(connections[topic], time, encode(message, msgtype))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_scans_and_odometry_are_read(tmp_path, kind):
    path = write_bag(tmp_path, kind)
    times, frames, scans = zip(*read_bag_scans(path), strict=True)
    assert frames == ("laser",) * 3
    assert times == (100.5, 101.5, 102.5)
    assert [scan.ranges.tolist() for scan in scans] == [[1.0 + k, 0, 2, 0, 0] for k in range(3)]
    assert scans[0].bearings.tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert (scans[0].range_min, scans[0].range_max) == (0.5, 8.0)
    assert scans[0].intensities is None
    log = read_log(path, T_robot_sensor=Pose())
    assert log.times.tolist() == [100.5, 101.5, 102.5]
    assert log.odometry[:, 0].tolist() == [0.0, 1.0, 2.0]
    assert np.allclose(log.odometry[:, 2], [0.0, 0.2, 0.4])


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_one_scan_is_chosen_by_time(tmp_path, kind):
    path = write_bag(tmp_path, kind)
    paths = [path] if kind == "bag" else [path, *path.glob("*.db3"), *path.glob("*.mcap")]
    assert len(paths) == (1 if kind == "bag" else 2)
    for place in paths:
        mount = Pose(0.3, 0.0, -0.1)
        for wanted, seen in (
            ({}, 1.0),
            ({"at": 0.9, "scan_topic": "/scan"}, 2.0),
            ({"at": 2.0}, 3.0),
        ):
            scan = read_scan(place, T_robot_sensor=mount, **wanted)
            assert scan.ranges[0] == seen
            assert (scan.T_robot_sensor, scan.frame) == (mount, "robot")


@pytest.mark.slow
def test_a_scan_without_a_return_is_left_out(tmp_path):
    path = write_bag(tmp_path, "bag", ["/blind", "/scan"])
    assert list(read_bag_scans(path, "/blind")) == []
    with pytest.raises(FileError) as error:
        read_bag_scan(path, scan_topic="/blind")
    assert str(error.value) == "run.bag has no scan with a valid beam on that topic."


@pytest.mark.slow
def test_what_cannot_be_chosen_is_said(tmp_path):
    path = write_bag(tmp_path, "bag", ["/front", "/back"])
    cases = [
        ({}, "run.bag has 2 topics of type LaserScan; choose one as `scan_topic`: /back, /front."),
        (
            {"scan_topic": "/odom"},
            "run.bag has no topic '/odom' of type LaserScan. It has: /back, /front.",
        ),
        ({"scan_topic": "/back", "at": 5.0}, "`at` must be from 0 to 2.000 s in run.bag, got 5."),
        ({"scan_topic": "/back", "at": -1.0}, "`at` must be 0 s or more, got -1."),
    ]
    for options, message in cases:
        with pytest.raises(InputError) as error:
            read_scan(path, **options)
        assert str(error.value) == message


def test_a_damaged_bag_is_one_line(tmp_path):
    path = write_bag(tmp_path, "bag")
    data = path.read_bytes()
    for size in (5, 200, len(data) // 2):
        path.write_bytes(data[:size])
        with pytest.raises(FileError) as error:
            read_scan(path)
        assert str(error.value).startswith("run.bag is no sound bag: ")
        assert "\n" not in str(error.value)
    (tmp_path / "noise.mcap").write_bytes(bytes(range(256)))
    with pytest.raises(FileError, match=r"^noise\.mcap is no sound bag: "):
        read_scan(tmp_path / "noise.mcap")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError) as error:
        read_scan(tmp_path / "folder")
    assert str(error.value) == (
        f"{tmp_path / 'folder'} is a folder without metadata.yaml, so it is no ROS 2 bag."
    )
    with pytest.raises(FileError, match="there is no such file"):
        read_scan(tmp_path / "gone.bag")


def test_without_rosbags_the_error_says_what_to_install(tmp_path, monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest):
        if name.startswith("rosbags"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError) as error:
        read_scan(tmp_path / "run.bag")
    assert str(error.value) == "Reading a bag needs an optional part: pip install 'isovist[bags]'."
