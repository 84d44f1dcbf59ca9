"""Processes that run cases within limits of time and memory, and are replaced when they die."""

import math
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing import connection, get_context
from pathlib import Path
from typing import Any

from benchmarks.fuzz.cases import Outcome, run_case, warm

LIMIT_S, MEMORY = 30.0, 4 << 30


def work(pipe: Any, folder: Path, seed: int) -> None:
    """A process that answers numbers with outcomes, within limits."""
    import resource
    import warnings

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # a panic of a compiled part prints itself
    warm(folder)
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    pipe.send(None)
    while True:
        pipe.send(run_case(folder, seed, *pipe.recv()))


@dataclass
class Worker:
    """A process and the case that it is at.

    Attributes:
        folder: Of the seeds.
        seed: Of all that is random.
        case: Kind and number of the case, or `None` before the first.
        since: When it began, in s.
    """

    folder: Path
    seed: int
    case: tuple[str, int] | None = None
    since: float = 0.0
    process: Any = field(init=False)
    pipe: Any = field(init=False)

    def __post_init__(self) -> None:
        context = get_context("spawn")
        self.pipe, other = context.Pipe()
        arguments = (other, self.folder, self.seed)
        self.process = context.Process(target=work, args=arguments, daemon=True)
        self.process.start()
        other.close()
        self.case, self.since = None, time.monotonic()

    def give(self, case: tuple[str, int]) -> None:
        """Begin a case."""
        self.case, self.since = case, time.monotonic()
        self.pipe.send(case)

    @property
    def late(self) -> bool:
        """Whether its case takes too long; the first also loads what is compiled."""
        return self.case is not None and time.monotonic() - self.since > LIMIT_S

    def end(self) -> None:
        """Stop it, whatever it does."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def outcomes(
    folder: Path, seed: int, kinds: list[str], count: int, seconds: float, jobs: int
) -> Iterator[Outcome]:
    """What came of cases of some kinds, as they end; at most so many, begun in so many seconds.

    These count from when a process is ready, so that there are cases on a slow machine, too.  Every
    kind gets the same time: the next case is of the one that has had the least, so that the dear
    ones (a scan in space, a command line) leave room for very many of the cheap ones.
    """
    spent, given, until = dict.fromkeys(kinds, 0.0), Counter[str](), math.inf
    workers = [Worker(folder, seed) for _ in range(jobs)]
    try:
        while workers:
            ready = connection.wait([worker.pipe for worker in workers], timeout=1.0)
            for worker in list(workers):
                finding = ""
                if worker.pipe in ready:
                    try:
                        outcome = worker.pipe.recv()
                    except EOFError:
                        worker.process.join()
                        finding = f"the process died ({worker.process.exitcode})"
                    else:
                        if outcome is not None:
                            spent[outcome.row] += time.monotonic() - worker.since
                            yield outcome
                        until = min(until, time.monotonic() + seconds)
                elif worker.late:
                    finding = f"more than {LIMIT_S:g} s"
                else:
                    continue
                if finding:
                    if worker.case is None:
                        raise RuntimeError(f"A process cannot start: {finding}.")
                    spent[worker.case[0]] += time.monotonic() - worker.since
                    yield Outcome(*worker.case, finding=finding)
                    worker.end()
                    workers.remove(worker)
                    worker = Worker(folder, seed)  # noqa: PLW2901
                    workers.append(worker)
                elif given.total() < count and time.monotonic() < until:
                    row = min(spent, key=lambda row: spent[row])
                    worker.give((row, given[row]))
                    given[row] += 1
                else:
                    worker.end()
                    workers.remove(worker)
    finally:
        for worker in workers:
            worker.end()
