"""A pool of worker processes: `isovist serve --workers N`.

Python runs one thread of a process at a time, so threads of one process wait for each other.
Therefore the server passes the bodies of requests to processes with one core each, which parse
them, compute and write the answers. Workers open the maps themselves and share their pages in
memory. A tracked robot stays with one worker. A worker that ends by itself is started again and
gets its requests again; the robots that it tracked must begin a new session.
"""

import asyncio
import os
import pickle
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import isovist as iv
from isovist.apps.server.processes.messages import Batch, Call, Reply
from isovist.apps.web import Limits, RefusedError, answer_timeout, overloaded
from isovist.localization import (
    PICKLE_PROTOCOL,
    SINGLE_CORE,
    SIZE_BYTES,
    WORKER_ENDED,
    WorkerEndedError,
)

MODULE = "isovist.apps.server.processes.worker"
EXIT_TIMEOUT_S = 5.0
PACE_MEMORY = 0.7


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    library: iv.Library | None
    call: Call
    reply: "asyncio.Future[Reply]"


class WorkerProcess:
    """A worker process, started when it is first needed and again when it ends by itself.

    Attributes:
        queue: Requests that only this worker can answer.
        process: The operating system process; `None` before it has started.

    Args:
        limits: Limits that are sent to the worker.
        module: Name of the Python module that the process runs.
        environment: Environment variables of the process besides those of the server.
    """

    def __init__(self, limits: Limits, module: str, environment: Mapping[str, str]) -> None:
        self.queue = deque[_Job]()
        self._limits, self._module, self._environment = limits, module, environment
        self._turn = asyncio.Lock()
        self.process: Process | None = None
        self._library: iv.Library | None = None

    async def ask(self, batch: Batch) -> list[Reply]:
        """Send requests to the worker and return its replies.

        If the worker ends by itself, a new one gets the requests one by one, so that a request
        that ends a worker takes no others along.
        """
        async with self._turn:
            try:
                return await self._send(batch)
            except WorkerEndedError:
                await self.close()
            if not batch.calls:
                return await self._send(batch)
            replies: list[Reply] = []
            for call in batch.calls:
                try:
                    replies += await self._send(Batch(batch.library, [call]))
                except WorkerEndedError as error:
                    replies.append(Reply(error=RefusedError(503, str(error))))
                    await self.close()
            return replies

    async def _send(self, batch: Batch) -> list[Reply]:
        message = b""
        if self.process is None:
            environment = {**os.environ, **self._environment}
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", self._module, stdin=PIPE, stdout=PIPE, env=environment
            )
            self._library = None
            message = pickle.dumps(self._limits, PICKLE_PROTOCOL)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if batch.library is self._library:
            batch = Batch(None, batch.calls)
        elif batch.library is not None:
            self._library = batch.library
        message += pickle.dumps(batch, PICKLE_PROTOCOL)
        try:
            self.process.stdin.write(message)
            size = int.from_bytes(await self.process.stdout.readexactly(SIZE_BYTES), "little")
            replies = pickle.loads(await self.process.stdout.readexactly(size))
        except (asyncio.IncompleteReadError, OSError):
            raise WorkerEndedError(WORKER_ENDED.format(await self._exit_code())) from None
        if isinstance(replies, Exception):
            raise replies
        checked: list[Reply] = replies
        return checked

    async def _exit_code(self) -> int:
        """Return the exit code of a process that has closed its output."""
        assert self.process is not None
        try:
            return await asyncio.wait_for(self.process.wait(), EXIT_TIMEOUT_S)
        except TimeoutError:
            self.process.kill()
            return await self.process.wait()

    async def close(self) -> None:
        """End the worker process."""
        process, self.process = self.process, None
        if process is not None:
            if process.returncode is None:
                process.kill()
            await process.wait()


