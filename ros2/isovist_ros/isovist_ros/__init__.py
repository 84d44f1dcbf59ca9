"""The node of isovist inside a ROS 2 workspace."""
