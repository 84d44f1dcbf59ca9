"""HTTP for clients that take their time: a connection that asks nothing is closed."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


def protocol_of(head_s: float, most: int) -> type[asyncio.Protocol]:
    """Return an HTTP protocol class that limits connections and closes the idle ones.

    Args:
        head_s: Longest wait for the whole first request head of a connection, in s.
        most: Most open connections; beyond that the one that was idle longest is closed.
    """
    every: set[Any] = set()
    idle: dict[Any, None] = {}  # the longest first

    class Patient(H11Protocol):
        _first: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._first = self.loop.call_later(head_s, self._give_up)
            every.add(self)
            idle[self] = None
            if len(every) > most:
                next(iter(idle))._give_up()

        def handle_events(self) -> None:
            super().handle_events()
            if self.cycle is not None:
                self._stop_waiting()
                if not self.cycle.response_complete:
                    idle.pop(self, None)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self in every and self.cycle.response_complete:  # else the next is asked already
                idle[self] = None

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            self._forget()
            super().connection_lost(exc)

        def _stop_waiting(self) -> None:
            if self._first is not None:
                self._first.cancel()
                self._first = None

        def _forget(self) -> None:
            every.discard(self)
            idle.pop(self, None)

        def _give_up(self) -> None:
            self._forget()
            if not self.transport.is_closing():
                self.transport.close()

    return Patient
