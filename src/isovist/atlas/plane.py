"""A map already described, indexed and ready to answer.

Nodes lie on a lattice in free space.  The descriptor of a node has n channels around the circle,

    F_i = Σ_s known_s log(1 + r_s) w_i(θ_s) / Σ_s known_s w_i(θ_s),                     (1)

over rays r_s in all directions θ_s; rays that end in unknown space do not count, and a channel of
which less than half is known holds `FAR`: it says nothing, and nothing can be longer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from isovist.errors import InputError
from isovist.maps.cells import Cell, OccupancyMap
from isovist.poses import unit_vectors
from isovist.roses.rose import Rose
from isovist.types import Float32Array, FloatArray, readonly

if TYPE_CHECKING:
    from isovist.atlas.space import VoxelAtlas
    from isovist.maps.mesh import MeshMap
    from isovist.maps.voxels import VoxelMap

CHANNELS = 64
"""n: a channel of 5.6° is about as wide as a doorway seen from 10 m."""
RAYS = 256
"""Directions of (1), four to a channel."""
PARTS = 8
"""The directions are swept in so many parts, and progress is told after each."""
SPACING = 0.25
"""Of nodes, in m."""
REACH = 30.0
"""Longest range that counts, in m."""
FAR = 1.0e3
"""Stands for an unknown channel: farther than anything."""
KNOWN_SHARE = 0.5
"""Least known share of a channel that counts."""
GAP = 0.15
"""Unknown cells this near to free ones, in m, are gaps between rays, not places unseen."""


def search_rose(channels: int = CHANNELS) -> Rose:
    """The rose of the atlas: ε = h²/2, sharper than the default, as only neighbours overlap."""
    return Rose.circle(channels, 0.5 * (np.pi / channels) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class Atlas:
    """Everything that a search needs.

    Attributes:
        world: The map.
        nodes: Row and column of the cell of each node, int32, shape (N, 2).  Read-only.
        descriptors: F of (1), `FAR` where unknown, float32, shape (N, n).  Read-only.
        wall_distance: Distance of each cell to the nearest wall face, in cells, float32, shape
            of the map.  Read-only.
        clear: What rays walk on (`OccupancyMap.skip`) with gaps between rays closed
            (`bridge_gaps`), uint8, shape (height + 2, width + 2).  Read-only.
        bare: The same with nothing but walls: unknown cells are free (`bare_walls`).  Read-only.
        spacing: Distance of the nodes in m.
    """

    world: OccupancyMap
    nodes: NDArray[np.int32]
    descriptors: Float32Array
    wall_distance: Float32Array
    clear: NDArray[np.uint8]
    bare: NDArray[np.uint8]
    spacing: float

    @property
    def positions(self) -> FloatArray:
        """World coordinates of the nodes, shape (N, 2), in m."""
        return self.world.centres(self.nodes[:, 0], self.nodes[:, 1])

    @property
    def area(self) -> float:
        """Free area of the map, in m²."""
        return self.world.free_area

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as a folder keeps them."""
        return {
            "cells": self.world.cells,
            "nodes": self.nodes,
            "descriptors": self.descriptors,
            "wall_distance": self.wall_distance,
            "clear": self.clear,
            "bare": self.bare,
        }

    def meta(self) -> dict[str, Any]:
        """The rest, ready for JSON."""
        origin = [float(v) for v in self.world.origin.vector]
        return {"resolution": self.world.resolution, "origin": origin, "spacing": self.spacing}

    @classmethod
    def from_arrays(cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "Atlas":
        """From what `meta` and `arrays` gave."""
        from isovist.poses import Pose

        world = OccupancyMap(
            arrays["cells"], float(meta["resolution"]), Pose.from_vector(meta["origin"])
        )
        names = ("nodes", "descriptors", "wall_distance", "clear", "bare")
        return cls(world, **{name: arrays[name] for name in names}, spacing=float(meta["spacing"]))


@overload
def build(
    world: OccupancyMap,
    *,
    spacing: float | None = None,
    height: None = None,
    progress: Callable[[float], None] | None = None,
) -> Atlas: ...


@overload
def build(
    world: "VoxelMap | MeshMap",
    *,
    spacing: float | None = None,
    height: float | tuple[float, float] | None = None,
    progress: Callable[[float], None] | None = None,
) -> "VoxelAtlas": ...


def build(
    world: "OccupancyMap | VoxelMap | MeshMap",
    *,
    spacing: float | None = None,
    height: float | tuple[float, float] | None = None,
    progress: Callable[[float], None] | None = None,
) -> "Atlas | VoxelAtlas":
    """Describe a map.

    In the plane this takes at the peak about 1.3 kB per node and 40 bytes per cell; for space see
    `atlas.voxel_atlas`.

    Args:
        world: The map.
        spacing: Distance of the nodes in m; `SPACING` when `None`.
        height: In space, of the sensor above the floor, in m, or the lowest and the highest of a
            drone; 1 m when `None`.
        progress: Told the share of the work that is done.
    """
    from isovist.maps.sweep import describe_field, free_nodes

    if not isinstance(world, OccupancyMap):
        from isovist.atlas.space import build_in_space

        return build_in_space(world, spacing=spacing, height=height, progress=progress)
    if height is not None:
        raise InputError("`height` is for maps in space; this map is of the plane.")
    step = SPACING if spacing is None else float(spacing)
    if not (np.isfinite(step) and step > 0.0):
        raise InputError(f"`spacing` must be a positive length in m, got {step}.")
    if min(world.shape) < 2:
        raise InputError(f"A map to describe needs at least 2 × 2 cells, got {world.shape}.")
    stride = max(1, round(step / world.resolution))
    clear = bridge_gaps(world)
    rows, cols = free_nodes(clear, stride)
    turns = 2.0 * np.pi * np.arange(RAYS) / RAYS
    W = search_rose().weights(unit_vectors(turns))
    F = np.zeros((len(rows), CHANNELS), dtype=np.float32)
    K = np.zeros_like(F)
    for part in range(PARTS):
        some = slice(part, None, PARTS)
        f, k = describe_field(
            clear,
            turns[some] + world.origin.yaw,
            W[some],
            rows,
            cols,
            transform="logarithmic",
            maximum=REACH,
        )
        F += f
        K += k
        if progress is not None:
            progress(0.9 * (part + 1) / PARTS)
    known = K / W.sum(axis=0, dtype=np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        described = np.where(known >= KNOWN_SHARE, F / K, np.float32(FAR)).astype(np.float32)
    nodes = np.stack([rows, cols], axis=-1).astype(np.int32)
    atlas = Atlas(
        world,
        readonly(nodes),
        readonly(described),
        readonly(distance_to_walls(world)),
        clear.skip,
        bare_walls(world).skip,
        stride * world.resolution,
    )
    if progress is not None:
        progress(1.0)
    return atlas


def bridge_gaps(world: OccupancyMap) -> OccupancyMap:
    """The map with unknown cells next to free ones made free.

    Far from where it was made, a map of scans has unknown cells between the rays; they hide
    nothing.
    """
    from scipy.ndimage import distance_transform_edt

    unknown = world.cells == Cell.UNKNOWN
    near = distance_transform_edt(world.cells != Cell.FREE) * world.resolution <= GAP
    return OccupancyMap(
        np.where(unknown & near, Cell.FREE, world.cells), world.resolution, world.origin
    )


def bare_walls(world: OccupancyMap) -> OccupancyMap:
    """The map with unknown cells made free."""
    walls = np.where(world.cells == Cell.OCCUPIED, Cell.OCCUPIED, Cell.FREE)
    return OccupancyMap(walls, world.resolution, world.origin)


def distance_to_walls(world: OccupancyMap) -> Float32Array:
    """Distance of each cell to the nearest wall that free space touches, in cells.

    The inside of a thick wall is not a wall: no beam can end there.
    """
    from scipy.ndimage import binary_dilation, distance_transform_edt

    walls = world.cells == Cell.OCCUPIED
    faces = walls & binary_dilation(world.cells == Cell.FREE, np.ones((3, 3), dtype=np.bool_))
    if not faces.any():
        raise InputError("The map has no wall that borders free space, so no scan can fit it.")
    return np.asarray(distance_transform_edt(~faces), dtype=np.float32)
