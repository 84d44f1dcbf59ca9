"""Which storey of a building in space is it, when they share most of their walls?

    python -m benchmarks.tower [--scans 200] [--seed 0]

Three storeys of 24 × 13 m under one roof (`benchmarks.worlds.tower`), one map of 0.1 m
voxels without furniture that is cut into storeys; half of the rooms of each are built anew.  A
lidar of 16 rings and 360 azimuths, σ = 0.02 m, 5 % of the beams cut short, sees them furnished,
from anywhere.  Exits with 1 when more than one answer in 200 is unique and of the wrong storey.
"""

import argparse
import sys
from itertools import combinations

import numpy as np

from benchmarks.worlds.tower import tower
from isovist.atlas.build import build
from isovist.localization import Verdict, is_same_place
from isovist.localization.locate import locate
from isovist.localization.settings import LocalizationSettings
from isovist.maps.grid3d.building_floors import building_floors
from isovist.poses import Pose3
from isovist.sensing.models.spinning import SpinningLidar
from isovist.simulation.demo import HEIGHT, random_pose
from isovist.simulation.worlds import shared_wall_share, similar_floors

LIDAR = SpinningLidar(16, azimuths=360, range_max=30.0, noise=0.02, clutter=0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scans", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    site, rng = tower(given.seed), np.random.default_rng(given.seed)
    pairs = combinations(similar_floors(given.seed, 3, length=24.0, rows=2), 2)
    alike = [shared_wall_share(a, b) for a, b in pairs]
    atlases = {
        name: build(part, height=HEIGHT) for name, part in building_floors(site.plan).items()
    }
    unique = storey = wrong_storey = wrong = 0
    for _ in range(given.scans):
        k = int(rng.integers(len(site.heights)))
        at = random_pose(site.grounds[k], rng)
        truth = Pose3(at.x, at.y, at.yaw, site.heights[k] + HEIGHT)
        answer = locate(atlases, LIDAR.scan(site.reality[k], truth, rng))
        here = answer.map == f"floor {k + 1}"
        storey += here
        if answer.verdict is Verdict.UNIQUE and answer.best is not None:
            unique += 1
            wrong_storey += not here
            wrong += not (here and is_same_place(answer.best.pose, truth, LocalizationSettings()))
    print(f"walls shared two by two: {min(alike):.0%} to {max(alike):.0%}")
    print(
        f"{given.scans} scans: {storey} on the right storey, {unique} unique, of which "
        f"{wrong_storey} of the wrong storey and {wrong} wrong in all"
    )
    sys.exit(1 if 200 * wrong_storey > given.scans else 0)


if __name__ == "__main__":
    main()
