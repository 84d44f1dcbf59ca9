"""A second door of the server: queries over zenoh, answered by those who answer over HTTP.

A query on the key

    isovist/ADDRESS,   e.g. isovist/locate,                                                  (1)

brings as its payload the body that the address of HTTP takes, and what stands behind the `?` as
its parameters; without a payload it is a `GET`.  It goes through the same gate, with the same
limits, counts and lines in the log.  The reply is the same JSON; what is refused is a reply of the
kind of errors.  A token comes as the attachment.
"""

import asyncio
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Message, Scope

from isovist.apps.ros.buses.zenoh_bus import open_session
from isovist.apps.server.requests import BINARY

KEY = "isovist"
JSON = "application/json"


class ZenohDoor:
    """Entrance for zenoh queries, which the HTTP application answers.

    Args:
        endpoint: Where a zenoh router listens, e.g. `tcp/localhost:7447`.
    """

    def __init__(self, endpoint: str) -> None:
        self._session = open_session(
            {"mode": "client", "connect/endpoints": [endpoint], "connect/timeout_ms": 2000,
             "connect/exit_on_failure": True, "scouting/multicast/enabled": False},
            f"No zenoh router answers at {endpoint}. Start one, or leave out `--zenoh`.",
            "The door of zenoh",
        )  # fmt: skip
        self._queryable: Any = None
        self._under_way: set[asyncio.Task[None]] = set()

    def begin(self, app: ASGIApp) -> None:
        """Start to accept queries; call it inside the event loop that answers them."""
        loop = asyncio.get_running_loop()

        def take(query: Any) -> None:
            task = loop.create_task(_answer(app, query))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

        def asked(query: Any) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(take, query)

        self._queryable = self._session.declare_queryable(f"{KEY}/**", asked)

    async def end(self) -> None:
        """Stop accepting queries, answer those in progress, and leave the network."""
        if self._queryable is not None:
            await asyncio.to_thread(self._queryable.undeclare)
        await asyncio.sleep(0)  # those that were taken last have their tasks now
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await asyncio.to_thread(self._session.close)


async def _answer(app: ASGIApp, query: Any) -> None:
    """Ask the server, and reply."""
    key = str(query.key_expr)
    kind = str(query.encoding) if query.encoding is not None else ""
    scope, body = _scope(
        key.removeprefix(KEY), None if query.payload is None else bytes(query.payload),
        kind if kind in BINARY else JSON, str(query.parameters).replace(";", "&"),
        None if query.attachment is None else bytes(query.attachment),
    )  # fmt: skip
    status, told = 500, b""

    async def receive() -> Message:
        nonlocal body
        if body is None:
            return {"type": "http.disconnect"}
        data, body = body, None
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, told
        status = message.get("status", status)
        told += message.get("body", b"")

    try:
        with suppress(Exception):  # the app has told of it, with status 500
            await app(scope, receive, send)
        if status < 400 and "*" not in key:
            query.reply(key, told, encoding=JSON)
        else:
            query.reply_err(told, encoding=JSON)
    finally:
        query.drop()


def _scope(
    path: str, payload: bytes | None, kind: str, address: str, token: bytes | None
) -> tuple[Scope, bytes | None]:
    """A query as a request of HTTP, and its body."""
    body = b"" if payload is None else payload
    headers = [
        (b"host", b"localhost"),
        (b"content-type", kind.encode()),
        (b"content-length", b"%d" % len(body)),
    ]
    if token is not None:
        headers.append((b"authorization", b"Bearer " + token))
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
        "method": "GET" if payload is None else "POST", "path": path, "raw_path": path.encode(),
        "root_path": "", "query_string": address.encode(), "headers": headers,
        "client": ("zenoh", 0), "server": ("localhost", 0),
    }  # fmt: skip
    return scope, body
