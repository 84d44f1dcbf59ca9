"""What several scans, joined by odometry, tell more than the last of them.

    python -m benchmarks.several [--scans 3] [--apart 0.5] [--count COUNT] LOG.log.gz …

Scans of a log that are at least so far apart, in m, are taken in runs of SCANS + 5: the first ones
of a run ask, alone (the last of them) and joined, and the map is made of the five others.  Where a
log has a scan per metre they are a metre apart.  Motions between them have the noise of `isovist
bench starts`: 2 % of distance and 1° per m.  Heading unknown, no prior; right is within 0.5 m and
10° of the logged pose of the last scan.
"""

import argparse
import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import process_time

import numpy as np

from isovist.arrays import IntArray
from isovist.atlas.build import build
from isovist.evaluation.protocols import map_of
from isovist.io.logs.carmen import read_carmen
from isovist.localization import Answer, Verdict, is_same_place
from isovist.localization.locate import locate
from isovist.localization.settings import LocalizationSettings
from isovist.poses import Pose, pose_error
from isovist.sensing.scan_set import ScanSet

MAPPED = 5
"""Scans of a run that make the map."""
NOISE = 0.02, math.radians(1.0)
"""Of a motion: share of its length, and rad per m."""
ELLIPSE95 = -2.0 * math.log(0.05)


@dataclass(slots=True)
class Row:
    """What became of the questions of one kind."""

    right: int = 0
    unique: int = 0
    wrong: int = 0
    covered: int = 0
    seconds: float = 0.0

    def add(self, answer: Answer, truth: Pose, seconds: float) -> None:
        """Count one answer."""
        unique = answer.verdict is Verdict.UNIQUE
        best = answer.best
        right = best is not None and is_same_place(best.pose, truth, LocalizationSettings())
        self.right += right
        self.unique += unique
        self.wrong += unique and not right
        self.seconds += seconds
        if right and best is not None:
            d = best.pose.position[:2] - truth.position
            self.covered += bool(d @ np.linalg.solve(best.covariance[:2, :2], d) <= ELLIPSE95)


def thinned(log: ScanSet, apart: float) -> IntArray:
    """Numbers of usable scans, each at least so far, in m, from the one before."""
    kept: list[int] = []
    for i in np.flatnonzero(log.usable):
        here = Pose.from_vector(log.poses[i])
        if not kept or pose_error(here, Pose.from_vector(log.poses[kept[-1]]))[0] >= apart:
            kept.append(int(i))
    return np.array(kept)


def site(path: Path, scans: int, apart: float, count: int) -> None:
    """Both rows of one log."""
    log = read_carmen(path)
    index = thinned(log, apart)
    runs = [index[k : k + scans] for k in range(0, len(index), scans + MAPPED)]
    runs = [run for run in runs if len(run) == scans]
    atlas = build(map_of(log, np.setdiff1d(index, np.concatenate(runs))))
    if count and len(runs) > count:
        runs = [runs[k] for k in np.linspace(0, len(runs) - 1, count).astype(int)]
    random = np.random.default_rng(0)
    alone, together = Row(), Row()
    ways = []
    for run in runs:
        seen = [log.scan(int(i)) for i in run]
        poses = [Pose.from_vector(log.poses[i]) for i in run]
        motions = []
        for a, b in pairwise(poses):
            step = a.inverse @ b
            way = math.hypot(step.x, step.y)
            longer = 1.0 + NOISE[0] * random.normal()
            turn = NOISE[1] * way * random.normal()
            motions.append(Pose(step.x * longer, step.y * longer, step.yaw + turn))
            ways.append(way)
        for row, asked, moved in ((alone, seen[-1:], []), (together, seen, motions)):
            start = process_time()
            answer = locate(atlas, asked, motions=moved)
            row.add(answer, poses[-1], process_time() - start)
    for number, row in ((1, alone), (scans, together)):
        n = len(runs)
        print(
            f"| {path.name.split('.')[0]} | {n} | {number} | {np.median(ways):.1f} m | "
            f"{row.right / n:.1%} | {row.unique / n:.1%} | {row.wrong} | "
            f"{row.covered / max(row.right, 1):.0%} | {1e3 * row.seconds / n:.0f} ms |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOG")
    parser.add_argument("--scans", type=int, default=3)
    parser.add_argument("--apart", type=float, default=0.5, help="in m")
    parser.add_argument("--count", type=int, default=0, help="most questions of a log; 0 for all")
    given = parser.parse_args()
    print("| site | asked | scans | apart | right | unique | unique and wrong | coverage | CPU |")
    print("|---|---|---|---|---|---|---|---|---|")
    for path in given.logs:
        site(path, given.scans, given.apart, given.count)


if __name__ == "__main__":
    main()
