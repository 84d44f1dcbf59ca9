"""The paper's localizer, whole: descriptor grid, nearest node, Gauss–Newton, μ and the bound.

A grid of nodes p_k with F(p_k) is made once.  An observation F_obs, of a scan or given, is looked
up,

    p̂ = argmin_k ‖F(p_k) − F_obs‖,                                                          (1)

over headings too when none is known: a scan is turned in steps of the mesh norm of the basis, a
given F by whole channels.  From there Gauss–Newton goes to where F is F_obs: with exact F and J of
the map (`static`) when F_obs is given, over the scan's own beams (`beam_fit`) for a scan.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from isovist.arrays import ArrayLike, BoolArray, FloatArray, as_floats, readonly
from isovist.atlas.base import MAJORITY
from isovist.atlas.data.surfaces import bridge_gaps
from isovist.atlas.settings import AtlasSettings
from isovist.basis import Band, DirectionalBasis
from isovist.errors import InputError
from isovist.maps.base import Map
from isovist.maps.floor import floor_levels
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.maps.surfaces.segment_map import SegmentMap
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.quadrature import CircleSum, EqualArea
from isovist.paper.dynamic.observations import Course, PlaceCourse, PoseCourse
from isovist.paper.example import profile_of
from isovist.paper.gram.gram import Gram
from isovist.paper.gram.partial_distances import Norm, check_norm, distances, truncation
from isovist.paper.static.descriptor_grid import DescriptorGrid, describe_places
from isovist.paper.static.gauss_newton import Rows, damped_steps
from isovist.paper.static.map_space import MapField
from isovist.paper.static.scan_descriptor import BIN, Beams, well_seen
from isovist.paper.static.scan_gauss_newton import STEP, BeamFit
from isovist.paper.static.static_bound import PlaceBound, no_bound, place_bound
from isovist.poses import AnyPose, Pose, Pose3, wrap_angle
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.scan import Scan
from isovist.sensing.signals import Range, Signal

WHOLE = 0.99
"""A scan that sees this share of every channel sees all around."""
WITHIN = 4.0
"""Radius of the ball in which a bound is claimed, in spacings of the grid."""
STEPS = 20
"""Of Gauss–Newton, at most."""
_BEAMS = (
    "J is the derivative of F: not verified, it is a difference quotient of sums over beams; a "
    "bound needs a map of walls, a view all around and one signal"
)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Nodes, that with the nearest descriptor first.

    Attributes:
        places: Shape (K, d), in m.
        yaws: The best heading of each, in rad, shape (K,).
        distances: Of their descriptors to the observed one, shape (K,).
    """

    places: FloatArray
    yaws: FloatArray
    distances: FloatArray

    def beyond(self, radius: float) -> float:
        """The least distance among nodes farther than this from the first, in m; `inf` if none."""
        away = np.linalg.norm(self.places - self.places[0], axis=1) > radius
        return float(self.distances[away].min(initial=np.inf))


@dataclass(frozen=True, slots=True, eq=False)
class PaperAnswer:
    """Where the paper's method puts an observation.

    Attributes:
        pose: T_world_robot; its heading is the given one where it was known.
        nodes: All of them, that with the nearest descriptor first.
        path: Places from the nearest node on, with the heading last when it was fitted, in m and
            rad, shape (k, D).
        residuals: ‖F − F_obs‖ at each, shape (k,); in the Gram metric with that norm.
        converged: Whether the last step was below the tolerance.
        mu: σ_min(J) at the estimate, per m.
        node_bound: On the error of the nearest node, (1) of `bounds`.
        bound: On that of the estimate, (2) of `bounds`.
    """

    pose: AnyPose
    nodes: Candidates
    path: FloatArray
    residuals: FloatArray
    converged: bool
    mu: float
    node_bound: PlaceBound
    bound: PlaceBound


