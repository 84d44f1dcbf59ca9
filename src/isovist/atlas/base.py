"""What every atlas can do, in the plane and in space.

An atlas is a map already described, indexed and ready to answer.  Its nodes lie on a lattice in
free space.  The descriptor of a node has n channels around the circle on one ring or more,

    F_i = Σ_s known_s log(1 + r_s) w_i(θ_s) / Σ_s known_s w_i(θ_s),                     (1)

over rays r_s in all directions θ_s; rays that end in unknown space do not count, and a channel of
which less than half is known holds `FAR`: it says nothing, and nothing can be longer.

Poses are those of the level frame of the sensor in the world, in m and rad: (x, y, yaw) in the
plane, (x, y, yaw, z, roll, pitch) in space.  Cells are the business of the kernels: `fit` and
`rate` are the doors.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.settings import AtlasSettings, BeamModel
from isovist.backends.base import Rated, firmest
from isovist.maps.cells import OccupancyMap
from isovist.maps.fields import Near, Walk
from isovist.maps.voxels import VoxelMap
from isovist.poses import AnyPose
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.scan import Scan
from isovist.types import BoolArray, Float32Array, FloatArray, IntArray, once_for_each, readonly

FAR = 1.0e3
"""Stands for an unknown channel: larger than the logarithm of any range."""
FINE = 512
"""Steps of a search in the most that a channel costs that is too short: 0.05 % of a range, where
nodes and noise leave several percent."""
MAJORITY = 0.5 - 1e-5
"""Least known share of a channel that counts: half, however sums are rounded."""
DAMPING = 0.02
"""Of fits, added to the normal matrix as a share of the beams: along a corridor nothing pulls."""
PHASES = 2
"""Headings to a channel: between two of them a descriptor changes by less than noise does."""
RAYS = 4
"""Rays of a channel, in space two by two: fewer and the sum (1) errs by more than people do."""

AnyScan = Scan | CloudScan


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A scan in the channels of an atlas.

    Attributes:
        values: Mean log(1 + r) of each channel, float32, shape (P, rings, m), at each of P phases:
            headings within a channel.
        seen: Which channels the scan knows, shape (P, rings, m).
        first: Channel of the first column.
        ring: Ring of the atlas that the first of these is.
    """

    values: Float32Array
    seen: BoolArray
    first: int = 0
    ring: int = 0

    @property
    def rough(self) -> "Window":
        """For a glance: every other phase and every other channel."""
        seen = self.seen[::2].copy()
        seen[:, :, 1::2] = False
        return Window(np.ascontiguousarray(self.values[::2]), seen, self.first, self.ring)

    def codes(self, short: float) -> "Codes":
        """These values as the search counts them.

        Args:
            short: Most that a channel costs that is shorter than the map says, in log(1 + r); one
                that is longer costs up to twice that.
        """
        from isovist.kernels.correlate import code

        values, scale = np.empty(self.values.shape, dtype=np.int16), np.empty(2)
        code(self.values, self.seen, short, short / FINE, values, scale)
        base, step = scale.tolist()
        whole = round(short / step)
        return Codes(values, base, step, whole, 2 * whole)

    def yaws(self, n: int, heading: float) -> FloatArray:
        """Of heading k P + p, which is k of n channels and p/P, in rad, shape (n P,)."""
        return _yaws(n, len(self.values), self.first, heading)


@lru_cache
def _yaws(n: int, phases: int, first: int, heading: float) -> FloatArray:
    turns = np.arange(n * phases) / phases - first
    return readonly(2.0 * np.pi * turns / n + heading)


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """A window in whole steps above a base, which is below all that differs in cost.

    Attributes:
        values: Of 16 bits, shape (P, rings, m); 0 where nothing was seen.
        base: In log(1 + r).
        step: Likewise.
        short: Most that a channel costs that is shorter than the map says, in steps.
        long: The same for one that is longer.
    """

    values: NDArray[np.int16]
    base: float
    step: float
    short: int
    long: int


