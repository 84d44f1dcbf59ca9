"""Score fitted poses by ray casting, and rule out those that the scan contradicts."""
