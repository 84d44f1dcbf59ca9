"""How far the descriptors certify an answer.

The directions Ω owned by the beams that agree with the map at the estimate are put through a rose
in the frame of the sensor, once with the ranges that were measured and once with those that the
map predicts on a much finer set of rays:

    F_i(x, y, yaw) = ∫_Ω f(r(b)) w_i(b) db,    f(r) = log(1 + r).              (1)

Its Jacobian, split into the position part J (per m) and the heading part k (per rad), is taken by
central differences of cast ranges, so what corners hide and show, the shadow term, is in it.  Let
P = I − qqᵀ with q = k/‖k‖ at the estimate ŝ take the heading out to first order, and

    μ = σ_min(P J(ŝ)),   κ = max ‖P (J(s) − J(ŝ))‖,   ν = max ‖P k(s)‖          (2)

over the states s within R and `TURN` of ŝ.  F is Lipschitz, so P (F(s*) − F(ŝ)) is the integral
of P J and P k along the straight way.  With ρ = ‖F_obs − F(ŝ)‖, η a bound on ‖F_obs − F(s*)‖ and
s* within R and `TURN`, hence

    ‖p̂ − p*‖ ≤ (ρ + η + ν·TURN) / (μ − κ)    whenever κ < μ.                   (3)

A far alias satisfies the same inequality: that there is none is what the rivals of the answer are
for.

Among clutter J changes from one hand's breadth to the next as corners appear and vanish, so κ < μ
is the exception there, and the certificate says that it does not hold.
"""

from dataclasses import dataclass, replace

import numpy as np

from isovist.atlas.plane import Atlas
from isovist.atlas.space import VoxelAtlas
from isovist.localization.answer import Answer
from isovist.maps.cells import OccupancyMap
from isovist.poses import Pose, Pose3, unit_vectors
from isovist.roses import Rose
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.scan import Scan
from isovist.types import FloatArray, IntArray

RADIUS = 0.1  # R in m
TURN = np.deg2rad(2.0)  # what R is in yaw
STEP = 0.5  # of the differences, as a share of R
BEAMS = 180  # at most so many are used
RAYS = 1440  # of the map, spread over the beams
AGREE = 0.2  # beams whose log(1 + r) is within this of the map's are taken to see the map
MARGIN = 1.25  # on κ, which is known only at samples
CHANNELS = 32


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the descriptors say about an estimate.

    Attributes:
        mu: μ of (2), how fast the descriptor leaves that of the estimate, per m.
        bound: On the position error in m, equation (3); `inf` when κ ≥ μ.
        holds: Whether every assumption that can be checked here does.
        separation: Distance from the estimate to its nearest rival in m; `inf` without one.
        assumptions: What the bound rests on, in words.
    """

    mu: float
    bound: float
    holds: bool
    separation: float
    assumptions: tuple[str, ...]


def certify(world: OccupancyMap, scan: Scan, pose: Pose, rivals: list[Pose]) -> Certificate:
    """The certificate of an estimate.

    Args:
        world: The map.
        scan: What the sensor saw.
        pose: The estimate: the sensor in the world.
        rivals: The other places that explain the scan, the sensor in the world.
    """
    separation = min((float(np.hypot(r.x - pose.x, r.y - pose.y)) for r in rivals), default=np.inf)
    ends = np.eye(3)
    ball = np.concatenate([np.zeros((1, 3)), ends, -ends])
    samples = (ball[:, None] + STEP * ball).reshape(-1, 3) * [RADIUS, RADIUS, TURN]
    states = pose.vector + samples
    used = _choose(scan)
    bearings = scan.bearings[used]
    width = float(scan.beam_widths[scan.valid].sum()) / len(used)
    per_beam = max(1, RAYS // len(used))
    fan = ((np.arange(per_beam) + 0.5) / per_beam - 0.5) * width
    measured = np.log1p(scan.ranges[used])
    inside = bool(np.asarray(world.contains(states[:, :2])).all())
    agree = np.abs(_predict(world, bearings, states[:1])[0] - measured) < AGREE
    share = float(agree.mean())
    assumptions = (
        "the true pose is near: no rival elsewhere explains the scan",
        f"it lies within {RADIUS:g} m and {np.rad2deg(TURN):g}° of the estimate, "
        "and the space between is free",
        f"the {share:.0%} of the beams that agree with the map here see mapped walls, "
        "and fit as well at the true pose",
        f"J varies by less than μ nearby ({len(ball) - 1} samples, times {MARGIN:g})",
    )
    if agree.sum() < 3:
        return Certificate(0.0, np.inf, False, separation, assumptions)
    rose = Rose.circle(CHANNELS)
    rays = (bearings[agree, None] + fan).ravel()
    W = width / per_beam * rose.weights(unit_vectors(rays))
    F = (_predict(world, rays, states) @ W).reshape(len(ball), len(ball), CHANNELS)
    F_obs = width * (measured[agree] @ rose.weights(unit_vectors(bearings[agree])))
    # Row 0 of the inner axis is the sample itself, then a step along and against each axis.
    slopes = (F[:, 1:4] - F[:, 4:7]) / (2.0 * STEP * np.array([RADIUS, RADIUS, TURN])[:, None])
    heading = slopes[0, 2]
    length = float(np.linalg.norm(heading))
    q = heading / length if length > 0.0 else heading
    J = slopes - (slopes @ q)[..., None] * q
    mu = float(np.linalg.svd(J[0, :2], compute_uv=False)[-1])
    kappa = MARGIN * float(np.linalg.norm(J[1:, :2] - J[0, :2], ord=2, axis=(1, 2)).max())
    nu = MARGIN * float(np.linalg.norm(J[:, 2], axis=1).max())
    misfit = float(np.linalg.norm(F_obs - F[0, 0]))
    bound = (2.0 * misfit + nu * TURN) / (mu - kappa) if kappa < mu else np.inf
    holds = inside and not rivals and bound <= RADIUS
    return Certificate(mu, bound, holds, separation, assumptions)


def certified(atlas: Atlas | VoxelAtlas, scan: Scan | CloudScan, answer: Answer) -> Answer:
    """The answer with the certificate of its best estimate, where it has one."""
    from isovist.localization.space_certificate import certify_in_space

    if answer.best is None:
        return answer
    sensors = [estimate.pose @ scan.T_robot_sensor for estimate in answer.estimates]
    if isinstance(atlas, Atlas) and isinstance(scan, Scan):
        certificate = certify(atlas.world, scan, sensors[0], sensors[1:])
    elif isinstance(atlas, VoxelAtlas) and isinstance(scan, CloudScan):
        certificate = certify_in_space(atlas, scan, Pose3.lifted(sensors[0]), sensors[1:])
    else:
        return answer
    return replace(answer, certificate=certificate)


def _choose(scan: Scan) -> IntArray:
    """Indices of at most BEAMS valid beams, evenly spread."""
    valid = np.flatnonzero(scan.valid)
    if len(valid) <= BEAMS:
        return valid
    return valid[np.linspace(0, len(valid) - 1, BEAMS).round().astype(np.int64)]


def _predict(world: OccupancyMap, bearings: FloatArray, states: FloatArray) -> FloatArray:
    """log(1 + r) along each bearing from each state, shape (states, beams)."""
    directions = unit_vectors(states[:, 2:] + bearings)
    hits = world.cast(states[:, None, :2], directions)
    return np.log1p(hits.ranges)
