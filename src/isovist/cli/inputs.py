"""Maps, atlases and logs as the verbs want them, read with a bar."""

import math
from pathlib import Path
from typing import Any

from isovist.atlas.base import Atlas
from isovist.atlas.build import build
from isovist.atlas.plane import PlaneAtlas
from isovist.atlas.store import read_atlas
from isovist.cli.progress import bar
from isovist.errors import InputError
from isovist.io.files import is_folder
from isovist.io.logs.carmen import read_carmen
from isovist.io.logs.read import Log, read_log
from isovist.io.maps.read import read_map
from isovist.io.scans.sets import ScanSet
from isovist.maps.kinds import AnyMap
from isovist.poses import Pose
from isovist.sensing.lidar import Lidar
from isovist.sensing.spinning import SpinningLidar

FARTHEST = 100.0  # m: what is farther off does not sit on a robot
Place = tuple[float, float, float] | None


def plane_of(path: Path) -> PlaneAtlas:
    """The atlas of a folder, or one built now, of a map of the plane."""
    atlas = atlas_of(path)
    if not isinstance(atlas, PlaneAtlas):
        raise InputError("The map is in space, and this verb needs one of the plane.")
    return atlas


def atlas_of(
    path: Path,
    *,
    spacing: float | None = None,
    height: float | None = None,
    highest: float | None = None,
) -> Atlas:
    """The atlas of a folder, or one built now from any map.

    Args:
        path: The folder or the map.
        spacing: Distance of the nodes in m.
        height: Of the sensor above the floor of a map in space, in m.
        highest: The same for a drone at its highest.
    """
    if highest is not None and height is None:
        raise InputError("`--highest` needs `--height`, the lowest height of the sensor.")
    if is_folder(path):
        if height is not None:
            raise InputError(
                "`--height` is said when an atlas is built; this one is built already."
            )
        return read_atlas(path)
    world = read_map(path)
    if height is not None and world.dimension == 2:
        raise InputError("`--height` is for maps in space; this map is of the plane.")
    above = height if height is None or highest is None else (height, highest)
    with bar("Describing") as advance:
        return build(world, spacing=spacing, height=above, progress=advance)


def place_of(sensor: Place) -> Pose | None:
    """T_robot_sensor from what `--sensor` says: x, y (m) and yaw (rad)."""
    if sensor is None:
        return None
    if not all(abs(value) <= FARTHEST for value in sensor):
        raise InputError(
            "`--sensor` must be x, y (m) and yaw (rad) on the robot, within "
            f"±{FARTHEST:g}, got {', '.join(f'{value:g}' for value in sensor)}."
        )
    return Pose(*sensor)


def log_of(path: Path, **options: Any) -> Log:
    """A log, read with a bar; the options are those of `read_log`."""
    with bar("Reading") as advance:
        return read_log(path, progress=advance, **options)


def carmen_of(path: Path) -> ScanSet:
    """The scans of a CARMEN log, read with a bar."""
    with bar("Reading") as advance:
        return read_carmen(path, progress=advance)


def drive_of(
    world: Path, path: Path, prefix: str, held_out: bool, sensor: Place, sweep: float
) -> tuple[str, AnyMap, Log]:
    """Name, map and log of a drive whose truth is known."""
    log = log_of(path, prefix=prefix, T_robot_sensor=place_of(sensor), sweep=sweep)
    if log.truth is None:
        raise InputError(f"{path.name} has no truth, so nothing can be measured.")
    name = f"{path.parent.name}{'/' + prefix if prefix else ''}"
    drive = log.take(log.chosen(held_out=held_out))
    return name, read_map(world), drive


def sensor_of(
    atlas: Atlas, field_of_view: float, beams: int, range_max: float, noise: float, rings: int
) -> Lidar | SpinningLidar:
    """The simulated sensor that fits an atlas; the view in degrees."""
    if atlas.dimension == 2:
        return Lidar(math.radians(field_of_view), beams, range_max, noise)
    if field_of_view != 360.0:
        raise InputError("A spinning lidar sees 360° around; leave out `--field-of-view`.")
    return SpinningLidar(rings, azimuths=beams, range_max=range_max, noise=noise)
