"""How far is the attitude of a unique answer off, when nobody tells that the sensor leans?

    python -m benchmarks.lean MAP [LEAN [COUNT [SEED]]]

COUNT scans of 16 rings within 15° of level, from 1 m above the floor of a map in space, are asked
as those of a level sensor.  They roll and pitch by up to LEAN °, 2 unless something else is said:
small leans are the hardest, as what is fitted may be no better than what was told.  The scans are
those of `isovist bench simulate3d MAP --lean LEAN --count COUNT --seed SEED`.
"""

import sys

import numpy as np

from benchmarks.street import turn_between
from isovist.atlas.build import build
from isovist.evaluation.metrics import outcome_of
from isovist.evaluation.protocols import simulated_trials
from isovist.io.maps.read import read_map
from isovist.localization import Verdict
from isovist.localization.locate import locate
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.poses import Pose3
from isovist.sensing.models.simulate import Placement
from isovist.sensing.models.spinning import SpinningLidar

HEIGHT = 1.0
STEEP = float(np.radians(15.0))
LIDAR = SpinningLidar(16, -STEEP, STEEP, 900, 30.0, 0.03, 0.1)


def main() -> None:
    given = [float(v) for v in sys.argv[2:]]
    lean, count, seed = (given + [2.0, 50.0, 0.0][len(given) :])[:3]
    world = read_map(sys.argv[1])
    assert isinstance(world, VoxelMap)
    atlas = build(world, height=HEIGHT)
    right, wrong, fitted, off = 0, 0, 0, []
    trials = simulated_trials(
        world,
        int(count),
        LIDAR,
        seed=int(seed),
        placement=Placement(height=HEIGHT, max_tilt=float(np.radians(lean))),
    )
    for trial in trials:
        scan = trial.scan()
        answer = locate(atlas, scan)
        good = outcome_of(atlas, scan, answer, trial.truth).right
        right += good
        if answer.best is None or answer.verdict is not Verdict.UNIQUE:
            continue
        wrong += not good
        fitted += len(answer.best.covariance) == 6
        pose = answer.best.pose
        assert isinstance(pose, Pose3)
        assert isinstance(trial.truth, Pose3)
        off.append(turn_between(pose, trial.truth))
    print(
        f"lean {lean:g}°, seed {seed:.0f}: {right} of {count:.0f} right, {len(off)} unique, "
        f"{wrong} unique and wrong; attitude fitted in {fitted} of these, "
        f"off by {np.median(off):.2f}° (at most {max(off):.2f}°, "
        f"{sum(one > 1.0 for one in off)} by more than 1°)"
    )


if __name__ == "__main__":
    main()
