"""3D maps of voxels."""
