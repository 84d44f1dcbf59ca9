"""A process that answers requests to locate scans, for the server that began it (`workers`).

    python -m isovist.serve.worker

From its standard input it reads the limits, then bodies of requests, a few at a time; what becomes
of them goes to its standard output.
"""

import pickle
import signal
from collections.abc import Hashable, Sequence
from typing import BinaryIO

from isovist.atlas.base import AnyScan, Atlas
from isovist.atlas.library import Library
from isovist.errors import InputError, IsovistError
from isovist.localization.workers import answer_each, run
from isovist.serve.answers import Answered, Asked, Search, json_of, locating
from isovist.serve.limits import Limits
from isovist.serve.questions import Body


def work(read: BinaryIO, write: BinaryIO) -> None:
    """What a worker does, until nothing more is read."""
    from isovist.localization.locate import compile_kernels

    limits: Limits = pickle.load(read)
    library: Library | None = None

    def answer(asked: Asked) -> list[Answered]:
        nonlocal library
        if asked.library is not None:
            if library is not None:
                asked.library.keep(library)
            library = asked.library
        assert library is not None  # it comes with what is asked first
        if not asked.bodies:
            site = library[next(iter(library))]
            assert isinstance(site, Atlas)
            compile_kernels(site)
        return answers_of(asked.bodies, library, limits)

    answer_each(read, write, answer)


def answers_of(bodies: Sequence[Body], library: Library, limits: Limits) -> list[Answered]:
    """What becomes of requests to locate a scan."""
    answers = [Answered() for _ in bodies]
    alike: dict[Hashable, list[tuple[Answered, Search, AnyScan]]] = {}
    for body, answer in zip(bodies, answers, strict=True):
        try:
            search, scan = locating(body, library, limits, answer.noted)
        except IsovistError as error:
            answer.error = error
        else:
            alike.setdefault(search.kind, []).append((answer, search, scan))
    for some in alike.values():
        (_, search, _), *_ = some
        for (answer, *_), told in zip(some, search.run([scan for *_, scan in some]), strict=True):
            if isinstance(told, InputError):
                answer.error = told
            else:
                answer.noted["verdict"] = told["verdict"]
                answer.text = json_of(told)
    return answers


if __name__ == "__main__":
    for told_to_end in (signal.SIGINT, signal.SIGTERM):
        signal.signal(told_to_end, signal.SIG_IGN)  # the server ends it when all is answered
    run(work)
