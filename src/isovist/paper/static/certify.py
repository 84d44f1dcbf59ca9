"""Certify an answer: bound the error of its position by the descriptor of the scan.

Let Ω be the directions of the beams that agree with the map at the estimate. The descriptor over Ω
is computed in the level frame of the sensor, once with the measured ranges and once with the ranges
that the map predicts. The latter are on a much finer set of rays in 2D:

    F_i(s) = ∫_Ω f(r(b; s)) w_i(b) db,    f(r) = log(1 + r).                       (1)

Its Jacobian with respect to the state s has a position part J (per m) and a heading part k (per
rad).  It is a central difference of cast ranges, so it includes the shadow term of corners.  Let P
= I − qqᵀ with q = k/‖k‖ at the estimate ŝ remove the heading to first order, and

    μ = σ_min(P J(ŝ)),   κ = max ‖P (J(s) − J(ŝ))‖,   ν = max ‖P k(s)‖          (2)

over the states s within a radius R and a turn T of ŝ.  Where F is Lipschitz, P (F(s*) − F(ŝ)) is
the integral of P J and P k along the straight path.  With ρ = ‖F_obs − F(ŝ)‖, η a bound on
‖F_obs − F(s*)‖ and s* within R and T, hence

    ‖p̂ − p*‖ ≤ (ρ + η + ν T) / (μ − κ)    whenever κ < μ.                         (3)

F is Lipschitz on maps of line segments.  On cells, ranges are steps, and in 3D a sum over single
rays jumps where one passes an edge: there μ is reported and no bound is claimed.  A far alias
satisfies (3) as well; the rivals of the answer must exclude it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from isovist import (
    Answer,
    Certificate,
    DirectionalBasis,
    InputError,
    LocalizationSettings,
    Pose,
    Pose3,
    Scan,
    SegmentMap,
)
from isovist.arrays import FloatArray
from isovist.atlas import AnyScan, Atlas
from isovist.localization import AnyMaps
from isovist.maps import Map
from isovist.paper.descriptor.descriptor import stencil
from isovist.paper.settings import CertificateSettings
from isovist.poses import AnyPose, unit_vectors
from isovist.settings import default_of


@dataclass(frozen=True, slots=True, eq=False)
class _Rays:
    """Beams of a scan as rays in its level frame.

    Attributes:
        beams: Unit vectors, shape (m, d).
        along: Those of the rays that stand for each of them, shape (m, fan, d).
        measured: log(1 + r) of each beam, shape (m,).
        width: Angle or share that a beam counts in (1).
    """

    beams: FloatArray
    along: FloatArray
    measured: FloatArray
    width: float

    def features(self, agree: FloatArray, predicted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return F_obs, shape (n,), and F of predictions (states, fan · m), shape (states, n)."""
        d, numbers = self.beams.shape[1], default_of(CertificateSettings)
        basis = (
            DirectionalBasis.circle(numbers.channels)
            if d == 2
            else DirectionalBasis.fibonacci(2 * numbers.channels)
        )
        along = self.along[agree]
        W = self.width / along.shape[1] * basis.weights(along.reshape(-1, d))
        # By BLAS the last digits depend on the number of cores.
        F = np.einsum("sm,mc->sc", predicted, W)
        return self.width * (self.measured[agree] @ basis.weights(self.beams[agree])), F


