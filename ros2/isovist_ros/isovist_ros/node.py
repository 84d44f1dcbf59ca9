"""Start the node of isovist with the parameters that ROS 2 gives it."""

from pathlib import Path

import rclpy

from isovist.apps.ros.buses.rclpy_bus import RclpyBus, parameters_of
from isovist.apps.ros.node import Node
from isovist.apps.ros.preparation import open_map


def main() -> None:
    """Run until ROS shuts down."""
    rclpy.init()
    bus = RclpyBus(rclpy.create_node("isovist"))
    parameters, atlas = parameters_of(bus.node)
    Node(bus, parameters, open_map(Path(atlas)) if atlas else None)
    try:
        bus.run()
    except KeyboardInterrupt:
        pass
    finally:
        bus.node.destroy_node()
        rclpy.try_shutdown()
