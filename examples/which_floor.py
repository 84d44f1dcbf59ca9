"""Three storeys that share most of their walls: which one is it, and through which lift?

python examples/which_floor.py [FOLDER]

Into the folder, `storeys` if not given, go the plan of each storey, a scan of a room that was
rebuilt on the first floor, and one of a room that is the same on the ground floor.
"""

import sys
from pathlib import Path

import numpy as np

import isovist as iv
from isovist.simulation.worlds import similar_floors

NAMES = ("ground", "first", "second")
ROOM, ALIKE = iv.Pose(15.6, 2.2, 0.7), iv.Pose(11.1, 2.4, 0.3)
LIFT = iv.Pose(7.6, 5.9, 0.0)


def drive(start: iv.Pose, steps: int) -> list[iv.Pose]:
    """Straight on, 0.25 m at a time."""
    return [start @ iv.Pose(0.25 * k, 0.0, 0.0) for k in range(steps)]


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "storeys")
    folder.mkdir(exist_ok=True)
    plans = {
        n: f.plan for n, f in zip(NAMES, similar_floors(2, 3, length=20.0, rows=2), strict=True)
    }
    lidar, random = iv.Lidar(range_max=20.0), np.random.default_rng(0)
    for name, plan in plans.items():
        iv.write_map(plan, folder / f"{name}.geojson")
    for name, pose in (("room", ROOM), ("alike", ALIKE)):
        iv.write_scan(lidar.scan(plans["first"], pose, random), folder / f"{name}.json")

    maps = {name: iv.build(plan) for name, plan in plans.items()}
    for name in ("room", "alike"):
        answer = iv.locate(maps, iv.read_scan(folder / f"{name}.json"))
        print(f"{name}: {answer.verdict}, {answer.map}. {answer.advice}")

    # Along the corridor to the lift, up two floors, and on.
    links = [iv.Link(a, LIFT, b, LIFT) for a, b in (NAMES[:2], NAMES[1:], NAMES[::2])]
    tracker = iv.Tracker(maps, links=links, region={"ground": None})
    start = iv.Pose(2.1, 5.9, 0.0)
    way = [("ground", pose) for pose in drive(start, 23)]
    way += [("second", pose) for pose in drive(LIFT, 25)]
    told = None
    for name, pose in way:
        belief = tracker.update(pose, lidar.scan(plans[name], pose, random))
        if (belief.verdict, belief.map) != told:
            told = belief.verdict, belief.map
            print(f"after {belief.travelled:.1f} m on {name}: {belief.verdict}, {belief.map}")


if __name__ == "__main__":
    main()
