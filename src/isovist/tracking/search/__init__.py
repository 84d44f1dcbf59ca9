"""Searches of the map during a drive: new places, slips of odometry, kidnappings."""
