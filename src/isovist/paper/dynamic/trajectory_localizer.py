"""Localize a whole trajectory by the paper's method: Gramian, bound and refined start.

The first scan is looked up in the grid, and the best places that differ are refined on it alone.
Those whose descriptors agree best with all scans go on: places that look alike from one pose seldom
do from all.  Their starts are refined with the whole trajectory (3 of `start_refinement`), W grows
along it (`observability`), and the dynamic bound checks T1 to T5 one by one (`dynamic_bound`).

The F of a scan is a sum over its own beams.  With f̂_tk the signal that beam k of scan t measured,

    F_i(t; s) = Σ_k Δ_k f_k(t; s) w_i(θ_k),                                                 (1)

with f_k(t; s) the signal of the map along it, or f̂_tk where the map does not know; J̃ is its central
difference by the start s.  On walls, for views all around, F and J̃ are exact instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isovist import CloudScan, InputError, Pose, Scan, SegmentMap
from isovist.arrays import ArrayLike, BoolArray, FloatArray, as_floats, readonly
from isovist.maps import Map
from isovist.paper.descriptor.descriptor import Descriptor, stencil
from isovist.paper.dynamic.dynamic_bound import DynamicBound, DynamicPremises, dynamic_bound
from isovist.paper.dynamic.observability import History
from isovist.paper.dynamic.start_fit import StartFit
from isovist.paper.dynamic.start_refinement import fit_start
from isovist.paper.localizer import Candidates, PaperLocalizer, pose_at
from isovist.paper.observations import ARM, PoseTrajectory, time_weights
from isovist.paper.settings import LocalizerSettings, TrajectorySettings
from isovist.paper.static.descriptor_grid import cast_masked_signal
from isovist.paper.static.gauss_newton import StepLimits
from isovist.paper.static.scan_descriptor import Beams, rotate_about_vertical
from isovist.paper.static.trajectory import Trajectory
from isovist.poses import AnyPose, wrap_angle
from isovist.settings import default_of


@dataclass(frozen=True, slots=True, eq=False)
class ScanTrajectory:
    """A `Trajectory` of scans, equation (1); a start is a place and a heading.

    Attributes:
        world: The map.
        descriptor: Basis and signal.
        beams: Beams of each scan, with one signal.
        motions: (Δ_t, α_t), the pose of the level frame of the sensor in that at the start, shape
            (k, d + 1).
        weights: Weights of the scans, shape (k,).
        arm: Length that is equivalent to 1 rad, in m.
    """

    world: Map
    descriptor: Descriptor
    beams: Sequence[Beams]
    motions: FloatArray
    weights: FloatArray
    arm: float = ARM

    @property
    def units(self) -> FloatArray:
        return np.append(np.ones(self.world.dimension), self.arm)

    @property
    def observed(self) -> FloatArray:
        """Return F of the scans, shape (k, n)."""
        return np.stack([b.describe(self.descriptor.basis, 0.0)[0][0] for b in self.beams])

    def at(self, starts: ArrayLike) -> tuple[FloatArray, FloatArray]:
        s = as_floats("starts", starts)
        D = s.shape[-1]
        difference = default_of(LocalizerSettings).difference_m
        step = max(difference, getattr(self.world, "resolution", 0.0)) / self.units
        F = self.features(stencil(s, step).reshape(-1, D))
        F = F.reshape(*s.shape[:-1], 2 * D + 1, *F.shape[1:])
        J = (F[..., 1 : D + 1, :, :] - F[..., D + 1 :, :, :]) / (2.0 * step)[:, None, None]
        return F[..., 0, :, :], np.moveaxis(J, -3, -1)

    def is_free(self, starts: ArrayLike) -> BoolArray:
        s = as_floats("starts", starts)
        inside = np.asarray(self.world.contains(self.places(s)[0]))
        return np.asarray(inside.mean(axis=-1) >= default_of(TrajectorySettings).min_free_share)

    def clearance(self, start: FloatArray) -> FloatArray | None:
        world = self.world
        return world.clearance(self.places(start)[0]) if isinstance(world, SegmentMap) else None

    @property
    def is_exact(self) -> bool:
        return False

    @property
    def swing(self) -> FloatArray:
        return np.hypot(1.0, np.hypot(self.motions[:, 0], self.motions[:, 1]) / self.arm)

    def places(self, starts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return places, shape (..., k, d), and headings, shape (..., k)."""
        yaw = starts[..., -1:]
        c, s = np.cos(yaw), np.sin(yaw)
        x, y = self.motions[:, 0], self.motions[:, 1]
        around = np.stack([c * x - s * y, s * x + c * y], axis=-1)
        up = np.broadcast_to(self.motions[:, 2:-1], (*around.shape[:-1], len(starts.T) - 3))
        moves = np.concatenate([around, up], axis=-1)
        return starts[..., None, :-1] + moves, yaw + self.motions[:, -1]

    def features(self, starts: FloatArray) -> FloatArray:
        """Return F of (1), shape (P, k, n).

        A scan from an occupied place agrees with every descriptor.
        """
        places, yaws = self.places(starts)
        out = np.empty((len(starts), len(self.beams), len(self.descriptor.basis)))
        for t, beams in enumerate(self.beams):
            W = beams.shares[:, None] * self.descriptor.basis.weights(beams.directions)
            theta = rotate_about_vertical(beams.directions, yaws[:, t])
            values, mask = cast_masked_signal(
                self.world, self.descriptor.signal, places[:, t], theta
            )
            mask &= np.asarray(self.world.contains(places[:, t]))[:, None]
            out[:, t] = np.where(mask, values, beams.values[0]) @ W
        return out

    def misfits(self, starts: FloatArray) -> FloatArray:
        """Return Σ_t ‖F_obs − F‖², shape (P,), for starts of shape (P, d + 1)."""
        gaps = ((self.features(starts) - self.observed) ** 2).sum(axis=-1)
        return np.asarray(gaps @ self.weights)


