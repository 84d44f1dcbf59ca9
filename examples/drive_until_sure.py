"""A robot that does not know which end of a hall it is at, and drives to find out.

python examples/drive_until_sure.py
"""

from pathlib import Path

import numpy as np

import isovist as iv
from isovist.exploration.paths import Ground
from isovist.exploration.propose import Rule, propose
from isovist.report.explorations import run_text
from isovist.report.figures.explorations import save_run
from isovist.simulation.lost_robot import explore
from isovist.simulation.worlds import twofold_hall
from isovist.tracking.tracker import Tracker


def main() -> None:
    # A hall that looks the same after half a turn, but for one crate.
    atlas = iv.build(twofold_hall())
    lidar = iv.Lidar(range_max=4.0)
    start = iv.Pose(11.07, 8.36, -2.6)

    # On a robot: after each update of the tracker, ask where to drive.
    tracker, ground = Tracker(atlas), Ground.from_atlas(atlas)
    scan = lidar.scan(atlas.world, start, np.random.default_rng(0))
    belief = tracker.update(iv.Pose(), scan)
    print(f"{belief.verdict}: {belief.advice}")
    proposal = propose(tracker, ground, scan)
    print(proposal.text)
    print(f"  corners in the frame of the robot: {proposal.path[:, :2].round(2).tolist()}")

    # In simulation: the whole drive, by each rule.
    for rule in Rule:
        run = explore(atlas, start, lidar, rule, seed=4, ground=ground)
        print(f"\nrule {rule.value}: {run.distance:.1f} m until {run.verdicts[-1]}")
        if rule is Rule.RIVALS:
            print(run_text(run))
            save_run(atlas.world, run, Path("out/drive_until_sure.gif"))
    print("\npicture: out/drive_until_sure.gif")


if __name__ == "__main__":
    main()
