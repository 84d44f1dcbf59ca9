"""What was asked: the map or maps, the scan, and where the robot may be."""
