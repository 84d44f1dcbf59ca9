"""A scan as the search compares it with the nodes."""
