"""Scans that come at about the same time are located together.

The first scan of a map waits a moment for others; those that come while a batch is located still
get into it, up to its size, and whoever has an answer is told at once.  Batches are worked on by
one thread, one after the other, each with all cores; what is asked about single scans goes on
beside them, or elsewhere (`workers`).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from isovist.apps.web.errors import busy, late
from isovist.apps.web.limits import Limits

T = TypeVar("T")
Run = Callable[[Iterator[Any]], Iterable[Any]]
"""Answers jobs, in order; an exception is the answer of the job that it stands for."""
_Future = asyncio.Future[Any]
_Line = deque[tuple[Any, _Future]]
BESIDE = 2
"""Threads for what is not located in batches."""


class Batcher:
    """Queues that group jobs of one kind into batches, and the threads that answer them.

    Attributes:
        waiting: Jobs that have no answer yet.
        sizes: Number of batches so far, and number of jobs in all of them.
        pace: Recent mean time per job, in s.

    Args:
        limits: Limits on batch size, queue length and waiting time.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.waiting = 0
        self.sizes = (0, 0)
        self.pace = 0.0
        self._lines: dict[Hashable, _Line] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._batches = ThreadPoolExecutor(1, thread_name_prefix="isovist-batch")
        self._beside = ThreadPoolExecutor(BESIDE, thread_name_prefix="isovist-beside")

    async def ask(self, kind: Hashable, job: Any, run: Run) -> Any:
        """Return the answer to a job, which is computed in a batch with other jobs of its kind.

        Args:
            kind: Key of the batch queue; jobs of one kind have the same `run`.
            job: The job, as `run` takes it.
            run: Answers jobs of this kind in order; runs in a thread of its own.
        """
        answer: _Future = asyncio.get_running_loop().create_future()
        line = self._lines.get(kind)
        self._check()
        if line is None:
            line = self._lines[kind] = deque()
            task = asyncio.create_task(self._work(kind, line, run))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        line.append((job, answer))
        return await self._in_time(answer)

    async def elsewhere(self, ask: Callable[[], "asyncio.Future[T]"]) -> T:
        """Return an answer computed elsewhere, such as by a worker process, within the time limit.

        Whoever computes the answer reports its batch by `note`.
        """
        self._check()
        return await self._in_time(ask())

    def note(self, jobs: int, spent: float) -> None:
        """Count a batch that was answered elsewhere, with its share of the work time in s."""
        self.sizes = self.sizes[0] + 1, self.sizes[1] + jobs
        self._keep_pace(jobs, spent)

    def _keep_pace(self, jobs: int, spent: float) -> None:
        each = spent / jobs
        self.pace = each if self.pace == 0.0 else 0.7 * self.pace + 0.3 * each

    async def beside(self, work: Callable[[], T]) -> T:
        """Run a single job in a thread beside the batches and return its result."""
        self._check()
        running = asyncio.get_running_loop().run_in_executor(self._beside, work)
        return await self._in_time(running)

    def _check(self) -> None:
        """Refuse what could not be answered in time: who is told so early can ask elsewhere."""
        wait = self.waiting * self.pace
        if self.waiting >= self.limits.queue or wait > 0.5 * self.limits.seconds:
            raise busy(self.waiting, max(self.limits.retry_s, round(0.5 * wait)))

    async def _in_time(self, answer: "asyncio.Future[T]") -> T:
        self.waiting += 1
        try:
            return await asyncio.wait_for(answer, self.limits.seconds)
        except TimeoutError:
            raise late(self.limits) from None
        finally:
            self.waiting -= 1

    async def _work(self, kind: Hashable, line: _Line, run: Run) -> None:
        """Work on a line until nobody stands in it."""
        loop = asyncio.get_running_loop()

        def tell(answer: _Future, told: Any) -> None:
            loop.call_soon_threadsafe(self._tell, answer, told)

        try:
            await asyncio.sleep(self.limits.gather_s)
            while line:
                if line[0][1].done():
                    line.popleft()
                    continue
                self.sizes = self.sizes[0] + 1, self.sizes[1]
                start, work = loop.time(), partial(_answer, line, self.limits.batch, run, tell)
                count = await loop.run_in_executor(self._batches, work)
                if count:
                    self._keep_pace(count, loop.time() - start)
        finally:
            del self._lines[kind]

    def _tell(self, answer: _Future, told: Any) -> None:
        """Give an answer to who still waits for it."""
        self.sizes = self.sizes[0], self.sizes[1] + 1
        if answer.done():
            return
        if isinstance(told, Exception):
            answer.set_exception(told)
        else:
            answer.set_result(told)

    def close(self) -> None:
        """Wait for the jobs in progress, and end the threads."""
        self._batches.shutdown()
        self._beside.shutdown()


def _answer(line: _Line, most: int, run: Run, tell: Callable[[_Future, Any], object]) -> int:
    """Answer those who stand in a line, and who comes meanwhile, each at once.

    Args:
        line: Left by whoever is worked on.
        most: How many at most.
        run: Works on jobs.
        tell: Gives an answer to who waits for it.

    Returns:
        How many they were.
    """
    begun: deque[_Future] = deque()
    count = 0

    def jobs() -> Iterator[Any]:
        nonlocal count
        while line and count < most:
            job, answer = line.popleft()
            if not answer.done():  # else nobody waits for it any more
                begun.append(answer)
                count += 1
                yield job

    try:
        for told in run(jobs()):
            tell(begun.popleft(), told)
    except Exception as error:
        for answer in begun:
            tell(answer, error)
    return count
