"""How often is the corrected static bound violated?  (It must be never.)

    python -m benchmarks.static_bound [CASES]

Random rooms, a grid of random spacing, a random true place, an observation with noise of known
size.  A case counts when the assumptions that can be checked hold and the true place lies in the
disc, as the bound assumes; it is a violation when the nearest node is farther than the bound.
The paper's constant, (L h + η)/μ without the correction, is counted beside it.
"""

import sys
from dataclasses import dataclass

import numpy as np

from isovist import Descriptor, DirectionalBasis, SegmentMap
from isovist.paper import DescriptorGrid, MapField, PlaceTrajectory, Premises, static_bound


@dataclass
class Tally:
    """What was counted."""

    cases: int = 0
    held: int = 0
    violations: int = 0
    tightest: float = np.inf
    aliases: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.cases + other.cases,
            self.held + other.held,
            self.violations + other.violations,
            min(self.tightest, other.tightest),
            self.aliases + other.aliases,
        )


def random_hall(rng: np.random.Generator) -> SegmentMap:
    """A rectangle with a few pillars and a wall, sparse enough for discs without walls."""
    size = rng.uniform(4.0, 8.0, 2)
    pillars = []
    for _ in range(int(rng.integers(0, 3))):
        x, y = rng.uniform((0.5, 0.5), size - 1.0)
        pillars.append((x, y, x + rng.uniform(0.2, 0.6), y + rng.uniform(0.2, 0.6)))
    walls = rng.uniform((0.0, 0.0), size, (int(rng.integers(0, 2)), 2, 2))
    return SegmentMap.room(*size, pillars=pillars, walls=walls if len(walls) else None)


def try_cases(cases: int, seed: int = 0, per_room: int = 25) -> Tally:
    """Count violations over random cases."""
    rng = np.random.default_rng(seed)
    tally = Tally()
    descriptor = Descriptor(DirectionalBasis.circle(8, 0.5))
    while tally.cases < cases:
        world = random_hall(rng)
        field = MapField(descriptor, world)
        grid = DescriptorGrid.over(world, descriptor, float(rng.uniform(0.08, 0.3)))
        places = rng.uniform(*world.bounds, (40 * per_room, 2))
        places = places[world.contains(places)][:per_room]
        truths, _ = descriptor.at(world, places)
        for place, F in zip(places, truths, strict=True):
            tally.cases += 1
            noise = 10.0 ** rng.uniform(-4.0, -1.5)
            error = rng.normal(size=len(F))
            F_obs = F + noise * error / np.linalg.norm(error)
            node = grid.nodes[grid.nearest(F_obs)[0][0]]
            gap = float(np.linalg.norm(node - place))
            radius = 2.0 * grid.spacing
            near_node = np.linalg.norm(grid.nodes - place, axis=1).min()
            trajectory = PlaceTrajectory(field, np.zeros((1, 2)), np.ones(1))
            premises = Premises(radius, float(near_node), noise)
            answer = static_bound(trajectory, node, F_obs, premises, is_node=True)
            if answer.holds and gap > radius:
                tally.aliases += 1
            if not answer.holds or gap + near_node > radius:
                continue
            tally.held += 1
            tally.violations += int(gap > answer.bound)
            if gap > 0.0:
                tally.tightest = min(tally.tightest, answer.bound / gap)
    return tally


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 12_000
    tally = try_cases(cases)
    print(
        f"static bound: {tally.cases} cases, {tally.held} where the assumptions hold, "
        f"{tally.violations} violations; tightest bound/error {tally.tightest:.2f}; "
        f"{tally.aliases} nearest nodes were aliases outside the disc"
    )
    raise SystemExit(1 if tally.violations else 0)


if __name__ == "__main__":
    main()
