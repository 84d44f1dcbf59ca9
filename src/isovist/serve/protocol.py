"""HTTP for clients that take their time: a connection that asks nothing is closed."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


def protocol_of(head_s: float) -> type[asyncio.Protocol]:
    """HTTP that waits so many s for the first head of a connection, in whatever pieces it comes."""

    class Patient(H11Protocol):
        _first: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._first = self.loop.call_later(head_s, self._give_up)

        def handle_events(self) -> None:
            super().handle_events()
            if self.cycle is not None:
                self._stop_waiting()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _stop_waiting(self) -> None:
            if self._first is not None:
                self._first.cancel()
                self._first = None

        def _give_up(self) -> None:
            if not self.transport.is_closing():
                self.transport.close()

    return Patient