@dataclass(frozen=True, eq=False)
class PaperLocalizer:
    """The method of the paper on one map, of the plane or of space.

    Attributes:
        world: The map.  On cells, unknown ones between rays of the map's maker are made free.
        basis: The directions and their weights.
        signal: What is put on directions, or several, stacked; each then counts in units of its
            standard deviation over the grid.
        norm: "euclid", "gram" or "truncated", of (1); the last refines like the first.
        spacing: Of the nodes, in m.
        region: Box of the nodes, as in `DescriptorGrid.over`.
        view: In space, the band of directions that the sensor sees; all of them when `None`.
    """

    world: Map
    basis: DirectionalBasis
    signal: Signal | Sequence[Signal] = field(default_factory=Range)
    norm: Norm = "euclid"
    spacing: float = 0.25
    region: ArrayLike | None = None
    view: Band | None = None

    def __post_init__(self) -> None:
        check_norm(self.norm)
        if self.basis.dimension != self.world.dimension:
            raise InputError(
                f"A basis of dimension {self.basis.dimension} cannot describe a map of dimension "
                f"{self.world.dimension}.",
                code="wrong_dimension",
            )
        if isinstance(self.world, OccupancyMap | VoxelMap):
            set_ = object.__setattr__
            set_(self, "world", bridge_gaps(self.world, AtlasSettings().gap))

    @cached_property
    def descriptors(self) -> tuple[Descriptor, ...]:
        """One for each signal."""
        signals = self.signal if isinstance(self.signal, Sequence) else (self.signal,)
        return tuple(Descriptor(self.basis, signal, step=STEP) for signal in signals)

    @cached_property
    def grid(self) -> DescriptorGrid:
        """The nodes with F of all signals one after the other, each in its `scales`."""
        return self._described[0]

    @property
    def scales(self) -> FloatArray:
        """What each signal is divided by, shape (signals,); 1 for one alone."""
        return self._described[1]

    @cached_property
    def _described(self) -> tuple[DescriptorGrid, FloatArray]:
        first, *others = self.descriptors
        grid = DescriptorGrid.over(
            self.world, first, self.spacing, region=self.region, view=self.view
        )
        if not others:
            return grid, np.ones(1)
        parts = [(grid.F, grid.seen)]
        parts += [describe_places(self.world, d, grid.nodes, self.view) for d in others]
        scales = np.array([max(2.0 * truncation(*part), 1e-12) for part in parts])
        F = np.concatenate([f / s for (f, _), s in zip(parts, scales, strict=True)], axis=1)
        seen = np.concatenate([seen for _, seen in parts], axis=1)
        return replace(grid, F=readonly(F), seen=readonly(seen)), scales

    @cached_property
    def gram(self) -> Gram:
        """Of the basis, over all directions."""
        return Gram.from_basis(self.basis)

    @property
    def headings(self) -> FloatArray:
        """Those that are tried when none is known, in rad: one for each mesh norm of the basis."""
        count = int(np.ceil(2.0 * np.pi / self.basis.mesh_norm - 1e-9))
        return 2.0 * np.pi * np.arange(count) / count

    def locate(
        self,
        observation: Scan | CloudScan | ArrayLike,
        heading: float | None = None,
        *,
        noise: float | None = None,
    ) -> PaperAnswer:
        """Find where an observation was made.

        Args:
            observation: A scan, or F, shape (n,): in the axes of the map, for which `heading` is 0,
                or of a robot whose heading is unknown, for which the basis needs equal steps.
            heading: Of the robot in rad; `None` when it is not known.
            noise: η, bound on ‖F_obs − F(p*)‖; for a scan that of the estimate when `None`.
        """
        if heading is not None and not np.isfinite(heading):
            raise InputError.about("heading", f"must be an angle in rad, got {heading}.")
        if isinstance(observation, Scan | CloudScan):
            return self._of_scan(observation, heading, noise)
        return self._of_vector(observation, heading, 0.0 if noise is None else noise)

    def rank(self, F: FloatArray, known: BoolArray, yaws: FloatArray) -> Candidates:
        """All nodes by their distance to F of any of H headings.

        Args:
            F: Of all signals, in their scales, for each heading, shape (H, signals · n).
            known: Channels that were seen, shape (H, signals · n).
            yaws: The headings in rad, shape (H,).
        """
        grid, G = self.grid, None
        if self.norm == "gram":
            G = np.asarray(np.kron(np.eye(len(self.descriptors)), self.gram.matrix), np.float64)
        tau = truncation(grid.F, grid.seen)
        table = distances(grid.F, grid.seen, F, known, self.norm, gram=G, tau=tau)
        best = table.argmin(axis=1)
        nearest = table[np.arange(len(table)), best]
        order = np.argsort(nearest, kind="stable")
        turns = wrap_angle(yaws[best[order]])
        return Candidates(grid.nodes[order], np.asarray(turns), nearest[order])

    def observe(self, beams: Beams, yaws: FloatArray) -> tuple[FloatArray, BoolArray]:
        """F of a scan for each of some headings, as `rank` takes it, and what it knows of it."""
        # In space, how much a beam stands for depends on the sensor: well seen channels say it.
        part = beams.describe(self.basis, float(yaws[0]))[1] / np.maximum(self._whole, 1e-9)
        usual = 1.0 if self.world.dimension == 2 else float(np.quantile(part, 0.9))
        rows, seen = [], []
        for yaw in yaws:
            F, mass = beams.describe(self.basis, float(yaw))
            known = well_seen(mass, self._whole * usual, MAJORITY)
            filled = np.where(known, F * self._whole / np.where(known, mass, 1.0), 0.0)
            rows.append((filled / self.scales[:, None]).ravel())
            seen.append(np.tile(known, len(F)))
        if not np.any(seen):
            raise InputError(
                "The scan sees too little of every channel; take fewer `channels`.", code="empty"
            )
        return np.array(rows), np.array(seen)

    def _of_scan(
        self, scan: Scan | CloudScan, heading: float | None, noise: float | None
    ) -> PaperAnswer:
        if isinstance(scan, CloudScan) != (self.world.dimension == 3):
            kind = "in space" if self.world.dimension == 3 else "of the plane"
            raise InputError(
                f"The map is {kind} and the scan is not; take a scan of its kind.",
                code="wrong_dimension",
            )
        beams = Beams.of(scan, [descriptor.signal for descriptor in self.descriptors])
        # What is searched for is the level frame of the sensor, which may look elsewhere.
        to_robot = scan.T_level_robot
        yaws = self.headings if heading is None else np.array([heading - to_robot.yaw])
        nodes = self.rank(*self.observe(beams, yaws), yaws)
        known = None if heading is None else float(yaws[0])
        path, costs, (_, _, J), length = self._descend(beams, _start(nodes, heading is None), known)
        mu = _least(J)
        around = isinstance(self.world, SegmentMap) and self.sees_all(beams)
        if around and len(self.descriptors) == 1:
            F_obs = beams.describe(self.basis, 0.0 if known is None else known)[0][0]
            course = self._course(heading is None)
            if noise is None:
                noise = float(np.linalg.norm(course.at(path[-1])[0][0] - F_obs))
            bounds = self._bounds(course, F_obs, nodes, path, noise)
        else:
            bounds = no_bound(mu, _BEAMS), no_bound(mu, _BEAMS)
        pose = pose_at(path[-1], known, self.world.dimension) @ to_robot
        return _answer(pose, nodes, path, costs, length < 1e-4, mu, bounds)

    def refine(self, beams: Beams, start: FloatArray) -> FloatArray:
        """Gauss–Newton on a scan from a place and heading, shape (d + 1,), in m and rad."""
        return self._descend(beams, start, None)[0][-1]

    def sees_all(self, beams: Beams) -> bool:
        """Whether a scan saw all of every channel."""
        mass = beams.describe(self.basis, 0.0)[1]
        return bool(well_seen(mass, self._whole, WHOLE).all())

    def _descend(
        self, beams: Beams, start: FloatArray, heading: float | None
    ) -> tuple[list[FloatArray], list[float], Rows, float]:
        fit = BeamFit(
            self.world, self.descriptors, self.scales, beams, heading, self.norm == "gram"
        )
        return damped_steps(
            fit.rows, fit.free, start, fit.units,
            steps=STEPS, tries=4 * STEPS, tolerance=1e-6, trust_radius=0.5,
        )  # fmt: skip

    def _of_vector(
        self, observation: ArrayLike, heading: float | None, noise: float
    ) -> PaperAnswer:
        n = len(self.basis)
        if len(self.descriptors) > 1:
            raise InputError("Stacked signals need a scan; give F of one signal.", code="conflict")
        F_obs = as_floats("observation", observation, (n,))
        if heading is not None and heading != 0.0:
            raise InputError(
                "F is taken in the axes of the map: give `heading` 0, or a scan, which can be "
                "turned.",
                code="conflict",
            )
        if heading is None and not self.basis.is_uniform_circle:
            raise InputError(
                "Without a heading, F needs a basis of equal steps on the circle; give a `heading` "
                "or a scan, which can be turned.",
                code="missing",
            )
        shifts = np.zeros(1, np.int64) if heading is not None else np.arange(n)
        turns = np.stack([np.roll(F_obs, k) for k in shifts])
        nodes = self.rank(turns, np.ones(turns.shape, np.bool_), 2.0 * np.pi * shifts / n)
        course = self._course(heading is None)
        whiten = self.gram.whiten if self.norm == "gram" else np.asarray

        def rows(at: FloatArray) -> Rows:
            F, J = course.at(at)
            gap, slopes = whiten(F_obs - F[0]), whiten((J[0] / course.units).T).T
            return float(np.linalg.norm(gap)), gap, slopes

        path, costs, (_, _, J), length = damped_steps(
            rows, course.free, _start(nodes, heading is None), course.units,
            steps=STEPS, tries=4 * STEPS, tolerance=1e-12, trust_radius=0.5,
        )  # fmt: skip
        bounds = self._bounds(course, F_obs, nodes, path, noise)
        pose = pose_at(path[-1], heading, self.world.dimension)
        return _answer(pose, nodes, path, costs, length < 1e-9, _least(J), bounds)

    def _course(self, turning: bool) -> Course:
        """One observation as a function of the place, and of the heading."""
        (descriptor,) = self.descriptors
        if turning:
            return PoseCourse(descriptor, self.world, np.zeros((1, 3)), np.ones(1))
        places = MapField(descriptor, self.world)
        return PlaceCourse(places, np.zeros((1, self.world.dimension)), np.ones(1))

    def _bounds(
        self,
        course: Course,
        F_obs: FloatArray,
        nodes: Candidates,
        path: Sequence[FloatArray],
        noise: float,
    ) -> tuple[PlaceBound, PlaceBound]:
        """At the nearest node and at the estimate."""
        radius = WITHIN * self.spacing
        first, last = (
            place_bound(
                course, place, F_obs, covering_radius=self.grid.covering_radius, noise=noise,
                radius=radius, alias=nodes.beyond(radius), node=node,
            )
            for place, node in ((path[0], True), (path[-1], False))
        )  # fmt: skip
        return first, last

    @cached_property
    def _whole(self) -> FloatArray:
        """∫ w_i over the view, shape (n,)."""
        rule = (CircleSum() if self.world.dimension == 2 else EqualArea()).rule()
        rule = rule if self.view is None else rule.within(self.view)
        return np.asarray(rule.coefficients @ self.basis.weights(rule.directions))


