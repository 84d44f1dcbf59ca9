"""Maps and atlases as the verbs want them."""

from pathlib import Path

from isovist.atlas.atlas import Atlas, build
from isovist.atlas.store import read_atlas
from isovist.cli.progress import bar
from isovist.io.maps import read_map
from isovist.maps.occupancy import OccupancyMap
from isovist.maps.segments import SegmentMap

PLAN_RESOLUTION = 0.05  # m: cells that a plan of walls is drawn into


def cells_of(world: OccupancyMap | SegmentMap) -> OccupancyMap:
    """A map as cells."""
    if isinstance(world, OccupancyMap):
        return world
    return OccupancyMap.from_segments(world.walls.reshape(-1, 2, 2), PLAN_RESOLUTION)


def atlas_of(path: Path) -> Atlas:
    """The atlas of a folder, or one built now from a map."""
    if path.is_dir():
        return read_atlas(path)
    with bar("Describing") as advance:
        return build(cells_of(read_map(path)), progress=advance)
