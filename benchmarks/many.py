"""How much faster `locate_many` is than a loop of `locate`, on the cores there are.

    python -m benchmarks.many [--count N] [--rounds N] LOG.log.gz…

Queries are those of `isovist bench carmen`, N of each log.  Both ways are run in turn, several
times, and a loop of `locate` that is held to one core; a row tells the least wall time of a scan of
each, what both ways took of the CPU, and by how much `locate_many` is faster than either loop.
`locate` shares its compiled loops out among the cores by itself, so that with c cores nobody who
does the same work can be faster than c times the loop's time over that of one core: that is `at
most`.  Bar: 1.6 on two free cores.  Exits with 1 when an answer differs.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from isovist.atlas.build import build
from isovist.compute.infra import threads
from isovist.evaluation.protocols import carmen_trials
from isovist.io.logs.carmen import read_carmen
from isovist.localization import Answer
from isovist.localization.locate import locate
from isovist.localization.locate_many import locate_many

BAR = 1.6


def clocked(work: Callable[[], list[Answer]]) -> tuple[list[Answer], float, float]:
    """Answers, wall and CPU time in s."""
    start = perf_counter(), process_time()
    answers = work()
    return answers, perf_counter() - start[0], process_time() - start[1]


def on_one_core(work: Callable[[], list[Answer]]) -> Callable[[], list[Answer]]:
    """The same, whose loops are not shared out."""

    def alone() -> list[Answer]:
        with threads.single_threaded():
            return work()

    return alone


def same(one: Answer, other: Answer) -> bool:
    """Whether two answers are the same but for their times."""
    rows = [
        [(e.pose.vector.tobytes(), e.covariance.tobytes(), e.probability) for e in a.estimates]
        for a in (one, other)
    ]
    return rows[0] == rows[1] and (one.verdict, one.reasons) == (other.verdict, other.reasons)


def main() -> None:
    """Print a row for each log."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOG")
    parser.add_argument("--count", type=int, default=100, help="queries of each log")
    parser.add_argument("--rounds", type=int, default=3, help="how often both ways are run")
    given = parser.parse_args()
    print(
        "| site | scans | loop ms | one core ms | many ms | ratio | of one core | at most | "
        f"loop CPU ms | many CPU ms |\n{'|---' * 10}|"
    )
    differing = 0
    for path in given.logs:
        world, trials = carmen_trials(read_carmen(path))
        atlas, scans = build(world), [t.scan() for t in trials[:: -(-len(trials) // given.count)]]
        locate(atlas, scans[0])

        def loop(atlas: Any = atlas, scans: Any = scans) -> list[Answer]:
            return [locate(atlas, scan) for scan in scans]

        def many(atlas: Any = atlas, scans: Any = scans) -> list[Answer]:
            return locate_many(atlas, scans)

        ways = loop, many, on_one_core(loop)
        ran = [[clocked(way) for way in ways] for _ in range(given.rounds)]
        for (one, *_), (other, *_), _ in ran:
            differing += sum(not same(a, b) for a, b in zip(one, other, strict=True))
        spent = np.array([[one[1:] for one in told] for told in ran]).min(axis=0)
        (looped, shared, single), cpu = 1e3 / len(scans) * spent.T
        most = threads.THREADS * looped / single
        ratios = looped / shared, single / shared, most
        cells = [f"{value:.1f}" for value in (looped, single, shared)]
        cells += [f"{value:.2f}" for value in ratios] + [f"{value:.1f}" for value in cpu[:2]]
        site = path.name.split(".")[0].removesuffix("-corrected")
        print(f"| {site} | {len(scans)} | {' | '.join(cells)} |", flush=True)
    print(f"bar {BAR} on two free cores; {differing} answers differ")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
