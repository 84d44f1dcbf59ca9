"""What carries the messages of a node: zenoh, rclpy or a bag."""
