"""How a robot moves between scans: odometry drift, and standing still."""
