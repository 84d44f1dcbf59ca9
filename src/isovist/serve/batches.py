"""Scans that come at about the same time are located together.

The first scan of a map waits a moment for others; while a batch is located, the next gathers by
itself.  Batches are worked on by one thread, one after the other, each with all cores; what is
asked about single scans goes on beside them, or elsewhere (`workers`).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from isovist.serve.errors import busy, late
from isovist.serve.limits import Limits

T = TypeVar("T")
Run = Callable[[Sequence[Any]], Sequence[Any]]
"""Answers jobs, in order; an exception is the answer of the job that it stands for."""
_Line = deque[tuple[Any, "asyncio.Future[Any]"]]
BESIDE = 2
"""Threads for what is not located in batches."""


class Batcher:
    """Lines of jobs, one for each kind, and the threads that work on them.

    Attributes:
        waiting: Jobs that have no answer yet.
        sizes: Of the batches so far: how many, and jobs in all.
        pace: What a job took lately, in s.

    Args:
        limits: Of batches and of lines.
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
        """The answer of a job, worked on together with others of its kind.

        Args:
            kind: Jobs of one kind have the same `run`.
            job: What is asked.
            run: Works on jobs of this kind, in a thread of its own.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
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
        """An answer that others give, who are asked where it can come in time; they `note` it."""
        self._check()
        return await self._in_time(ask())

    def note(self, jobs: int, spent: float) -> None:
        """A batch that took so many s of all that work on batches."""
        self.sizes = self.sizes[0] + 1, self.sizes[1] + jobs
        each = spent / jobs
        self.pace = each if self.pace == 0.0 else 0.7 * self.pace + 0.3 * each

    async def beside(self, work: Callable[[], T]) -> T:
        """What some work gives that is not done in batches."""
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
        try:
            await asyncio.sleep(self.limits.gather_s)
            while line:
                some = [line.popleft() for _ in range(min(len(line), self.limits.batch))]
                some = [(job, answer) for job, answer in some if not answer.done()]
                if not some:
                    continue
                told: Sequence[Any]
                start = loop.time()
                try:
                    told = await loop.run_in_executor(self._batches, run, [job for job, _ in some])
                except Exception as error:
                    told = [error] * len(some)
                self.note(len(some), loop.time() - start)
                for (_, answer), result in zip(some, told, strict=True):
                    if answer.done():
                        continue
                    if isinstance(result, Exception):
                        answer.set_exception(result)
                    else:
                        answer.set_result(result)
        finally:
            del self._lines[kind]

    def close(self) -> None:
        """Wait for what is being worked on, and end the threads."""
        self._batches.shutdown()
        self._beside.shutdown()
