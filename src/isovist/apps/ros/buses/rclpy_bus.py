"""Speak ROS 2 by rclpy, inside a sourced ROS 2, whatever its middleware.

Messages cross as CDR bytes (raw subscriptions, serialized publications), so that the node sees the
same messages as on every other bus.
"""

from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from typing import Any

from isovist.apps.ros import messages
from isovist.apps.ros.buses.bus import Topic, deliver
from isovist.apps.ros.parameters import Parameters
from isovist.errors import InputError
from isovist.poses import Pose

NO_ROS = (
    "rclpy cannot be imported. Source ROS 2 first (`source /opt/ros/DISTRO/setup.bash`), or leave "
    "out `--native` to use zenoh."
)


class RclpyBus:
    """A message bus on a node of rclpy.

    Attributes:
        node: The node of rclpy.
    """

    def __init__(self, node: Any = None) -> None:
        """Use a node of rclpy, or create one."""
        try:
            self._rclpy = import_module("rclpy")
            self._qos = import_module("rclpy.qos")
        except ImportError as error:
            raise InputError(NO_ROS, code="unavailable") from error
        if node is None:
            self._rclpy.init()
            node = self._rclpy.create_node("isovist")
        self.node = node

    def subscribe(self, topic: Topic, callback: Callable[[Any], None]) -> None:
        """Register a function that is called with each message of a topic."""

        def receive(data: bytes) -> None:
            deliver(topic, data, callback)

        self.node.create_subscription(
            _class_of(topic.kind), topic.name, receive, self._profile(topic), raw=True
        )

    def advertise(self, topic: Topic) -> Callable[[Any], None]:
        """Return a function that publishes messages on a topic."""
        publisher = self.node.create_publisher(
            _class_of(topic.kind), topic.name, self._profile(topic)
        )
        return lambda message: publisher.publish(messages.encode(topic.kind, message))

    def serve(self, name: str, callback: Callable[[], tuple[bool, str]]) -> None:
        """Offer a `std_srvs/srv/Trigger` service; the callback returns success and a message."""

        def handle(_: Any, response: Any) -> Any:
            response.success, response.message = callback()
            return response

        self.node.create_service(_class_of(messages.TRIGGER), name, handle)

    def run(self) -> None:
        """Handle messages until ROS shuts down."""
        self._rclpy.spin(self.node)

    def _profile(self, topic: Topic) -> Any:
        """Return the quality of service that Nav2 expects."""
        qos = self._qos
        reliability, durability = qos.ReliabilityPolicy, qos.DurabilityPolicy
        return qos.QoSProfile(
            depth=topic.depth,
            reliability=reliability.RELIABLE if topic.reliable else reliability.BEST_EFFORT,
            durability=durability.TRANSIENT_LOCAL if topic.latched else durability.VOLATILE,
        )


def parameters_of(node: Any) -> tuple[Parameters, str]:
    """Declare the parameters of a node of rclpy, and read them and the path of its map.

    Parameters have the names of `Parameters`, with two differences:

    - `sensor` is x, y (m) and yaw (rad), or empty to read it from tf
    - `atlas` is the path of a map or an atlas, or empty if the map comes on a topic
    """
    defaults = Parameters()
    values: dict[str, Any] = {}
    for field in fields(Parameters):
        value = getattr(defaults, field.name)
        default = [""] if field.name == "sensor" else value
        default = list(default) if isinstance(default, tuple) else default
        values[field.name] = node.declare_parameter(field.name, default).value
    numbers = [value for value in values["sensor"] or () if value != ""]
    values["sensor"] = Pose(*map(float, numbers)) if numbers else None
    values["publish"] = tuple(values["publish"])
    return Parameters(**values), str(node.declare_parameter("atlas", "").value)


def _class_of(kind: str) -> Any:
    """Return the class of rclpy for a type, e.g. `sensor_msgs/msg/LaserScan`."""
    package, group, short = kind.split("/")
    return getattr(import_module(f"{package}.{group}"), short)
