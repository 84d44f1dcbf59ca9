"""Define what every atlas can do, in 2D and in 3D.

An atlas is a map that is prepared for search.  Its nodes lie on a lattice in free space.  The
descriptor of a node has n channels around the circle on one ring or more,

    F_i = Σ_s known_s log(1 + r_s) w_i(θ_s) / Σ_s known_s w_i(θ_s),                     (1)

over rays r_s in all directions θ_s.  Rays that end in unknown space do not count.  A channel of
which less than half is known holds `FAR`: no scan can be longer there.

Poses are those of the level frame of the sensor in the world, in m and rad: (x, y, yaw) in 2D and
(x, y, yaw, z, roll, pitch) in 3D.  `fit` and `rate` turn them into cells for the kernels.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, FloatArray, IntArray, once_for_each, readonly
from isovist.atlas.matching.beams import Beams, Fit
from isovist.atlas.matching.channels import Window
from isovist.atlas.settings import AtlasSettings, BeamModel
from isovist.compute import BeamRatings
from isovist.maps import OccupancyMap, RayGrid, VoxelMap, WallDistances
from isovist.poses import AnyPose
from isovist.renamed import accept_old_names
from isovist.sensing import CloudScan, Scan

AnyScan = Scan | CloudScan


class SearchSpace(ABC):
    """The map, or several maps side by side, that scans are fitted to and rated on.

    Attributes:
        spacing: Distance of the nodes in m, where they lie farthest apart.
    """

    __slots__ = ()

    spacing: float

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The dimension of the map, 2 or 3."""

    @property
    @abstractmethod
    def diagonal(self) -> float:
        """The diagonal of the widest map, in m.

        No beam that begins in a map and is longer than this ends in it.
        """

    @property
    @abstractmethod
    def resolution(self) -> float:
        """The side of the widest cells, in m."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of nodes of all maps together."""

    @abstractmethod
    def cell(self, poses: FloatArray) -> float | FloatArray:
        """Return the side of the map cells at each pose, in m; one number where all are alike."""

    def is_on_other_map(self, poses: FloatArray) -> BoolArray | None:  # noqa: ARG002
        """Return which poses are on another map than the first pose, shape (K,).

        `None` where there is only one map.
        """
        return None

    @abstractmethod
    def check(self, scan: AnyScan) -> None:
        """Check that the scan has the dimension of the map; raise an error otherwise."""

    @abstractmethod
    def beams(self, scan: AnyScan, thin: tuple[int, float], block: tuple[float, float]) -> Beams:
        """Return a selection of the beams of a scan, spread evenly.

        Args:
            scan: What the sensor saw.
            thin: Most beams in 2D; angle between them in 3D, in rad.
            block: Width of a block in rad, and in 2D of a column of them in m.
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
        """Move poses so that the beams end at walls.

        Args:
            beams: The selected beams of the scan.
            poses: The poses to begin with, shape (K, D).
            widths: σ of each step in m.
            fitted: How many coordinates are fitted, from the front; 3 in 2D.
            held: In 3D, c of `compute.fitting.align3d`: less than infinite lets beams end before
                walls.
        """

    @abstractmethod
    def rate(self, beams: Beams, poses: FloatArray, model: BeamModel) -> BeamRatings:
        """Rate each beam from each pose; return ℓ and the kind of each, both of shape (K, m).

        See `likelihood.beam_model`.
        """

    def fit_and_rate(
        self,
        beams: Beams,
        poses: FloatArray,
        widths: FloatArray,
        fitted: int,
        models: Sequence[BeamModel],
        most: int | None = None,
    ) -> tuple[Fit, list[BeamRatings]]:
        """Fit poses to the beams, then rate the fitted poses with each of some beam models.

        Only the `most` poses that the beams constrain best are rated; all when `most` is `None`.
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
        """Fit one pose, shape (1, D), to the beams scaled in length by each of some factors.

        Returns:
            The mean rating for each factor, shape (F,), and the poses, shape (F, D).
        """
        scores, poses = np.empty(len(factors)), np.empty((len(factors), start.shape[1]))
        for k, factor in enumerate(factors):
            scaled = beams.scaled(factor)
            fit, ((ratings, _),) = self.fit_and_rate(scaled, start, widths, fitted, [model])
            scores[k], poses[k] = ratings.mean(dtype=np.float64), fit.poses[0]
        return scores, poses

    @abstractmethod
    def kernels(self) -> tuple[Any, ...]:
        """Return the compiled functions that `fit` and `rate` call (`compute.infra.compiled`)."""

    @abstractmethod
    def fitted(self, tilt: bool) -> int:
        """Return how many coordinates of a pose the last fit of a scan adjusts."""

    @abstractmethod
    def lift(self, poses: FloatArray) -> AnyPose:
        """Return rows of coordinates, shape (K, D), as pose objects."""

    def ignored_intensities(self, scan: AnyScan) -> tuple[float, ...] | None:
        """Return why the intensities of a scan are ignored; `None` where they are not.

        The reason is their median, and the least and greatest reflectance of the walls; always
        `None` on several maps.
        """
        del scan
        return None

    def names_of(self, poses: FloatArray) -> tuple[str, ...]:
        """Return the names of the maps that poses lie on, where there are several."""
        del poses
        return ()


