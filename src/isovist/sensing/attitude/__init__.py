"""Which way is up: the ground and the planes that a 3D scan sees."""
