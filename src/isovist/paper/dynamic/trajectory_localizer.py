"""The dynamic half of the paper: a way with odometry, its Gramian, its bound, its refinement.

The first scan is looked up in the grid, the best places that differ are refined on it alone, and
the one whose descriptors agree with all scans of the way goes on: what looks alike from one place
seldom does from all.  Its start is refined with the whole way (3 of `trajectory`), W grows along it
(`observability`), and the dynamic bound says T1 to T5 one by one (`dynamic`).

Of scans F is a sum over their own beams.  With f̂_tk what beam k of scan t saw,

    F_i(t; s) = Σ_k Δ_k f_k(t; s) w_i(θ_k),                                                 (1)

with f_k(t; s) the signal of the map along it, or f̂_tk where the map does not know; J̃ is its central
difference by the start s.  On walls, for views all around, F and J̃ are exact instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isovist.arrays import ArrayLike, BoolArray, FloatArray, as_floats, readonly
from isovist.errors import InputError
from isovist.maps.base import Map
from isovist.maps.surfaces.segment_map import SegmentMap
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.dynamic.dynamic_bound import DynamicBound, dynamic_bound
from isovist.paper.dynamic.observability import History
from isovist.paper.dynamic.observations import Course, PoseCourse, time_weights
from isovist.paper.dynamic.start_refinement import refine_course
from isovist.paper.localizer import WITHIN, Candidates, PaperLocalizer, pose_at
from isovist.paper.static.descriptor_grid import look
from isovist.paper.static.scan_descriptor import Beams, turned
from isovist.paper.static.scan_gauss_newton import STEP
from isovist.poses import AnyPose, Pose, wrap_angle
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.scan import Scan
from isovist.tracking.gramian import ARM
from isovist.tracking.start import StartFit

CANDIDATES = 12
"""Places of the first scan that are carried along."""
APART = (1.0, np.pi / 6.0)
"""Candidates differ by more than this, in m or rad."""
FINALISTS = 3
"""Of them, those that are refined with the whole way."""
INSIDE = 0.9
"""Least share of the places of a way that must be free: maps have people in them."""


@dataclass(frozen=True, slots=True, eq=False)
class BeamCourse:
    """A `Course` of scans, equation (1); a start is a place and a heading.

    Attributes:
        world: The map.
        descriptor: DirectionalBasis and signal.
        beams: Of each scan, of the signal alone.
        motions: (Δ_t, α_t) of the level frame of the sensor in that of the start, shape (k, d + 1).
        weights: Of the scans, shape (k,).
        arm: What a rad is worth, in m.
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
        """F of the scans, shape (k, n)."""
        return np.stack([b.describe(self.descriptor.basis, 0.0)[0][0] for b in self.beams])

    def at(self, starts: ArrayLike) -> tuple[FloatArray, FloatArray]:
        s = as_floats("starts", starts)
        D = s.shape[-1]
        step = max(STEP, getattr(self.world, "resolution", 0.0)) / self.units
        moved = np.concatenate([np.zeros((1, D)), np.diag(step), -np.diag(step)])
        F = self._sums((s[..., None, :] + moved).reshape(-1, D))
        F = F.reshape(*s.shape[:-1], 2 * D + 1, *F.shape[1:])
        J = (F[..., 1 : D + 1, :, :] - F[..., D + 1 :, :, :]) / (2.0 * step)[:, None, None]
        return F[..., 0, :, :], np.moveaxis(J, -3, -1)

    def free(self, starts: ArrayLike) -> BoolArray:
        s = as_floats("starts", starts)
        inside = np.asarray(self.world.contains(self.places(s)[0]))
        return np.asarray(inside.mean(axis=-1) >= INSIDE)

    def clearance(self, start: FloatArray) -> FloatArray | None:
        world = self.world
        return world.clearance(self.places(start)[0]) if isinstance(world, SegmentMap) else None

    @property
    def exact(self) -> bool:
        return False

    @property
    def swing(self) -> FloatArray:
        return np.hypot(1.0, np.hypot(self.motions[:, 0], self.motions[:, 1]) / self.arm)

    def places(self, starts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Places, shape (..., k, d), and headings, shape (..., k)."""
        yaw = starts[..., -1:]
        c, s = np.cos(yaw), np.sin(yaw)
        x, y = self.motions[:, 0], self.motions[:, 1]
        around = np.stack([c * x - s * y, s * x + c * y], axis=-1)
        up = np.broadcast_to(self.motions[:, 2:-1], (*around.shape[:-1], len(starts.T) - 3))
        return starts[..., None, :-1] + np.concatenate([around, up], axis=-1), yaw + self.motions[
            :, -1
        ]

    def _sums(self, starts: FloatArray) -> FloatArray:
        """F of (1), shape (P, k, n); a scan from a place that is not free agrees with anything."""
        places, yaws = self.places(starts)
        out = np.empty((len(starts), len(self.beams), len(self.descriptor.basis)))
        for t, beams in enumerate(self.beams):
            W = beams.shares[:, None] * self.descriptor.basis.weights(beams.directions)
            theta = turned(beams.directions, yaws[:, t])
            values, known = look(self.world, self.descriptor, places[:, t], theta)
            known &= np.asarray(self.world.contains(places[:, t]))[:, None]
            out[:, t] = np.where(known, values, beams.values[0]) @ W
        return out


@dataclass(frozen=True, slots=True, eq=False)
class PaperWay:
    """What the paper's method says of a whole way.

    Attributes:
        poses: T_world_robot at each scan.
        fit: Of the start, with the whole way.
        history: W after each scan, and its λ_min.
        bound: T1 to T5 and the dynamic bound of the start.
        first: The nodes of the first scan, the nearest first.
        costs: Σ_t ‖F_obs − F‖² of the candidates that were carried along, the least first.
    """

    poses: tuple[AnyPose, ...]
    fit: StartFit
    history: History
    bound: DynamicBound
    first: Candidates
    costs: FloatArray


def follow_way(
    localizer: PaperLocalizer,
    scans: Sequence[Scan | CloudScan],
    odometry: Sequence[AnyPose],
    times: ArrayLike | None = None,
    *,
    drift: float = 0.0,
    noise: float | None = None,
) -> PaperWay:
    """Locate a way from its scans and odometry, the start unknown.

    Args:
        localizer: Of the map, with one signal.
        scans: Along the way.
        odometry: T_odom_robot at each, in any frame.
        times: Of the scans in s, ascending; without them each counts as one.
        drift: e of `dynamic`, bound on the error of the motion, in m.
        noise: η of `dynamic`; the largest residual of the fit when `None`.
    """
    if len(scans) != len(odometry) or len(scans) < 2:
        raise InputError(
            "A way needs at least 2 scans and the odometry of each, "
            f"got {len(scans)} and {len(odometry)}.",
            code="missing",
        )
    if len(localizer.descriptors) > 1:
        raise InputError(
            "A way is followed with one signal, not with several stacked.", code="conflict"
        )
    (descriptor,) = localizer.descriptors
    frames = [o @ s.T_robot_level for o, s in zip(odometry, scans, strict=True)]
    course = BeamCourse(
        localizer.world,
        descriptor,
        [Beams.of(scan, [descriptor.signal]) for scan in scans],
        readonly(_motions(frames, localizer.world.dimension)),
        readonly(time_weights(len(scans), times)),
    )
    seen, yaws = course.observed, localizer.headings
    first = localizer.rank(*localizer.observe(course.beams[0], yaws), yaws)
    starts, costs = _carried(localizer, course, seen, first)
    finest = _exact_course(localizer, course) or course
    fits = [refine_course(finest, seen, s, tolerance=1e-6) for s in starts[:FINALISTS]]
    rests = [float(_cost(course, seen, fit.start[None])[0]) for fit in fits]
    fit = fits[int(np.argmin(rests))]
    if noise is None:
        noise = float(np.linalg.norm(finest.at(fit.start)[0] - seen, axis=1).max())
    radius = WITHIN * localizer.spacing
    bound = dynamic_bound(finest, fit.start, seen, radius=radius, noise=noise, drift=drift)
    places, turns = course.places(fit.start)
    poses = tuple(
        pose_at(np.append(place, yaw), None, localizer.world.dimension) @ scan.T_level_robot
        for place, yaw, scan in zip(places, turns, scans, strict=True)
    )
    return PaperWay(poses, fit, History.along(finest, fit.start), bound, first, readonly(costs))


def _carried(
    localizer: PaperLocalizer, course: BeamCourse, seen: FloatArray, first: Candidates
) -> tuple[list[FloatArray], FloatArray]:
    """Unlike places of the first scan, refined on it, by how they agree with the whole way."""
    kept: list[FloatArray] = []
    for place, yaw in zip(first.places, first.yaws, strict=True):
        start = np.append(place, yaw)
        if all(_differ(start, other) for other in kept):
            kept.append(start)
        if len(kept) == CANDIDATES:
            break
    refined: list[FloatArray] = []
    for start in kept:
        place = localizer.refine(course.beams[0], start)
        if bool(course.free(place)) and all(_differ(place, other) for other in refined):
            refined.append(place)
    table = np.array(refined)
    if len(table) == 0:
        raise InputError(
            "From none of the likely starts does the way stay in free space. Is it the map of "
            "this log?",
            code="empty",
        )
    costs = _cost(course, seen, table)
    order = np.argsort(costs, kind="stable")
    return list(table[order]), costs[order]


def _differ(a: FloatArray, b: FloatArray) -> bool:
    away = float(np.linalg.norm(a[:-1] - b[:-1]))
    return away > APART[0] or abs(float(wrap_angle(a[-1] - b[-1]))) > APART[1]


def _cost(course: BeamCourse, seen: FloatArray, starts: FloatArray) -> FloatArray:
    gaps = ((course._sums(starts) - seen) ** 2).sum(axis=-1)
    return np.asarray(gaps @ course.weights)


def _exact_course(localizer: PaperLocalizer, course: BeamCourse) -> Course | None:
    """On walls, for views all around."""
    if not (
        isinstance(localizer.world, SegmentMap)
        and all(localizer.sees_all(beams) for beams in course.beams)
    ):
        return None
    return PoseCourse(course.descriptor, course.world, course.motions, course.weights, course.arm)


def _motions(frames: Sequence[AnyPose], d: int) -> FloatArray:
    """(Δ_t, α_t) of frames since the first, shape (k, d + 1), in m and rad."""
    rows = []
    for frame in frames:
        step = frames[0].inverse @ frame
        up = [] if d == 2 else [0.0 if isinstance(step, Pose) else step.z]
        rows.append([step.x, step.y, *up, step.yaw])
    return np.array(rows, dtype=np.float64)
