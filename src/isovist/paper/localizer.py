"""Localize by the paper's method: descriptor grid, nearest node, Gauss–Newton, μ and the bound.

A grid of nodes p_k with F(p_k) is made once.  The nearest node to an observation F_obs, of a scan
or given, is

    p̂ = argmin_k ‖F(p_k) − F_obs‖,                                                          (1)

If no heading is known, the minimum is over headings too.  A scan is turned in steps of the mesh
norm of the basis, a given F by whole channels.  From the node, Gauss–Newton searches the place
where F equals F_obs.  A given F_obs is compared with exact F and J of the map (`gauss_newton`), a
scan over its beams (`scan_gauss_newton`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from isovist import (
    AtlasSettings,
    CloudScan,
    DirectionalBasis,
    InputError,
    OccupancyMap,
    Pose,
    Pose3,
    Range,
    Scan,
    SegmentMap,
    VoxelMap,
)
from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.atlas import MAJORITY, bridge_gaps
from isovist.basis import Band
from isovist.maps import Map, floor_levels
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.quadrature import CircleSum, EqualArea, check_dimension
from isovist.paper.gram.gram import Gram
from isovist.paper.gram.partial_distances import Norm, PartialFeatures, check_norm, distances
from isovist.paper.observations import PlaceTrajectory, PoseTrajectory
from isovist.paper.settings import LocalizerSettings
from isovist.paper.static.descriptor_grid import DescriptorGrid, describe_places
from isovist.paper.static.gauss_newton import (
    Linearization,
    Problem,
    Solution,
    StepLimits,
    damped_gauss_newton,
)
from isovist.paper.static.map_space import MapField
from isovist.paper.static.scan_descriptor import Beams, bin_width
from isovist.paper.static.scan_gauss_newton import ScanFit
from isovist.paper.static.static_bound import Premises, StaticBound, refuse_bound, static_bound
from isovist.paper.static.trajectory import Trajectory
from isovist.paper.weight_profiles import profile_of
from isovist.poses import AnyPose, wrap_angle
from isovist.sensing import Signal

_BEAMS = (
    "J is the derivative of F: not verified, it is a difference quotient of sums over beams; a "
    "bound needs a map of walls, a view all around and one signal"
)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Nodes, sorted by the distance of their descriptors.

    Attributes:
        places: Shape (K, d), in m.
        yaws: The best heading of each, in rad, shape (K,).
        distances: Distance of each descriptor to the observed one, shape (K,).
    """

    places: FloatArray
    yaws: FloatArray
    distances: FloatArray

    def alias_distance(self, radius: float) -> float:
        """Return the smallest distance of nodes farther than this (m) from the first, or `inf`."""
        is_far = np.linalg.norm(self.places - self.places[0], axis=1) > radius
        return float(self.distances[is_far].min(initial=np.inf))


@dataclass(frozen=True, slots=True, eq=False)
class PaperAnswer:
    """The pose of an observation by the paper's method.

    Attributes:
        pose: T_world_robot; with a given heading, its heading is that one.
        nodes: All nodes, the nearest descriptor first.
        path: Places from the nearest node on, with the heading last if it was fitted, in m and
            rad, shape (k, D).
        residuals: ‖F − F_obs‖ at each, shape (k,); in the Gram metric with that norm.
        converged: Whether the last step was below the tolerance.
        mu: σ_min(J) at the estimate, per m.
        node_bound: Bound on the error of the nearest node, (1) of `static_bound`.
        bound: Bound on the error of the estimate, (2) of `static_bound`.
    """

    pose: AnyPose
    nodes: Candidates
    path: FloatArray
    residuals: FloatArray
    converged: bool
    mu: float
    node_bound: StaticBound
    bound: StaticBound


