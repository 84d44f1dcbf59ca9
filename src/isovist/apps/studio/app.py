"""The doors of the studio: a page, and one address per verb.

Verbs take and give JSON.  Those that may take long answer line by line (`streams`).  Nothing of
the machine can be read by name: pages come from one folder, data from the shelf by key.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from isovist import __version__
from isovist.apps.studio import (
    handlers,
    playback,
    reception,
    samples,
    share,
    theory_view,
    view_models,
)
from isovist.apps.studio.session_store import GoneError, Shelf
from isovist.apps.web import streams, uploads
from isovist.apps.web.origin import TOO_LARGE, Guard, TooLargeError
from isovist.apps.web.parameters import Ask
from isovist.errors import ErrorCode, InputError

STATIC = Path(__file__).parent / "static"
MOST_JSON = 64 << 20
"""Bytes of a request that is no file: a page to be shared, with its map."""
Verb = Callable[[Shelf, Ask], dict[str, Any]]


@lru_cache(maxsize=1)
def page() -> str:
    """Return the HTML page of the studio."""
    return (STATIC / "index.html").read_text(encoding="utf-8")


def inline_hashes(html: str) -> list[str]:
    """Return the hashes of the inline scripts of a page, for its content security policy."""
    scripts = re.findall(r'<script type="importmap">(.*?)</script>', html, re.DOTALL)
    digests = (hashlib.sha256(text.encode()).digest() for text in scripts)
    return [f"sha256-{base64.b64encode(digest).decode()}" for digest in digests]


def studio_app(
    shelf: Shelf | None = None,
    host: str = "127.0.0.1",
    first: str = "office",
    token: str | None = None,
) -> Starlette:
    """Create the web application of the studio.

    Args:
        shelf: Store of maps, scans and logs; with the demonstrations alone when `None`.
        host: Address that the studio is reached by.
        first: Key of the map that is shown at the start.
        token: Token that every request must bring; `None` if only this machine can ask.
    """
    kept = Shelf() if shelf is None else shelf
    samples.offer(kept)

    async def ask_of(request: Request) -> Ask:
        data = bytearray()
        async for chunk in request.stream():  # which need not say its length
            data += chunk
            if len(data) > MOST_JSON:
                raise HTTPException(413, TOO_LARGE)
        try:
            fields = json.loads(data)
        except (ValueError, RecursionError):
            raise InputError(
                "A request is JSON, and this is none.", code="unknown_format"
            ) from None
        return Ask(fields)

    async def home(_request: Request) -> Response:
        return HTMLResponse(page())

    async def things(_request: Request) -> Response:
        told = {
            "version": __version__,
            "first": first,
            "sites": [
                {"key": key, "name": name, "library": kept.library_of(key)}
                for key, name in kept.sites.names()
            ],
            "logs": [{"key": key, "name": name} for key, name in kept.logs.names()],
            "parts": (STATIC / "vendor" / "three.module.js").exists(),
        }
        return JSONResponse(told)

    async def site(request: Request) -> Response:
        key, what = request.path_params["key"], request.path_params.get("what", "")
        found = await run_in_threadpool(kept.sites.get, key)
        if what == "":
            return JSONResponse(await run_in_threadpool(view_models.site_json, key, found))
        if what == "plan.png":
            data = await run_in_threadpool(view_models.plan_png, found)
            return Response(data, media_type="image/png")
        if what == "points":
            data = await run_in_threadpool(view_models.wall_points, found)
            return Response(data, media_type="application/octet-stream")
        raise HTTPException(404, "There is nothing of this name.")

    def answering(verb: Verb) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            ask = await ask_of(request)
            return JSONResponse(await run_in_threadpool(verb, kept, ask))

        return answer

    def streaming(verb: Callable[[Shelf, Ask], Iterator[dict[str, Any]]]) -> Callable[..., Any]:
        async def answer(request: Request) -> Response:
            return streams.lines(verb(kept, await ask_of(request)))

        return answer

    def working(verb: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
        return streaming(lambda shelf, ask: streams.watched(lambda tell: verb(shelf, ask, tell)))

    async def read(request: Request) -> Response:
        async with request.form(max_files=uploads.MOST_FILES, max_fields=4) as form:
            files = {
                part.filename or "": await part.read()
                for part in form.getlist("file")
                if not isinstance(part, str)
            }
            wanted, topic = (str(form.get(name, "")) for name in ("as", "scan_topic"))
        kind = wanted if wanted in ("map", "scan", "log") else ""
        return streams.lines(
            streams.watched(lambda tell: reception.receive(kept, files, kind, tell, topic or None))
        )

    async def shared(request: Request) -> Response:
        ask = await ask_of(request)
        return HTMLResponse(await run_in_threadpool(share.share_page, ask.fields))

    routes = [
        Route("/", home),
        Route("/things", things),
        Route("/sites/{key}", site),
        Route("/sites/{key}/{what}", site),
        Route("/read", read, methods=["POST"]),
        Route("/locate", answering(handlers.locate_scan), methods=["POST"]),
        Route(
            "/theory", answering(lambda _shelf, ask: theory_view.theory_at(ask)), methods=["POST"]
        ),
        Route("/track", streaming(playback.track_log), methods=["POST"]),
        Route("/survey", working(handlers.survey_site), methods=["POST"]),
        Route("/explore", working(playback.explore_site), methods=["POST"]),
        Route("/share", shared, methods=["POST"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    guard = Middleware(Guard, host=host, scripts=inline_hashes(page()), token=token)
    return Starlette(
        routes=routes,
        middleware=[guard, Middleware(GZipMiddleware, minimum_size=2000, compresslevel=1)],
        exception_handlers={Exception: _failed, HTTPException: _refused, InputError: _bad,
                            TooLargeError: _too_large, MultiPartException: _bad},
    )  # fmt: skip


async def _bad(_request: Request, error: Exception) -> Response:
    return JSONResponse(streams.error_json(error), 404 if isinstance(error, GoneError) else 400)


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = "There is nothing of this name." if error.status_code == 404 else error.detail
    codes: dict[int, ErrorCode] = {400: "unknown_format", 413: "too_large"}
    code = codes.get(error.status_code, "not_found")
    return JSONResponse(streams.refusal_json(text, code), error.status_code)


async def _too_large(_request: Request, _error: Exception) -> Response:
    return JSONResponse(streams.refusal_json(TOO_LARGE, "too_large"), 413)


async def _failed(_request: Request, error: Exception) -> Response:
    return JSONResponse(streams.error_json(error), 500)
