"""Describe a query: the map or maps, the scan, and where the robot may be."""