@dataclass(frozen=True, eq=False)
class PaperLocalizer:
    """The method of the paper on one 2D or 3D map.

    Attributes:
        world: The map.  Unknown cells between rays of the mapping sensor are made free.
        basis: The directions and their weights.
        signal: The signal, or several signals, each in units of its standard deviation over the
            grid.
        norm: Norm of (1): "euclid", "gram" or "truncated", which refines like "euclid".
        spacing: Spacing of the nodes, in m.
        region: Box of the nodes, as in `DescriptorGrid.over`.
        view: The band of directions that a 3D sensor sees; all when `None`.
        settings: Settings of the method.
    """

    world: Map
    basis: DirectionalBasis
    signal: Signal | Sequence[Signal] = field(default_factory=Range)
    norm: Norm = "euclid"
    spacing: float = 0.25
    region: ArrayLike | None = None
    view: Band | None = None
    settings: LocalizerSettings = field(default_factory=LocalizerSettings)

    def __post_init__(self) -> None:
        check_norm(self.norm)
        check_dimension(self.basis, self.world)
        if isinstance(self.world, OccupancyMap | VoxelMap):
            world = bridge_gaps(self.world, AtlasSettings().gap)
            object.__setattr__(self, "world", world)

    @cached_property
    def descriptors(self) -> tuple[Descriptor, ...]:
        """Return a descriptor for each signal."""
        signals = self.signal if isinstance(self.signal, Sequence) else (self.signal,)
        step = self.settings.difference_m
        return tuple(Descriptor(self.basis, signal, step=step) for signal in signals)

    @cached_property
    def grid(self) -> DescriptorGrid:
        """Return the nodes, with F of all signals one after another, each divided by its scale."""
        return self._described[0]

    @property
    def scales(self) -> FloatArray:
        """Return the divisor of each signal, shape (signals,); 1 for a single one."""
        return self._described[1]

    @cached_property
    def _described(self) -> tuple[DescriptorGrid, FloatArray]:
        first, *others = self.descriptors
        grid = DescriptorGrid.over(
            self.world, first, self.spacing, region=self.region, view=self.view
        )
        if not others:
            return grid, np.ones(1)
        parts = [grid.features]
        parts += [describe_places(self.world, d, grid.nodes, self.view) for d in others]
        scales = np.array([max(part.deviation, 1e-12) for part in parts])
        F = np.concatenate([p.F / s for p, s in zip(parts, scales, strict=True)], axis=1)
        mask = np.concatenate([part.mask for part in parts], axis=1)
        return replace(grid, F=readonly(F), mask=readonly(mask)), scales

    @cached_property
    def gram(self) -> Gram:
        """Return the Gram matrix of the basis over all directions."""
        return Gram.from_basis(self.basis)

    @property
    def headings(self) -> FloatArray:
        """Return the headings in rad to try if none is given, one for each mesh norm."""
        count = int(np.ceil(2.0 * np.pi / self.basis.mesh_norm - 1e-9))
        return 2.0 * np.pi * np.arange(count) / count

    @property
    def bound_radius(self) -> float:
        """Return the radius in m of the ball in which the bound is valid."""
        return self.settings.bound_radius * self.spacing

    def locate(
        self,
        observation: Scan | CloudScan | ArrayLike,
        heading: float | None = None,
        *,
        noise: float | None = None,
    ) -> PaperAnswer:
        """Locate an observation.

        Args:
            observation: A scan, or F, shape (n,). F is in the axes of the map if `heading` is 0.
                With an unknown heading, F is in the axes of the robot, and the basis needs equal
                steps.
            heading: Heading of the robot in rad; `None` if it is not known.
            noise: η, bound on ‖F_obs − F(p*)‖; when `None`, that of the estimate for a scan.
        """
        if heading is not None and not np.isfinite(heading):
            raise InputError.about("heading", f"must be an angle in rad, got {heading}.")
        if isinstance(observation, Scan | CloudScan):
            return self._of_scan(observation, heading, noise)
        return self._of_vector(observation, heading, 0.0 if noise is None else noise)

    def rank(self, observed: PartialFeatures, yaws: FloatArray) -> Candidates:
        """Sort all nodes by their distance to an observation at any of H headings.

        Args:
            observed: F of all signals, in their scales, for each heading, (H, signals · n).
            yaws: The headings in rad, shape (H,).
        """
        nodes, G = self.grid.features, None
        if self.norm == "gram":
            G = np.asarray(np.kron(np.eye(len(self.descriptors)), self.gram.matrix), np.float64)
        table = distances(nodes, observed, self.norm, gram=G, tau=nodes.truncation)
        best = table.argmin(axis=1)
        nearest = table[np.arange(len(table)), best]
        order = np.argsort(nearest, kind="stable")
        turns = wrap_angle(yaws[best[order]])
        return Candidates(self.grid.nodes[order], np.asarray(turns), nearest[order])

    def observe(self, beams: Beams, yaws: FloatArray) -> PartialFeatures:
        """Describe a scan for each of H headings, as `rank` takes it."""
        # In 3D, how much a beam stands for depends on the sensor: well seen channels say it.
        part = beams.describe(self.basis, float(yaws[0]))[1] / np.maximum(self._full_mass, 1e-9)
        full = 1.0 if self.world.dimension == 2 else float(np.quantile(part, 0.9))
        rows, masks = [], []
        for yaw in yaws:
            F, mass = beams.describe(self.basis, float(yaw))
            mask = mass >= MAJORITY * (self._full_mass * full)
            filled = np.where(mask, F * self._full_mass / np.where(mask, mass, 1.0), 0.0)
            rows.append((filled / self.scales[:, None]).ravel())
            masks.append(np.tile(mask, len(F)))
        if not np.any(masks):
            raise InputError(
                "The scan sees too little of every channel; take fewer `channels`.", code="empty"
            )
        return PartialFeatures(np.array(rows), np.array(masks))

    def _of_scan(
        self, scan: Scan | CloudScan, heading: float | None, noise: float | None
    ) -> PaperAnswer:
        if isinstance(scan, CloudScan) != (self.world.dimension == 3):
            raise InputError(
                f"The map is {self.world.dimension}D and the scan is not; use a scan of its kind.",
                code="wrong_dimension",
            )
        beams = Beams.of(scan, [descriptor.signal for descriptor in self.descriptors])
        # The search is for the level frame of the sensor, whose heading may differ.
        to_robot = scan.T_level_robot
        yaws = self.headings if heading is None else np.array([heading - to_robot.yaw])
        nodes = self.rank(self.observe(beams, yaws), yaws)
        yaw = None if heading is None else float(yaws[0])
        solution = self._descend(beams, _start(nodes, heading is None), yaw)
        bounds = (refuse_bound(solution.end.mu, _BEAMS),) * 2
        all_around = isinstance(self.world, SegmentMap) and self.sees_all(beams)
        if all_around and len(self.descriptors) == 1:
            F_obs = beams.describe(self.basis, 0.0 if yaw is None else yaw)[0][0]
            trajectory = self._one_observation(heading is None)
            if noise is None:
                noise = float(np.linalg.norm(trajectory.at(solution.path[-1])[0][0] - F_obs))
            bounds = self._bounds(trajectory, F_obs, nodes, solution, noise)
        pose = pose_at(solution.path[-1], yaw, self.world.dimension) @ to_robot
        return _answer(pose, nodes, solution, 1e-4, bounds)

    def refine(self, beams: Beams, start: FloatArray) -> FloatArray:
        """Fit a scan by Gauss–Newton from a place and heading, shape (d + 1,), in m and rad."""
        return self._descend(beams, start, None).path[-1]

    def sees_all(self, beams: Beams) -> bool:
        """Return whether a scan covers every channel completely."""
        mass = beams.describe(self.basis, 0.0)[1]
        return bool((mass >= self.settings.full_view_share * self._full_mass).all())

    def _descend(self, beams: Beams, start: FloatArray, heading: float | None) -> Solution:
        """Fit a scan from a start, with a heading (rad) that is given or fitted too."""
        whiten = self.norm == "gram"
        fit = ScanFit(self.world, self.descriptors, self.scales, beams, heading, whiten)
        return damped_gauss_newton(fit.problem, start, StepLimits.bounded(tolerance_m=1e-6))

    def _of_vector(
        self, observation: ArrayLike, heading: float | None, noise: float
    ) -> PaperAnswer:
        n = len(self.basis)
        F_obs = self._check_vector(observation, heading)
        shifts = np.zeros(1, np.int64) if heading is not None else np.arange(n)
        turns = np.stack([np.roll(F_obs, k) for k in shifts])
        observed = PartialFeatures(turns, np.ones(turns.shape, np.bool_))
        nodes = self.rank(observed, 2.0 * np.pi * shifts / n)
        trajectory = self._one_observation(heading is None)
        whiten = self.gram.whiten if self.norm == "gram" else np.asarray

        def linearize(at: FloatArray) -> Linearization:
            F, J = trajectory.at(at)
            gap, slopes = whiten(F_obs - F[0]), whiten((J[0] / trajectory.units).T).T
            return Linearization(float(np.linalg.norm(gap)), gap, slopes)

        problem = Problem(linearize, trajectory.is_free, trajectory.units)
        start = _start(nodes, heading is None)
        solution = damped_gauss_newton(problem, start, StepLimits.bounded())
        bounds = self._bounds(trajectory, F_obs, nodes, solution, noise)
        pose = pose_at(solution.path[-1], heading, self.world.dimension)
        return _answer(pose, nodes, solution, 1e-9, bounds)

    def _check_vector(self, observation: ArrayLike, heading: float | None) -> FloatArray:
        """Check a given F, shape (n,), and return it as floats."""
        if len(self.descriptors) > 1:
            raise InputError("Stacked signals need a scan; give F of one signal.", code="conflict")
        F_obs = as_floats("observation", observation, (len(self.basis),))
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
        return F_obs

    def _one_observation(self, with_heading: bool) -> Trajectory:
        """Return one observation as a function of the place, and perhaps of the heading."""
        (descriptor,) = self.descriptors
        if with_heading:
            return PoseTrajectory(descriptor, self.world, np.zeros((1, 3)), np.ones(1))
        places = MapField(descriptor, self.world)
        return PlaceTrajectory(places, np.zeros((1, self.world.dimension)), np.ones(1))

    def _bounds(
        self,
        trajectory: Trajectory,
        F_obs: FloatArray,
        nodes: Candidates,
        solution: Solution,
        noise: float,
    ) -> tuple[StaticBound, StaticBound]:
        """Bound the errors of the nearest node and of the estimate."""
        radius = self.bound_radius
        alias_distance = nodes.alias_distance(radius)
        premises = Premises(radius, self.grid.covering_radius, noise, alias_distance)
        first, last = solution.path[0], solution.path[-1]
        return (
            static_bound(trajectory, first, F_obs, premises, is_node=True),
            static_bound(trajectory, last, F_obs, premises, is_node=False),
        )

    @cached_property
    def _full_mass(self) -> FloatArray:
        """Return ∫ w_i over the view, shape (n,)."""
        rule = (CircleSum() if self.world.dimension == 2 else EqualArea()).rule()
        rule = rule if self.view is None else rule.within(self.view)
        return np.asarray(rule.coefficients @ self.basis.weights(rule.directions))


