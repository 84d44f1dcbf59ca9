"""Locate scans in worker processes, since threads of one process share Python's lock.

    python -m isovist.localization.workers

runs a worker.  It reads a search space and then groups of scans from its standard input, and writes
the answers to its standard output.  It imports nothing of the program that started it, so scripts
need no `if __name__ == "__main__"`.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from queue import SimpleQueue
from threading import Lock
from typing import Any, BinaryIO

from isovist.arrays import check_whole
from isovist.atlas import SearchSpace
from isovist.errors import InputError
from isovist.localization.answer import Answer
from isovist.localization.answer_stream import LocateOptions, ScanGroup, Scans, answers_in_order
from isovist.localization.query.search_space import AnyMaps, search_space_of

MAX_GROUP_SCANS = 32
"""Scans of a group.  16 workers with a GPU locate 5650 scans/s in groups of 32, and 5050 scans/s in
groups of 8."""
GROUPS_PER_WORKER = 4
"""A group is at most this part of a worker's share of the remaining scans, so that all workers end
at about the same time."""
QUEUED_GROUPS = 2
"""Groups that a worker has: while it answers one, the next is on its way.  With one group the same
workers locate 5180 scans/s."""
PIPE_BYTES = 1 << 20
"""Size of a pipe, the largest that Linux grants to anybody; 32 scans take 300 kB."""
SINGLE_CORE = {"NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Environment of a worker, which has one core."""
PICKLE_PROTOCOL = pickle.HIGHEST_PROTOCOL
SIZE_BYTES = 8
"""Bytes before each reply, which hold its size."""
WORKER_ENDED = (
    "A worker process that locates scans has ended with code {}. Give it more memory, or use fewer "
    "`workers`."
)
OTHER_ATLAS = "These `workers` were started for another atlas. Use theirs, `workers.atlas`."
CLOSED = "These `workers` are closed. Start new ones: Workers(atlas, count)."
INVALID_COUNT = "`workers` must be a number of processes, 1 or more, got {}."


def check_workers(count: int) -> None:
    """Raise an error if `count` is not a number of processes."""
    check_whole("workers", count)
    if count < 1:
        raise InputError(INVALID_COUNT.format(count), field="workers")


class WorkerEndedError(InputError):
    """A worker process ended before it answered."""


class Worker:
    """A worker process; threads that ask it at the same time get their own replies.

    Args:
        greeting: Pickled data that the process reads first.  It is sent with the first request,
            since the process does not read before it has started.
        module: Name of the module that the process runs.
    """

    def __init__(self, greeting: bytes = b"", module: str = "isovist.localization.workers") -> None:
        self._greeting, self._write_lock, self._read_lock = greeting, Lock(), Lock()
        self.process = start_process(module)

    def ask(self, request: object) -> Any:
        """Return the reply to a request, or raise the error that the worker replies with."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        message = pickle.dumps(request, PICKLE_PROTOCOL)
        try:
            with self._write_lock:  # replies are read in the order of the requests
                greeting, self._greeting = self._greeting, b""
                self.process.stdin.write(greeting + message)
                self.process.stdin.flush()
                self._read_lock.acquire()
            try:
                size = int.from_bytes(self.process.stdout.read(SIZE_BYTES), "little")
                message = self.process.stdout.read(size)
            finally:
                self._read_lock.release()
        except BrokenPipeError:
            size, message = 0, b""
        if len(message) < max(size, 1):  # it may end while it writes
            raise WorkerEndedError(WORKER_ENDED.format(self.process.wait()))
        reply = pickle.loads(message)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


def start_process(module: str) -> "subprocess.Popen[bytes]":
    """Start a process on one core that runs a module, with large pipes to and from it."""
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **SINGLE_CORE},
    )
    for pipe in (process.stdin, process.stdout):
        _enlarge(pipe)
    return process


def _enlarge(pipe: Any) -> None:
    """Let a pipe hold a whole request, where the system can; else writing waits for the reader."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (ImportError, AttributeError, OSError):
        return


