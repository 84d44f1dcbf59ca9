"""Fit poses to the walls of the map, and estimate their covariances."""
