"""Statements about trajectories whose heading is unknown, and the sharper dynamic bound.

The paper takes the heading as known.  These rows try what takes its place when it is not: drives
of a second in random 2D rooms, from a random pose.  A drive is six poses, and stands for
four cases.
"""

import numpy as np

from isovist import DirectionalBasis
from isovist.arrays import FloatArray
from isovist.paper import (
    BoundSettings,
    DynamicPremises,
    MapField,
    PlaceTrajectory,
    PoseTrajectory,
    dynamic_bound,
    gramians,
)
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.statements.localization import corridor
from isovist.paper.statements.statement import Finding, Statement, Trial, each, worst_of
from isovist.paper.statements.worlds.cases import directions
from isovist.paper.statements.worlds.scenes import free_points, random_room
from isovist.paper.static.trajectory import Trajectory

_NODES = 6


def _drives(trial: Trial) -> range:
    return range(-(-trial.cases // 4))


def _motions(trial: Trial) -> tuple[FloatArray, FloatArray]:
    """Return motions along an arc at nodes of 1 s, shape (k, 3), and their weights."""
    x, w = np.polynomial.legendre.leggauss(_NODES)
    t = 0.5 * (1.0 + x)
    speed, turn = trial.rng.uniform(0.2, 0.7), trial.rng.uniform(0.2, 2.0)
    arc = np.stack([np.sin(turn * t) / turn, (1.0 - np.cos(turn * t)) / turn], axis=1)
    return np.column_stack([speed * arc, turn * t]), 0.5 * w


def _drive(trial: Trial) -> tuple[PoseTrajectory, FloatArray]:
    """Return a drive in a random room that keeps 0.15 m from every wall, and its start."""
    basis = DirectionalBasis.circle(
        int(trial.rng.integers(6, 17)), float(trial.rng.uniform(0.1, 0.6))
    )
    world = random_room(trial.rng)
    while True:
        trajectory = PoseTrajectory(Descriptor(basis), world, *_motions(trial))
        place = free_points(world, trial.rng, 1, 0.5)[0]
        start = np.array([*place, trial.rng.uniform(-np.pi, np.pi)])
        clearance = trajectory.clearance(start)
        if bool(trajectory.is_free(start)) and clearance is not None and clearance.min() > 0.15:
            return trajectory, start


@each(1e-4, _drives)
def _derivative(trial: Trial, _: int) -> float:
    """Compare J̃ with differences of the observations by the start."""
    h = 1e-7
    trajectory, start = _drive(trial)
    J = trajectory.at(start)[1]
    step = h * directions(trial.rng, 3)
    slope = (trajectory.at(start + step)[0] - trajectory.at(start - step)[0]) / (2.0 * h)
    return np.abs(slope - J @ (step / h)).max()


@each(1e-12, _drives)
def _semidefinite(trial: Trial, _: int) -> float:
    trajectory, start = _drive(trial)
    W = gramians(trajectory.at(start)[1], trajectory.weights)
    steps = np.diff(W, axis=0, prepend=np.zeros((1, 3, 3)))
    return -np.linalg.eigvalsh(steps).min() / np.linalg.eigvalsh(W[-1])[-1]


@each(1.0, _drives)
def _generic(trial: Trial, _: int) -> float:
    trajectory, start = _drive(trial)
    W = gramians(trajectory.at(start)[1] / trajectory.units, trajectory.weights)[-1]
    return 1e-4 / max(float(np.linalg.eigvalsh(W)[0]), 1e-300)


@each(1e-12, lambda trial: range(max(1, trial.cases // 10)))
def _corridor(trial: Trial, _: int) -> float:
    """Return λ_min(W)/λ_max(W): a heading that is unknown does not make a corridor visible."""
    field = corridor()
    trajectory = PoseTrajectory(field.descriptor, field.world, *_motions(trial))
    start = np.array([trial.rng.uniform(-100.0, 100.0), 1.0, trial.rng.uniform(-0.3, 0.3)])
    values = np.linalg.eigvalsh(gramians(trajectory.at(start)[1], trajectory.weights)[-1])
    return abs(float(values[0])) / float(values[-1])


def _bound(trial: Trial, heading: bool, sharp: bool = True) -> Finding:
    """Return the error over bound for candidates up to 10 cm off, where the bound holds."""
    ratios: list[float] = []
    target = len(_drives(trial))
    for _ in range(20 * target):
        drive, start = _drive(trial)
        trajectory: Trajectory = drive
        if not heading:
            field = MapField(drive.descriptor, drive.world)
            trajectory = PlaceTrajectory(field, drive.motions[:, :2], drive.weights)
            start = start[:2]
        size = 10.0 ** float(trial.rng.uniform(-4.0, -1.0))
        truth = start + size * directions(trial.rng, len(start))
        if not (bool(trajectory.is_free(start)) and bool(trajectory.is_free(truth))):
            continue
        answer = dynamic_bound(
            trajectory,
            start,
            trajectory.at(truth)[0],
            DynamicPremises(size),
            BoundSettings(trajectory_samples=16),
        )
        bound = answer.sharp if sharp else answer.bound
        if np.isfinite(bound):
            ratios.append(size / bound)
        if len(ratios) >= target:
            break
    return worst_of(np.array(ratios), 1.0)


_G = "localization"
STATEMENTS = (
    Statement(_G, "§6.2 extended: dynamic error bound, sharp form",
              "‖δ₀‖ / (‖ΔF‖_{L²}/(√μ_T − κ₂))", lambda t: _bound(t, False), "", True, (2,)),
    Statement(_G, "§6.2 extended: heading unknown, derivative by the start",
              "|ΔF̃/Δs − J̃|", _derivative, "", True, (2,)),
    Statement(_G, "§6.2 extended: heading unknown, W ⪰ 0 and Löwner-monotone",
              "−λ_min of the increments of W / λ_max", _semidefinite, "", True, (2,)),
    Statement(_G, "§6.2 extended: heading unknown, dynamic error bound",
              "‖δ₀‖ / ((2L/μ_T) ∫‖ΔF̃‖), LTκ ≤ μ_T/2",
              lambda t: _bound(t, True, False), "", True, (2,)),
    Statement(_G, "§6.2 extended: heading unknown, sharp form",
              "‖δ₀‖ / (‖ΔF̃‖_{L²}/(√μ_T − κ₂))", lambda t: _bound(t, True), "", True, (2,)),
    Statement(_G, "§6.3 extended: heading unknown, generic observability",
              "1e-4 / (λ_min(W)/T), arm 1 m", _generic, "", True, (2,)),
    Statement(_G, "§6.3 extended: heading unknown, a corridor stays blind along its axis",
              "λ_min(W)/λ_max(W)", _corridor, "", True, (2,)),
)  # fmt: skip
