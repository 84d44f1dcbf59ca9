"""Does `check` tell right poses from wrong ones?

    python -m benchmarks.check LOG.log.gz… [--count N]

The maps and queries are those of `isovist bench carmen`, N of each log spread evenly, or all.  Each
query is checked at its own pose, 1 m off in a random direction, 15° off, and, where `locate` calls
it ambiguous, at each rival that is not its own pose.  Bars, over all logs: own poses agree in 97 %
of those that can be told, poses 1 m and 15° off disagree in 99 % of those, rivals agree in none,
and 5 ms for the median check.  Exits with 1 where a bar of a verdict is missed.
"""

import argparse
import math
import sys
from collections import Counter
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from isovist.atlas.build import build
from isovist.evaluation.protocols import carmen_trials
from isovist.io.logs.carmen import read_carmen
from isovist.localization import Verdict, check, is_same_place
from isovist.localization.locate import locate
from isovist.localization.settings import LocalizationSettings
from isovist.poses import Pose
from isovist.sensing.scan import Scan

KINDS = ("own pose", "1 m off", "15° off", "rivals")
OFF = (1.0, math.radians(15.0))
BARS = {
    "own pose": ("agrees", 0.97),
    "1 m off": ("disagrees", 0.99),
    "15° off": ("disagrees", 0.99),
}
SLOWEST = 5.0  # ms, of the median
USUAL = LocalizationSettings()
Counts = dict[str, Counter[str]]


def ask(path: Path, count: int | None) -> tuple[Counts, list[tuple[float, float]], list[float]]:
    """Verdicts by kind of pose, wall and CPU time of checks, and CPU time of `locate`, in ms."""
    world, trials = carmen_trials(read_carmen(path))
    atlas = build(world)
    few = min(count or len(trials), len(trials))
    random = np.random.default_rng(0)
    told: Counts = {kind: Counter() for kind in KINDS}
    asked: list[tuple[str, Scan, Pose]] = []
    spent, located = [], []
    for k in np.linspace(0, len(trials) - 1, few).astype(int):
        scan, truth = trials[k].scan(), trials[k].truth
        assert isinstance(scan, Scan)
        assert isinstance(truth, Pose)
        way, side = random.uniform(0.0, 2.0 * math.pi), random.choice([-1.0, 1.0])
        x, y = truth.x + OFF[0] * math.cos(way), truth.y + OFF[0] * math.sin(way)
        asked += [
            ("own pose", scan, truth),
            ("1 m off", scan, Pose(x, y, truth.yaw)),
            ("15° off", scan, Pose(truth.x, truth.y, truth.yaw + side * OFF[1])),
        ]
        start = process_time()
        answer = locate(atlas, scan)
        located.append(1e3 * (process_time() - start))
        if answer.verdict is Verdict.AMBIGUOUS and answer.rivals:
            places = [answer.estimates[0], *answer.rivals]
            asked += [
                ("rivals", scan, e.pose)
                for e in places
                if isinstance(e.pose, Pose) and not is_same_place(e.pose, truth, USUAL)
            ]
    for kind, scan, pose in asked:  # one after the other, as a watchdog asks
        clock = perf_counter(), process_time()
        told[kind][check(atlas, scan, pose).verdict] += 1
        spent.append((1e3 * (perf_counter() - clock[0]), 1e3 * (process_time() - clock[1])))
    return told, spent, located


def row(site: str, told: Counts, spent: list[tuple[float, float]], located: list[float]) -> str:
    """One line of the table: agrees / disagrees / cannot tell of each kind, and times."""
    verdicts = ("agrees", "disagrees", "cannot tell")
    cells = [" / ".join(str(told[kind][verdict]) for verdict in verdicts) for kind in KINDS]
    wall, cpu = np.median(spent, axis=0)
    share = cpu / np.median(located)
    return f"| {site} | {' | '.join(cells)} | {wall:.1f} | {cpu:.1f} | {share:.2f} |"


def main() -> None:
    """Print the table and the bars."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOG")
    parser.add_argument("--count", type=int, help="queries of each log; all if not given")
    given = parser.parse_args()
    head = f"| site | {' | '.join(KINDS)} | median ms | CPU ms | of `locate` |"
    print(f"{head}\n{'|---' * 8}|", flush=True)
    total: Counts = {kind: Counter() for kind in KINDS}
    times: list[tuple[float, float]] = []
    whole: list[float] = []
    for path in given.logs:
        told, spent, located = ask(path, given.count)
        site = path.name.split(".")[0].removesuffix("-corrected")
        print(row(site, told, spent, located), flush=True)
        times, whole = times + spent, whole + located
        for kind, counts in told.items():
            total[kind] += counts
    print(row("all", total, times, whole))
    missed = []
    for kind, (wanted, bar) in BARS.items():
        known = total[kind]["agrees"] + total[kind]["disagrees"]
        share = total[kind][wanted] / max(known, 1)
        print(f"{kind}: {wanted} in {share:.2%} of {known} that can be told (bar {bar:.0%})")
        missed += [kind] * (share < bar)
    rivals = total["rivals"]
    agree = rivals["agrees"] / max(rivals.total(), 1)
    print(f"rivals of ambiguous scans: {agree:.2%} of {rivals.total()} agree (bar 0%)")
    print(f"median {np.median(times, axis=0)[0]:.1f} ms (bar {SLOWEST:g} ms)")
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