def _start(nodes: Candidates, turning: bool) -> FloatArray:
    """The nearest node, with its heading last when that is fitted too."""
    return np.append(nodes.places[0], nodes.yaws[0]) if turning else nodes.places[0].copy()


def pose_at(place: FloatArray, heading: float | None, d: int) -> AnyPose:
    """A pose from a place and, unless it is known, the heading after it, shape (d,) or (d + 1,)."""
    yaw = float(place[d]) if heading is None else heading
    x, y, *z = (float(v) for v in place[:d])
    return Pose3(x, y, yaw, z[0]) if z else Pose(x, y, float(wrap_angle(yaw)))


def _least(J: FloatArray) -> float:
    return float(np.linalg.svd(J, compute_uv=False)[-1])


def _answer(
    pose: AnyPose,
    nodes: Candidates,
    path: Sequence[FloatArray],
    costs: Sequence[float],
    converged: bool,
    mu: float,
    bounds: tuple[PlaceBound, PlaceBound],
) -> PaperAnswer:
    way, residuals = readonly(np.array(path)), readonly(np.array(costs))
    return PaperAnswer(pose, nodes, way, residuals, converged, mu, *bounds)


def paper_localizer(
    world: Map,
    *,
    channels: int = 64,
    temperature: float | None = None,
    profile: str = "softmax",
    norm: str = "euclid",
    transform: str = "linear",
    spacing: float = 0.25,
    basis: DirectionalBasis | None = None,
    height: float | None = None,
    highest: float | None = None,
    view: Band | None = None,
) -> PaperLocalizer:
    """The paper's localizer with the usual basis and the range as signal.

    Args:
        world: The map.
        channels: Directions of the basis: equal steps on the circle, a Fibonacci spiral in space.
        temperature: ε, or how wide another profile is (`example.profile_of`); the square of the
            mesh norm of the basis when `None`.
        profile: softmax, bump or cosine.
        norm: euclid, gram or truncated.
        transform: Of the range, as in `Range`.
        spacing: Of the nodes, in m.
        basis: Instead of one of these channels and profile.
        height: In space, of the sensor above the floor, in m; the usual one when `None`.
        highest: The same at its highest, when it flies.
        view: In space, what the sensor sees.
    """
    if basis is None:
        make = DirectionalBasis.circle if world.dimension == 2 else DirectionalBasis.fibonacci
        width = make(channels).mesh_norm ** 2 if temperature is None else temperature
        basis = make(channels, profile=profile_of(profile, width))
    check_norm(norm)
    if world.dimension == 2 and height is not None:
        raise InputError.about(
            "height", "is for maps in space; this map is of the plane.", code="wrong_dimension"
        )
    signal = Range(AtlasSettings().reach, transform)
    region = None if world.dimension == 2 else layer(world, height, highest)
    return PaperLocalizer(world, basis, signal, norm, spacing, region, view)  # type: ignore[arg-type]


def layer(world: Map, height: float | None = None, highest: float | None = None) -> FloatArray:
    """Box of a map in space between two heights above its floor, in m, as `region`."""
    low = AtlasSettings().height if height is None else height
    floor = world.bounds[0, 2]
    if isinstance(world, VoxelMap):
        floor = np.median(floor_levels(world))
    (x0, y0, _), (x1, y1, _) = world.bounds
    return np.array([x0, y0, floor + low, x1, y1, floor + (highest or low)])


def band_of(scan: Scan | CloudScan) -> Band | None:
    """The band of directions that a scan in space saw; `None` in the plane."""
    if not isinstance(scan, CloudScan):
        return None
    p = scan.level_points
    elevation = np.arctan2(p[:, 2], np.hypot(p[:, 0], p[:, 1]))
    low, high = np.clip([elevation.min() - BIN, elevation.max() + BIN], -np.pi / 2, np.pi / 2)
    return Band(float(low), float(high))
