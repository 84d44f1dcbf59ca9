"""A bus without transport, robots that stand or drive on a site, and what a node declares."""

from collections import defaultdict
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from rosbags.highlevel import AnyReader
from tests.support.sites import PLANE

from isovist import Estimate, Pose
from isovist.apps import Node, Parameters, Topic, odometry_message, parameters_of, scan_message
from isovist.apps.ros import messages
from isovist.io import LASER_SCAN, ODOMETRY, time_of

START = 1000.0
MOUNT = Pose(-0.25, 0.1, np.pi)


class Verdict(NamedTuple):
    """What a node says: level, words, and values by name."""

    level: int
    words: str
    values: dict[str, str]

    @property
    def reasons(self):
        return tuple(filter(None, self.values["reasons"].split(",")))


class Wire:
    """A bus that calls back at once and keeps what is published."""

    def __init__(self):
        self.heard, self.kinds, self.services = {}, {}, {}
        self.said = defaultdict(list)

    def subscribe(self, topic, callback):
        assert isinstance(topic, Topic)
        self.heard[topic.name], self.kinds[topic.name] = callback, topic

    def advertise(self, topic):
        self.kinds.setdefault(topic.name, topic)

        def publish(message):
            data = messages.encode(topic.kind, message)
            self.said[topic.name].append(messages.decode(topic.kind, data))

        return publish

    def serve(self, name, callback):
        self.services[name] = callback

    def send(self, name, message):
        """A message through the encoding of the wire."""
        kind = self.kinds[name].kind
        self.heard[name](messages.decode(kind, messages.encode(kind, message)))

    def send_map(self, world, time=1.0, **changes):
        """A map, or one that is broken."""
        self.send("/map", changed(messages.map_message(world, time, "map"), **changes))

    def claim(self, pose, time, *, spread=0.1, topic="/initialpose", frame="map", **changes):
        """A pose that somebody clicked or that another system believes."""
        covariance = np.diag([spread**2, spread**2, 0.003])
        estimate = Estimate(pose, covariance, 1.0, 1.0, 0.0)
        message = messages.stamped_pose(estimate, time, frame)
        changed(message.pose, **changes)
        self.send(topic, message)

    def send_cloud(self, scan, time=5.0):
        """A scan in space as a PointCloud2 on /points."""
        self.send("/points", cloud_message(scan, time))

    def relocalize(self):
        """Call the service; whether it went well."""
        return self.services["/isovist/relocalize"]()[0]

    def verdicts_of(self, name):
        rows = [message.status[0] for message in self.said["/isovist/verdict"]]
        return [
            Verdict(row.level, row.message, {pair.key: pair.value for pair in row.values})
            for row in rows
            if row.name == name
        ]

    @property
    def verdicts(self):
        """Of our own pose."""
        return self.verdicts_of("isovist")

    @property
    def last(self):
        return self.verdicts[-1]

    @property
    def frame(self):
        """Of the last verdict."""
        return self.said["/isovist/verdict"][-1].header.frame_id

    @property
    def poses(self):
        """In the plane, on /initialpose."""
        return [pose_of(message) for message in self.said["/initialpose"]]

    def link(self):
        """Parent, child and pose of the last link on /tf."""
        sent = self.said["/tf"][-1].transforms[0]
        at = messages.transform_of(sent.transform.translation, sent.transform.rotation)
        return sent.header.frame_id, sent.child_frame_id, at.flat


def changed(message, **values):
    """The message with other fields."""
    for name, value in values.items():
        setattr(message, name, value)
    return message


def pose_of(message):
    """The pose in the plane of a PoseWithCovarianceStamped."""
    return messages.pose_of(message)[0]


def pose_in_space(message):
    return messages.transform_of(message.pose.pose.position, message.pose.pose.orientation)


def read_bag(path):
    """Topic and message of all that a bag holds."""
    with AnyReader([path]) as reader:
        return [
            (connection.topic, reader.deserialize(data, connection.msgtype))
            for connection, _, data in reader.messages()
        ]


