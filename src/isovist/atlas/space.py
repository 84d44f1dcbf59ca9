"""A map in space already described, indexed and ready to answer.

Nodes lie on a lattice over the floor (`maps.floor`), at one height above it or at several.  The
descriptor of a node has channels on rings of latitude, A around each, so that yaw is a cyclic
shift; they are those of `atlas`, equation (1), over rays on the sphere.  Only rays that end at a
wall count: one that leaves the map or goes on for longer than `REACH` tells nothing, and a cloud of
points does not know which of the empty cells were seen to be empty.  A ray that enters unknown
space ends at the wall behind it at the latest.  So a channel that looks into the unknown for more
than half holds what it would see through it: no scan there can be longer, and one that is shorter
costs no more than against a channel of which nothing is known.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.plane import FAR, GAP, KNOWN_SHARE, REACH, SPACING
from isovist.errors import InputError
from isovist.maps.base import Ending
from isovist.maps.cells import Cell
from isovist.maps.floor import floor_levels
from isovist.maps.mesh import MeshMap
from isovist.maps.voxels import VoxelMap
from isovist.roses.rose import Rose
from isovist.types import Float32Array, FloatArray, IntArray, readonly

if TYPE_CHECKING:
    from isovist.maps.sweep3d import VoxelSweep

RINGS, AROUND = 16, 64
"""Rings of the whole sphere, and channels of each."""
KEPT = slice(2, 14)
"""Rings that are described: elevations within ±48°."""
RAYS = (2, 2)
"""Rays of a channel along elevation and azimuth."""
HEIGHT = 1.0
"""Of the sensor above the floor, in m, unless something else is said."""
COARSE = 3
"""Nodes are at least so many cells apart."""
MESH_RESOLUTION = 0.1
"""Side of the cells that a mesh is described by, in m."""


def search_rings() -> Rose:
    """The rose of the atlas, as sharp as that of `search_rose`."""
    return Rose.rings(RINGS, AROUND, 0.5 * (np.pi / AROUND) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class VoxelAtlas:
    """Everything that a search in space needs.

    Attributes:
        world: The map.
        nodes: Flat index of the cell of each node, int64, shape (N,).  Read-only.
        descriptors: F, `FAR` where unknown, float32, shape (N, rings, around).  Read-only.
        wall_distance: Distance of each cell to the nearest wall face, in cells, float32, shape of
            the map.  Read-only.
        clear: What rays walk on (`VoxelMap.skip`) with gaps between rays closed, uint8.  Read-only.
        bare: The same with nothing but walls: unknown cells are free.  Read-only.
        spacing: Distance of the nodes in m.
        heights: Lowest and highest node above the floor, in m.
        shine: 5 % and 95 % quantile of the reflectance of the walls, or `None`.
    """

    world: VoxelMap
    nodes: IntArray
    descriptors: Float32Array
    wall_distance: Float32Array
    clear: NDArray[np.uint8]
    bare: NDArray[np.uint8]
    spacing: float
    heights: tuple[float, float]
    shine: tuple[float, float] | None = None

    @property
    def positions(self) -> FloatArray:
        """World coordinates of the nodes, shape (N, 3), in m."""
        return self.world.centres(self.nodes)

    @property
    def area(self) -> float:
        """Of the floor that the nodes stand on, in m²."""
        levels = self.world.shape[1] * self.world.shape[2]
        return float(np.unique(self.nodes % levels).size) * self.spacing**2

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as a folder keeps them."""
        kept: dict[str, NDArray[Any]] = {
            "cells": self.world.cells,
            "nodes": self.nodes,
            "descriptors": self.descriptors,
            "wall_distance": self.wall_distance,
            "clear": self.clear,
            "bare": self.bare,
        }
        if self.world.reflectance is not None:
            kept["reflectance"] = self.world.reflectance
        return kept

    def meta(self) -> dict[str, Any]:
        """The rest, ready for JSON."""
        return {
            "dimension": 3,
            "resolution": self.world.resolution,
            "corner": [float(v) for v in self.world.corner],
            "spacing": self.spacing,
            "heights": list(self.heights),
            "shine": None if self.shine is None else list(self.shine),
        }

    @classmethod
    def from_arrays(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> "VoxelAtlas":
        """From what `meta` and `arrays` gave."""
        world = VoxelMap.from_array(
            arrays["cells"],
            float(meta["resolution"]),
            meta["corner"],
            reflectance=arrays.get("reflectance"),
        )
        low, high = (float(v) for v in meta["heights"])
        dull, bright = meta["shine"] or (0.0, 0.0)
        names = ("nodes", "descriptors", "wall_distance", "clear", "bare")
        return cls(
            world, **{name: arrays[name] for name in names}, spacing=float(meta["spacing"]),
            heights=(low, high), shine=(dull, bright) if meta["shine"] else None,
        )  # fmt: skip


def build_in_space(
    world: VoxelMap | MeshMap,
    *,
    spacing: float | None = None,
    height: float | tuple[float, float] | None = None,
    progress: Callable[[float], None] | None = None,
) -> VoxelAtlas:
    """Describe a map in space.

    At the peak this takes about 20 kB per node and 60 bytes per cell of the block; what stays is
    3.1 kB per node and 7 bytes per cell, 15 with reflectances.

    Args:
        world: The map; a mesh is turned into cells of 0.1 m first.
        spacing: Distance of the nodes in m; when `None` 0.25 m, or three cells if that is more.
        height: Of the sensor above the floor, in m, or the lowest and the highest of a drone.
        progress: Told the share of the work that is done.
    """
    from isovist.maps.sweep3d import VoxelSweep

    if isinstance(world, MeshMap):
        world = VoxelMap.from_mesh(world, MESH_RESOLUTION)
    if not isinstance(world, VoxelMap):
        raise InputError(
            "An atlas is built of an OccupancyMap, a VoxelMap or a MeshMap, "
            f"got {type(world).__name__}."
        )
    step = max(SPACING, COARSE * world.resolution) if spacing is None else float(spacing)
    if not (np.isfinite(step) and step > 0.0):
        raise InputError(f"`spacing` must be a positive length in m, got {step}.")
    if min(world.shape) < 2:
        raise InputError(f"A map to describe needs at least 2 × 2 × 2 cells, got {world.shape}.")
    low, high = _heights(height)
    stride = max(1, round(step / world.resolution))
    clear = bridge_gaps(world)
    nodes = _nodes_above_floor(clear, floor_levels(world), stride, low, high)
    tell = progress or (lambda _share: None)
    tell(0.05)
    bare = bare_walls(world)
    F, known = _describe(VoxelSweep.over(clear, nodes), lambda share: tell(0.05 + 0.4 * share))
    if (clear.cells == Cell.UNKNOWN).any():
        beyond = _describe(VoxelSweep.over(bare, nodes), lambda share: tell(0.45 + 0.4 * share))
        F, known = (
            np.where(known >= KNOWN_SHARE, a, b) for a, b in zip((F, known), beyond, strict=True)
        )
    described = np.where(known >= KNOWN_SHARE, F, np.float32(FAR))
    atlas = VoxelAtlas(
        world,
        readonly(nodes),
        readonly(described),
        readonly(distance_to_walls(world)),
        clear.skip,
        bare.skip,
        stride * world.resolution,
        (low, high),
        _shine(world),
    )
    tell(1.0)
    return atlas


def _shine(world: VoxelMap) -> tuple[float, float] | None:
    if world.reflectance is None:
        return None
    walls = world.reflectance[world.cells.ravel() == Cell.OCCUPIED]
    dull, bright = (float(v) for v in np.quantile(walls, [0.05, 0.95]))
    return (dull, bright) if dull < bright else None


def _heights(height: float | tuple[float, float] | None) -> tuple[float, float]:
    values = np.atleast_1d(np.asarray(HEIGHT if height is None else height, dtype=np.float64))
    if values.size not in (1, 2) or not np.isfinite(values).all() or (np.diff(values) < 0).any():
        raise InputError(
            "`height` must be a height above the floor in m, or a lowest and a highest one, "
            f"got {height}."
        )
    return float(values[0]), float(values[-1])


def _nodes_above_floor(
    clear: VoxelMap, floor: FloatArray, stride: int, low: float, high: float
) -> IntArray:
    """Flat indices of free cells at heights above the floor, on a lattice of columns."""
    first = stride // 2
    rows, columns = np.meshgrid(
        *(np.arange(first, n, stride) for n in clear.shape[1:]), indexing="ij"
    )
    lift = np.arange(low, high + 1e-9, stride * clear.resolution)
    z = floor[rows, columns] + lift[:, None, None]
    level = np.floor((z - clear.corner[2]) / clear.resolution).astype(np.int64)
    inside = (level >= 0) & (level < clear.shape[0])
    rows, columns = (np.broadcast_to(k, level.shape)[inside] for k in (rows, columns))
    index = np.ravel_multi_index((level[inside], rows, columns), clear.shape)
    nodes = np.unique(index[clear.cells.ravel()[index] == Cell.FREE])
    if nodes.size == 0:
        where = f"{low:g} m" if low == high else f"{low:g} to {high:g} m"
        raise InputError(f"No free cell lies {where} above the floor; take another `height`.")
    return nodes


def _describe(
    sweep: "VoxelSweep", progress: Callable[[float], None]
) -> tuple[Float32Array, Float32Array]:
    """F of each node and its known share, both (N, rings, around); the rays ring after ring."""
    rose = search_rings()
    rings = range(*KEPT.indices(RINGS))
    up, along = RAYS
    azimuth = 2.0 * np.pi * np.arange(AROUND * along) / (AROUND * along)
    F = np.zeros((len(sweep.nodes), len(rings), AROUND), dtype=np.float32)
    K, whole = np.zeros_like(F), np.zeros((len(rings), AROUND))
    for k, ring in enumerate(rings):
        z = 2.0 * (ring + (np.arange(up) + 0.5) / up) / RINGS - 1.0
        flat = np.sqrt(1.0 - z * z)[:, None]
        rays = np.stack(
            np.broadcast_arrays(flat * np.cos(azimuth), flat * np.sin(azimuth), z[:, None]), -1
        ).reshape(-1, 3)
        # A ray matters to its own ring and the two beside it.
        near = slice(max(k - 1, 0), min(k + 2, len(rings)))
        W = rose.weights(rays).reshape(-1, RINGS, AROUND)[:, KEPT][:, near]
        f, mass = sweep.describe(
            rays,
            W.reshape(len(rays), -1),
            transform="logarithmic",
            maximum=REACH,
            known=(Ending.WALL,),
        )
        F[:, near] += f.reshape(len(F), -1, AROUND)
        K[:, near] += mass.reshape(len(F), -1, AROUND)
        whole[near] += W.sum(axis=0)
        progress((k + 1) / len(rings))
    mean = F / np.maximum(K, np.float32(1e-12))
    return np.asarray(mean, np.float32), np.asarray(K / whole, np.float32)


def bridge_gaps(world: VoxelMap) -> VoxelMap:
    """The map with unknown cells next to free ones made free: gaps between its maker's rays."""
    from scipy.ndimage import binary_dilation

    unknown = world.cells == Cell.UNKNOWN
    cells = int(GAP / world.resolution)
    if not unknown.any() or cells == 0:
        return world
    near = binary_dilation(world.cells == Cell.FREE, np.ones((3, 3, 3), bool), iterations=cells)
    return VoxelMap(
        np.where(unknown & near, Cell.FREE, world.cells), world.resolution, world.corner
    )


def bare_walls(world: VoxelMap) -> VoxelMap:
    """The map with unknown cells made free, and its reflectances."""
    walls = np.where(world.cells == Cell.OCCUPIED, Cell.OCCUPIED, Cell.FREE)
    return VoxelMap(walls, world.resolution, world.corner, world.reflectance)


def distance_to_walls(world: VoxelMap) -> Float32Array:
    """Distance of each cell to the nearest wall that free space touches, in cells."""
    from scipy.ndimage import binary_dilation, distance_transform_edt

    walls = world.cells == Cell.OCCUPIED
    faces = walls & binary_dilation(world.cells == Cell.FREE, np.ones((3, 3, 3), bool))
    if not faces.any():
        raise InputError("The map has no wall that borders free space, so no scan can fit it.")
    return np.asarray(distance_transform_edt(~faces), dtype=np.float32)
