"""Close idle connections, so that they keep nobody out.

No option of uvicorn does this. It waits for the first request of a connection without a time limit.
With `limit_concurrency=50`, 60 idle connections make it answer 503 to every client as long as they
are open (uvicorn 0.54, also with `timeout_keep_alive=1`).
"""

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Receive, Scope, Send

if TYPE_CHECKING:
    import uvicorn

Address = tuple[str, int]


class Connections:
    """The open connections of a server; idle ones are closed after a time, or if too many.

    Uses only the methods of `asyncio.Protocol`, and the address of the client in the ASGI scope.

    Args:
        max_connections: Maximum number of connections; the longest idle one is closed above it.
        idle_timeout_s: Time in s that a connection may be without a request.
    """

    def __init__(self, max_connections: int, idle_timeout_s: float) -> None:
        self._max, self._idle_timeout_s = max_connections, idle_timeout_s
        self._open: dict[Address, asyncio.BaseTransport] = {}
        self._timers: dict[Address, asyncio.TimerHandle] = {}  # of idle ones, longest idle first

    def register(self, config: "uvicorn.Config") -> None:
        """Register the connections of a server."""
        connections = self
        config.load()

        class RegisteredProtocol(config.http_protocol_class):  # type: ignore[name-defined,misc]
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                super().connection_made(transport)
                self._address = transport.get_extra_info("peername")[:2]
                connections._add(self._address, transport)

            def connection_lost(self, error: Exception | None) -> None:
                connections._remove(self._address)
                super().connection_lost(error)

        config.http_protocol_class = RegisteredProtocol

    def watched(self, app: ASGIApp) -> ASGIApp:
        """Return the application; its clients are not idle while they wait for an answer."""

        async def watched_app(scope: Scope, receive: Receive, send: Send) -> None:
            address: Any = tuple(scope.get("client") or ())
            self._stop_timer(address)
            try:
                await app(scope, receive, send)
            finally:
                self._start_timer(address)

        return watched_app

    def _add(self, address: Address, transport: asyncio.BaseTransport) -> None:
        self._open[address] = transport
        self._start_timer(address)
        if len(self._open) > self._max:
            self._close(next(iter(self._timers)))

    def _remove(self, address: Address) -> None:
        self._stop_timer(address)
        self._open.pop(address, None)

    def _close(self, address: Address) -> None:
        transport = self._open[address]
        self._remove(address)
        transport.close()

    def _start_timer(self, address: Address) -> None:
        if address in self._open:
            loop = asyncio.get_running_loop()
            timer = loop.call_later(self._idle_timeout_s, self._close, address)
            self._timers[address] = timer

    def _stop_timer(self, address: Address) -> None:
        if address in self._timers:
            self._timers.pop(address).cancel()