def _start(nodes: Candidates, with_heading: bool) -> FloatArray:
    """Return the nearest node, with its heading last if that is fitted too."""
    return np.append(nodes.places[0], nodes.yaws[0]) if with_heading else nodes.places[0].copy()


def pose_at(place: FloatArray, heading: float | None, d: int) -> AnyPose:
    """Return a pose from a place and the heading after it, unless one is given, in m and rad."""
    yaw = float(place[d]) if heading is None else heading
    x, y, *z = (float(v) for v in place[:d])
    return Pose3(x, y, yaw, z[0]) if z else Pose(x, y, float(wrap_angle(yaw)))


def _answer(
    pose: AnyPose,
    nodes: Candidates,
    solution: Solution,
    tolerance: float,
    bounds: tuple[StaticBound, StaticBound],
) -> PaperAnswer:
    """Return an answer that converged if the last step was below the tolerance (m)."""
    path, residuals = readonly(np.array(solution.path)), readonly(np.array(solution.costs))
    converged = solution.last_step < tolerance
    return PaperAnswer(pose, nodes, path, residuals, converged, solution.end.mu, *bounds)


def make_basis(
    dimension: int, channels: int = 64, temperature: float | None = None, profile: str = "softmax"
) -> DirectionalBasis:
    """Make the paper's basis: equal steps on the circle, a Fibonacci spiral on the sphere.

    Args:
        dimension: 2 or 3.
        channels: Number of directions.
        temperature: ε, or the width of another profile (`example.profile_of`); the square of the
            mesh norm of the basis when `None`.
        profile: softmax, bump or cosine.
    """
    make = DirectionalBasis.circle if dimension == 2 else DirectionalBasis.fibonacci
    width = make(channels).mesh_norm ** 2 if temperature is None else temperature
    return make(channels, profile=profile_of(profile, width))


