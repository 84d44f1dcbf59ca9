"""Maps, atlases and logs as the verbs want them, read with a bar."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from isovist.atlas.base import Atlas
from isovist.atlas.plane import PlaneAtlas
from isovist.atlas.store import read_atlas
from isovist.errors import InputError
from isovist.poses import Pose

if TYPE_CHECKING:
    from isovist.io.logs.read import Log
    from isovist.maps.kinds import AnyMap
    from isovist.sensing.lidar import Lidar
    from isovist.sensing.spinning import SpinningLidar

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
    if path.is_dir():
        if height is not None:
            raise InputError(
                "`--height` is said when an atlas is built; this one is built already."
            )
        return read_atlas(path)
    from isovist.atlas.build import build
    from isovist.cli.progress import bar
    from isovist.io.maps.read import read_map

    world = read_map(path)
    if height is not None and world.dimension == 2:
        raise InputError("`--height` is for maps in space; this map is of the plane.")
    above = height if height is None or highest is None else (height, highest)
    with bar("Describing") as advance:
        return build(world, spacing=spacing, height=above, progress=advance)


def place_of(sensor: Place) -> Pose | None:
    """T_robot_sensor from what `--sensor` says: x, y (m) and yaw (rad)."""
    return None if sensor is None else Pose(*sensor)


def drive_of(
    world: Path, path: Path, prefix: str, held_out: bool, sensor: Place, sweep: float
) -> "tuple[str, AnyMap, Log]":
    """Name, map and log of a drive whose truth is known."""
    from isovist.io.logs.read import read_log
    from isovist.io.maps.read import read_map

    log = read_log(path, prefix=prefix, T_robot_sensor=place_of(sensor), sweep=sweep)
    if log.truth is None:
        raise InputError(f"{path.name} has no truth, so nothing can be measured.")
    name = f"{path.parent.name}{'/' + prefix if prefix else ''}"
    drive = log.take(log.chosen(held_out=held_out))
    return name, read_map(world), drive


def sensor_of(
    atlas: Atlas, field_of_view: float, beams: int, range_max: float, noise: float, rings: int
) -> "Lidar | SpinningLidar":
    """The simulated sensor that fits an atlas; the view in degrees."""
    from isovist.sensing.lidar import Lidar
    from isovist.sensing.spinning import SpinningLidar

    if atlas.dimension == 2:
        return Lidar(math.radians(field_of_view), beams, range_max, noise)
    if field_of_view != 360.0:
        raise InputError("A spinning lidar sees 360° around; leave out `--field-of-view`.")
    return SpinningLidar(rings, azimuths=beams, range_max=range_max, noise=noise)