class Workers(AbstractContextManager["Workers"]):
    """A pool of processes that locate scans on one atlas, each on one core.

    `locate_many` starts processes for each call, which takes some seconds.  Pass a pool to use the
    same processes for many calls:

        with Workers(atlas, 16) as workers:
            for scans in batches:
                answers = iv.locate_many(atlas, scans, workers=workers)

    A process that ends unexpectedly is replaced, and the call that waited for it raises an error.

    Attributes:
        atlas: The atlas of the map, or several by name.
        count: Number of processes.

    Args:
        atlas: The atlas of the map, or several by name.
        count: Number of processes.
    """

    def __init__(self, atlas: AnyMaps, count: int) -> None:
        if not isinstance(atlas, SearchSpace | Mapping):
            raise InputError.about("Workers", f"need an atlas, got {type(atlas).__name__}.")
        check_workers(count)
        self.atlas, self.count = atlas, count
        self._greeting = pickle.dumps(search_space_of(atlas), PICKLE_PROTOCOL)
        self._workers = [Worker(self._greeting) for _ in range(count)]
        self._free, self._lock, self._closed = SimpleQueue[int](), Lock(), False
        for number in QUEUED_GROUPS * list(range(count)):
            self._free.put(number)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        self._closed = True
        for worker in self._workers:
            worker.close()

    def asker(self, atlas: AnyMaps) -> Callable[[int, ScanGroup], list[Answer]]:
        """Return a function that locates a group of scans by a free process.

        Args:
            atlas: The atlas, which must be that of the processes.
        """
        if self._closed:
            raise InputError(CLOSED, code="unavailable", field="workers")
        if atlas is not self.atlas:
            raise InputError(OTHER_ATLAS, code="conflict", field="workers")

        def ask(_index: int, group: ScanGroup) -> list[Answer]:
            number = self._free.get()
            worker = self._workers[number]
            try:
                answers: list[Answer] = worker.ask(group)
                return answers
            except WorkerEndedError:
                self._replace(number, worker)
                raise
            finally:
                self._free.put(number)

        return ask

    def _replace(self, number: int, ended: Worker) -> None:
        with self._lock:
            if self._workers[number] is ended and not self._closed:
                ended.close()
                self._workers[number] = Worker(self._greeting)


def split_scans(scans: Scans, workers: int, options: LocateOptions) -> Iterator[ScanGroup]:
    """Split scans into groups for a number of workers, the later ones smaller.

    A group fits into a pipe if all scans are as large as the first; large clouds go one by one.
    """
    first, max_size = 0, MAX_GROUP_SCANS
    if len(scans) > GROUPS_PER_WORKER * workers:
        max_size = min(max_size, PIPE_BYTES // len(pickle.dumps(scans[0], PICKLE_PROTOCOL)))
    while first < len(scans):
        size = max(min(max_size, (len(scans) - first) // (GROUPS_PER_WORKER * workers)), 1)
        yield ScanGroup(first, scans[first : first + size], options)
        first += size


def locate_requests(read: BinaryIO, write: BinaryIO) -> None:
    """Read a search space, and answer requests of scans until the input ends."""
    space = pickle.load(read)

    answer_requests(read, write, lambda group: list(answers_in_order(space, group)))


def answer_requests(read: BinaryIO, write: BinaryIO, answer: Callable[[Any], object]) -> None:
    """Read requests, and write the reply or the error of each, until the input ends."""
    while True:
        try:
            request = pickle.load(read)
        except EOFError:
            return
        reply: object
        try:
            reply = answer(request)
        except Exception as error:  # raised by `Worker.ask`
            reply = error
        message = pickle.dumps(reply, PICKLE_PROTOCOL)
        write.write(len(message).to_bytes(SIZE_BYTES, "little") + message)
        write.flush()


def run_worker(work: Callable[[BinaryIO, BinaryIO], None]) -> None:
    """Run a worker on standard input and output; whatever it prints goes to standard error."""
    with os.fdopen(os.dup(1), "wb") as write:
        os.dup2(2, 1)
        work(sys.stdin.buffer, write)


if __name__ == "__main__":
    run_worker(locate_requests)
