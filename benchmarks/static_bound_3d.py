"""How often is the static bound violated in space?  (It must be never.)

    python -m benchmarks.static_bound_3d [CASES [DONE]]

Random rooms with a box or two in them, as meshes; F and J face by face; a grid of random spacing
around a random true place, an observation with noise of known size.  A case counts when every
assumption of `paper.static.static_bound` but that about aliases elsewhere holds and the true place
lies in the ball, as the bound assumes; it is a violation when the nearest node is farther than the
bound, or the place that Gauss–Newton finds farther than that of its own.  DONE places, a multiple
of 100, were counted before, and are left out.
"""

import sys

import numpy as np

from benchmarks.static_bound import Tally
from isovist.basis import DirectionalBasis
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.quadrature import Exact
from isovist.paper.observations import PlaceTrajectory
from isovist.paper.settings import BoundSettings
from isovist.paper.static.gauss_newton import StepLimits, gauss_newton
from isovist.paper.static.map_space import MapField
from isovist.paper.static.static_bound import Premises, static_bound

SETTINGS = BoundSettings(place_samples=8)
BATCH = 100  # places of one seed


def random_room(rng: np.random.Generator) -> MeshMap:
    """A room of 3 to 7 m with up to two boxes on its floor."""
    size = rng.uniform(3.0, 7.0, 3) * [1.0, 1.0, 0.5]
    parts = [MeshMap.box((0.0, 0.0, 0.0), size)]
    for k in range(int(rng.integers(0, 3))):
        low = np.array([*(rng.uniform(0.2, 0.3) * size[:2] + 0.4 * k * size[:2]), 0.0])
        parts.append(MeshMap.box(low, low + rng.uniform(0.2, 0.7, 3)))
    return MeshMap.join(parts)


def try_cases(cases: int, seed: int = 0) -> Tally:
    """Count violations over random cases."""
    rng = np.random.default_rng(seed)
    tally = Tally()
    descriptor = Descriptor(DirectionalBasis.fibonacci(10, 0.5), quadrature=Exact(1e-5))
    while tally.cases < cases:
        world = random_room(rng)
        low, high = world.bounds
        place = rng.uniform(low + 0.2, high - 0.2)
        if not world.contains(place) or world.clearance(place) < 0.2:
            continue
        tally.cases += 1
        spacing = float(rng.uniform(0.02, 0.06))
        offsets = np.stack(np.meshgrid(*[[-0.5, 0.5]] * 3), axis=-1).reshape(-1, 3)
        nodes = place + spacing * (rng.uniform(-0.5, 0.5, 3) + offsets)
        truth, _ = descriptor.at(world, place)
        F, _ = descriptor.at(world, nodes)
        noise = 10.0 ** rng.uniform(-4.0, -2.0)
        error = rng.normal(size=len(truth))
        F_obs = truth + noise * error / np.linalg.norm(error)
        node = nodes[int(np.linalg.norm(F - F_obs, axis=1).argmin())]
        near = float(np.linalg.norm(nodes - place, axis=1).min())
        trajectory = PlaceTrajectory(MapField(descriptor, world), np.zeros((1, 3)), np.ones(1))
        path = gauss_newton(
            descriptor, world, F_obs, node, StepLimits(max_steps=3, tolerance_m=1e-6)
        )
        premises = Premises(2.0 * spacing, near, noise)
        for at, is_node in ((node, True), (path.positions[-1], False)):
            bound = static_bound(
                trajectory, at, F_obs, premises, is_node=is_node, settings=SETTINGS
            )
            gap = float(np.linalg.norm(at - place))
            if not bound.holds or gap > 2.0 * spacing:
                continue
            tally.held += 1
            tally.violations += int(gap > bound.bound)
            tally.tightest = min(tally.tightest, bound.bound / max(gap, 1e-300))
    return tally


def main() -> None:
    cases, done = (int(word) for word in (*sys.argv[1:3], *("1000", "0")[len(sys.argv) - 1 :]))
    tally = Tally()
    for first in range(done, cases, BATCH):
        tally += try_cases(min(BATCH, cases - first), first // BATCH)
        print(
            f"{tally.cases} places, {tally.held} bounds, {tally.violations} violations, "
            f"tightest {tally.tightest:.2f}", file=sys.stderr, flush=True,
        )  # fmt: skip
    print(
        f"static bound in space: {tally.cases} places, {tally.held} bounds whose assumptions hold, "
        f"{tally.violations} violations; tightest bound/error {tally.tightest:.2f}"
    )
    raise SystemExit(1 if tally.violations else 0)


if __name__ == "__main__":
    main()