@dataclass(frozen=True, slots=True, eq=False)
class Beams:
    """Some beams of a scan, and which of them err together: those of a block.

    Attributes:
        ends: In the level frame of the sensor, in m, shape (m, d).
        strengths: Intensities, shape (m,), or empty.
        sigmas: Standard deviation that each beam has besides that of the model, in m, shape (m,),
            or empty.
        order: The beams block after block, shape (m,).
        starts: Where each block begins in that order, shape (B,).
        columns: Where those blocks begin that see one thing together, shape (C,).
    """

    ends: FloatArray
    strengths: FloatArray
    sigmas: FloatArray
    order: IntArray
    starts: IntArray
    columns: IntArray

    @classmethod
    def of(
        cls,
        ends: FloatArray,
        blocks: IntArray,
        columns: IntArray,
        strengths: FloatArray,
        sigmas: FloatArray | None = None,
    ) -> "Beams":
        """From the number of the block of each beam and of the column of that block."""
        order = np.lexsort((blocks, columns))
        runs = np.ones((2, len(order)), dtype=np.bool_)
        for row, number in zip(runs, (columns[order], blocks[order]), strict=True):
            np.not_equal(number[1:], number[:-1], out=row[1:])
        starts = np.flatnonzero(runs[0] | runs[1])
        own = np.empty(0) if sigmas is None else sigmas
        first = np.flatnonzero(runs[0][starts])
        return cls(np.ascontiguousarray(ends), strengths, own, order, starts, first)

    def scaled(self, factor: float) -> "Beams":
        """The same, so many times as long."""
        ends = factor * self.ends
        return Beams(ends, self.strengths, self.sigmas, self.order, self.starts, self.columns)

    @staticmethod
    def sigmas_of(parts: Iterable["Beams"]) -> FloatArray:
        """Those of several, one after the other; empty where none of them has any."""
        rows = [part.sigmas if part.sigmas.size else np.zeros(len(part)) for part in parts]
        every = np.concatenate(rows)
        return every if every.any() else np.empty(0)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def blocks(self) -> int:
        """How many blocks hold a beam."""
        return len(self.starts)

    @property
    def block_of(self) -> IntArray:
        """Number of the block of each beam, shape (m,)."""
        number = np.empty(len(self), dtype=np.int64)
        number[self.order] = np.repeat(np.arange(self.blocks), _lengths(self.starts, len(self)))
        return number

    @property
    def column_of(self) -> IntArray:
        """Number of the column of each beam, shape (m,)."""
        return np.searchsorted(self.columns, self.block_of, side="right") - 1

    def by_block(self, ratings: Float32Array) -> FloatArray:
        """Mean of what belongs to the beams of each block, shape (K, m) to (K, B)."""
        sums = np.add.reduceat(ratings[:, self.order], self.starts, axis=1, dtype=np.float64)
        return np.asarray(sums / _lengths(self.starts, len(self)))

    def by_column(self, blocks: FloatArray) -> FloatArray:
        """Mean of what belongs to the blocks of each column, shape (K, B) to (K, C)."""
        sums = np.add.reduceat(blocks, self.columns, axis=1)
        return np.asarray(sums / _lengths(self.columns, self.blocks))


