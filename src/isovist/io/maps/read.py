"""Maps by the suffix of their file.

Of the plane: ROS maps and plans.  In space: OctoMaps give a `VoxelMap`, meshes a `MeshMap`, and
clouds of points a `VoxelMap` of cells that suit it (`Cloud.resolution`), all cells without points
free, for a cloud does not know what was seen to be empty.  A PLY file is a mesh when it has faces.
"""

from pathlib import Path

import shapely

from isovist.errors import FileError, InputError
from isovist.io.maps.geojson import PlanGeometry, read_geojson, write_geojson
from isovist.io.maps.ros_map import RESOLUTIONS, read_ros_map, write_ros_map
from isovist.io.ply import has_faces
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.maps.kinds import AnyMap
from isovist.maps.surfaces.segment_map import SegmentMap
from isovist.storage.files import PathLike, as_file_error, existing_file

FORMATS = (
    ".yaml (ROS map with its image), .geojson (plan in m), .bt or .ot (OctoMap), "
    ".stl, .obj, .off, .glb or .ply (mesh), .ply, .pcd, .las, .laz, .bin or .xyz (point cloud)"
)
CLOUD_RESOLUTION = 0.2
"""Side of the cells that a cloud becomes in most cases, in m."""
PLAN_RESOLUTION = 0.05
"""Side of the cells that a plan becomes, in m, as ROS maps have them."""
_ROS = (".yaml", ".yml")
_PLANS = (".geojson", ".json")
_MESHES = (".stl", ".obj", ".off", ".glb")
_CLOUDS = (".pcd", ".las", ".laz", ".bin", ".xyz")


def is_cloud(path: Path) -> bool:
    """Return whether a map file is a cloud of points."""
    suffix = path.suffix.lower()
    return suffix in _CLOUDS or (suffix == ".ply" and not has_faces(path))


def read_map(path: PathLike, *, resolution: float | None = None) -> AnyMap:
    """Read a map from a file; the suffix tells its format.

    A `.yaml` is a ROS map and gives an `OccupancyMap`; a `.geojson` is a plan and gives a
    `SegmentMap`; an OctoMap or a cloud gives a `VoxelMap`, a mesh a `MeshMap`.

    Args:
        path: The file.
        resolution: Side of the cells that a cloud is turned into, in m; chosen to suit the cloud
            when `None`.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    cloudy = is_cloud(path)
    if resolution is not None and not cloudy:
        raise FileError(
            f"{path.name}: `resolution` is for clouds of points, and this is another kind of map. "
            "Leave it out.",
            field="resolution",
        )
    if suffix in _ROS:
        return read_ros_map(path)
    if suffix in _PLANS:
        plan = read_geojson(path)
        with as_file_error(path):
            return map_of_plan(plan)
    if suffix in (".bt", ".ot"):
        from isovist.io.maps.octomap import read_octomap

        return read_octomap(path)
    if suffix in _MESHES or (suffix == ".ply" and not cloudy):
        from isovist.io.maps.mesh_files import read_mesh

        return read_mesh(path)
    if cloudy:
        from isovist.io.clouds import read_cloud

        cloud = read_cloud(path)
        with as_file_error(path):
            met = cloud.returns()
            return met.voxels(met.resolution() if resolution is None else resolution)
    raise FileError(
        f"{existing_file(path, 'a map').name}: a map is one of {FORMATS}.", code="unknown_format"
    )


def write_map(world: AnyMap, path: PathLike) -> None:
    """Write a map in the file format of its kind."""
    path = Path(path)
    suffix = path.suffix.lower()
    if isinstance(world, OccupancyMap) and suffix in _ROS:
        write_ros_map(world, path)
    elif isinstance(world, SegmentMap) and suffix in _PLANS:
        write_geojson(world.walls.reshape(-1, 2, 2), path, world.reflectance)
    else:
        raise FileError(
            f"{path.name}: an OccupancyMap is written as .yaml, a SegmentMap as .geojson, "
            "and other maps are not written.",
            code="unknown_format",
        )


def check_ros_name(path: PathLike) -> None:
    """Check, before any work, that a path is a name for a ROS map; raise an error otherwise."""
    if Path(path).suffix.lower() not in _ROS:
        raise FileError(
            f"{path}: a ROS map must end in .yaml; its image goes beside it.", code="unknown_format"
        )


def convert_map(
    world: AnyMap, path: PathLike, *, resolution: float | None, tolerance: float
) -> AnyMap:
    """Convert a map to the kind that the suffix of a path stands for.

    Args:
        world: The map.
        path: Where it will be written.
        resolution: Side of a cell in m; when `None`, cells stay as they are, and walls become
            cells of 0.05 m.
        tolerance: Largest distance in m of an outline to the walls, when cells become walls.
    """
    low, high = RESOLUTIONS
    if resolution is not None and not low <= resolution <= high:
        raise InputError.about(
            "resolution", f"must be from {low} to {high:g} m per cell, got {resolution:g}."
        )
    suffix = Path(path).suffix.lower()
    if isinstance(world, SegmentMap) and suffix in _ROS:
        side = PLAN_RESOLUTION if resolution is None else resolution
        return OccupancyMap.from_segments(world.walls.reshape(-1, 2, 2), side)
    if isinstance(world, SegmentMap) and resolution is not None:
        raise InputError.about(
            "resolution",
            "is the side of cells, and a plan has none. Leave it out.",
            code="conflict",
        )
    if isinstance(world, OccupancyMap) and resolution is not None:
        world = world.resampled(resolution)
    if isinstance(world, OccupancyMap) and suffix in _PLANS:
        return SegmentMap.from_segments(world.to_segments(tolerance))
    return world


def map_of_plan(plan: PlanGeometry) -> SegmentMap:
    """Return the map that a floor plan draws.

    Free space is in its rooms, or enclosed by its walls.
    """
    if not plan.rooms:
        return SegmentMap.from_segments(plan.walls, reflectance=plan.reflectance)
    rooms = [shapely.Polygon(rings[0], rings[1:]) for rings in plan.rooms]
    solid = [shapely.Polygon(rings[0], rings[1:]) for rings in plan.obstacles]
    for polygon in (*rooms, *solid):
        if not polygon.is_valid:
            raise InputError(
                f"A polygon of the plan crosses itself: {shapely.is_valid_reason(polygon)}."
            )
    free = shapely.union_all(rooms).difference(shapely.union_all(solid))
    if free.is_empty:
        raise InputError(
            "The obstacles of the plan cover its rooms: no free space is left.", code="empty"
        )
    return SegmentMap.from_segments(plan.walls, free=free, reflectance=plan.reflectance)
