"""Who may come in, with how much and how slowly; and a line about each request.

To what `apps.web.origin` does the gate adds tokens, a time for bodies, and the log: one JSON object
per request, without what was asked, who asked or what is in the address behind the `?`.
"""

import asyncio
import hashlib
import hmac
import json
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from isovist.apps.web.errors import slow
from isovist.apps.web.limits import Limits
from isovist.apps.web.metrics import Metrics
from isovist.apps.web.origin import Guard
from isovist.apps.web.streams import refusal_json

log = logging.getLogger("isovist.serve.requests")
OPEN = ("/health", "/ready")
"""Addresses that need no token: those who look after machines ask them."""
NO_TOKEN = "This needs a token: `Authorization: Bearer TOKEN`."


class Gate(Guard):
    """ASGI middleware that checks tokens and limits, and counts and logs each request.

    Args:
        app: The application that is protected.
        host: Address that the server listens on.
        tokens: One of them must come with each request; none are needed where there are none.
        limits: Limits on the size and duration of request bodies.
        metrics: Counts the requests.
    """

    foreign_host = (
        "The server does not answer to this name. Ask it by its number, or give it a token."
    )
    foreign_page = "The server answers to no pages of others."

    def __init__(
        self, app: ASGIApp, host: str, tokens: Sequence[str], limits: Limits, metrics: Metrics
    ) -> None:
        super().__init__(app, host)
        self.limits, self.metrics = limits, metrics
        self._seals = [_seal(token) for token in tokens]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request and note it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, came, went, status = perf_counter(), 0, 0, 500
        noted: dict[str, Any] = {}
        scope["isovist"] = noted
        end = asyncio.get_running_loop().time() + self.limits.body_s
        whole = False

        async def in_time() -> Message:
            nonlocal came, whole
            if whole:
                return await receive()
            left = end - asyncio.get_running_loop().time()
            try:
                message = await asyncio.wait_for(receive(), max(left, 0.0))
            except TimeoutError:
                raise slow(self.limits) from None
            came += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            return message

        async def counted(message: Message) -> None:
            nonlocal went, status
            if message["type"] == "http.response.start":
                status = message["status"]
            went += len(message.get("body", b""))
            await send(message)

        try:
            if self._may(scope):
                await super().__call__(scope, in_time, counted)
            else:
                refusal = JSONResponse(
                    refusal_json(NO_TOKEN, "forbidden"), 401, {"WWW-Authenticate": "Bearer"}
                )
                await refusal(scope, receive, counted)
        finally:
            spent = perf_counter() - start
            route = noted.pop("route", "other")
            self.metrics.note(route, status, spent, noted.get("verdict"))
            client = scope.get("client")
            line = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "client": client[0] if client else None,
                "method": scope["method"][:20],
                "path": scope["path"][:200],
                "status": status,
                "ms": round(1e3 * spent, 3),
                "bytes_in": came,
                "bytes_out": went,
                **noted,
            }
            log.info("%s", json.dumps(line))

    def most_bytes(self, scope: Scope) -> int:
        """Return the most bytes of a request body; maps may be larger than scans."""
        bringing = scope["path"].startswith("/maps")
        return self.limits.map_bytes if bringing else self.limits.scan_bytes

    def too_large(self, most: int) -> str:
        """Return the error text for a body above a limit in bytes."""
        return f"The body of this request has at most {most >> 20} MiB."

    def _is_ours(self, host: str) -> bool:
        """A token says who asks; without one the Host must name this machine."""
        return bool(self._seals) or super()._is_ours(host)

    def _may(self, scope: Scope) -> bool:
        """Whether a request brings a token, compared in a time that says nothing of it."""
        if not self._seals or scope["path"] in OPEN:
            return True
        kind, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        given = _seal(token.strip())
        known = [hmac.compare_digest(given, seal) for seal in self._seals]
        return kind.lower() == "bearer" and any(known)


def _seal(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
