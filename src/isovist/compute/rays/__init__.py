"""Rays through cells, voxels, triangles and segments."""
