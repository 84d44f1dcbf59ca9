"""Scans located by other processes: on a card Python's own lock holds threads up, not the card.

    python -m isovist.localization.workers

is one of them.  From its standard input it reads what to locate on, then scans, a few at a time;
what it says of them goes to its standard output.  It knows nothing of the program that began it, so
that a script needs no guard.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from queue import SimpleQueue
from threading import Lock
from typing import Any, BinaryIO

from isovist.arrays import check_whole
from isovist.atlas import AnyScan, SearchSpace
from isovist.errors import InputError
from isovist.localization.answer import Answer
from isovist.localization.answer_stream import each_answer
from isovist.localization.query.search_space import AnyMaps, search_space_of
from isovist.sensing import ScanSequence

TOGETHER = 32
"""Scans that a worker is given at a time, at most: 16 workers beside a card answer 5650 scans a
second, with 8 at a time 5050 (scan after scan; now two take turns)."""
PARTS = 4
"""Of what is left a group is at most one part in so many for each worker: all end at once."""
ASKED = 2
"""Questions that a worker has: while it answers one, the next is on its way.  The same workers
answer 5180 scans a second with one.
"""
PIPE = 1 << 20
"""Bytes that a pipe holds: as many as Linux lets anybody ask for; 32 scans take 300 kB."""
ALONE = {"NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""A worker has one core."""
PROTOCOL = pickle.HIGHEST_PROTOCOL
HEAD = 8
"""Bytes before what a worker says, which tell how many there are."""
ENDED = (
    "A process that locates scans has ended by itself, with code {}. Give it more memory, or take "
    "fewer `workers`."
)
OTHER = "These `workers` were begun for another atlas. Ask about theirs, `workers.atlas`."
CLOSED = "These `workers` have ended. Begin others: Workers(atlas, count)."
FEWEST = "`workers` must be a number of processes, 1 or more, got {}."
Scans = Sequence[AnyScan | ScanSequence]
Ask = Callable[[int, AnyScan | ScanSequence], Answer]


def check_workers(count: int) -> None:
    """An error unless it is a number of processes."""
    check_whole("workers", count)
    if count < 1:
        raise InputError(FEWEST.format(count), field="workers")


class EndedError(InputError):
    """A process has ended that should have answered."""


class Worker:
    """A process that locates scans; several threads may ask it, and it answers one by one.

    Args:
        given: What it reads first, packed; it is told when it is first asked, since until it has
            begun it does not read.
        module: That it runs.
    """

    def __init__(self, given: bytes = b"", module: str = "isovist.localization.workers") -> None:
        self.given, self._writing, self._reading = given, Lock(), Lock()
        self.process = begin(module)

    def ask(self, asked: object) -> Any:
        """What it says; an error that it tells is raised."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        packed = pickle.dumps(asked, PROTOCOL)
        try:
            with self._writing:  # whoever wrote first reads first
                given, self.given = self.given, b""
                self.process.stdin.write(given + packed)
                self.process.stdin.flush()
                self._reading.acquire()
            try:
                size = int.from_bytes(self.process.stdout.read(HEAD), "little")
                packed = self.process.stdout.read(size)
            finally:
                self._reading.release()
        except BrokenPipeError:
            size, packed = 0, b""
        if len(packed) < max(size, 1):  # it may end in mid-answer
            raise EndedError(ENDED.format(self.process.wait()))
        told = pickle.loads(packed)
        if isinstance(told, Exception):
            raise told
        return told

    def close(self) -> None:
        """Let it end."""
        self.process.kill()
        self.process.communicate()


def begin(module: str) -> "subprocess.Popen[bytes]":
    """A process on one core that runs a module, with wide pipes to it and from it."""
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **ALONE},
    )
    for pipe in (process.stdin, process.stdout):
        _widen(pipe)
    return process


Group = tuple[int, Scans]
"""Scans, and the number of the first."""


def _widen(pipe: Any) -> None:
    """Let a pipe hold a question, where the system can; else half of it waits for Python's lock."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)
    except (ImportError, AttributeError, OSError):
        return


