"""Long answers line by line: progress while something goes on, then what came of it.

Each line is a JSON object: `{"progress": 0.4}`, what a verb yields, or at the end an error:
`{"error": "…", "code": "…"}`.
"""

import json
import logging
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from starlette.formparsers import MultiPartException
from starlette.responses import StreamingResponse

from isovist.errors import ErrorCode, IsovistError

log = logging.getLogger("isovist.studio")
FAILED = "The studio failed at this; its terminal says more. The page goes on."
NEWS = 0.02
"""Least progress that is told."""


def error_json(error: BaseException) -> dict[str, object]:
    """Return an error as JSON data: our own errors as they are, others in general words."""
    if isinstance(error, IsovistError):
        return error.to_dict()
    if isinstance(error, MultiPartException):
        return refusal_json(error.message, "unknown_format")
    if isinstance(error, MemoryError):
        return refusal_json("The machine has not enough memory for this.", "too_large")
    log.error("a request failed", exc_info=error)
    return refusal_json(FAILED, "failed")


def refusal_json(text: str, code: ErrorCode) -> dict[str, object]:
    """Return the JSON data of a request that is refused before any work is done."""
    return {"error": text, "code": code, "field": None}


def lines(objects: Iterable[dict[str, Any]]) -> StreamingResponse:
    """Return a streaming response with one line of JSON per object; an error is the last line."""

    def text() -> Iterator[str]:
        try:
            for told in objects:
                yield json.dumps(told, separators=(",", ":"), allow_nan=False) + "\n"
        except Exception as error:
            yield json.dumps(error_json(error)) + "\n"

    return StreamingResponse(text(), media_type="application/x-ndjson")


def watched(work: Callable[[Callable[[float], None]], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Run work in its own thread and yield its progress, then its result as `done`.

    When nobody listens any more, the work ends at its next progress.
    """
    news: queue.SimpleQueue[dict[str, Any] | BaseException] = queue.SimpleQueue()
    stop, last = threading.Event(), -1.0

    def tell(share: float) -> None:
        nonlocal last
        if stop.is_set():
            raise UnheardError
        if share - last >= NEWS:
            last = share
            news.put({"progress": round(share, 3)})

    def run() -> None:
        try:
            news.put({"done": work(tell)})
        except BaseException as error:
            news.put(error)

    threading.Thread(target=run, daemon=True, name="isovist-studio").start()
    try:
        while True:
            told = news.get()
            if isinstance(told, BaseException):
                raise told
            yield told
            if "done" in told:
                return
    finally:
        stop.set()


class UnheardError(Exception):
    """Raised to end work whose client has left."""