def certify(
    world: Map,
    scan: AnyScan,
    pose: AnyPose,
    rivals: Sequence[AnyPose] = (),
    *,
    settings: LocalizationSettings | None = None,
    radius: float = 0.1,
    turn: float = float(np.radians(2.0)),
    margin: float = 1.25,
) -> Certificate:
    """Certify an estimate: bound its position error on a map with exact walls.

    Args:
        world: The map.
        scan: The scan that was located.
        pose: The estimate, T_world_robot.
        rivals: Other places that explain the scan.
        settings: Settings of `locate`; the defaults when `None`.
        radius: R, the distance in m within which the true position is assumed to be.
        turn: T, the angle in rad within which the true heading is assumed to be.
        margin: Factor on κ and ν, which are estimated from samples.

    Returns:
        The certificate with its assumptions.  On maps of cells and in 3D its bound is infinite.

    Raises:
        InputError: If one of map and scan is 2D and the other 3D.

    Examples:
        >>> import isovist as iv
        >>> import numpy as np
        >>> room, pose = iv.SegmentMap.room(6.0, 4.0), iv.Pose(1.3, 1.7, 0.4)
        >>> lidar = iv.Lidar(beams=360, range_max=10.0, noise=0.01)
        >>> scan = lidar.scan(room, pose, np.random.default_rng(0))
        >>> iv.certify(room, scan, pose).bound < 0.05
        True
    """
    settings, numbers = settings or LocalizationSettings(), default_of(CertificateSettings)
    if world.dimension != (2 if isinstance(scan, Scan) else 3):
        raise InputError(
            "The scan and the map must both be 2D, or both 3D.",
            code="wrong_dimension",
            field="scan",
        )
    separation = min((float(np.hypot(r.x - pose.x, r.y - pose.y)) for r in rivals), default=np.inf)
    sensor = pose @ scan.T_robot_level
    rays = _rays(scan, settings)
    proved = isinstance(world, SegmentMap)
    # The estimate, and for κ its neighbours; a step along and against each axis of each of them.
    d = world.dimension
    size = np.append(np.full(d, radius), turn)
    cross = stencil(np.zeros(d + 1), 1.0)
    ball = cross if proved else cross[:1]
    offsets = stencil(ball, numbers.difference_share).reshape(-1, d + 1) * size
    middle = _predict(world, rays.beams, sensor, offsets[:1])[0]
    agree = np.isfinite(middle) & (np.abs(middle - rays.measured) < settings.search.max_short_cost)
    last = "no bound is claimed: ranges on cells, and along single rays in 3D, are steps"
    if proved:
        last = f"J varies by less than μ nearby ({len(cross) - 1} samples, times {margin:g})"
    assumptions = (*_assumptions(radius, turn, float(agree.mean())), last)
    if agree.sum() < numbers.channels // 4:
        return Certificate(0.0, np.inf, False, separation, assumptions)
    predicted = _predict(world, rays.along[agree].reshape(-1, d), sensor, offsets)
    F_obs, F = rays.features(agree, predicted)
    F = F.reshape(len(ball), len(cross), -1)
    slopes = F[:, 1 : d + 2] - F[:, d + 2 :]
    J = _without_heading(slopes / (2.0 * numbers.difference_share * size[:, None]))
    mu = float(np.linalg.svd(J[0, :d], compute_uv=False)[-1])
    if not proved:
        return Certificate(mu, np.inf, False, separation, assumptions)
    kappa = margin * float(np.linalg.norm(J[1:, :d] - J[0, :d], ord=2, axis=(1, 2)).max())
    nu = margin * float(np.linalg.norm(J[:, d], axis=1).max())
    misfit = float(np.linalg.norm(F_obs - F[0, 0]))
    bound = (2.0 * misfit + nu * turn) / (mu - kappa) if kappa < mu else np.inf
    inside = bool(np.all(world.contains(sensor.position + offsets[:, :d])))
    holds = inside and len(rivals) == 0 and bool(bound <= radius)
    return Certificate(mu, bound, holds, separation, assumptions)


def certify_answer(atlas: AnyMaps, scan: AnyScan, answer: Answer) -> Answer:
    """Return an answer with a certificate of its best estimate, on the map of that estimate."""
    best = answer.best
    if best is None:
        return answer
    own = atlas if isinstance(atlas, Atlas) else atlas[str(best.map)]
    rivals = [estimate.pose for estimate in answer.rivals if estimate.map == best.map]
    return replace(answer, certificate=certify(own.world, scan, best.pose, rivals))


def _assumptions(radius: float, turn: float, share: float) -> tuple[str, ...]:
    """Return the assumptions of a certificate, for a share of beams that agree."""
    return (
        "the true pose is near: no rival elsewhere explains the scan",
        f"it lies within {radius:g} m and {np.degrees(turn):g}° of the estimate, "
        "and the space between is free",
        f"the {share:.0%} of the beams that agree with the map here see mapped walls, "
        "and fit as well at the true pose",
    )


def _without_heading(slopes: FloatArray) -> FloatArray:
    """Return P of (2) applied to the slopes by place and heading, shape (states, d + 1, n)."""
    heading = slopes[0, -1]
    length = float(np.linalg.norm(heading))
    q = heading / length if length > 0.0 else heading
    return np.asarray(slopes - (slopes @ q)[..., None] * q)


def _rays(scan: AnyScan, settings: LocalizationSettings) -> _Rays:
    """Return the beams of a scan that the certificate uses, as rays."""
    if not isinstance(scan, Scan):
        points = scan.level_points[scan.spread(settings.fit.fine_beam_spacing_rad / 2.0)]
        ranges = np.linalg.norm(points, axis=1)
        along = points / ranges[:, None]
        return _Rays(along, along[:, None], np.log1p(ranges), 1.0 / len(points))
    valid = np.flatnonzero(scan.valid)
    max_beams, fan = settings.fit.fine_max_beams, default_of(CertificateSettings).rays_per_beam
    if len(valid) > max_beams:
        valid = valid[np.linspace(0, len(valid) - 1, max_beams).round().astype(np.int64)]
    width = float(scan.beam_widths[scan.valid].sum()) / len(valid)
    bearings = scan.bearings[valid]
    offsets = ((np.arange(fan) + 0.5) / fan - 0.5) * width
    measured = np.log1p(scan.ranges[valid])
    along = unit_vectors(bearings[:, None] + offsets)
    return _Rays(unit_vectors(bearings), along, measured, width)


def _predict(world: Map, along: FloatArray, sensor: AnyPose, offsets: FloatArray) -> FloatArray:
    """Return log(1 + r) along level directions (m, d) from states beside a pose, (states, m)."""
    d = along.shape[-1]
    rotated = along @ sensor.rotation.T
    swings = (Pose if d == 2 else Pose3)(yaw=offsets[:, d]).rotation
    directions = np.einsum("sij,mj->smi", swings, rotated)
    hits = world.cast((sensor.position + offsets[:, :d])[:, None], directions)
    return np.asarray(np.log1p(hits.ranges))