@dataclass(frozen=True, slots=True, eq=False)
class PaperTrack:
    """A trajectory as the paper's method localizes it.

    Attributes:
        poses: T_world_robot at each scan.
        fit: The start, fitted to all scans.
        history: W after each scan, and its λ_min.
        bound: T1 to T5 and the dynamic bound of the start.
        first: The nodes of the first scan, the nearest first.
        costs: Σ_t ‖F_obs − F‖² of the candidates, the smallest first.
    """

    poses: tuple[AnyPose, ...]
    fit: StartFit
    history: History
    bound: DynamicBound
    first: Candidates
    costs: FloatArray


def locate_trajectory(
    localizer: PaperLocalizer,
    scans: Sequence[Scan | CloudScan],
    odometry: Sequence[AnyPose],
    times: ArrayLike | None = None,
    *,
    drift: float = 0.0,
    noise: float | None = None,
) -> PaperTrack:
    """Localize a trajectory with unknown start from its scans and odometry.

    Args:
        localizer: The localizer of the map, with one signal.
        scans: Scans along the trajectory.
        odometry: T_odom_robot at each scan, in any fixed frame.
        times: Ascending times of the scans in s; when `None`, all scans count equally.
        drift: e of `dynamic_bound`, bound on the error of the motion, in m.
        noise: η of `dynamic_bound`; the largest residual of the fit when `None`.
    """
    path = _scan_trajectory(localizer, scans, odometry, times)
    yaws, observed = localizer.headings, path.observed
    first = localizer.rank(localizer.observe(path.beams[0], yaws), yaws)
    starts, costs = _candidate_starts(localizer, path, first)
    exact = _exact_trajectory(localizer, path) or path
    finalists = starts[: default_of(TrajectorySettings).finalists]
    limits = StepLimits.bounded(tolerance_m=1e-6)
    fits = [fit_start(exact, observed, start, limits=limits) for start in finalists]
    residuals = [float(path.misfits(fit.start[None])[0]) for fit in fits]
    fit = fits[int(np.argmin(residuals))]
    if noise is None:
        noise = float(np.linalg.norm(exact.at(fit.start)[0] - observed, axis=1).max())
    premises = DynamicPremises(localizer.bound_radius, noise, drift)
    bound = dynamic_bound(exact, fit.start, observed, premises)
    places, turns = path.places(fit.start)
    poses = tuple(
        pose_at(np.append(place, yaw), None, localizer.world.dimension) @ scan.T_level_robot
        for place, yaw, scan in zip(places, turns, scans, strict=True)
    )
    history = History.along(exact, fit.start)
    return PaperTrack(poses, fit, history, bound, first, readonly(costs))


