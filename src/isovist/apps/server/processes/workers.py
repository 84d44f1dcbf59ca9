"""Requests, answered by other processes: `isovist serve --workers N`.

What is done in Python has one lock in a process, which threads of many cores, or beside a card,
wait for.  So bodies of requests are handed as they came to processes of one core each, which read
them, work on them and write the answers: the server itself but passes bytes on, without threads.
They have the maps by their folders, of which each opens what it is asked about, and share the pages
in memory.  A robot that is followed stays with one of them.  One that ends by itself is replaced,
and what it was asked is asked again; the robots that it followed must begin anew.

    python -m isovist.apps.server.processes.worker

is one of them.
"""

import asyncio
import pickle
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from subprocess import Popen, TimeoutExpired
from typing import Any

from isovist.apps.server.batches import Batcher
from isovist.apps.server.handlers import Answered, Asked, Question
from isovist.apps.web.errors import RefusedError
from isovist.apps.web.limits import Limits
from isovist.atlas.library import Library
from isovist.localization.workers import ENDED, HEAD, PIPE, PROTOCOL, EndedError, begin

MODULE = "isovist.apps.server.processes.worker"
TOGETHER, TOGETHER_S = 8, 0.02
"""Requests that a worker is asked at a time, at most, and as many as take it so long, in s: they
are answered together, and on a card two of them take turns."""
PATIENCE = 5.0
"""So long a process that says nothing more has to end, in s."""


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    library: Library | None
    question: Question
    answer: "asyncio.Future[Answered]"


class Hired:
    """A worker process, restarted when it ends by itself.

    Attributes:
        line: Queue of requests that only this worker can answer.
        process: The operating system process.
        library: The maps that the worker has.

    Args:
        limits: Limits that are sent to the worker.
        module: Name of the Python module that the process runs.
    """

    def __init__(self, limits: Limits, module: str) -> None:
        self.line, self._limits, self._turn = deque[_Job](), limits, asyncio.Lock()
        self._module = module
        self._begin()

    def _begin(self) -> None:
        self.process: Popen[bytes] = begin(self._module)
        self.library: Library | None = None
        self._pipes: _Pipes | None = None

    async def ask(self, asked: Asked) -> list[Answered]:
        """Send requests to the worker and return its answers.

        When the worker ends by itself, a new one is asked the requests again, one by one.
        """
        async with self._turn:
            try:
                return await self._ask(asked)
            except EndedError:
                await self._renew()
            if not asked.questions:
                return await self._ask(asked)
            told = []
            for question in asked.questions:
                try:
                    told += await self._ask(Asked(asked.library, [question]))
                except EndedError as error:  # no fault of the others
                    told.append(Answered(error=RefusedError(503, str(error))))
                    await self._renew()
            return told

    async def _renew(self) -> None:
        await self.close()
        self._begin()

    async def _ask(self, asked: Asked) -> list[Answered]:
        packed = b""
        if self._pipes is None:
            self._pipes = await _Pipes.of(self.process)
            packed = pickle.dumps(self._limits, PROTOCOL)
        known = asked.library is None or asked.library is self.library
        self.library = self.library if known else asked.library
        packed += pickle.dumps(Asked(None, asked.questions) if known else asked, PROTOCOL)
        try:
            told = pickle.loads(await self._pipes.ask(packed))
        except (asyncio.IncompleteReadError, OSError):
            raise EndedError(ENDED.format(await asyncio.to_thread(_end, self.process))) from None
        if isinstance(told, Exception):
            raise told
        answered: list[Answered] = told
        return answered

    async def close(self) -> None:
        """End the worker process and close its pipes."""
        await asyncio.to_thread(_end, self.process, 0.0)
        ends: Sequence[Any] = (self.process.stdin, self.process.stdout)
        for end in ends if self._pipes is None else self._pipes.ends:
            end.close()


