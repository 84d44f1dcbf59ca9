"""Bags for the tests: scans, odometry and transforms in every format that rosbags writes."""

import math
import sqlite3
from functools import cache
from unittest.mock import patch

import numpy as np
from rosbags import rosbag1, rosbag2, typesys
from tests.support.cloud_writer import layout

FORMATS = ["bag", "sqlite3", "mcap"]
TYPES = {
    "scan": "sensor_msgs/msg/LaserScan",
    "cloud": "sensor_msgs/msg/PointCloud2",
    "layout": "sensor_msgs/msg/PointCloud2",
    "odometry": "nav_msgs/msg/Odometry",
    "transforms": "tf2_msgs/msg/TFMessage",
}


def quaternion(roll=0.0, pitch=0.0, yaw=0.0):
    """x, y, z, w of a turn about x, then y, then z."""
    cr, cp, cy = (math.cos(a / 2) for a in (roll, pitch, yaw))
    sr, sp, sy = (math.sin(a / 2) for a in (roll, pitch, yaw))
    return (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


def scan(time, ranges=(1.0, 2.0, 3.0), frame="laser", topic="/scan", **fields):
    """A LaserScan, to be written."""
    return topic, "scan", time, {"ranges": ranges, "frame": frame, **fields}


def cloud(time, points, frame="lidar", topic="/points", names="xyz"):
    """A PointCloud2 of float32 fields and some padding, to be written."""
    return topic, "cloud", time, {"points": points, "frame": frame, "names": names}


def odometry(time, pose, frame="base", topic="/odom", turn=None):
    """An Odometry, to be written."""
    turn = quaternion(yaw=pose[2]) if turn is None else turn
    return topic, "odometry", time, {"at": (*pose[:2], 0.0), "turn": turn, "frame": frame}


def link(time, parent, child, at=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0, 1.0), topic="/tf"):
    """A TFMessage of one transform, to be written."""
    return topic, "transforms", time, {"parent": parent, "child": child, "at": at, "turn": turn}


@cache
def store_of(kind):
    """The types of messages in bags of that kind; they make code of each, which takes longest."""
    if kind != "bag":
        return typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    definition = "geometry_msgs/TransformStamped[] transforms"
    store.register(typesys.get_types_from_msg(definition, TYPES["transforms"]))
    return store


def unhurried(*where, connect=sqlite3.connect, **how):
    """A database that does not wait for the disk at every step."""
    made = connect(*where, **how)
    made.execute("PRAGMA synchronous = OFF")
    return made


@patch.object(sqlite3, "connect", unhurried)
def write_bag(folder, messages, kind="bag", name="run", pack=None):
    """A bag of that kind, with the messages in their order; ROS 2 bags as their folder.

    pack: how it is packed, "bz2" or "lz4" in ROS 1, "zstd" in ROS 2.
    """
    store = store_of(kind if kind == "bag" else "ROS 2")
    if kind == "bag":
        path = folder / f"{name}.bag"
        writer, encode = rosbag1.Writer(path), store.serialize_ros1
    else:
        path = folder / name
        plugin = rosbag2.StoragePlugin[kind.upper()]
        writer = rosbag2.Writer(path, version=9, storage_plugin=plugin)
        encode = store.serialize_cdr
    if pack and kind == "bag":
        writer.set_compression(rosbag1.Writer.CompressionFormat[pack.upper()])
    elif pack:
        modes, forms = rosbag2.CompressionMode, rosbag2.CompressionFormat
        mode = modes.STORAGE if kind == "mcap" else modes.MESSAGE
        writer.set_compression(mode, forms[pack.upper()])
    with writer:
        connections = {}
        for number, (topic, what, time, fields) in enumerate(messages):
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, TYPES[what], typestore=store)
            if fields is not None:
                message = MAKERS[what](store.types, time, fields)
                writer.write(connections[topic], number, encode(message, TYPES[what]))
    return path


def _header(types, time, frame):
    sec = math.floor(time)
    stamp = types["builtin_interfaces/msg/Time"](sec=sec, nanosec=round(1e9 * (time - sec)))
    make = types["std_msgs/msg/Header"]
    extra = {"seq": 0} if "seq" in make.__dataclass_fields__ else {}
    return make(stamp=stamp, frame_id=frame, **extra)


def _xyz(types, kind, values):
    return types[f"geometry_msgs/msg/{kind}"](**dict(zip("xyz", map(float, values), strict=True)))


def _turn(types, values):
    make = types["geometry_msgs/msg/Quaternion"]
    return make(**dict(zip("xyzw", map(float, values), strict=True)))


def _scan(types, time, fields):
    ranges = np.array(fields["ranges"], dtype=np.float32)
    return types["sensor_msgs/msg/LaserScan"](
        header=_header(types, time, fields["frame"]),
        angle_min=fields.get("angle_min", -0.5),
        angle_max=0.5,
        angle_increment=fields.get("angle_increment", 0.5),
        time_increment=0.0,
        scan_time=0.1,
        range_min=fields.get("range_min", 0.25),
        range_max=fields.get("range_max", 8.0),
        ranges=ranges,
        intensities=np.array([], dtype=np.float32),
    )


def _cloud(types, time, fields):
    rows = np.asarray(fields["points"], dtype="<f4")
    rows = np.column_stack([rows, np.full(len(rows), 7.0, dtype="<f4")])  # of no field
    make = types["sensor_msgs/msg/PointField"]
    named = [
        make(name=name, offset=4 * k, datatype=7, count=1) for k, name in enumerate(fields["names"])
    ]
    return types["sensor_msgs/msg/PointCloud2"](
        header=_header(types, time, fields["frame"]),
        height=1,
        width=len(rows),
        fields=named,
        is_bigendian=False,
        point_step=4 * rows.shape[1],
        row_step=4 * rows.size,
        data=np.frombuffer(rows.tobytes(), dtype=np.uint8),
        is_dense=False,
    )


def _layout(types, time, fields):
    return layout(types, _header(types, time, fields["frame"]), fields)


def _odometry(types, time, fields):
    geometry = "geometry_msgs/msg/"
    zero = _xyz(types, "Vector3", (0, 0, 0))
    pose = types[geometry + "Pose"](
        position=_xyz(types, "Point", fields["at"]), orientation=_turn(types, fields["turn"])
    )
    return types["nav_msgs/msg/Odometry"](
        header=_header(types, time, "odom"),
        child_frame_id=fields["frame"],
        pose=types[geometry + "PoseWithCovariance"](pose=pose, covariance=np.zeros(36)),
        twist=types[geometry + "TwistWithCovariance"](
            twist=types[geometry + "Twist"](linear=zero, angular=zero), covariance=np.zeros(36)
        ),
    )


def _transforms(types, time, fields):
    geometry = "geometry_msgs/msg/"
    transform = types[geometry + "Transform"](
        translation=_xyz(types, "Vector3", fields["at"]), rotation=_turn(types, fields["turn"])
    )
    stamped = types[geometry + "TransformStamped"](
        header=_header(types, time, fields["parent"]),
        child_frame_id=fields["child"],
        transform=transform,
    )
    return types["tf2_msgs/msg/TFMessage"](transforms=[stamped])


MAKERS = {
    "scan": _scan, "cloud": _cloud, "layout": _layout, "odometry": _odometry,
    "transforms": _transforms,
}  # fmt: skip
