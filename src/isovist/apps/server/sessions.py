"""Robots that are followed: a tracker each, forgotten when nothing is heard of it for long."""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Generic, TypeVar

from isovist.apps.server.handlers import Told, asked
from isovist.apps.server.requests import BEGIN, UPDATE, Body, odometry_of, region_of
from isovist.apps.web.errors import RefusedError
from isovist.apps.web.limits import Limits
from isovist.atlas.library import Library
from isovist.report.tracks import update_json
from isovist.tracking.replay import Update
from isovist.tracking.tracker import Tracker

T = TypeVar("T")


@dataclass(slots=True)
class _Kept(Generic[T]):
    """What is kept of a robot, and when something was heard of it last."""

    what: T
    heard: float


class Sessions(Generic[T]):
    """Tracking sessions by key, dropped when they are not used for too long.

    Args:
        limits: Limits on the number of sessions and their idle time.
        clock: Returns the time in s.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = monotonic) -> None:
        self.limits, self.clock = limits, clock
        self._kept: dict[str, _Kept[T]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[T]:
        return (one.what for one in list(self._kept.values()))

    def forget(self) -> None:
        """Drop the sessions that were not used for too long."""
        now = self.clock()
        for key, one in list(self._kept.items()):
            if now - one.heard > self.limits.session_s:
                self.drop(key)

    def begin(self, what: T, key: str = "") -> str:
        """Start a session that holds an object, and return its key, a new one unless given."""
        self.forget()
        if len(self._kept) >= self.limits.sessions:
            raise RefusedError(
                429, f"{self.limits.sessions} robots are followed already.", self.limits.retry_s
            )
        key = key or secrets.token_urlsafe(16)
        self._kept[key] = _Kept(what, self.clock())
        return key

    def get(self, key: str) -> T:
        """Return the object of a session and mark the session as used."""
        self.forget()
        one = self._kept.get(key)
        if one is None:
            raise RefusedError(404, "This robot is not followed, or no more. POST /track begins.")
        one.heard = self.clock()
        return one.what

    def drop(self, key: str) -> None:
        """Drop a session, if it exists."""
        self._kept.pop(key, None)


@dataclass(eq=False)
class Robot:
    """A robot that is tracked in a session.

    Attributes:
        tracker: Its tracker, on the maps as they were when the session began.
        updates: Number of updates so far.
        lock: Held during an update: a tracker belongs to one thread at a time.
    """

    tracker: Tracker
    updates: int = 0
    lock: Lock = field(default_factory=Lock)

    @classmethod
    def of(cls, body: Body, library: Library, limits: Limits, noted: Told) -> "Robot":
        """Create a tracked robot from a request that begins a session."""
        fields, site = asked(body, BEGIN, library, limits, noted)
        prior = region_of(fields)
        tilt, turned = (fields.switch(name, False) for name in ("tilt", "any_attitude"))
        return cls(Tracker(site, region=prior, tilt=tilt, any_attitude=turned))

    def update(self, body: Body) -> Told:
        """Update the tracker from a request, and return what `isovist track --json` prints."""
        fields = body.fields(UPDATE)
        odometry = odometry_of(fields)
        time = fields.number("time", low=-1e15, high=1e15) if fields.has("time") else None
        scan = body.scan(fields)
        with self.lock:
            belief = self.tracker.update(odometry, scan, time=time)
            self.updates += 1
            stamp = float(self.updates) if time is None else time
            return update_json(Update(self.updates - 1, stamp, odometry, belief))


def begun(key: str, limits: Limits) -> Told:
    """Return the answer to a request that began a tracking session: its key and lifetime in s."""
    return {"session": key, "expires_s": limits.session_s}
