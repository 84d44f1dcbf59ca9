"""How often is the dynamic bound violated?  (It must be never.)

    python -m benchmarks.dynamic_bound [CASES]

Random rooms with pillars and a thin wall, arcs of about half a metre, a candidate start near the
true one, an observed stream with noise and a motion with drift of known size.  A case counts when
T1 to T5 hold and the true start lies in the ball, as the bound assumes; it is a violation when the
start is farther from the candidate than the bound.  Once with the heading known and once with it
unknown, until CASES have counted in each.
"""

import sys
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from isovist.arrays import FloatArray
from isovist.basis import DirectionalBasis
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.quadrature import Exact
from isovist.paper.dynamic.dynamic_bound import DynamicPremises, dynamic_bound
from isovist.paper.observations import PlaceTrajectory, PoseTrajectory
from isovist.paper.statements.worlds.scenes import free_points, random_room
from isovist.paper.static.map_space import MapField
from isovist.paper.static.trajectory import Trajectory

NODES = 6


@dataclass
class Tally:
    """What was counted."""

    cases: int = 0
    held: int = 0
    violations: int = 0
    tightest: float = np.inf
    sharp_held: int = 0
    sharp_violations: int = 0
    sharpest: float = np.inf


def random_arc(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Motions (x, y, yaw) at Gauss–Legendre nodes of 1 s, shape (NODES, 3), and their weights."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    t = 0.5 * (1.0 + x)
    speed, turn = rng.uniform(0.2, 0.7), rng.uniform(-2.0, 2.0)
    arc = np.stack([np.sin(turn * t) / turn, (1.0 - np.cos(turn * t)) / turn], axis=1)
    return np.column_stack([speed * arc, turn * t]), 0.5 * w


def try_cases(held: int, *, heading: bool, seed: int = 0, per_room: int = 20) -> Tally:
    """Count violations until T1–T5 have held so many times."""
    rng = np.random.default_rng([seed, int(heading)])
    tally = Tally()
    while tally.held < held:
        basis = DirectionalBasis.circle(int(rng.integers(6, 17)), rng.uniform(0.2, 0.8))
        descriptor = Descriptor(basis, quadrature=Exact(1e-9))
        world = random_room(rng, clutter=bool(rng.random() < 0.8))
        for place in free_points(world, rng, per_room, 0.5):
            if tally.held < held:
                _try_one(rng, tally, descriptor, MapField(descriptor, world), place, heading)
    return tally


def _try_one(
    rng: np.random.Generator,
    tally: Tally,
    descriptor: Descriptor,
    field: MapField,
    place: FloatArray,
    heading: bool,
) -> None:
    motions, weights = random_arc(rng)
    radius = 10.0 ** rng.uniform(-3.0, -0.6)
    noise, drift = (
        float(rng.random() < 0.5) * 10.0 ** rng.uniform(-3.0, 0.0) * radius for _ in range(2)
    )
    moved = motions + _random_errors(rng, motions.shape[0], drift, heading)
    yaw = rng.uniform(-np.pi, np.pi)
    trajectory: Trajectory
    real: Trajectory
    if heading:
        trajectory = PoseTrajectory(descriptor, field.world, motions, weights)
        start = np.array([*place, yaw])
    else:
        trajectory = PlaceTrajectory(field, motions[:, :2], weights)
        start = place
    delta = rng.normal(size=len(start))
    delta *= radius * rng.random() ** 0.5 / np.linalg.norm(delta)
    truth = start + delta
    if heading:
        # The error of a pose is in the axes of the map; the motion is in those of the start.
        errors = moved - motions
        c, s = np.cos(truth[2]), np.sin(truth[2])
        errors[:, :2] = errors[:, :2] @ np.array([[c, -s], [s, c]])
        real = PoseTrajectory(descriptor, field.world, motions + errors, weights)
    else:
        real = PlaceTrajectory(field, moved[:, :2], weights)
    tally.cases += 1
    if not (trajectory.is_free(start) and real.is_free(truth)):
        return
    observed, _ = real.at(truth)
    error = rng.normal(size=observed.shape)
    observed = observed + noise * error / np.linalg.norm(error, axis=1, keepdims=True)
    answer = dynamic_bound(trajectory, start, observed, DynamicPremises(radius, noise, drift))
    size = float(np.linalg.norm(delta))
    if answer.holds:
        tally.held += 1
        tally.violations += int(size > answer.bound)
        tally.tightest = min(tally.tightest, answer.bound / size)
    if np.isfinite(answer.sharp):
        tally.sharp_held += 1
        tally.sharp_violations += int(size > answer.sharp)
        tally.sharpest = min(tally.sharpest, answer.sharp / size)


def _random_errors(rng: np.random.Generator, count: int, drift: float, heading: bool) -> FloatArray:
    """Errors of size up to `drift`, smooth in time, shape (count, 3)."""
    ends = rng.normal(size=(2, 3))
    if not heading:
        ends[:, 2] = 0.0
    ends *= drift / np.linalg.norm(ends, axis=1, keepdims=True)
    share = np.linspace(0.0, 1.0, count)[:, None]
    return (1.0 - share) * ends[0] + share * ends[1]


def main() -> None:
    held = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    wrong = 0
    for heading in (False, True):
        begun = perf_counter()
        tally = try_cases(held, heading=heading)
        wrong += tally.violations + tally.sharp_violations
        print(
            f"dynamic bound, heading {'unknown' if heading else 'known'}: {tally.cases} cases, "
            f"T1–T5 hold in {tally.held}, {tally.violations} violations, "
            f"tightest bound/error {tally.tightest:.2f}; "
            f"sharp form holds in {tally.sharp_held}, {tally.sharp_violations} violations, "
            f"tightest {tally.sharpest:.3f}  ({perf_counter() - begun:.0f} s)"
        )
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
