"""Simulated lidars in 2D and 3D."""
