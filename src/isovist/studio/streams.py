"""Long answers line by line: progress while something goes on, then what came of it.

Each line is a JSON object: `{"progress": 0.4}`, what a verb yields, or `{"error": "…"}` at the end.
"""

import json
import logging
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from starlette.responses import StreamingResponse

from isovist.errors import IsovistError

log = logging.getLogger("isovist.studio")
FAILED = "The studio failed at this; its terminal says more. The page goes on."
NEWS = 0.02
"""Least progress that is told."""


def plain(error: BaseException) -> str:
    """What to tell a page: an error of ours in its words, another one in general."""
    if isinstance(error, IsovistError):
        return str(error)
    if isinstance(error, MemoryError):
        return "The machine has not enough memory for this."
    log.error("a request failed", exc_info=error)
    return FAILED


def lines(objects: Iterable[dict[str, Any]]) -> StreamingResponse:
    """A response with one line per object; an error becomes the last line."""

    def text() -> Iterator[str]:
        try:
            for told in objects:
                yield json.dumps(told, separators=(",", ":"), allow_nan=False) + "\n"
        except Exception as error:
            yield json.dumps({"error": plain(error)}) + "\n"

    return StreamingResponse(text(), media_type="application/x-ndjson")


def watched(work: Callable[[Callable[[float], None]], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Progress of some work while it goes on in a thread of its own, then its result as `done`.

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
    """Nobody listens any more."""
