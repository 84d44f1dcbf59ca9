"""How far the descriptors certify an answer.

The directions Ω of the beams that agree with the map at the estimate are put through a basis in the
level frame of the sensor, once with the ranges that were measured and once with those that the map
predicts, in the plane on a much finer set of rays:

    F_i(s) = ∫_Ω f(r(b; s)) w_i(b) db,    f(r) = log(1 + r).                       (1)

Its Jacobian by the state s, split into the position part J (per m) and the heading part k (per
rad), is taken by central differences of cast ranges, so what corners hide and show, the shadow
term, is in it.  Let P = I − qqᵀ with q = k/‖k‖ at the estimate ŝ take the heading out to first
order, and

    μ = σ_min(P J(ŝ)),   κ = max ‖P (J(s) − J(ŝ))‖,   ν = max ‖P k(s)‖          (2)

over the states s within a radius R and a turn T of ŝ.  Where F is Lipschitz, P (F(s*) − F(ŝ)) is
the integral of P J and P k along the straight way.  With ρ = ‖F_obs − F(ŝ)‖, η a bound on
‖F_obs − F(s*)‖ and s* within R and T, hence

    ‖p̂ − p*‖ ≤ (ρ + η + ν T) / (μ − κ)    whenever κ < μ.                         (3)

F is Lipschitz on maps of line segments.  On cells, ranges are steps, and in space a sum over single
rays jumps where one passes an edge: there μ is told and no bound is claimed.  A far alias satisfies
(3) as well: that there is none is what the rivals of the answer are for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas.base import AnyScan, Atlas
from isovist.basis.directional_basis import DirectionalBasis
from isovist.errors import InputError
from isovist.localization.answer import Answer, Certificate
from isovist.localization.maps import AnyMaps
from isovist.localization.settings import LocalizationSettings
from isovist.maps.base import Map
from isovist.maps.surfaces.segment_map import SegmentMap
from isovist.poses import AnyPose, Pose, Pose3, unit_vectors
from isovist.sensing.scan import Scan

STEP = 0.5
"""Of the differences, as a share of R and T: the largest that stays within them twice."""
CHANNELS = 32
"""Of the basis in the plane; twice as many in space."""
FAN = 8
"""Rays of the map to a beam of the plane, so that (1) is an integral and not a sum."""


@dataclass(frozen=True, slots=True, eq=False)
class _Rays:
    """Beams of a scan as rays in its level frame.

    Attributes:
        beams: Unit vectors, shape (m, d).
        along: Those of the rays that stand for each of them, shape (m, fan, d).
        measured: log(1 + r) of each beam, shape (m,).
        width: What a beam counts in (1).
    """

    beams: FloatArray
    along: FloatArray
    measured: FloatArray
    width: float


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
    """The certificate of an estimate.

    Args:
        world: The map.
        scan: What the sensor saw.
        pose: The estimate, T_world_robot.
        rivals: The other places that explain the scan.
        settings: How beams are chosen and when they agree.
        radius: R, within which the true place is taken to lie, in m.
        turn: T, the same for the heading, in rad.
        margin: On κ and ν, which are known only at samples.
    """
    chosen = LocalizationSettings() if settings is None else settings
    if world.dimension != (2 if isinstance(scan, Scan) else 3):
        raise InputError(
            "The scan and the map must both be of the plane, or both be in space.",
            code="wrong_dimension",
            field="scan",
        )
    separation = min((float(np.hypot(r.x - pose.x, r.y - pose.y)) for r in rivals), default=np.inf)
    sensor = pose @ scan.T_robot_level
    rays = _rays(scan, chosen)
    proved = isinstance(world, SegmentMap)
    # The estimate, and for κ its neighbours; a step along and against each axis of each of them.
    d = world.dimension
    size = np.append(np.full(d, radius), turn)
    star = np.concatenate([np.zeros((1, d + 1)), np.eye(d + 1), -np.eye(d + 1)])
    ball = star if proved else star[:1]
    offsets = (ball[:, None] + STEP * star).reshape(-1, d + 1) * size
    middle = _predict(world, rays.beams, sensor, offsets[:1])[0]
    agree = np.isfinite(middle) & (np.abs(middle - rays.measured) < chosen.short)
    assumptions = (
        "the true pose is near: no rival elsewhere explains the scan",
        f"it lies within {radius:g} m and {np.degrees(turn):g}° of the estimate, "
        "and the space between is free",
        f"the {agree.mean():.0%} of the beams that agree with the map here see mapped walls, "
        "and fit as well at the true pose",
        f"J varies by less than μ nearby ({len(star) - 1} samples, times {margin:g})"
        if proved
        else "no bound is claimed: ranges on cells, and along single rays in space, are steps",
    )
    if agree.sum() < CHANNELS // 4:
        return Certificate(0.0, np.inf, False, separation, assumptions)
    basis = (
        DirectionalBasis.circle(CHANNELS) if d == 2 else DirectionalBasis.fibonacci(2 * CHANNELS)
    )
    along = rays.along[agree]
    W = rays.width / along.shape[1] * basis.weights(along.reshape(-1, d))
    predicted = _predict(world, along.reshape(-1, d), sensor, offsets)
    F = np.einsum("sm,mc->sc", predicted, W)  # by BLAS its last digits hang on the number of cores
    F = F.reshape(len(ball), len(star), -1)
    slopes = (F[:, 1 : d + 2] - F[:, d + 2 :]) / (2.0 * STEP * size[:, None])
    heading = slopes[0, d]
    length = float(np.linalg.norm(heading))
    q = heading / length if length > 0.0 else heading
    J = slopes - (slopes @ q)[..., None] * q
    mu = float(np.linalg.svd(J[0, :d], compute_uv=False)[-1])
    if not proved:
        return Certificate(mu, np.inf, False, separation, assumptions)
    kappa = margin * float(np.linalg.norm(J[1:, :d] - J[0, :d], ord=2, axis=(1, 2)).max())
    nu = margin * float(np.linalg.norm(J[:, d], axis=1).max())
    F_obs = rays.width * (rays.measured[agree] @ basis.weights(rays.beams[agree]))
    misfit = float(np.linalg.norm(F_obs - F[0, 0]))
    bound = (2.0 * misfit + nu * turn) / (mu - kappa) if kappa < mu else np.inf
    inside = bool(np.all(world.contains(sensor.position + offsets[:, :d])))
    holds = inside and len(rivals) == 0 and bool(bound <= radius)
    return Certificate(mu, bound, holds, separation, assumptions)


def certify_answer(atlas: AnyMaps, scan: AnyScan, answer: Answer) -> Answer:
    """Add the certificate of the best estimate to an answer, of its own map."""
    best = answer.best
    if best is None:
        return answer
    own = atlas if isinstance(atlas, Atlas) else atlas[str(best.map)]
    rivals = [estimate.pose for estimate in answer.rivals if estimate.map == best.map]
    return replace(answer, certificate=certify(own.world, scan, best.pose, rivals))


def _rays(scan: AnyScan, settings: LocalizationSettings) -> _Rays:
    if not isinstance(scan, Scan):
        points = scan.level_points[scan.spread(settings.beams[1][1] / 2.0)]
        ranges = np.linalg.norm(points, axis=1)
        along = points / ranges[:, None]
        return _Rays(along, along[:, None], np.log1p(ranges), 1.0 / len(points))
    valid = np.flatnonzero(scan.valid)
    most = settings.beams[1][0]
    if len(valid) > most:
        valid = valid[np.linspace(0, len(valid) - 1, most).round().astype(np.int64)]
    width = float(scan.beam_widths[scan.valid].sum()) / len(valid)
    bearings = scan.bearings[valid]
    fan = ((np.arange(FAN) + 0.5) / FAN - 0.5) * width
    measured = np.log1p(scan.ranges[valid])
    return _Rays(unit_vectors(bearings), unit_vectors(bearings[:, None] + fan), measured, width)


def _predict(world: Map, along: FloatArray, sensor: AnyPose, offsets: FloatArray) -> FloatArray:
    """log(1 + r) along level directions (m, d) from states beside a pose, shape (states, m)."""
    d = along.shape[-1]
    turned = along @ sensor.rotation.T
    swings = (Pose if d == 2 else Pose3)(yaw=offsets[:, d]).rotation
    directions = np.einsum("sij,mj->smi", swings, turned)
    hits = world.cast((sensor.position + offsets[:, :d])[:, None], directions)
    return np.asarray(np.log1p(hits.ranges))
