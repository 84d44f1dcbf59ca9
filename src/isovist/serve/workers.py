"""Scans of requests, answered by other processes: `isovist serve --workers N`.

What is done in Python has one lock in a process, which threads of many cores, or beside a card,
wait for.  So scans are shared out among processes of one core each.  They have the
maps by their folders, of which each opens what it is asked about, and share the pages in memory.
One that ends by itself is replaced, and what it was asked is asked again.

    python -m isovist.serve.workers

is one of them (`localization.workers`).
"""

import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import BinaryIO

from isovist.atlas.base import AnyScan, Atlas
from isovist.atlas.library import Library
from isovist.errors import FileError, InputError
from isovist.localization.workers import EndedError, Worker, answer_each, run
from isovist.serve.answers import Search, Told
from isovist.serve.errors import RefusedError

MODULE = "isovist.serve.workers"


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What a worker is told.

    Attributes:
        library: The maps; `None` for those that it has.
        name: Of the map, or "" for all of them.
        search: How scans are located, without a site; `None` where they shall be once they come.
        scans: Which.
    """

    library: Library | None
    name: str
    search: Search | None
    scans: Sequence[AnyScan]


class Workers:
    """Processes that answer scans.

    Attributes:
        count: How many.
        pool: A thread for each, which waits for it.

    Args:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.pool = ThreadPoolExecutor(count, thread_name_prefix="isovist-worker")
        self._free: SimpleQueue[_Hired] = SimpleQueue()
        self._all = [_Hired() for _ in range(count)]
        for one in self._all:
            self._free.put(one)

    def warm_up(self, library: Library) -> None:
        """Wait until all of them have begun, and have compiled what a map needs."""
        asked = Asked(library, next(iter(library)), None, ())
        everyone = [self._free.get() for _ in self._all]
        # By threads of its own: those of the pool may wait for a worker that is free.
        with ThreadPoolExecutor(self.count) as waiting:
            begun = [waiting.submit(self._begin, one, asked) for one in everyone]
        for one in begun:
            one.result()

    def _begin(self, one: "_Hired", asked: Asked) -> None:
        try:
            one.ask(asked)
        finally:
            self._free.put(one)

    def answer(self, library: Library, search: Search, scan: AnyScan) -> Told:
        """What `Search.run` says of a scan, or its error, by the first that is free."""
        asked = Asked(library, search.name, replace(search, site=None), [scan])
        one = self._free.get()
        try:
            (told,) = one.ask(asked)
        except (EndedError, FileError) as error:  # of processes or the folder, not of the request
            raise RefusedError(503, str(error)) from error
        finally:
            self._free.put(one)
        if isinstance(told, InputError):
            raise told
        return told

    def close(self) -> None:
        """Let them end."""
        self.pool.shutdown()
        for one in self._all:
            one.worker.close()


class _Hired:
    """A worker, and the maps that it has."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.worker = Worker(module=MODULE)
        self.library: Library | None = None

    def ask(self, asked: Asked) -> list[Told | InputError]:
        """What it says; another one is asked once more where it ends by itself."""
        try:
            return self._ask(asked)
        except EndedError:
            self.worker.close()
            self._begin()
            return self._ask(asked)

    def _ask(self, asked: Asked) -> list[Told | InputError]:
        known = self.library is asked.library
        told: list[Told | InputError] = self.worker.ask(
            replace(asked, library=None) if known else asked
        )
        self.library = asked.library
        return told


def work(read: BinaryIO, write: BinaryIO) -> None:
    """What a worker does, until nothing more is read."""
    from isovist.localization.locate import compile_kernels

    library: Library | None = None

    def answer(asked: Asked) -> list[Told | InputError]:
        nonlocal library
        if asked.library is not None:
            if library is not None:
                asked.library.keep(library)
            library = asked.library
        assert library is not None  # it comes with what is asked first
        if asked.search is None:
            site = library[asked.name]
            assert isinstance(site, Atlas)
            compile_kernels(site)
            return []
        own = library[asked.name] if asked.name else library
        return list(replace(asked.search, site=own).run(asked.scans))

    answer_each(read, write, answer)


if __name__ == "__main__":
    for told_to_end in (signal.SIGINT, signal.SIGTERM):
        signal.signal(told_to_end, signal.SIG_IGN)  # the server ends it when all is answered
    run(work)