class WorkerPool:
    """A pool of worker processes that answer requests, managed in one event loop.

    Attributes:
        count: Number of workers.
        waiting: Number of requests that have no reply yet.
        batches: Number of batches so far, and number of requests in all of them.
        pace_s: Recent mean time per request, in s.

    Args:
        count: Number of workers.
        limits: Limits on waiting requests; they are sent to the workers too.
        module: Name of the Python module that the processes run.
        environment: Environment variables of the processes; by default each uses one core.
    """

    def __init__(
        self,
        count: int,
        limits: Limits,
        module: str = MODULE,
        environment: Mapping[str, str] = SINGLE_CORE,
    ) -> None:
        self.count, self.limits = count, limits
        self.waiting, self.batches, self.pace_s = 0, (0, 0), 0.0
        self._workers = [WorkerProcess(limits, module, environment) for _ in range(count)]
        self._idle, self._queue = list(self._workers), deque[_Job]()
        self._tasks: set[asyncio.Task[None]] = set()

    async def warm_up(self, library: iv.Library) -> None:
        """Start all workers and compile the kernels that the maps need, in the first one first."""
        batch, (first, *others) = Batch(library, ()), self._workers
        await first.ask(batch)
        await asyncio.gather(*(worker.ask(batch) for worker in others))

    def least_used(self, homes: Iterable[WorkerProcess]) -> WorkerProcess:
        """Return the worker that tracks the fewest robots."""
        robots = Counter(map(id, homes))
        return min(self._workers, key=lambda worker: robots[id(worker)])

    async def ask(
        self, call: Call, library: iv.Library | None = None, worker: WorkerProcess | None = None
    ) -> Reply:
        """Send a request to an idle worker, or to a given worker, and return its reply.

        Args:
            call: The request.
            library: The maps; `None` for a request about a tracking session.
            worker: The worker that tracks the robot of the request.
        """
        wait_s, limits = self.waiting * self.pace_s, self.limits
        # The pace is an estimate, so a request may wait for half of the time limit only.
        if self.waiting >= limits.max_waiting or wait_s > 0.5 * limits.answer_timeout_s:
            raise overloaded(self.waiting, max(limits.retry_after_s, round(0.5 * wait_s)))
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        queue = self._queue if worker is None else worker.queue
        queue.append(_Job(library, call, reply))
        self._hand_out()
        self.waiting += 1
        try:
            return await asyncio.wait_for(reply, limits.answer_timeout_s)
        except TimeoutError:
            raise answer_timeout(limits) from None
        finally:
            self.waiting -= 1

    def _hand_out(self) -> None:
        """Give each idle worker a batch; requests that only it can answer go first."""
        for worker in list(self._idle):
            jobs: list[_Job] = []
            while not jobs and (worker.queue or self._queue):
                queue, workers = (worker.queue, 1) if worker.queue else (self._queue, self.count)
                share = min(-(-len(queue) // workers), self._batch_size())
                batch = [queue.popleft() for _ in range(share)]
                jobs = [job for job in batch if not job.reply.done()]  # else its client has left
            if jobs:
                self._idle.remove(worker)
                task = asyncio.create_task(self._work(worker, jobs))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def _batch_size(self) -> int:
        request_s = self.pace_s * self.count
        if request_s == 0.0:
            return 1
        return max(min(self.limits.max_batch, int(self.limits.batch_s / request_s)), 1)

    async def _work(self, worker: WorkerProcess, jobs: Sequence[_Job]) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        try:
            for _, same_maps in groupby(jobs, lambda job: id(job.library)):
                await _answer(worker, list(same_maps))
        finally:
            self.note(len(jobs), loop.time() - start)
            self._idle.append(worker)
            self._hand_out()

    def note(self, requests: int, seconds: float) -> None:
        """Count an answered batch of a worker, and update the mean time per request."""
        self.batches = self.batches[0] + 1, self.batches[1] + requests
        pace_s = seconds / (self.count * requests)
        last_s = self.pace_s or pace_s
        self.pace_s = PACE_MEMORY * last_s + (1.0 - PACE_MEMORY) * pace_s

    async def close(self) -> None:
        """End all worker processes."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*(worker.close() for worker in self._workers))


async def _answer(worker: WorkerProcess, jobs: Sequence[_Job]) -> None:
    """Let a worker answer requests about the same maps."""
    try:
        replies = await worker.ask(Batch(jobs[0].library, [job.call for job in jobs]))
    except Exception as error:  # the clients get it
        replies = [Reply(error=error) for _ in jobs]
    for job, reply in zip(jobs, replies, strict=True):
        if not job.reply.done():
            job.reply.set_result(reply)
