"""Atlases on disk: a folder of arrays with a manifest (see `storage.array_folder`)."""

import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from isovist.arrays import ArrayLike, as_floats
from isovist.atlas.base import Atlas
from isovist.atlas.data.atlas2d import SIGNALS, PlaneAtlas
from isovist.atlas.data.atlas3d import SpaceAtlas
from isovist.atlas.data.partial import read_part
from isovist.atlas.matching.windows import is_even
from isovist.atlas.settings import AtlasSettings
from isovist.compute import BLOCK_SIDE, FIRST_OWN_ROW
from isovist.errors import FileError, InputError, IsovistError
from isovist.maps import BlockGrid, OccupancyMap, RayGrid, VoxelMap, WallDistances, blocks_of
from isovist.storage import (
    PathLike,
    check_folder,
    first_line,
    read_folder,
    read_manifest,
    write_folder,
)

KIND, VERSION, BY_BLOCKS = "atlas", 2, 3
"""Kind of the folder; version of the format, and of that of large 3D maps (`maps.grid3d.grids`)."""
FARTHEST = 1e9
"""Largest distance of a map or a robot from the origin, in m."""


@dataclass(frozen=True, slots=True)
class AtlasInfo:
    """A summary of an atlas on disk.

    Attributes:
        path: The folder.
        version: Version of the format.
        resolution: Side of a cell of the map, in m.
        shape: Rows and columns of the map; in 3D levels, rows and columns.
        free_area: Area that a robot can stand on, in m²; in 3D, the area of the floor below the
            nodes.
        spacing: Spacing of the nodes, in m.
        nodes: Number of nodes.
        channels: Number of channels of a descriptor.
        signal: Signal that a search compares, as in `build`.
        nbytes: Size on disk, in bytes.
        map_checksum: CRC-32 of the map it was built from.
    """

    path: str
    version: int
    resolution: float
    shape: tuple[int, ...]
    free_area: float
    spacing: float
    nodes: int
    channels: int
    signal: str
    nbytes: int
    map_checksum: str


def write_atlas(atlas: Atlas, path: PathLike) -> None:
    """Write an atlas as a folder, completely or not at all.

    Args:
        atlas: The atlas.
        path: The folder.  An older atlas there is replaced.

    Raises:
        FileError: If the folder cannot be written.

    Examples:
        >>> import isovist as iv
        >>> atlas = iv.build(iv.SegmentMap.room(6.0, 4.0), spacing=0.5)
        >>> iv.write_atlas(atlas, "office.atlas")
    """
    meta = {**atlas.meta(), "free_area": atlas.area, "map_checksum": map_checksum(atlas.world)}
    arrays = atlas.arrays()
    write_folder(path, KIND, VERSION if "cells" in arrays else BY_BLOCKS, meta, arrays)


def read_atlas(
    path: PathLike, *, settings: AtlasSettings | None = None, box: ArrayLike | None = None
) -> Atlas:
    """Read an atlas from disk.

    The arrays are mapped into memory, and their checksums are compared.

    Args:
        path: Folder of the atlas, or its address in object storage (extra `object-storage`):
            `s3://…`, `gs://…`, `az://…`, `https://…` or `file://…`.
        settings: Settings that the atlas must have been built with; any when `None`.
        box: In 2D, x and y in m of two opposite corners.  Only nodes between them are read, with
            the part of the map that rays from there reach.  The whole atlas when `None`.

    Raises:
        FileError: If the atlas is missing or damaged, or has other settings.
        InputError: If the box is not four numbers.

    Examples:
        >>> import isovist as iv
        >>> atlas = iv.build(iv.SegmentMap.room(6.0, 4.0), spacing=0.5)
        >>> iv.write_atlas(atlas, "office.atlas")
        >>> iv.read_atlas("office.atlas").spacing
        0.5
    """
    name, sound = Path(path).name, True
    corners = None if box is None else as_floats("box", box, (4,))
    with _as_one_line(name):
        if corners is None:
            meta, arrays = read_folder(path, KIND, VERSION, BY_BLOCKS)
            kind = SpaceAtlas if meta.get("dimension") == 3 else PlaneAtlas
            atlas: Atlas = kind.from_arrays(meta, arrays)
        else:
            atlas = read_part(path, corners, KIND, VERSION, BY_BLOCKS)
        _check_arrays(atlas)
        if corners is None:
            sound = meta["map_checksum"] == map_checksum(atlas.world)
    if not sound:
        raise FileError(f"{name} was built from another map. Build it again.", code="outdated_file")
    if settings is not None and settings != atlas.settings:
        raise FileError(
            f"{name} was built with other settings: {atlas.settings.differing(settings)}. "
            "Build it again.",
            code="outdated_file",
        )
    return atlas