def _lengths(starts: IntArray, end: int) -> IntArray:
    """Of runs that begin at ascending places, the last before `end`.

    In a fifth of the time of `np.diff`: a check asks a dozen times.
    """
    out = np.empty_like(starts)
    out[:-1] = starts[1:]
    out[-1:] = end
    out -= starts
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Poses moved to where beams end at walls.

    Attributes:
        poses: Shape (K, D).
        normal: Σ w J Jᵀ of the distances to the walls by the coordinates that were fitted, in
            the axes of the world, per m and rad, shape (K, n, n).
        weight: Σ w, shape (K,).
        square: Σ w e², in m², shape (K,).
    """

    poses: FloatArray
    normal: FloatArray
    weight: FloatArray
    square: FloatArray

    @property
    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """All of it, by place."""
        return self.poses, self.normal, self.weight, self.square

    def select(self, index: NDArray[Any]) -> "Fit":
        """Some of them, in this order."""
        return Fit(self.poses[index], self.normal[index], self.weight[index], self.square[index])

    def firmest(self, most: int | None) -> "Fit":
        """So many that beams hold firmest, in their order; all when `None`."""
        if most is None or most >= len(self.poses):
            return self
        return self.select(firmest(self.weight, most))


class Site(ABC):
    """What scans are fitted to and rated on: the map of an atlas, or several side by side.

    Attributes:
        spacing: Distance of the nodes in m, where they lie farthest apart.
    """

    __slots__ = ()

    spacing: float

    @property
    @abstractmethod
    def dimension(self) -> int:
        """2 or 3."""

    @property
    @abstractmethod
    def diagonal(self) -> float:
        """Of the widest map, in m: no beam that begins in a map and is longer ends in it."""

    @property
    @abstractmethod
    def resolution(self) -> float:
        """Side of the widest cells, in m."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Nodes of all maps."""

    @abstractmethod
    def cell(self, poses: FloatArray) -> float | FloatArray:
        """Side of the cells where each pose is, in m; one number where all are alike."""

    def elsewhere(self, poses: FloatArray) -> BoolArray | None:  # noqa: ARG002
        """Which poses are on another map than the first of them, shape (K,); `None` of one map."""
        return None

    @abstractmethod
    def check(self, scan: AnyScan) -> None:
        """An error unless the scan is of the same kind as the map."""

    @abstractmethod
    def beams(self, scan: AnyScan, thin: tuple[int, float], block: tuple[float, float]) -> Beams:
        """A choice of beams, spread evenly.

        Args:
            scan: What the sensor saw.
            thin: Most beams in the plane; angle between them in space, in rad.
            block: Width of a block in rad, and in the plane of a column of them in m.
        """

    @abstractmethod
    def fit(
        self,
        beams: Beams,
        poses: FloatArray,
        widths: FloatArray,
        fitted: int,
        *,
        held: float = np.inf,
    ) -> Fit:
        """Move poses to where the beams end at walls.

        Args:
            beams: Of the scan.
            poses: From where to begin, shape (K, D).
            widths: σ of each step in m.
            fitted: How many coordinates are fitted, from the front; 3 in the plane.
            held: In space, c of `kernels.align3d`: less than infinite lets beams end before walls.
        """

    @abstractmethod
    def rate(self, beams: Beams, poses: FloatArray, model: BeamModel) -> Rated:
        """ℓ and kind of each beam from each pose (`kernels.beam`), both of shape (K, m)."""

    def fit_and_rate(
        self,
        beams: Beams,
        poses: FloatArray,
        widths: FloatArray,
        fitted: int,
        models: Sequence[BeamModel],
        most: int | None = None,
    ) -> tuple[Fit, list[Rated]]:
        """`fit`, then `rate` by each of some models.

        Of those that beams hold firmest, so many, or of all when `most` is `None`.
        """
        fit = self.fit(beams, poses, widths, fitted).firmest(most)
        return fit, [self.rate(beams, fit.poses, model) for model in models]

    def fit_scaled(
        self,
        beams: Beams,
        start: FloatArray,
        widths: FloatArray,
        fitted: int,
        model: BeamModel,
        factors: Sequence[float],
    ) -> tuple[FloatArray, FloatArray]:
        """Beams times each of some factors, fitted from one pose, shape (1, D).

        Returns:
            Their mean rating, shape (F,), and the poses, shape (F, D).
        """
        scores, poses = np.empty(len(factors)), np.empty((len(factors), start.shape[1]))
        for k, factor in enumerate(factors):
            scaled = beams.scaled(factor)
            fit, ((ratings, _),) = self.fit_and_rate(scaled, start, widths, fitted, [model])
            scores[k], poses[k] = ratings.mean(dtype=np.float64), fit.poses[0]
        return scores, poses

    @abstractmethod
    def kernels(self) -> tuple[Any, ...]:
        """What `fit` and `rate` call (`kernels.compiled`)."""

    @abstractmethod
    def fitted(self, tilt: bool) -> int:
        """How many coordinates the last fit of a scan is of."""

    @abstractmethod
    def lift(self, poses: FloatArray) -> AnyPose:
        """Rows as poses."""

    def note(self, scan: AnyScan) -> str:
        """What of a scan was left out, in words; empty as a rule."""
        del scan
        return ""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Atlas(Site):
    """A map, described.  `build` makes one; `read_atlas` and `write_atlas` keep it.

    Attributes:
        world: The map, as cells.
        nodes: Flat index of the cell of each node, int64, shape (N,).  Read-only.
        descriptors: F of (1), `FAR` where unknown, float32, shape (N, rings, n).  Read-only.
        wall_distance: Distance of each cell to the nearest wall face, in cells, float32, shape
            of the map; in space near walls only, by blocks.  Read-only.
        clear: What rays walk on (`skip` of the map) with gaps between rays closed.  Read-only.
        bare: The same with nothing but walls: unknown cells are free.  Read-only.
        spacing: Distance of the nodes in m.
        settings: That it was built with.
    """

    world: OccupancyMap | VoxelMap
    nodes: IntArray
    descriptors: Float32Array
    wall_distance: Float32Array | Near
    clear: NDArray[np.uint8] | Walk
    bare: NDArray[np.uint8] | Walk
    spacing: float
    settings: AtlasSettings

    dimension: ClassVar[int]

    @property
    @abstractmethod
    def positions(self) -> FloatArray:
        """World coordinates of the nodes, shape (N, d), in m."""

    @property
    @once_for_each
    def places(self) -> FloatArray:
        """`positions`, kept: every scan asks for thousands of them.  Read-only."""
        return readonly(np.ascontiguousarray(self.positions))

    def nodes_in(self, low: FloatArray, high: FloatArray) -> IntArray:
        """Numbers of nodes, all those of a box (x, y in m) among them, in order."""
        del low, high
        return np.arange(len(self.nodes))

    @property
    @once_for_each
    def diagonal(self) -> float:
        return float(np.linalg.norm(np.diff(self.world.bounds, axis=0)))

    @property
    def resolution(self) -> float:
        return self.world.resolution

    @property
    def size(self) -> int:
        return len(self.nodes)

    def cell(self, poses: FloatArray) -> float | FloatArray:
        del poses
        return self.world.resolution

    @property
    @abstractmethod
    def area(self) -> float:
        """Of the floor that a robot can stand on, in m²."""

    @property
    @abstractmethod
    def heading(self) -> float:
        """Of the first axis of the grid in the world, in rad."""

    @abstractmethod
    def window(self, scan: AnyScan, share: float) -> Window:
        """The channels of a scan; `share` of one must be seen for it to count."""

    def seeds(self, nodes: IntArray, yaws: FloatArray) -> FloatArray:
        """Poses at nodes, shape (K, D)."""
        from isovist.kernels.select import stand

        poses = np.empty((len(nodes), self.coordinates))
        stand(self.places, np.ascontiguousarray(nodes), np.ascontiguousarray(yaws), poses)
        return poses

    @property
    def coordinates(self) -> int:
        """Of a pose."""
        return 3 * (self.dimension - 1)

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as a folder keeps them."""

    @abstractmethod
    def meta(self) -> dict[str, Any]:
        """The rest, ready for JSON."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "Atlas":
        """From what `meta` and `arrays` gave."""
