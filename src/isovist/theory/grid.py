"""The descriptor grid of the paper: nodes on a square lattice, each with its F.

A grid is an h-covering when no free point is farther than h from a node.  The covering radius
reported here is an upper bound of the smallest such h: free space lies within s/√2 of a finer
lattice of pitch s, so it is the largest distance from that lattice to the nodes, plus s/√2.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import shapely
from scipy.spatial import cKDTree

from isovist.descriptor.descriptor import Descriptor
from isovist.errors import InputError
from isovist.maps.segments import SegmentMap
from isovist.types import ArrayLike, FloatArray, IntArray, as_floats, readonly


@dataclass(frozen=True, slots=True, eq=False)
class DescriptorGrid:
    """Places p_k with their descriptors F(p_k).

    Attributes:
        nodes: Places, shape (K, 2), in m.  Read-only.
        F: Descriptors, shape (K, n).  Read-only.
        spacing: Of the lattice, in m.
        covering_radius: Every free point has a node within this distance, in m.
    """

    nodes: FloatArray
    F: FloatArray
    spacing: float
    covering_radius: float

    @classmethod
    def over(
        cls,
        world: SegmentMap,
        descriptor: Descriptor,
        spacing: float,
        *,
        region: tuple[float, float, float, float] | None = None,
    ) -> "DescriptorGrid":
        """Describe the free nodes of a square lattice.

        Args:
            world: The map.
            descriptor: Gives F.
            spacing: Of the lattice, in m.
            region: Only places inside the box (x0, y0, x1, y1), in m.
        """
        if not (np.isfinite(spacing) and spacing > 0.0):
            raise InputError(f"`spacing` must be positive, got {spacing} m.")
        lo, hi = world.bounds if region is None else np.reshape(region, (2, 2))
        if ((hi - lo) / spacing).prod() > 1e8:
            raise InputError(f"A spacing of {spacing:g} m gives more than 10⁸ nodes.")
        points = _lattice(lo, hi, spacing, inset=spacing)
        points = points[world.contains(points)]
        if len(points) == 0:
            raise InputError(
                f"No node of a lattice of {spacing:g} m lies in free space; use a smaller spacing."
            )
        F, _ = descriptor.at(world, points)
        radius = _covering_radius(world, points, spacing, lo, hi)
        return cls(readonly(points), readonly(F), spacing, radius)

    def nearest(
        self,
        F_obs: ArrayLike,
        count: int = 1,
        *,
        whiten: Callable[[FloatArray], FloatArray] | None = None,
    ) -> tuple[IntArray, FloatArray]:
        """Indices of the nodes with the nearest descriptors, and the distances.

        Args:
            F_obs: The observed descriptor, shape (n,).
            count: How many.
            whiten: Turns descriptors into coordinates whose Euclidean distance is the wanted
                metric, e.g. `Gram.whiten` for the Gram metric; plain ‖·‖₂ without it.
        """
        gap = self.F - as_floats("F_obs", F_obs, (self.F.shape[1],))
        distances = np.linalg.norm(gap if whiten is None else whiten(gap), axis=1)
        order = np.argsort(distances, kind="stable")[:count]
        return order, distances[order]


def _lattice(lo: FloatArray, hi: FloatArray, pitch: float, inset: float) -> FloatArray:
    axes = [np.arange(a + inset, b + 1e-9 * pitch, pitch) for a, b in zip(lo, hi, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def _covering_radius(
    world: SegmentMap, nodes: FloatArray, spacing: float, lo: FloatArray, hi: FloatArray
) -> float:
    box = shapely.box(*lo, *hi)
    free = box if world.free is None else world.free.intersection(box)
    pitch = spacing / 8.0
    slack = pitch / np.sqrt(2.0)
    samples = _lattice(lo - pitch, hi + pitch, pitch, inset=0.0)
    shapely.prepare(free)
    near = samples[shapely.dwithin(free, shapely.points(samples), slack)]
    return float(np.max(cKDTree(nodes).query(near)[0]) + slack)
