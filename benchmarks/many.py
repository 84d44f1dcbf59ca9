"""How much faster `locate_many` is than a loop of `locate`, on the cores there are.

    python -m benchmarks.many [--count N] [--rounds N] LOG.log.gz…

Queries are those of `isovist bench carmen`, N of each log.  Both ways are run in turn, several
times; a row tells the least wall time of a scan of each, their ratio, what both took of the CPU,
and the share of it that is spent in compiled loops, which a loop of `locate` shares out too: with
that share p and c cores no way of sharing out can be faster than (1 − p + p/c) c.  Bar: 1.6 on two
free cores.  Exits with 1 when an answer differs.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any

from isovist.atlas.build import build
from isovist.bench.trials import carmen_trials
from isovist.io.logs.carmen import read_carmen
from isovist.kernels import threads
from isovist.kernels.compiled import Kernel
from isovist.localization.answer import Answer
from isovist.localization.locate import locate
from isovist.localization.many import locate_many

BAR = 1.6


def clocked(work: Callable[[], list[Answer]]) -> tuple[list[Answer], float, float]:
    """Answers, wall and CPU time in s."""
    start = perf_counter(), process_time()
    answers = work()
    return answers, perf_counter() - start[0], process_time() - start[1]


def compiled_share(work: Callable[[], list[Answer]]) -> float:
    """Share of the time of one thread that is spent in compiled loops."""
    plain, inside = Kernel.__call__, 0.0

    def call(self: Kernel, *arguments: Any) -> Any:
        nonlocal inside
        start = thread_time()
        try:
            return plain(self, *arguments)
        finally:
            inside += thread_time() - start

    cores, threads.COUNT = threads.COUNT, 1
    Kernel.__call__ = call  # type: ignore[method-assign]
    try:
        start = thread_time()
        work()
        return inside / (thread_time() - start)
    finally:
        Kernel.__call__ = plain  # type: ignore[method-assign]
        threads.COUNT = cores


def same(one: Answer, other: Answer) -> bool:
    """Whether two answers are the same but for their times."""
    rows = [
        [(e.pose.vector.tobytes(), e.covariance.tobytes(), e.probability) for e in a.estimates]
        for a in (one, other)
    ]
    return rows[0] == rows[1] and (one.verdict, one.advice) == (other.verdict, other.advice)


def main() -> None:
    """Print a row for each log."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOG")
    parser.add_argument("--count", type=int, default=100, help="queries of each log")
    parser.add_argument("--rounds", type=int, default=3, help="how often both ways are run")
    given = parser.parse_args()
    print(
        "| site | scans | loop ms | many ms | ratio | loop CPU ms | many CPU ms | compiled | "
        f"at most |\n{'|---' * 9}|"
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

        ran = [(clocked(loop), clocked(many)) for _ in range(given.rounds)]
        for (one, *_), (other, *_) in ran:
            differing += sum(not same(a, b) for a, b in zip(one, other, strict=True))
        wall, cpu = (
            [min(both[way][k] for both in ran) * 1e3 / len(scans) for way in (0, 1)] for k in (1, 2)
        )
        share, cores = compiled_share(loop), threads.COUNT
        cells = [f"{value:.1f}" for value in (*wall, wall[0] / wall[1], *cpu)]
        cells[2] = f"{wall[0] / wall[1]:.2f}"
        most = (1.0 - share + share / cores) * cores
        site = path.name.split(".")[0].removesuffix("-corrected")
        print(f"| {site} | {len(scans)} | {' | '.join(cells)} | {share:.0%} | {most:.2f} |")
    print(f"bar {BAR} on two free cores; {differing} answers differ")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
