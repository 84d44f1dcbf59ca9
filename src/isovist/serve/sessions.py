"""Robots that are followed: a tracker each, forgotten when nothing is heard of it for long."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any

from isovist.atlas.base import AnyScan
from isovist.poses import AnyPose
from isovist.report.tracks import update_json
from isovist.serve.errors import RefusedError
from isovist.serve.limits import Limits
from isovist.tracking.replay import Update
from isovist.tracking.tracker import Tracker


@dataclass(eq=False)
class Session:
    """One robot.

    Attributes:
        tracker: That follows it, on the maps as they were when it began.
        heard: When something was heard of it last.
        updates: How many there were.
        lock: A tracker belongs to one thread at a time.
    """

    tracker: Tracker
    heard: float
    updates: int = 0
    lock: Lock = field(default_factory=Lock)


class Sessions:
    """Robots by key.

    Args:
        limits: How many, and for how long.
        clock: Tells s.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = monotonic) -> None:
        self.limits, self.clock = limits, clock
        self._kept: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def forget(self) -> None:
        """Drop those of which nothing was heard for too long."""
        now = self.clock()
        for key, session in list(self._kept.items()):
            if now - session.heard > self.limits.session_s:
                self._kept.pop(key, None)

    def begin(self, tracker: Tracker) -> str:
        """Keep a tracker; its key."""
        self.forget()
        if len(self._kept) >= self.limits.sessions:
            raise RefusedError(
                429, f"{self.limits.sessions} robots are followed already.", self.limits.retry_s
            )
        key = secrets.token_urlsafe(16)
        self._kept[key] = Session(tracker, self.clock())
        return key

    def get(self, key: str) -> Session:
        """The robot of a key."""
        self.forget()
        session = self._kept.get(key)
        if session is None:
            raise RefusedError(404, "This robot is not followed, or no more. POST /track begins.")
        session.heard = self.clock()
        return session

    def end(self, key: str) -> None:
        """Forget a robot."""
        self.get(key)
        del self._kept[key]


def updating(
    session: Session, odometry: AnyPose | None, scan: AnyScan, time: float | None
) -> Callable[[], dict[str, Any]]:
    """The work of an update, whose result is what `isovist track --json` prints of one."""

    def work() -> dict[str, Any]:
        with session.lock:
            belief = session.tracker.update(odometry, scan, time=time)
            session.updates += 1
            stamp = float(session.updates) if time is None else time
            return update_json(Update(session.updates - 1, stamp, odometry, belief))

    return work
