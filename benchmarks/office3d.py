"""How well does a lidar of 16 rings find itself among furniture that the map lacks?

    python -m benchmarks.office3d [SEED [TRIALS [--any-attitude]]]

The map is the plan of a generated office with walls of 2.8 m; the sensor sees the same office with
its furniture up to the ceiling, σ = 0.03 m, and 10 % of the beams cut short.  In any attitude it
is a lidar of 32 rings, ±45°, turned at random, whose scans do not tell how.
"""

import math
import sys
from dataclasses import replace

from isovist.atlas.build import build
from isovist.evaluation.protocols import (
    LocateOptions,
    run_trials,
    simulated_trials,
    summarise,
    times_alone,
)
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.sensing.models.simulate import Placement
from isovist.sensing.models.spinning import SpinningLidar
from isovist.simulation.worlds import office_floor


def main() -> None:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 80
    floor = office_floor(seed, length=30.0, rows=4)
    plan = VoxelMap.from_mesh(MeshMap.extrude(floor.plan, 0.0, 2.8), 0.1)
    furnished = MeshMap.extrude(floor.reality, 0.0, 2.8)
    any_attitude = "--any-attitude" in sys.argv
    lidar = SpinningLidar(16, noise=0.03, clutter=0.1)
    if any_attitude:
        lidar = replace(lidar, rings=32, low=-math.pi / 4.0, high=math.pi / 4.0, azimuths=512)
    placement = Placement(any_attitude=any_attitude)
    trials = simulated_trials(plan, count, lidar, seed=seed, placement=placement, reality=furnished)
    atlas, options = build(plan), LocateOptions(any_attitude=any_attitude)
    outcomes = list(run_trials(atlas, trials, options))
    row = summarise(outcomes, times_alone(atlas, trials, options))
    for key, value in row.items():
        print(f"{key:20s} {value:.3f}" if isinstance(value, float) else f"{key:20s} {value}")


if __name__ == "__main__":
    main()
