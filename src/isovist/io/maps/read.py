"""Read and write maps; the suffix of the file determines its format (`MAP_FORMATS`).

2D: ROS maps give an `OccupancyMap`, plans a `SegmentMap`.  3D: OctoMaps and point clouds give a
`VoxelMap`, meshes a `MeshMap`.  A PLY file is a mesh if it has faces.  Cells of a point cloud
without points are free, since a cloud does not tell which space was seen to be empty.
"""

from pathlib import Path

from isovist.errors import FileError, InputError
from isovist.io.formats import Format, format_of, list_formats
from isovist.io.maps.geojson import write_geojson
from isovist.io.maps.ros_map import write_ros_map
from isovist.io.ply import has_faces
from isovist.io.settings import LIMITS
from isovist.maps import AnyMap, OccupancyMap, SegmentMap, VoxelMap
from isovist.storage import PathLike, as_file_error, existing_file

ROS_MAP = Format("ROS map", (".yaml", ".yml"), "isovist.io.maps.ros_map:read_ros_map")
PLAN = Format("plan in m", (".geojson", ".json"), "isovist.io.maps.geojson:read_geojson")
CLOUD = Format(
    "point cloud", (".ply", ".pcd", ".las", ".laz", ".bin", ".xyz"),
    "isovist.io.maps.read:read_cloud_map",
)  # fmt: skip
MAP_FORMATS = (
    ROS_MAP,
    PLAN,
    Format("OctoMap", (".bt", ".ot"), "isovist.io.maps.octomap:read_octomap"),
    CLOUD,
    Format(
        "mesh", (".stl", ".obj", ".off", ".glb", ".ply"), "isovist.io.maps.mesh_files:read_mesh",
        extra="mesh",
    ),
)  # fmt: skip
"""The formats of map files.  Of the two for `.ply`, a file with faces is a mesh."""


def is_cloud(path: Path) -> bool:
    """Return whether a map file is a point cloud."""
    suffix = path.suffix.lower()
    return suffix in CLOUD.suffixes and not (suffix == ".ply" and has_faces(path))


def read_map(path: PathLike, *, resolution: float | None = None) -> AnyMap:
    """Read a map from a file.

    The suffix of the file determines its format.

    Args:
        path: A ROS map (`.yaml`), a plan (`.geojson`), an OctoMap, a mesh or a point cloud.
        resolution: Side of the cells that a point cloud is turned into, in m.  When `None`, a side
            that suits the cloud.

    Returns:
        An `OccupancyMap`, `SegmentMap`, `VoxelMap` or `MeshMap`.

    Raises:
        FileError: If the file is missing, damaged or of another format.

    Examples:
        >>> import isovist as iv
        >>> iv.write_map(iv.SegmentMap.room(6.0, 4.0), "room.geojson")
        >>> iv.read_map("room.geojson").bounds.tolist()
        [[0.0, 0.0], [6.0, 4.0]]
    """
    path = Path(path)
    if is_cloud(path):
        return read_cloud_map(path, resolution)
    if resolution is not None:
        raise FileError(
            f"{path.name}: `resolution` is for point clouds, and this is another kind of map. "
            "Leave it out.",
            field="resolution",
        )
    row = format_of(path, (row for row in MAP_FORMATS if row is not CLOUD))
    if row is None:
        raise FileError(
            f"{existing_file(path, 'a map').name}: no map has this suffix. Maps are read from "
            f"{list_formats(MAP_FORMATS)}.",
            code="unknown_format",
        )
    world: AnyMap = row.read(path)
    return world


def read_cloud_map(path: Path, resolution: float | None = None) -> VoxelMap:
    """Read a point cloud as a voxel map, with cells of `resolution` (m) or of a suitable size."""
    from isovist.io.clouds import read_cloud

    cloud = read_cloud(path)
    with as_file_error(path):
        returns = cloud.returns()
        return returns.voxels(returns.resolution() if resolution is None else resolution)


def write_map(world: AnyMap, path: PathLike) -> None:
    """Write a map to a file.

    Args:
        world: An `OccupancyMap` or a `SegmentMap`.
        path: The file: a ROS map (`.yaml`) for an `OccupancyMap`, a plan (`.geojson`) for a
            `SegmentMap`.

    Raises:
        FileError: If the suffix does not suit the map, or the file cannot be written.
    """
    path = Path(path)
    row = format_of(path, (ROS_MAP, PLAN))
    if isinstance(world, OccupancyMap) and row is ROS_MAP:
        write_ros_map(world, path)
    elif isinstance(world, SegmentMap) and row is PLAN:
        write_geojson(world.walls.reshape(-1, 2, 2), path, world.reflectance)
    else:
        raise FileError(
            f"{path.name}: an OccupancyMap is written as .yaml, a SegmentMap as .geojson, "
            "and other maps are not written.",
            code="unknown_format",
        )


def check_ros_name(path: PathLike) -> None:
    """Check that a path is a valid name for a ROS map; raise an error otherwise."""
    if format_of(Path(path), (ROS_MAP,)) is None:
        raise FileError(
            f"{path}: a ROS map must end in .yaml; its image goes beside it.", code="unknown_format"
        )


def convert_map(
    world: AnyMap, path: PathLike, *, resolution: float | None, tolerance: float
) -> AnyMap:
    """Convert a map to the kind that a file with the suffix of a path holds.

    Args:
        world: The map.
        path: The file that will be written.
        resolution: Side of a cell in m.  When `None`, cells stay as they are, and walls become
            cells of 0.05 m.
        tolerance: Maximum distance in m between an outline and the walls, when cells become walls.

    Raises:
        InputError: If the resolution is out of range, or the map has no cells.
    """
    low, high = LIMITS.min_resolution_m, LIMITS.max_resolution_m
    if resolution is not None and not low <= resolution <= high:
        raise InputError.about(
            "resolution", f"must be from {low} to {high:g} m per cell, got {resolution:g}."
        )
    row = format_of(Path(path), (ROS_MAP, PLAN))
    if isinstance(world, SegmentMap) and row is ROS_MAP:
        walls = world.walls.reshape(-1, 2, 2)
        if resolution is None:
            return OccupancyMap.from_segments(walls)
        return OccupancyMap.from_segments(walls, resolution)
    if isinstance(world, SegmentMap) and resolution is not None:
        raise InputError.about(
            "resolution",
            "is the side of cells, and a plan has none. Leave it out.",
            code="conflict",
        )
    if isinstance(world, OccupancyMap) and resolution is not None:
        world = world.resampled(resolution)
    if isinstance(world, OccupancyMap) and row is PLAN:
        return SegmentMap.from_segments(world.to_segments(tolerance))
    return world