@contextmanager
def _as_one_line(name: str) -> Iterator[None]:
    """Turn any error from a damaged atlas into a `FileError` about its folder."""
    try:
        yield
    except FileError:
        raise
    except KeyError as error:
        raise FileError(
            f"{name} is not a whole atlas: {error} is missing.", code="not_found"
        ) from error
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        reason = first_line(error, None if isinstance(error, IsovistError) else 80)
        raise FileError(f"{name} is not a whole atlas: {reason}.") from error


def atlas_info(path: PathLike) -> AtlasInfo:
    """Return a summary of an atlas on disk, without reading its arrays."""
    manifest = read_manifest(path)
    name = Path(path).name
    if manifest.kind != KIND:
        raise FileError(
            f"{name} is a folder of kind {manifest.kind!r}, not an atlas.", code="unknown_format"
        )
    try:
        meta = manifest.meta
        described = manifest.arrays["descriptors"].shape
        cells = meta["shape"] if "shape" in meta else manifest.arrays["cells"].shape
        return AtlasInfo(
            path=str(path),
            version=manifest.version,
            resolution=float(meta["resolution"]),
            shape=tuple(int(n) for n in cells),
            free_area=float(meta["free_area"]),
            spacing=float(meta["spacing"]),
            nodes=described[0],
            channels=int(np.prod(described[1:])),
            signal=str(meta.get("signal", SIGNALS[0])),
            nbytes=sum(entry.nbytes for entry in manifest.arrays.values()),
            map_checksum=str(meta["map_checksum"]),
        )
    except (KeyError, TypeError, IndexError, ValueError, OverflowError) as error:
        raise FileError(f"{name} is not a whole atlas: {first_line(error, 80)}.") from error


def check_atlas(path: PathLike) -> list[str]:
    """Return a list of everything that is wrong with an atlas on disk, one line each.

    The list is empty for a sound atlas.
    """
    problems = check_folder(path)
    if problems:
        return problems
    try:
        read_atlas(path)
    except FileError as error:
        return [str(error)]
    return []


def _check_arrays(atlas: Atlas) -> None:
    """Check that the arrays fit the map and each other, since kernels do not check them."""
    n = len(atlas.nodes)
    even = is_even(getattr(atlas, "basis", None))
    rings = (None, int(atlas.settings.channels)) if even else (None, 1)
    _check_kind("nodes", atlas.nodes, np.int64, (n,))
    _check_kind("descriptors", atlas.descriptors, np.float32, (n, *rings))
    fields: tuple[Any, ...] = atlas.wall_distance, atlas.clear, atlas.walls
    if not isinstance(atlas, SpaceAtlas):
        _check_grids(atlas.world.shape, *fields)
    elif isinstance(atlas.world.grid, BlockGrid):
        _check_blocks(atlas, atlas.world.grid)
    else:
        _check_grids(atlas.world.shape, *(field.dense for field in fields))
    if atlas.nodes.min() < 0 or atlas.nodes.max() >= math.prod(atlas.world.shape):
        raise InputError("a node lies outside the map", code="conflict")
    if not 0.0 < atlas.spacing <= FARTHEST:
        raise InputError.about(
            "spacing", f"must be above 0 and at most {FARTHEST:g} m, got {atlas.spacing:g}"
        )
    if not np.abs(atlas.world.bounds).max() <= FARTHEST:
        raise InputError(f"the map lies more than {FARTHEST:g} m from the origin")


