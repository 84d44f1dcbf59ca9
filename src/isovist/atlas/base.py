"""Define what every atlas can do, in 2D and in 3D.

An atlas is a map that is prepared for search.  Its nodes lie on a lattice in free space.  The
descriptor of a node has n channels around the circle on one ring or more,

    F_i = Σ_s known_s log(1 + r_s) w_i(θ_s) / Σ_s known_s w_i(θ_s),                     (1)

over rays r_s in all directions θ_s.  Rays that end in unknown space do not count.  If less than
half of a channel is known, its value is `FAR`, which no scan exceeds.

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
"""A 2D or a 3D scan."""


class SearchSpace(ABC):
    """One map, or several maps side by side, on which poses are searched.

    Attributes:
        spacing: Distance between nodes in m; the largest one of several maps.
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
        """The diagonal of the largest map in m, which no beam inside a map can exceed."""

    @property
    @abstractmethod
    def resolution(self) -> float:
        """The side of the largest cells, in m."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of nodes of all maps."""

    @abstractmethod
    def cell(self, poses: FloatArray) -> float | FloatArray:
        """Return the side of the map cells at each pose, in m.

        One number is enough where all cells are equal.
        """

    def is_on_other_map(self, poses: FloatArray) -> BoolArray | None:  # noqa: ARG002
        """Return which poses are on another map than the first pose, shape (K,).

        The result is `None` if there is only one map.
        """
        return None

    @abstractmethod
    def check(self, scan: AnyScan) -> None:
        """Check that the scan has the dimension of the map; raise an error otherwise."""

    @abstractmethod
    def beams(self, scan: AnyScan, thin: tuple[int, float], block: tuple[float, float]) -> Beams:
        """Select beams of a scan, spread evenly over its directions.

        Args:
            scan: The scan.
            thin: Maximum number of beams in 2D; angle between beams in 3D, in rad.
            block: Width of a block of beams in rad; in 2D, also that of a column in m.
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
            beams: Selected beams of the scan.
            poses: Initial poses, shape (K, D).
            widths: Standard deviation σ of each fitting step, in m.
            fitted: Number of coordinates that are fitted, counted from the first; 3 in 2D.
            held: In 3D, the constant c of `compute.fitting.align3d`.  A finite value lets beams end
                before walls.
        """

    @abstractmethod
    def rate(self, beams: Beams, poses: FloatArray, model: BeamModel) -> BeamRatings:
        """Rate each beam from each pose (see `compute.likelihood.beam_model`).

        Returns:
            The rating ℓ and the kind of each beam, both of shape (K, m).
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
        """Fit poses to the beams, then rate the fitted poses with each beam model.

        Only the `most` poses that the beams constrain best are rated, or all when `most` is `None`.
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
        """Fit one pose to the beams, with their lengths multiplied by each factor in turn.

        Returns:
            The mean rating for each factor, shape (F,), and the fitted poses, shape (F, D).
        """
        scores, poses = np.empty(len(factors)), np.empty((len(factors), start.shape[1]))
        for k, factor in enumerate(factors):
            scaled = beams.scaled(factor)
            fit, ((ratings, _),) = self.fit_and_rate(scaled, start, widths, fitted, [model])
            scores[k], poses[k] = ratings.mean(dtype=np.float64), fit.poses[0]
        return scores, poses

    @abstractmethod
    def kernels(self) -> tuple[Any, ...]:
        """Return the compiled functions that `fit` and `rate` call."""

    @abstractmethod
    def fitted(self, tilt: bool) -> int:
        """Return the number of pose coordinates that the final fit of a scan adjusts."""

    @abstractmethod
    def lift(self, poses: FloatArray) -> AnyPose:
        """Turn rows of coordinates, shape (K, D), into pose objects."""

    def ignored_intensities(self, scan: AnyScan) -> tuple[float, ...] | None:
        """Return why the intensities of a scan are ignored, or `None` if they count.

        Returns:
            The median intensity of the scan, and the smallest and largest reflectance of the walls.
            Empty if the intensities are ignored because there are several maps.
        """
        del scan
        return None

    def names_of(self, poses: FloatArray) -> tuple[str, ...]:
        """Return the names of the maps that poses lie on; empty if there is only one map."""
        del poses
        return ()


@accept_old_names
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Atlas(SearchSpace):
    """A map with a descriptor of the view from each of its nodes, ready for `locate`.

    `build` makes an atlas.  `read_atlas` and `write_atlas` store it on disk.

    Attributes:
        world: The map, as cells.
        nodes: Flat index of the cell of each node, int64, shape (N,).  Read-only.
        descriptors: Descriptor F of each node, equation (1), float32, shape (N, rings, n); `FAR`
            where unknown.  Read-only.
        wall_distance: Distance of each cell to the nearest wall face in cells, float32, shape of
            the map; in 3D only near walls, by blocks.  Read-only.
        clear: Grid for ray casting, with gaps between the rays of the map maker closed.  Read-only.
        walls: Grid for ray casting in which only walls stop a ray.  Read-only.
        spacing: Distance between nodes, in m.
        settings: The settings that the atlas was built with.
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
        """The world coordinates of the nodes, shape (N, d), in m; computed once.  Read-only."""
        return readonly(np.ascontiguousarray(self.positions))

    def nodes_in(self, low: FloatArray, high: FloatArray) -> IntArray:
        """Return the numbers of the nodes in a box, in order; the result may contain others.

        Args:
            low: Smallest x and y, in m.
            high: Largest x and y, in m.
        """
        del low, high
        return np.arange(len(self.nodes))

    @property
    @once_for_each
    def diagonal(self) -> float:
        """The diagonal of the map, in m."""
        return float(np.linalg.norm(np.diff(self.world.bounds, axis=0)))

    @property
    def resolution(self) -> float:
        """The side of a cell of the map, in m."""
        return self.world.resolution

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.nodes)

    def cell(self, poses: FloatArray) -> float | FloatArray:
        """Return the side of a cell of the map, in m, which is the same for all poses."""
        del poses
        return self.world.resolution

    @property
    @abstractmethod
    def area(self) -> float:
        """The area of the floor where a robot can stand, in m²."""

    @property
    @abstractmethod
    def heading(self) -> float:
        """The angle from the x axis of the world to the first axis of the grid, in rad."""

    @abstractmethod
    def window(self, scan: AnyScan, share: float) -> Window:
        """Return a scan as channels that can be compared with the descriptors of the nodes.

        Args:
            scan: A scan of the dimension of the map.
            share: Minimum share of a channel that the scan must see for the channel to count.
        """

    def seeds(self, nodes: IntArray, yaws: FloatArray) -> FloatArray:
        """Return poses at nodes, shape (K, D).

        Args:
            nodes: Numbers of the nodes, shape (K,).
            yaws: Yaw at each node in rad, shape (K,).
        """
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
        """Return all data of the atlas except the arrays, ready for JSON."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "Atlas":
        """Rebuild an atlas from the results of its `meta` and `arrays`."""
