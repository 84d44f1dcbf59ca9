"""A process that answers requests, for the server that began it (`workers`).

    python -m isovist.apps.server.processes.worker

From its standard input it reads the limits, then questions, a few at a time; what becomes of them
goes to its standard output.
"""

import pickle
import signal
from collections.abc import Hashable
from typing import BinaryIO

from isovist.apps.server.handlers import Answered, Asked, Question, Search, Told, checked, locating
from isovist.apps.server.sessions import Robot, Sessions, begun
from isovist.apps.web.limits import Limits
from isovist.atlas.base import AnyScan
from isovist.atlas.library import Library
from isovist.errors import InputError, IsovistError
from isovist.localization.locate import compile_kernels
from isovist.localization.workers import answer_each, run


class Desk:
    """State of a worker process: its maps and the robots that it tracks.

    Args:
        limits: Limits on proofs and tracking sessions.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits, self.robots = limits, Sessions[Robot](limits)
        self.library: Library | None = None

    def answer(self, asked: Asked) -> list[Answered]:
        """Answer several requests, and locate scans with equal options together."""
        if asked.library is not None:
            if self.library is not None:
                asked.library.keep(self.library)
            self.library = asked.library
        if not asked.questions:
            compile_kernels(self._maps[next(iter(self._maps))])
        answers = [Answered() for _ in asked.questions]
        alike: dict[Hashable, list[tuple[Answered, Search, AnyScan]]] = {}
        for one, answer in zip(asked.questions, answers, strict=True):
            try:
                if one.verb == "locate":
                    search, scan = locating(one.body, self._maps, self.limits, answer.noted)
                    alike.setdefault(search.kind, []).append((answer, search, scan))
                else:
                    answer.tell(self._told(one, answer.noted))
            except IsovistError as error:
                answer.error = error
        for some in alike.values():
            (_, search, _), *_ = some
            told = search.run(scan for *_, scan in some)
            for (answer, *_), words in zip(some, told, strict=True):
                if isinstance(words, InputError):
                    answer.error = words
                else:
                    answer.tell(words)
        return answers

    @property
    def _maps(self) -> Library:
        assert self.library is not None  # it comes with what is first asked about any
        return self.library

    def _told(self, one: Question, noted: Told) -> Told:
        if one.verb == "check":
            return checked(one.body, self._maps, self.limits, noted)
        if one.verb == "begin":
            robot = Robot.of(one.body, self._maps, self.limits, noted)
            return begun(self.robots.begin(robot, one.key), self.limits)
        if one.verb == "update":
            return self.robots.get(one.key).update(one.body)
        self.robots.drop(one.key)
        return {}


def work(read: BinaryIO, write: BinaryIO) -> None:
    """Read messages from the server and write the answers until the input ends."""
    answer_each(read, write, Desk(pickle.load(read)).answer)


if __name__ == "__main__":
    for told_to_end in (signal.SIGINT, signal.SIGTERM):
        signal.signal(told_to_end, signal.SIG_IGN)  # the server ends it when all is answered
    run(work)
