"""Several maps as one search space: laid side by side, far apart, in one plane.

The poses of each map are moved along x by a whole number of metres.  Then x determines the map of a
pose, and poses on different maps are never near each other.  Code that fits, rates and compares
poses works as on one map.  The shift changes neither the view of a robot nor the distance that it
drives.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, TypeVar, cast

import numpy as np

from isovist.arrays import BoolArray, FloatArray, IntArray
from isovist.atlas.base import AnyScan, Atlas, SearchSpace
from isovist.atlas.matching.beams import Beams, Fit
from isovist.atlas.settings import AtlasSettings, BeamModel
from isovist.compute import BeamRatings, free_threads, map_in_groups
from isovist.errors import InputError
from isovist.poses import AnyPose

P = TypeVar("P", bound=AnyPose)

GAP = 1000.0
"""Between two maps, in m: more than any fit moves a pose."""
SHARED = (
    "channels", "rings", "elevation", "reach",
    "cloud_channels.min_cover", "cloud_channels.typical_quantile",
)  # fmt: skip
"""Settings that atlases must share, for what a scan costs on them to be comparable."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class MultiMap(SearchSpace):
    """Several maps placed side by side along x and searched as one.

    Use `MultiMap.of` to make one.

    Attributes:
        maps: Atlases by name; a library opens them on access.
        names: Names of the maps, in order.
        starts: x at which the strip of each map begins, in m, shape (K,).
        shifts: Length in m that each map is moved along x, shape (K,).
        cells: Side of the cells of each map, in m, shape (K,).
        spacing: Largest distance between nodes on any map, in m.
        only: Nodes to search, by map name; a map without an entry is searched completely.
        results: Results of the search on complete maps, if parts are searched one after another.
    """

    maps: Mapping[str, Atlas]
    names: tuple[str, ...]
    starts: FloatArray
    shifts: FloatArray
    cells: FloatArray
    spacing: float
    _dimension: int
    _diagonal: float
    _size: int
    only: Mapping[str, IntArray] = field(default_factory=dict)
    results: dict[Any, Any] | None = None

    @classmethod
    def of(cls, maps: Mapping[str, Atlas]) -> "MultiMap":
        """Place maps side by side, all 2D or all 3D; this opens each map once."""
        if len(maps) == 0:
            raise InputError("There must be at least one map, got none.", code="missing")
        rows, first = [], None
        edge = -np.inf
        for name, atlas in maps.items():
            if not isinstance(name, str) or not isinstance(atlas, Atlas):
                raise InputError(
                    "Several maps are atlases by name, e.g. {'floor 1': atlas}, "
                    f"got {name!r}: {type(atlas).__name__}.",
                    field="atlas",
                )
            first = first or (name, atlas)
            check_alike(*((n, a.dimension, a.settings) for n, a in (first, (name, atlas))))
            low, high = atlas.world.bounds[:, 0]
            shift = 0.0 if edge == -np.inf else float(np.ceil(edge + GAP - low))
            edge = high + shift
            start = low + shift - 0.5 * GAP
            rows.append((start, shift, atlas.resolution, atlas.spacing, atlas.diagonal, atlas.size))
        starts, shifts, cells, spacings, diagonals, sizes = np.array(rows).T
        assert first is not None
        return cls(
            maps, tuple(maps), starts, shifts, cells, float(spacings.max()),
            first[1].dimension, float(diagonals.max()), int(sizes.sum()),
        )  # fmt: skip

    def part(self, numbers: IntArray, only: Mapping[str, IntArray]) -> "MultiMap":
        """Return a selection of the maps, restricted to some of their nodes; maps are not moved.

        Args:
            numbers: Numbers of the maps.
            only: Nodes to search, by map name.
        """
        names = tuple(self.names[int(k)] for k in numbers)
        starts, shifts, cells = (a[numbers] for a in (self.starts, self.shifts, self.cells))
        return replace(self, names=names, starts=starts, shifts=shifts, cells=cells, only=only)

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def diagonal(self) -> float:
        return self._diagonal

    @property
    def resolution(self) -> float:
        return float(self.cells.max())

    @property
    def size(self) -> int:
        return self._size

    def numbers(self, poses: FloatArray) -> IntArray:
        """Return the number of the map that each pose is on, shape (K,)."""
        index = np.searchsorted(self.starts, poses[..., 0], side="right") - 1
        return np.asarray(np.maximum(index, 0), dtype=np.int64)

    def is_on_other_map(self, poses: FloatArray) -> BoolArray:
        numbers = self.numbers(poses)
        return np.asarray(numbers != numbers[0])

    def name_of(self, pose: AnyPose) -> str:
        """Return the name of the map that a pose is on."""
        return self.names[int(self.numbers(pose.vector))]

    def to_local(self, pose: P) -> P:
        """Return a pose in the frame of its own map."""
        return self._shift(pose, -self.shifts[int(self.numbers(pose.vector))])

    def to_common(self, name: str, pose: P) -> P:
        """Return a pose on the named map in the common frame of all maps."""
        return self._shift(pose, self.shifts[self.names.index(name)])

    @staticmethod
    def _shift(pose: P, shift: float) -> P:
        if shift == 0.0:
            return pose
        row = pose.vector.copy()
        row[..., 0] += shift
        return cast("P", type(pose).from_vector(row))

    def cell(self, poses: FloatArray) -> FloatArray:
        return self.cells[self.numbers(poses)]

    def check(self, scan: AnyScan) -> None:
        self._first.check(scan)

    def beams(self, scan: AnyScan, thin: tuple[int, float], block: tuple[float, float]) -> Beams:
        """Select beams of a scan, as the first map does.

        Intensities are left out if there are several maps, since maps differ in their reflectances.
        """
        beams = self._first.beams(scan, thin, block)
        return beams if len(self.names) == 1 else replace(beams, strengths=np.empty(0))

    def fit(
        self,
        beams: Beams,
        poses: FloatArray,
        widths: FloatArray,
        fitted: int,
        *,
        held: float = np.inf,
    ) -> Fit:
        def on_one(part: tuple[str, FloatArray, FloatArray]) -> Fit:
            name, rows, shift = part
            own = self.maps[name].fit(beams, rows, widths, fitted, held=held)
            return replace(own, poses=own.poses + shift)

        parts = map_in_groups(on_one, list(self._by_map(poses)), free_threads())
        fields = ("poses", "normal", "weight", "square")
        fit = Fit(*(np.concatenate([getattr(part, name) for part in parts]) for name in fields))
        return fit.select(self._back(poses))

    def rate(self, beams: Beams, poses: FloatArray, model: BeamModel) -> BeamRatings:
        parts = map_in_groups(
            lambda part: self.maps[part[0]].rate(beams, part[1], model),
            list(self._by_map(poses)),
            free_threads(),
        )
        ratings, kinds = (np.concatenate(part) for part in zip(*parts, strict=True))
        back = self._back(poses)
        return BeamRatings(ratings[back], kinds[back])

    def kernels(self) -> tuple[Any, ...]:
        return self._first.kernels()

    def fitted(self, tilt: bool) -> int:
        return self._first.fitted(tilt)

    def lift(self, poses: FloatArray) -> AnyPose:
        return self._first.lift(poses)

    def ignored_intensities(self, scan: AnyScan) -> tuple[float, ...] | None:
        if len(self.names) == 1:
            return self._first.ignored_intensities(scan)
        counts = scan.intensities is not None and self._first.world.reflectance is not None
        return () if counts else None

    def names_of(self, poses: FloatArray) -> tuple[str, ...]:
        return tuple(self.names[k] for k in np.unique(self.numbers(poses)))

    @property
    def _first(self) -> Atlas:
        return self.maps[self.names[0]]

    def _by_map(self, poses: FloatArray) -> Iterator[tuple[str, FloatArray, FloatArray]]:
        """Yield each map that has poses: its name, these in its own frame, and their shift."""
        if len(poses) == 0:
            yield self.names[0], poses, np.zeros(poses.shape[1])
            return
        numbers = self.numbers(poses)
        order = np.argsort(numbers, kind="stable")
        maps, starts = np.unique(numbers[order], return_index=True)
        for k, rows in zip(maps.tolist(), np.split(order, starts[1:]), strict=True):
            shift = np.zeros(poses.shape[1])
            shift[0] = self.shifts[k]
            yield self.names[k], poses[rows] - shift, shift

    def _back(self, poses: FloatArray) -> IntArray:
        """Return the places of the poses in the order of `_by_map`."""
        order = np.argsort(self.numbers(poses), kind="stable")
        return np.argsort(order, kind="stable")


Described = tuple[str, int, AtlasSettings]
"""Name, dimension and settings of an atlas."""


def check_alike(a: Described, b: Described) -> None:
    """Check that scans can be compared on two atlases; raise an error otherwise."""
    first, second = a[0], b[0]
    if a[1] != b[1]:
        plane, space = (first, second) if a[1] == 2 else (second, first)
        raise InputError(
            f"Maps must all be 2D or all 3D: {plane!r} is 2D, and {space!r} is 3D.",
            code="wrong_dimension",
        )
    for name in SHARED:
        mine, theirs = map(attrgetter(name), (a[2], b[2]))
        if mine != theirs:
            raise InputError(
                f"{first!r} was built with `{name}` {mine:g}, and {second!r} with {theirs:g}. "
                "Build both with the same settings.",
                code="conflict",
            )