def _scan_trajectory(
    localizer: PaperLocalizer,
    scans: Sequence[Scan | CloudScan],
    odometry: Sequence[AnyPose],
    times: ArrayLike | None,
) -> ScanTrajectory:
    """Make a trajectory of scans; refuse too few of them, and several signals."""
    if len(scans) != len(odometry) or len(scans) < 2:
        raise InputError(
            "A trajectory needs at least 2 scans and the odometry of each, "
            f"got {len(scans)} and {len(odometry)}.",
            code="missing",
        )
    if len(localizer.descriptors) > 1:
        raise InputError(
            "A trajectory is located with one signal, not with several stacked.", code="conflict"
        )
    (descriptor,) = localizer.descriptors
    frames = [o @ s.T_robot_level for o, s in zip(odometry, scans, strict=True)]
    return ScanTrajectory(
        localizer.world,
        descriptor,
        [Beams.of(scan, [descriptor.signal]) for scan in scans],
        readonly(_motions(frames, localizer.world.dimension)),
        readonly(time_weights(len(scans), times)),
    )


def _candidate_starts(
    localizer: PaperLocalizer, path: ScanTrajectory, first: Candidates
) -> tuple[list[FloatArray], FloatArray]:
    """Refine different places of the first scan on it, and sort them by the whole trajectory."""
    starts: list[FloatArray] = []
    for place, yaw in zip(first.places, first.yaws, strict=True):
        start = np.append(place, yaw)
        if all(_differ(start, other) for other in starts):
            starts.append(start)
        if len(starts) == default_of(TrajectorySettings).candidates:
            break
    refined: list[FloatArray] = []
    for start in starts:
        place = localizer.refine(path.beams[0], start)
        if bool(path.is_free(place)) and all(_differ(place, other) for other in refined):
            refined.append(place)
    table = np.array(refined)
    if len(table) == 0:
        raise InputError(
            "From none of the likely starts does the trajectory stay in free space. Is it the map "
            "of this log?",
            code="empty",
        )
    costs = path.misfits(table)
    order = np.argsort(costs, kind="stable")
    return list(table[order]), costs[order]


def _differ(a: FloatArray, b: FloatArray) -> bool:
    """Return whether two starts are different places or headings."""
    limits = default_of(TrajectorySettings)
    distance, turn = float(np.linalg.norm(a[:-1] - b[:-1])), float(wrap_angle(a[-1] - b[-1]))
    return distance > limits.min_separation_m or abs(turn) > np.radians(limits.min_separation_deg)


def _exact_trajectory(localizer: PaperLocalizer, path: ScanTrajectory) -> Trajectory | None:
    """Return the trajectory with exact F and J̃, on walls and for views all around."""
    if not (
        isinstance(localizer.world, SegmentMap)
        and all(localizer.sees_all(beams) for beams in path.beams)
    ):
        return None
    return PoseTrajectory(path.descriptor, path.world, path.motions, path.weights, path.arm)


def _motions(frames: Sequence[AnyPose], d: int) -> FloatArray:
    """Return (Δ_t, α_t) of frames since the first, shape (k, d + 1), in m and rad."""
    rows = []
    for frame in frames:
        step = frames[0].inverse @ frame
        up = [] if d == 2 else [0.0 if isinstance(step, Pose) else step.z]
        rows.append([step.x, step.y, *up, step.yaw])
    return np.array(rows, dtype=np.float64)
