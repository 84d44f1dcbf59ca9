"""Fit poses to the walls, and how firmly the beams hold them."""