def sensor_layer(
    world: Map, height: float | None = None, max_height: float | None = None
) -> FloatArray | None:
    """Return the box of a 3D map that contains the sensor, for `region`; `None` on a 2D map.

    Args:
        world: The map.
        height: Lowest height of the sensor above the floor, in m; the usual one when `None`.
        max_height: Greatest height in m, for a sensor that flies; `height` when `None`.
    """
    if world.dimension == 2:
        if height is not None:
            raise InputError.about(
                "height", "is for 3D maps; this map is 2D.", code="wrong_dimension"
            )
        return None
    low = AtlasSettings().height if height is None else height
    floor = world.bounds[0, 2]
    if isinstance(world, VoxelMap):
        floor = np.median(floor_levels(world))
    (x0, y0, _), (x1, y1, _) = world.bounds
    return np.array([x0, y0, floor + low, x1, y1, floor + (max_height or low)])


def view_of(scan: Scan | CloudScan) -> Band | None:
    """Return the band of directions of a 3D scan; `None` for a 2D scan."""
    if not isinstance(scan, CloudScan):
        return None
    p = scan.level_points
    elevation = np.arctan2(p[:, 2], np.hypot(p[:, 0], p[:, 1]))
    margin = bin_width()
    low, high = np.clip([elevation.min() - margin, elevation.max() + margin], -np.pi / 2, np.pi / 2)
    return Band(float(low), float(high))