@accept_old_names
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Atlas(SearchSpace):
    """A map with a descriptor of the view from each node, on which scans can be located.

    `build` makes one; `read_atlas` and `write_atlas` read and write it.

    Attributes:
        world: The map, as cells.
        nodes: Flat index of the cell of each node, int64, shape (N,).  Read-only.
        descriptors: F of (1), `FAR` where unknown, float32, shape (N, rings, n).  Read-only.
        wall_distance: Distance of each cell to the nearest wall face, in cells, float32, shape
            of the map; in 3D near walls only, by blocks.  Read-only.
        clear: What rays walk on (`skip` of the map) with gaps between rays closed.  Read-only.
        walls: What rays walk on with walls alone: unknown cells are free.  Read-only.
        spacing: Distance of the nodes in m.
        settings: The settings that it was built with.
    """

    world: OccupancyMap | VoxelMap
    nodes: IntArray
    descriptors: Float32Array
    wall_distance: Float32Array | WallDistances
    clear: NDArray[np.uint8] | RayGrid
    walls: NDArray[np.uint8] | RayGrid
    spacing: float
    settings: AtlasSettings

    dimension: ClassVar[int]

    @property
    @abstractmethod
    def positions(self) -> FloatArray:
        """The world coordinates of the nodes, shape (N, d), in m."""

    @property
    @once_for_each
    def places(self) -> FloatArray:
        """The world coordinates of the nodes, shape (N, d), in m, computed once.  Read-only."""
        return readonly(np.ascontiguousarray(self.positions))

    def nodes_in(self, low: FloatArray, high: FloatArray) -> IntArray:
        """Return the numbers of the nodes in a box (x, y in m), in order, perhaps with others."""
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
        """The area of the floor that a robot can stand on, in m²."""

    @property
    @abstractmethod
    def heading(self) -> float:
        """The angle of the first axis of the grid in the world, in rad."""

    @abstractmethod
    def window(self, scan: AnyScan, share: float) -> Window:
        """Return the channels of a scan, as they are compared with the descriptors of the nodes.

        A channel counts when at least `share` of it is seen.
        """

    def seeds(self, nodes: IntArray, yaws: FloatArray) -> FloatArray:
        """Return the poses at some nodes with given yaws (rad), shape (K, D)."""
        from isovist.compute import place_poses

        poses = np.empty((len(nodes), self.coordinates))
        place_poses(self.places, np.ascontiguousarray(nodes), np.ascontiguousarray(yaws), poses)
        return poses

    @property
    def coordinates(self) -> int:
        """The number of coordinates of a pose: 3 in 2D, 6 in 3D."""
        return 3 * (self.dimension - 1)

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the atlas by name, as they are stored on disk."""

    @abstractmethod
    def meta(self) -> dict[str, Any]:
        """Return everything but the arrays, ready for JSON."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "Atlas":
        """Build an atlas from what `meta` and `arrays` returned."""
