"""ROS 2: a node without transport inside, and buses that carry its messages.

The node (`node`) takes and gives messages as `rosbags` makes them.  A bus (`bus`) carries them:
zenoh on the wire of rmw_zenoh without a ROS installation (`zenoh_bus`), rclpy inside a sourced
ROS 2 (`rclpy_bus`), or a bag that is replayed (`bag_bus`).
"""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