def _check_kind(name: str, array: Any, dtype: type, shape: tuple[int | None, ...]) -> None:
    fits = array.ndim == len(shape) and all(
        size in (None, actual) for size, actual in zip(shape, array.shape, strict=True)
    )
    if array.dtype != dtype or not fits or 0 in array.shape:
        raise InputError.about(name, f"is {array.dtype} of shape {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError.about(name, "is not finite")


def _check_grids(shape: tuple[int, ...], distance: Any, clear: Any, walls: Any) -> None:
    walk = tuple(size + 2 for size in shape)
    _check_kind("wall_distance", distance, np.float32, shape)
    if distance.min() < 0.0 or distance.max() > np.linalg.norm(shape):
        raise InputError.about(
            "wall_distance", "has a wall that is farther off than the map is wide"
        )
    # A ray steps as far as `skip` says (`skip_of`), and no step may lead beyond the border.
    edges = [np.minimum(np.arange(size), 253).astype(np.uint8) for size in walk]
    ways = np.ix_(*(np.minimum(edge, edge[::-1]) for edge in edges))
    room = reduce(np.minimum, ways) + np.uint8(2)
    for name, skip in (("clear", clear), ("bare", walls)):
        _check_kind(name, skip, np.uint8, walk)
        if not (skip <= room).all():
            raise InputError("a ray would leave the map")


def _check_blocks(atlas: SpaceAtlas, cells: BlockGrid) -> None:
    """Check the indices of blocks, so that rays and distances stay inside the grid."""
    grids: dict[str, tuple[BlockGrid | WallDistances | RayGrid, type, int]] = {
        "cells": (cells, np.uint8, BLOCK_SIDE),
        "walls": (atlas.wall_distance, np.uint8, BLOCK_SIDE + 1),
        "clear": (atlas.clear, np.uint8, BLOCK_SIDE),
        "bare": (atlas.walls, np.uint8, BLOCK_SIDE),
    }
    for name, (grid, dtype, side) in grids.items():
        _check_kind(f"{name}_index", grid.index, np.int32, blocks_of(atlas.world.shape))
        _check_kind(f"{name}_table", grid.table, dtype, (None, side, side, side))
        below = 0 if name in ("cells", "walls") else -(1 << 24)
        if grid.index.min() < below or grid.index.max() >= len(grid.table):
            raise InputError.about(f"{name}_index", "names a block that is not there")
    own = np.sort(cells.index[cells.index >= FIRST_OWN_ROW])
    if not np.array_equal(own, np.arange(FIRST_OWN_ROW, len(cells.table))):
        raise InputError.about("cells_index", "names a block twice")
    if not 0 < atlas.wall_distance.limit <= 181:
        raise InputError.about(
            "near", f"must be from 1 to 181 cells, got {atlas.wall_distance.limit}"
        )


def map_checksum(world: OccupancyMap | VoxelMap) -> str:
    """Return the CRC-32 of a map, in hexadecimal.

    It covers cells, size, resolution, place and reflectances.
    """
    place = world.corner if isinstance(world, VoxelMap) else world.origin.vector
    head = np.array([*world.shape, world.resolution, *place])
    checksum = zlib.crc32(head.tobytes())
    if isinstance(world, VoxelMap) and isinstance(world.grid, BlockGrid):
        checksum = zlib.crc32(world.grid.index.data, checksum)
        checksum = zlib.crc32(world.grid.table.data, checksum)
    else:
        checksum = zlib.crc32(np.ascontiguousarray(world.cells).data, checksum)
    if world.reflectance is not None:
        checksum = zlib.crc32(world.reflectance.tobytes(), checksum)
    return f"{checksum:08x}"