class Robot:
    """Sends what a robot at a true pose sees and believes to have driven."""

    def __init__(self, wire, truth=PLANE.places[0], *, mount=None, site=PLANE):
        self.wire, self.truth, self.site = wire, truth, site
        self.mount = Pose() if mount is None else mount
        self.odometry, self.time, self.sent = Pose(3.0, -1.0, 0.5), START, 0

    def link(self, child="laser", parent="base", mount=None):
        """Say where the sensor sits."""
        mount = self.mount if mount is None else mount
        self.wire.send("/tf_static", messages.transforms_message(mount, self.time, parent, child))

    def drive(self, motion):
        """Move, and let odometry know."""
        self.truth, self.odometry = self.truth @ motion, self.odometry @ motion

    def say_odometry(self, at=0.0, **turn):
        """Odometry of a time after now, in s."""
        message = odometry_message(self.odometry, self.time + at, "odom", "base")
        changed(message.pose.pose.orientation, **turn)
        self.wire.send("/odom", message)

    def say_tf(self, at, pose=None, child="base"):
        """The same as a link below `odom`."""
        pose = self.odometry if pose is None else pose
        message = messages.transforms_message(pose, self.time + at, "odom", child)
        self.wire.send("/tf", message)

    def scan(self, frame="laser", late=0.0, **changes):
        """A LaserScan of now, or stamped earlier, in s."""
        seen = self.site.look(self.truth, mount=self.mount, seed=self.sent)
        self.sent += 1
        return changed(scan_message(seen, self.time - late, frame), **changes)

    def send(self, **how):
        """A scan alone."""
        self.wire.send("/scan", self.scan(**how))

    def look(self, count=1, motion=None, **changes):
        """Odometry, a scan and odometry again, 0.1 s later than the last; as often as that."""
        for _ in range(count):
            self.say_odometry()
            self.send(**changes)
            self.say_odometry(0.02)
            self.time = round(self.time + 0.1, 6)
            if motion is not None:
                self.drive(motion)


def empty_scan(robot):
    """A scan without any return."""
    message = robot.scan()
    message.ranges = np.full(len(message.ranges), np.nan, dtype=np.float32)
    return message


def started(atlas=PLANE.atlas, *, mount=MOUNT, robot=Robot, **parameters):
    """A wire, a node with such parameters on it, and a robot."""
    wire = Wire()
    node = Node(wire, Parameters(**parameters), atlas)
    rider = robot(wire, mount=mount)
    rider.link()
    return wire, node, rider


TURNED = {"scan": "/points", "odom": "", "any_attitude": True}


def turned(*atlas, **parameters):
    """A node for clouds in any attitude, and what it hears and says."""
    wire = Wire()
    node = Node(wire, Parameters(**TURNED, **parameters), *atlas)

    def see(scan, time):
        wire.send("/points", cloud_message(scan, time))

    def click(pose, time):
        estimate = Estimate(pose, 0.01 * np.eye(3), 1.0, 1.0, 0.0, False)
        wire.send("/initialpose", messages.stamped_pose(estimate, time, "map"))

    return SimpleNamespace(node=node, wire=wire, see=see, click=click)


def cloud_message(scan, time):
    points = scan.points.astype("<f4")
    field = messages.ros_type("sensor_msgs/msg/PointField")
    fields = [field(name=name, offset=4 * k, datatype=7, count=1) for k, name in enumerate("xyz")]
    return messages.ros_type("sensor_msgs/msg/PointCloud2")(
        header=messages.header(time, "lidar"), height=1,
        width=len(points), fields=fields, is_bigendian=False, point_step=12,
        row_step=12 * len(points), data=np.frombuffer(points.tobytes(), np.uint8), is_dense=True,
    )  # fmt: skip


def taken(given):
    """What a node declares, what it makes of the parameters that ROS gives it, and its map."""
    declared = {}

    def declare(name, default):
        declared[name] = default
        return SimpleNamespace(value=given.get(name, default))

    return declared, *parameters_of(SimpleNamespace(declare_parameter=declare))


__all__ = [
    "LASER_SCAN", "MOUNT", "ODOMETRY", "START", "Robot", "Wire", "empty_scan", "scan_message",
    "started", "taken", "time_of", "turned",
]  # fmt: skip
