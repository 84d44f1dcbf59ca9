"""Every kind of map that there is."""

from isovist.maps.cells import OccupancyMap
from isovist.maps.mesh import MeshMap
from isovist.maps.segments import SegmentMap
from isovist.maps.voxels import VoxelMap

AnyMap = SegmentMap | OccupancyMap | VoxelMap | MeshMap
