"""Cast rays through cells, voxels, triangles and segments."""
