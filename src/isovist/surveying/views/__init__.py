"""What a sensor sees at the nodes of a map, and how that changes with the pose."""