class Workers:
    """Processes that locate scans on an atlas, each on one core, for as long as they are kept.

    `locate_many` begins them anew for every call, which takes some seconds, unless it is given some
    that are kept:

        with Workers(atlas, 16) as workers:
            for scans in batches:
                answers = iv.locate_many(atlas, scans, workers=workers)

    One that ends by itself is replaced, and whoever waited for it gets an error.

    Attributes:
        atlas: What they locate on.
        count: How many.

    Args:
        atlas: The map, described, or several by name.
        count: How many.
    """

    def __init__(self, atlas: AnyMaps, count: int) -> None:
        if not isinstance(atlas, SearchSpace | Mapping):
            raise InputError.about("Workers", f"need an atlas, got {type(atlas).__name__}.")
        check_workers(count)
        self.atlas, self.count = atlas, count
        self._given = pickle.dumps(search_space_of(atlas), PROTOCOL)
        self._each = [Worker(self._given) for _ in range(count)]
        self._free, self._lock, self._closed = SimpleQueue[int](), Lock(), False
        for number in ASKED * list(range(count)):
            self._free.put(number)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let them end."""
        self._closed = True
        for worker in self._each:
            worker.close()

    def asking(
        self, atlas: AnyMaps, how: Mapping[str, object]
    ) -> Callable[[int, Group], list[Answer]]:
        """What asks one that is free about some scans.

        Args:
            atlas: That is to be theirs.
            how: Further arguments of `locate`.
        """
        if self._closed:
            raise InputError(CLOSED, code="unavailable", field="workers")
        if atlas is not self.atlas:
            raise InputError(OTHER, code="conflict", field="workers")

        def ask(_nth: int, group: Group) -> list[Answer]:
            number = self._free.get()
            worker = self._each[number]
            try:
                told: list[Answer] = worker.ask((*group, how))
                return told
            except EndedError:
                self._replace(number, worker)
                raise
            finally:
                self._free.put(number)

        return ask

    def _replace(self, number: int, ended: Worker) -> None:
        with self._lock:
            if self._each[number] is ended and not self._closed:
                ended.close()
                self._each[number] = Worker(self._given)


def groups_of(scans: Scans, workers: int) -> Iterator[Group]:
    """Scans as so many workers are given them, each group with the number of its first.

    A group fits into a pipe, if the scans are as large as the first: clouds go one by one.
    """
    first, most = 0, TOGETHER
    if len(scans) > PARTS * workers:
        most = min(most, PIPE // len(pickle.dumps(scans[0], PROTOCOL)))
    while first < len(scans):
        size = max(min(most, (len(scans) - first) // (PARTS * workers)), 1)
        yield first, scans[first : first + size]
        first += size


def work(read: BinaryIO, write: BinaryIO) -> None:
    """What a worker does, until nothing more is read."""
    site = pickle.load(read)

    def answer(asked: tuple[int, Scans, dict[str, object]]) -> list[Answer]:
        first, scans, how = asked
        return list(each_answer(site, scans, how, first))

    answer_each(read, write, answer)


def answer_each(read: BinaryIO, write: BinaryIO, answer: Callable[[Any], object]) -> None:
    """Answer whatever is read, until nothing more is."""
    while True:
        try:
            asked = pickle.load(read)
        except EOFError:
            return
        told: object
        try:
            told = answer(asked)
        except Exception as error:  # it is raised where it was asked
            told = error
        packed = pickle.dumps(told, PROTOCOL)
        write.write(len(packed).to_bytes(HEAD, "little") + packed)
        write.flush()


def run(work: Callable[[BinaryIO, BinaryIO], None]) -> None:
    """A worker; whatever prints says it elsewhere than where answers go."""
    with os.fdopen(os.dup(1), "wb") as write:
        os.dup2(2, 1)
        work(sys.stdin.buffer, write)


if __name__ == "__main__":
    run(work)
