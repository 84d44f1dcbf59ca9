"""A ROS node on robots in space of which nobody knows which way is up."""

from types import SimpleNamespace

import numpy as np
from tests.support.ros_robot import Wire

from isovist import Estimate
from isovist.apps import Node, Parameters
from isovist.ros import messages

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


def pose_of(message):
    """The pose that a message tells, in space."""
    return messages.transform_of(message.pose.pose.position, message.pose.pose.orientation)


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
