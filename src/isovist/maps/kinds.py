"""Define `AnyMap`, the union of all kinds of maps."""

from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.maps.surfaces.segment_map import SegmentMap

AnyMap = SegmentMap | OccupancyMap | VoxelMap | MeshMap
"""A map of any kind."""
