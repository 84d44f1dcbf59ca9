"""Answer zenoh queries with the HTTP application of the server.

A query on the key

    isovist/PATH,   e.g. isovist/locate,                                                     (1)

has the body of the HTTP request as its payload and the query of the URL as its parameters; without
a payload it is a `GET`. It passes the same middleware, with the same limits, metrics and log. The
reply is the same JSON; an error is an error reply. A token is the attachment of the query.
"""

import asyncio
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Message, Scope

from isovist.apps.ros import open_session
from isovist.apps.server.requests import BINARY

KEY = "isovist"
JSON = "application/json"


class ZenohEntrance:
    """A receiver of zenoh queries, which the HTTP application answers.

    Args:
        endpoint: Address of a zenoh router, e.g. `tcp/localhost:7447`.
    """

    def __init__(self, endpoint: str) -> None:
        self._session = open_session(
            {"mode": "client", "connect/endpoints": [endpoint], "connect/timeout_ms": 2000,
             "connect/exit_on_failure": True, "scouting/multicast/enabled": False},
            f"No zenoh router answers at {endpoint}. Start one, or leave out `--zenoh`.",
            "The zenoh entrance",
        )  # fmt: skip
        self._queryable: Any = None
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, app: ASGIApp) -> None:
        """Start to accept queries; call this inside the event loop that answers them."""
        loop = asyncio.get_running_loop()

        def answer(query: Any) -> None:
            task = loop.create_task(_answer(app, query))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        def receive(query: Any) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(answer, query)

        self._queryable = self._session.declare_queryable(f"{KEY}/**", receive)

    async def close(self) -> None:
        """Stop accepting queries, answer those in progress, and leave the network."""
        if self._queryable is not None:
            await asyncio.to_thread(self._queryable.undeclare)
        await asyncio.sleep(0)  # so that the last queries have their tasks
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self._session.close)


async def _answer(app: ASGIApp, query: Any) -> None:
    key, body = str(query.key_expr), None if query.payload is None else bytes(query.payload)
    is_read = False
    status, answer = 500, b""

    async def receive() -> Message:
        nonlocal is_read
        if is_read:
            return {"type": "http.disconnect"}
        is_read = True
        return {"type": "http.request", "body": body or b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, answer
        status = message.get("status", status)
        answer += message.get("body", b"")

    try:
        with suppress(Exception):  # the app has answered with status 500
            await app(_scope(query, key.removeprefix(KEY), body), receive, send)
        if status < 400 and "*" not in key:
            query.reply(key, answer, encoding=JSON)
        else:
            query.reply_err(answer, encoding=JSON)
    finally:
        query.drop()


def _scope(query: Any, path: str, body: bytes | None) -> Scope:
    """Return a zenoh query as an HTTP request."""
    content_type = "" if query.encoding is None else str(query.encoding)
    headers = [
        (b"host", b"localhost"),
        (b"content-type", (content_type if content_type in BINARY else JSON).encode()),
        (b"content-length", b"%d" % len(body or b"")),
    ]
    if query.attachment is not None:
        headers.append((b"authorization", b"Bearer " + bytes(query.attachment)))
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
        "method": "GET" if body is None else "POST", "path": path, "raw_path": path.encode(),
        "root_path": "", "query_string": str(query.parameters).replace(";", "&").encode(),
        "headers": headers, "client": ("zenoh", 0), "server": ("localhost", 0),
    }  # fmt: skip
