"""Maps, atlases and logs as the verbs want them, read with a bar."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isovist.atlas.base import Atlas
from isovist.atlas.data.store import read_atlas
from isovist.errors import InputError
from isovist.poses import Pose, Pose3
from isovist.storage.files import existing_file, is_folder, make_folder, quote

if TYPE_CHECKING:
    from isovist.arrays import FloatArray
    from isovist.localization.region import Region
    from isovist.maps.kinds import AnyMap
    from isovist.maps.surfaces.segment_map import SegmentMap
    from isovist.sensing.log import Log
    from isovist.sensing.models.lidar2d import Lidar
    from isovist.sensing.models.spinning import SpinningLidar
    from isovist.sensing.scan_sequence import ScanInput
    from isovist.sensing.scan_set import ScanSet
    from isovist.tracking.replay import AnyLog

FARTHEST = 100.0  # m: what is farther off does not sit on a robot
Place = tuple[float, float, float] | None
SENSOR = ("field-of-view", "beams", "range-max", "noise", "rings")
"""Options of a simulated sensor."""


def plan_of(path: Path) -> "SegmentMap":
    """Read a map of wall segments."""
    from isovist.io.maps.read import read_map
    from isovist.maps.surfaces.segment_map import SegmentMap

    world = read_map(path)
    if not isinstance(world, SegmentMap):
        raise InputError(
            f"{path.name}: this needs a plan of walls (.geojson). "
            "A ROS map becomes one with `isovist map convert`.",
            code="unknown_format",
        )
    return world


def atlas_of(
    path: Path,
    *,
    spacing: float | None = None,
    height: float | None = None,
    highest: float | None = None,
    resolution: float | None = None,
    cluster: str | None = None,
    signal: str = "range",
    basis: Path | None = None,
) -> Atlas:
    """Read the atlas of a folder, or build one from a map.

    Args:
        path: The folder or the map.
        spacing: Distance of the nodes in m.
        height: Height of the sensor above the floor of a 3D map, in m.
        highest: Greatest height of the sensor, for a drone, in m.
        resolution: Side of the cells that a cloud becomes, in m.
        cluster: Cluster whose workers build the atlas.
        signal: Signal that a 2D search compares (see `build`).
        basis: File of the directions of the basis, for a 2D map.
    """
    if is_folder(path):
        if height is not None:
            raise InputError.about(
                "height",
                "is said when an atlas is built; this one is built already.",
                code="conflict",
            )
        return read_atlas(path)
    from isovist.io.maps.read import read_map

    world = read_map(path, resolution=resolution)
    if height is not None and world.dimension == 2:
        raise InputError.about(
            "height", "is for maps in space; this map is of the plane.", code="wrong_dimension"
        )
    return described(
        world, spacing=spacing, height=height, highest=highest, cluster=cluster, signal=signal,
        basis=basis,
    )  # fmt: skip


def described(
    world: "AnyMap", *, spacing: float | None, height: float | None, highest: float | None,
    cluster: str | None = None,
    signal: str = "range",
    basis: Path | None = None,
) -> Atlas:  # fmt: skip
    """Build the atlas of a map with a progress bar; the options are those of `atlas_of`."""
    from isovist.apps.cli.support.progress import bar
    from isovist.atlas.build import build
    from isovist.paper.basis_fit.separation import read_basis

    if highest is not None and height is None:
        raise InputError.about(
            "highest", "needs `--height`, the lowest height of the sensor.", code="missing"
        )
    above = height if height is None or highest is None else (height, highest)
    own = None if basis is None else read_basis(basis, world)
    with bar("Describing") as advance:
        return build(
            world, spacing=spacing, height=above, basis=own, signal=signal, progress=advance,
            cluster=cluster,
        )  # fmt: skip


def storeys_of(
    path: Path, output: Path, *, resolution: float | None = None, **above: Any
) -> "list[tuple[Path, Atlas]]":
    """Return folder and atlas of each floor of a 3D map; the options are those of `atlas_of`."""
    from isovist.atlas.build import as_cells
    from isovist.atlas.library import SUFFIX
    from isovist.io.maps.read import read_map
    from isovist.maps.grid3d.building_floors import building_floors
    from isovist.maps.grid3d.voxel_map import VoxelMap

    world = read_map(path, resolution=resolution)
    if world.dimension != 3:
        raise InputError.about(
            "storeys", "is for maps in space; this map is of the plane.", code="wrong_dimension"
        )
    cells = as_cells(world)
    assert isinstance(cells, VoxelMap)  # as all maps in space become
    parts = building_floors(cells)
    make_folder(output)
    return [(output / f"{name}{SUFFIX}", described(part, **above)) for name, part in parts.items()]


def maps_of(
    paths: "list[Path]",
    prior: "Region | None",
    *,
    height: float | None = None,
    highest: float | None = None,
) -> "Atlas | Mapping[str, Atlas]":
    """Return the atlas of one map, or the atlases of several maps or of a folder by name.

    Args:
        paths: Maps, atlases, or one folder of atlases.
        prior: Where the robot may be; an error with several maps.
        height: As for `atlas_of`.
        highest: As for `atlas_of`.
    """
    from isovist.atlas.library import is_library, read_library

    told: dict[str, Any] = {"height": height, "highest": highest}
    whole = len(paths) == 1 and is_library(paths[0])
    if len(paths) == 1 and not whole:
        return atlas_of(paths[0], **told)
    if prior is not None:
        raise InputError.about(
            "near",
            "and `--heading` are about one map, and there are several. Give that map alone.",
            code="conflict",
        )
    if whole:
        return read_library(paths[0])
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"The map {name} is given twice. Give each map once.", code="conflict")
    return {name: atlas_of(path, **told) for name, path in zip(names, paths, strict=True)}


def place_of(sensor: Place) -> Pose | None:
    """Return T_robot_sensor from the option `--sensor`: x, y (m) and yaw (rad)."""
    if sensor is None:
        return None
    if not all(abs(value) <= FARTHEST for value in sensor):
        raise InputError.about(
            "sensor",
            "must be x, y (m) and yaw (rad) on the robot, within "
            f"±{FARTHEST:g}, got {', '.join(f'{value:g}' for value in sensor)}.",
        )
    return Pose(*sensor)


def claim_of(x: float, y: float, yaw: float, z: float | None) -> Pose | Pose3:
    """Return a pose that is to be checked, in m and rad; a 3D pose if a height is given."""
    if not all(map(math.isfinite, (x, y, yaw, z or 0.0))):
        raise InputError(f"A pose must be finite, got {x:g}, {y:g}, {yaw:g}.")
    return Pose(x, y, yaw) if z is None else Pose3(x, y, yaw, z)


def spread_of(spread: tuple[float, float] | None) -> "FloatArray | None":
    """Return the covariance of (x, y, yaw) from standard deviations in m and rad."""
    if spread is None:
        return None
    metres, radians = spread
    variances = metres * metres, metres * metres, radians * radians
    if not (all(map(math.isfinite, variances)) and metres > 0.0 and radians > 0.0):
        raise InputError.about(
            "spread",
            f"takes standard deviations above 0, in m and rad, got {metres:g} {radians:g}.",
        )
    return np.diag(variances)


def log_of(path: Path, **options: Any) -> "Log":
    """Read a log with a progress bar; the options are those of `read_log`."""
    from isovist.apps.cli.support.progress import bar
    from isovist.io.logs.read import read_log

    with bar("Reading") as advance:
        return read_log(path, progress=advance, **options)


def drive_in(path: Path, scan_topic: str | None, **options: Any) -> "AnyLog":
    """Read a 2D or 3D log, whichever it is; the options are those of `read_log`."""
    from isovist.io.logs.cloud_logs import has_point_clouds, read_cloud_log

    if not has_point_clouds(path, scan_topic):
        return log_of(path, scan_topic=scan_topic, **options)
    if options.pop("sweep") != 0.0:
        raise InputError.about(
            "sweep",
            "is for scans of the plane; clouds are straightened by the times of their "
            "points, where they have them.",
            code="wrong_dimension",
        )
    if options.pop("prefix"):
        raise InputError.about(
            "prefix", f"chooses a sensor of an .npz file, and {path.name} is none.", code="conflict"
        )
    return read_cloud_log(path, scan_topic=scan_topic, **options)


def all_there(paths: Iterable[Path], kind: str = "a CARMEN log") -> list[Path]:
    """Return the paths if all files exist, so that no work begins before a missing one."""
    return [existing_file(path, kind) for path in paths]


def carmen_of(path: Path) -> "ScanSet":
    """Read the scans of a CARMEN log with a progress bar."""
    from isovist.apps.cli.support.progress import bar
    from isovist.io.logs.carmen import read_carmen

    with bar("Reading") as advance:
        return read_carmen(path, progress=advance)


def seen_of(
    path: Path,
    scan_topic: str | None,
    at: float | None,
    sensor: Place,
    scans: int = 1,
    apart: float = 0.0,
    mirror: bool = False,
) -> "ScanInput":
    """Read a scan of a file, or the last scans of a log, at least `apart` m from each other."""
    from isovist.io.scans.read import read_scan
    from isovist.sensing.scan_sequence import join_scans

    place = place_of(sensor)
    if scans == 1:
        seen: ScanInput = read_scan(path, scan_topic=scan_topic, at=at, T_robot_sensor=place)
    else:
        log = log_of(path, scan_topic=scan_topic, T_robot_sensor=place)
        seen = join_scans(*log.until(at, scans, apart))
    return seen.mirrored() if mirror else seen


def leaning(seen: "ScanInput", roll: float | None, pitch: float | None) -> "ScanInput":
    """Return a 3D scan with the roll and pitch of `--roll` and `--pitch`, in degrees."""
    from isovist.sensing.cloud_scan import CloudScan

    if roll is None and pitch is None:
        return seen
    if not isinstance(seen, CloudScan):
        raise InputError.about(
            "roll", "and `--pitch` are for one scan in space.", code="wrong_dimension"
        )
    if not all(map(math.isfinite, (roll or 0.0, pitch or 0.0))):
        raise InputError.about("roll", "and `--pitch` must be angles in degrees.")
    leans = (seen.roll if roll is None else math.radians(roll),
             seen.pitch if pitch is None else math.radians(pitch))  # fmt: skip
    return replace(seen, roll=leans[0], pitch=leans[1])


def region_of(near: Place, heading: tuple[float, float] | None) -> "Region | None":
    """Return the region that the robot may be in, from `--near` (m) and `--heading` (degrees)."""
    from isovist.localization.region import Region

    if near is not None and not (all(map(math.isfinite, near)) and near[2] > 0.0):
        raise InputError.about(
            "near",
            f"takes x, y and a positive radius, in m, got {near[0]:g} {near[1]:g} {near[2]:g}.",
        )
    region = None if near is None else Region.circle(near[:2], near[2])
    if heading is None:
        return region
    yaw, tolerance = heading
    if not (abs(yaw) <= 360.0 and 0.0 < tolerance <= 180.0):
        raise InputError.about(
            "heading",
            "takes a yaw within ±360° and a tolerance above 0° and up to 180°, "
            f"got {yaw:g} {tolerance:g}.",
        )
    return (region or Region()).towards(math.radians(yaw), math.radians(tolerance))


def drive_of(
    world: Path, path: Path, prefix: str, held_out: bool, sensor: Place, sweep: float
) -> "tuple[str, AnyMap, Log]":
    """Return name, map and log of a drive whose true poses are known."""
    from isovist.io.maps.read import read_map

    log = log_of(path, prefix=prefix, T_robot_sensor=place_of(sensor), sweep=sweep)
    if log.truth is None:
        raise InputError(f"{path.name} has no truth, so nothing can be measured.", code="empty")
    name = f"{path.parent.name}{'/' + prefix if prefix else ''}"
    drive = log.take(log.chosen(held_out=held_out))
    return name, read_map(world), drive


def sensors_of(
    atlas: Atlas, usual: Mapping[str, float], compare: tuple[str, str] | None
) -> "list[Lidar | SpinningLidar]":
    """Return the simulated sensor that fits an atlas, or two variants of it to compare.

    Args:
        atlas: Atlas of the site.
        usual: The options of a sensor by name, the view in degrees.
        compare: What changes in each of two sensors, e.g. `range-max=30,beams=720`.
    """
    if compare is None:
        return [_sensor(atlas, usual)]
    return [_sensor(atlas, {**usual, **_changes(text, usual)}) for text in compare]


def _sensor(atlas: Atlas, options: Mapping[str, float]) -> "Lidar | SpinningLidar":
    from isovist.sensing.models.lidar2d import Lidar
    from isovist.sensing.models.spinning import SpinningLidar

    view, beams, range_max, noise, rings = (options[name] for name in SENSOR)
    if atlas.dimension == 2:
        return Lidar(math.radians(view), int(beams), range_max, noise)
    if view != 360.0:
        raise InputError(
            "A spinning lidar sees 360° around; leave out `--field-of-view`.", code="conflict"
        )
    return SpinningLidar(int(rings), azimuths=int(beams), range_max=range_max, noise=noise)


def _changes(text: str, usual: Mapping[str, float]) -> dict[str, float]:
    """Numbers by the name of their option, out of e.g. `range-max=30,beams=720`."""
    changed = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        try:
            # Whole numbers stay whole: counts are none otherwise.
            changed[name] = type(usual[name])(value)
        except (KeyError, ValueError):
            raise InputError(
                f"A sensor to compare is told by {', '.join(SENSOR[:-1])} or {SENSOR[-1]}, "
                f"e.g. range-max=30,beams=720, got {quote(part)}."
            ) from None
    return changed
