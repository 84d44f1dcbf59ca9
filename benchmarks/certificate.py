"""How often is the bound of a certificate violated?  (It must be never where it says it holds.)

    python -m benchmarks.certificate [CASES]

Random halls of walls, a simulated scan, an estimate a little off the truth.  A case
counts when the certificate says that it holds and the truth is as near as it assumes.
"""

import sys
from dataclasses import dataclass

import numpy as np

from benchmarks.static_bound import random_hall
from isovist import certify
from isovist.poses import Pose
from isovist.sensing.models.lidar2d import Lidar


@dataclass
class Tally:
    """What was counted."""

    cases: int = 0
    held: int = 0
    violations: int = 0


def try_cases(cases: int, seed: int = 0, per_hall: int = 20) -> Tally:
    """Count violations over random cases."""
    rng = np.random.default_rng(seed)
    tally = Tally()
    while tally.cases < cases:
        hall = random_hall(rng)
        places = rng.uniform(*hall.bounds, (20 * per_hall, 2))
        places = places[hall.contains(places) & (hall.clearance(places) > 0.4)][:per_hall]
        for x, y in places:
            tally.cases += 1
            truth = Pose(float(x), float(y), float(rng.uniform(-np.pi, np.pi)))
            noise = float(10.0 ** rng.uniform(-3.0, -1.5))
            scan = Lidar(beams=720, noise=noise).scan(hall, truth, rng)
            off = rng.normal(0.0, 0.02, 2)
            turn = float(rng.normal(0.0, 0.004))
            estimate = Pose(truth.x + off[0], truth.y + off[1], truth.yaw + turn)
            certificate = certify(hall, scan, estimate)
            gap = float(np.hypot(*off))
            if not certificate.holds or gap > 0.1 or abs(turn) > np.radians(2.0):
                continue
            tally.held += 1
            tally.violations += int(gap > certificate.bound)
    return tally


def main() -> None:
    tally = try_cases(int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
    print(
        f"certificate: {tally.cases} cases, {tally.held} where it holds, "
        f"{tally.violations} violations"
    )
    raise SystemExit(1 if tally.violations else 0)


if __name__ == "__main__":
    main()
