"""Log each request as a line of JSON, without content, query or token, and count it."""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from isovist.apps.web.metrics import Metrics

log = logging.getLogger("isovist.serve.requests")


class RequestLog:
    """ASGI middleware that logs and counts each request.

    Handlers add fields to the line, such as the verdict, in `scope["isovist"]`.

    Args:
        app: The application.
        metrics: Counters of requests.
        paths: Path of each endpoint of the application.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Mapping[Any, str]) -> None:
        self.app, self.metrics, self.paths = app, metrics, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request and log it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        fields = scope["isovist"] = {}
        start, status = perf_counter(), 500
        size = {"in": 0, "out": 0}

        async def counted_receive() -> Message:
            message = await receive()
            size["in"] += len(message.get("body", b""))
            return message

        async def counted_send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            size["out"] += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, counted_receive, counted_send)
        finally:
            duration = perf_counter() - start
            path = self.paths.get(scope.get("endpoint"), "other")
            self.metrics.count(path, status, duration, fields.get("verdict"))
            client = scope.get("client")
            line = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "client": client[0] if client else None,
                "method": scope["method"][:20],
                "path": scope["path"][:200],
                "status": status,
                "ms": round(1e3 * duration, 3),
                "bytes_in": size["in"],
                "bytes_out": size["out"],
                **fields,
            }
            log.info("%s", json.dumps(line))
