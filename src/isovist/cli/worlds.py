"""Maps and atlases as the verbs want them."""

from pathlib import Path

from isovist.atlas.atlas import Atlas, build
from isovist.atlas.store import read_atlas
from isovist.cli.progress import bar
from isovist.errors import InputError
from isovist.io.logs import Log, read_log
from isovist.io.maps import read_map
from isovist.maps.occupancy import OccupancyMap
from isovist.maps.segments import SegmentMap
from isovist.poses import Pose

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


def drive_of(
    path: Path,
    prefix: str,
    held_out: bool,
    sensor: tuple[float, float, float] | None,
    sweep: float,
) -> tuple[str, Log]:
    """Name and log of a drive whose truth is known."""
    place = None if sensor is None else Pose(*sensor)
    log = read_log(path, prefix=prefix, sensor=place, sweep=sweep)
    if log.truth is None:
        raise InputError(f"{path.name} has no truth, so nothing can be measured.")
    name = f"{path.parent.name}{'/' + prefix if prefix else ''}"
    return name, log.take(log.chosen(held_out=held_out))
