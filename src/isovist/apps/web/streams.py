"""Stream long answers line by line: progress while work goes on, then its result.

Each line is a JSON object: `{"progress": 0.4}`, a partial result, or at the end an error:
`{"error": "…", "code": "…"}`.
"""

import json
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from starlette.responses import StreamingResponse

from isovist.apps.web.responses import error_json

MIN_PROGRESS = 0.02


def stream(objects: Iterable[dict[str, Any]]) -> StreamingResponse:
    """Return a streaming response with one line of JSON per object; an error is the last line."""

    def lines() -> Iterator[str]:
        try:
            for item in objects:
                yield json.dumps(item, separators=(",", ":"), allow_nan=False) + "\n"
        except Exception as error:
            yield json.dumps(error_json(error)) + "\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")


def with_progress(
    work: Callable[[Callable[[float], None]], dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Run work in its own thread; yield its progress, then its result as `done`.

    If the client leaves, the work ends at its next progress.
    """
    messages: queue.SimpleQueue[dict[str, Any] | BaseException] = queue.SimpleQueue()
    stop, last = threading.Event(), -1.0

    def advance(share: float) -> None:
        nonlocal last
        if stop.is_set():
            raise ClientLeftError
        if share - last >= MIN_PROGRESS:
            last = share
            messages.put({"progress": round(share, 3)})

    def run() -> None:
        try:
            messages.put({"done": work(advance)})
        except BaseException as error:
            messages.put(error)

    threading.Thread(target=run, daemon=True, name="isovist-studio").start()
    try:
        while True:
            message = messages.get()
            if isinstance(message, BaseException):
                raise message
            yield message
            if "done" in message:
                return
    finally:
        stop.set()


class ClientLeftError(Exception):
    """Raised to end work whose client has left."""
