"""Store tracking sessions: a tracker per robot, dropped when the robot is silent for too long."""

import secrets
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any, Generic, TypeVar

import isovist as iv
from isovist.apps.server.requests import UPDATE, Body, odometry_of, region_of
from isovist.apps.web import Fields, Limits, RefusedError
from isovist.report import update_json
from isovist.tracking import Update

T = TypeVar("T")


class Sessions(Generic[T]):
    """Tracking sessions by key, each with an object; unused sessions expire.

    Args:
        limits: Limits on the number of sessions and their idle time.
        clock: Returns the time in s.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = monotonic) -> None:
        self.limits, self.clock = limits, clock
        self._objects: dict[str, T] = {}
        self._last_use_s: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._objects.values()))

    def expire(self) -> None:
        """Drop the sessions that have been unused for too long."""
        oldest = self.clock() - self.limits.session_timeout_s
        for key, time in list(self._last_use_s.items()):
            if time < oldest:
                self.drop(key)

    def begin(self, value: T, key: str = "") -> str:
        """Start a session that holds an object, and return its key, a new one if none is given."""
        self.expire()
        if len(self) >= self.limits.max_sessions:
            text = f"{self.limits.max_sessions} robots are tracked already. Try again later."
            raise RefusedError(429, text, self.limits.retry_after_s)
        key = key or secrets.token_urlsafe(16)
        self._objects[key], self._last_use_s[key] = value, self.clock()
        return key

    def get(self, key: str) -> T:
        """Return the object of a session and mark the session as used."""
        self.expire()
        if key not in self._objects:
            raise RefusedError(404, "There is no such session. Begin one with POST /track.")
        self._last_use_s[key] = self.clock()
        return self._objects[key]

    def drop(self, key: str) -> None:
        """Drop a session, if it exists."""
        self._objects.pop(key, None)
        self._last_use_s.pop(key, None)


class Robot:
    """A robot that is tracked in a session.

    Attributes:
        tracker: Its tracker, on the maps as they were when the session began.
        updates: Number of updates so far.
    """

    def __init__(self, tracker: iv.Tracker) -> None:
        self.tracker, self.updates = tracker, 0

    @classmethod
    def of(cls, fields: Fields, maps: iv.Atlas | iv.Library) -> "Robot":
        """Create a tracked robot from the fields of a request that begins a session."""
        tilt, any_attitude = fields.switch("tilt"), fields.switch("any_attitude")
        return cls(iv.Tracker(maps, region=region_of(fields), tilt=tilt, any_attitude=any_attitude))

    def update(self, body: Body) -> dict[str, Any]:
        """Update the tracker from a request, and return what `isovist track --json` prints."""
        fields = body.fields(UPDATE)
        odometry, scan = odometry_of(fields), body.scan(fields)
        time = fields.number("time", low=-1e15, high=1e15) if fields.has("time") else None
        belief = self.tracker.update(odometry, scan, time=time)
        stamp = self.updates + 1.0 if time is None else time
        update = Update(self.updates, stamp, odometry, belief)
        self.updates += 1
        return update_json(update)