class Workers:
    """Pool of worker processes that answer requests, all managed in one asyncio loop.

    Attributes:
        count: Number of workers.

    Args:
        count: Number of workers.
        limits: Limits that are sent to the workers.
        batches: Counts the answered batches and keeps the pace.
        module: Name of the Python module that the processes run.
    """

    def __init__(self, count: int, limits: Limits, batches: Batcher, module: str = MODULE) -> None:
        self.count, self._batches = count, batches
        self._all = [Hired(limits, module) for _ in range(count)]
        self._free, self._line = list(self._all), deque[_Job]()
        self._tasks: set[asyncio.Task[None]] = set()

    async def warm_up(self, library: Library) -> None:
        """Wait until all workers have started and have compiled what the maps need."""
        await asyncio.gather(*(one.ask(Asked(library, ())) for one in self._all))

    def least(self, taken: Iterable[Hired]) -> Hired:
        """Return the worker that appears least often among the given ones."""
        often = Counter(map(id, taken))
        return min(self._all, key=lambda one: often[id(one)])

    def ask(
        self, library: Library | None, question: Question, one: Hired | None = None
    ) -> "asyncio.Future[Answered]":
        """Return a future for the answer of the first free worker, or of a given worker.

        Without a library the request is about a tracking session, not about maps.
        """
        answer: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        line = self._line if one is None else one.line
        line.append(_Job(library, question, answer))
        self._hand_out()
        return answer

    def _hand_out(self) -> None:
        """Give those who are free what they can do; what no other can do goes first."""
        for one in list(self._free):
            jobs: list[_Job] = []
            while not jobs and (one.line or self._line):
                line, hands = (one.line, 1) if one.line else (self._line, self.count)
                share = -(-len(line) // hands)
                some = [line.popleft() for _ in range(min(share, self._most()))]
                jobs = [job for job in some if not job.answer.done()]  # nobody waits for the others
            if jobs:
                self._free.remove(one)
                task = asyncio.create_task(self._answer(one, jobs))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def _most(self) -> int:
        """Requests that a worker is asked at a time."""
        each = self._batches.pace * self.count
        return max(min(TOGETHER, int(TOGETHER_S / each)), 1) if each > 0.0 else 1

    async def _answer(self, one: Hired, jobs: Sequence[_Job]) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        try:
            for _, some in groupby(jobs, lambda job: id(job.library)):
                await _answer_each(one, list(some))
        finally:
            self._batches.note(len(jobs), (loop.time() - start) / self.count)
            self._free.append(one)
            self._hand_out()

    async def close(self) -> None:
        """End all worker processes."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*(one.close() for one in self._all))


async def _answer_each(one: Hired, jobs: Sequence[_Job]) -> None:
    """Have a worker answer, about the same maps."""
    try:
        told = await one.ask(Asked(jobs[0].library, [job.question for job in jobs]))
    except Exception as error:  # whoever waits is told
        told = [Answered(error=error) for _ in jobs]
    for job, answered in zip(jobs, told, strict=True):
        if not job.answer.done():
            job.answer.set_result(answered)


def _end(process: Popen[bytes], patience: float = PATIENCE) -> int:
    """The code that a process ends with, by itself or, when that takes longer, not."""
    try:
        return process.wait(patience)
    except TimeoutExpired:
        process.kill()
        return process.wait()


@dataclass(frozen=True, slots=True, eq=False)
class _Pipes:
    """To a process and from it.

    Attributes:
        read: What it says.
        ends: For writing, and for reading.
    """

    read: asyncio.StreamReader
    ends: tuple[asyncio.WriteTransport, asyncio.ReadTransport]

    @classmethod
    async def of(cls, process: Popen[bytes]) -> "_Pipes":
        """Those that a process was begun with."""
        loop, read = asyncio.get_running_loop(), asyncio.StreamReader(limit=PIPE)
        protocol = asyncio.StreamReaderProtocol(read)
        reading, _ = await loop.connect_read_pipe(lambda: protocol, process.stdout)
        writing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        return cls(read, (writing, reading))

    async def ask(self, packed: bytes) -> bytes:
        """What it says to this."""
        self.ends[0].write(packed)
        size = int.from_bytes(await self.read.readexactly(HEAD), "little")
        return await self.read.readexactly(size)
