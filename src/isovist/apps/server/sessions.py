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
    """What is kept of robots, by their keys.

    Args:
        limits: How many, and for how long.
        clock: Tells s.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = monotonic) -> None:
        self.limits, self.clock = limits, clock
        self._kept: dict[str, _Kept[T]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[T]:
        return (one.what for one in list(self._kept.values()))

    def forget(self) -> None:
        """Drop those of which nothing was heard for too long."""
        now = self.clock()
        for key, one in list(self._kept.items()):
            if now - one.heard > self.limits.session_s:
                self.drop(key)

    def begin(self, what: T, key: str = "") -> str:
        """Keep something of a robot; its key, a new one unless it has one."""
        self.forget()
        if len(self._kept) >= self.limits.sessions:
            raise RefusedError(
                429, f"{self.limits.sessions} robots are followed already.", self.limits.retry_s
            )
        key = key or secrets.token_urlsafe(16)
        self._kept[key] = _Kept(what, self.clock())
        return key

    def get(self, key: str) -> T:
        """What is kept of the robot of a key."""
        self.forget()
        one = self._kept.get(key)
        if one is None:
            raise RefusedError(404, "This robot is not followed, or no more. POST /track begins.")
        one.heard = self.clock()
        return one.what

    def drop(self, key: str) -> None:
        """Forget a robot, if it is there."""
        self._kept.pop(key, None)


@dataclass(eq=False)
class Robot:
    """One robot.

    Attributes:
        tracker: That follows it, on the maps as they were when it began.
        updates: How many there were.
        lock: A tracker belongs to one thread at a time.
    """

    tracker: Tracker
    updates: int = 0
    lock: Lock = field(default_factory=Lock)

    @classmethod
    def of(cls, body: Body, library: Library, limits: Limits, noted: Told) -> "Robot":
        """That a request asks to follow."""
        fields, site = asked(body, BEGIN, library, limits, noted)
        prior = region_of(fields)
        tilt, turned = (fields.switch(name, False) for name in ("tilt", "any_attitude"))
        return cls(Tracker(site, prior=prior, tilt=tilt, any_attitude=turned))

    def update(self, body: Body) -> Told:
        """Take in what a request tells; what `isovist track --json` prints of an update."""
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
    """What is told of a robot that is followed from now on."""
    return {"session": key, "expires_s": limits.session_s}
