"""The web application of the studio: a page, and one address for each thing that it asks.

Requests and answers are JSON. Answers that may take long come line by line (`web.streams`). No
file of the machine can be read by name: pages come from one folder, data from the store by key.
"""

import base64
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from functools import lru_cache
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import isovist as iv
from isovist.apps.studio import handlers, playback, reception, samples, view_models
from isovist.apps.studio.session_store import SessionStore
from isovist.apps.studio.share import STATIC, share_page
from isovist.apps.studio.theory_view import theory_at
from isovist.apps.web import (
    ERROR_HANDLERS,
    Access,
    Fields,
    Gate,
    Limits,
    Progress,
    TooLargeError,
    stream,
    uploaded_files,
    with_progress,
)

Json = dict[str, Any]
Endpoint = Callable[[Request], Awaitable[Response]]


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
    store: SessionStore | None = None, access: Access | None = None, first: str = "office"
) -> Starlette:
    """Create the web application of the studio.

    Args:
        store: Store of maps, scans and logs; when `None`, a store with the demonstrations only.
        access: Permission to send requests; when `None`, for this machine only.
        first: Key of the map that is shown at the start.
    """
    studio = Studio(SessionStore() if store is None else store, first)
    access = Access(in_page=True) if access is None else access
    gate = Middleware(Gate, access=access, limits=studio.limits, scripts=inline_hashes(page()))
    return Starlette(
        routes=studio.routes(),
        middleware=[gate, Middleware(GZipMiddleware, minimum_size=2000, compresslevel=1)],
        exception_handlers=ERROR_HANDLERS,
    )


class Studio:
    """Request handlers of the studio and their shared state.

    Args:
        store: Store of maps, scans and logs.
        first: Key of the map that is shown at the start.
    """

    def __init__(self, store: SessionStore, first: str) -> None:
        self.store, self.first, self.limits = store, first, Limits()
        samples.add_demos(store)

    def routes(self) -> list[Route | Mount]:
        """Return the addresses of the studio."""
        post = ["POST"]
        return [
            Route("/", self.home),
            Route("/things", self.catalog),
            Route("/sites/{key}", self.site),
            Route("/sites/{key}/{part}", self.site_part),
            Route("/read", self.upload, methods=post),
            Route("/locate", self._json(handlers.locate_scan), methods=post),
            Route("/theory", self._json(lambda _store, fields: theory_at(fields)), methods=post),
            Route("/track", self._lines(playback.track_log), methods=post),
            Route("/survey", self._progress(handlers.survey_site), methods=post),
            Route("/explore", self._progress(playback.explore_site), methods=post),
            Route("/share", self.share, methods=post),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]

    async def home(self, _request: Request) -> Response:
        """Return the page."""
        return HTMLResponse(page())

    async def catalog(self, _request: Request) -> Response:
        """List the maps and logs."""
        sites = [
            {"key": key, "name": name, "library": self.store.library_of(key)}
            for key, name in self.store.sites.names()
        ]
        catalog = {
            "version": iv.__version__,
            "first": self.first,
            "sites": sites,
            "logs": [{"key": key, "name": name} for key, name in self.store.logs.names()],
            "parts": (STATIC / "vendor" / "three.module.js").exists(),
        }
        return JSONResponse(catalog)

    async def site(self, request: Request) -> Response:
        """Describe a map."""
        key = request.path_params["key"]
        site = await run_in_threadpool(self.store.sites.get, key)
        return JSONResponse(await run_in_threadpool(view_models.site_json, key, site))

    async def site_part(self, request: Request) -> Response:
        """Return the image or the wall points of a map."""
        parts = {
            "plan.png": (view_models.plan_png, "image/png"),
            "points": (view_models.wall_points, "application/octet-stream"),
        }
        site = await run_in_threadpool(self.store.sites.get, request.path_params["key"])
        if request.path_params["part"] not in parts:
            raise HTTPException(404)
        render, media_type = parts[request.path_params["part"]]
        return Response(await run_in_threadpool(render, site), media_type=media_type)

    async def upload(self, request: Request) -> Response:
        """Read uploaded files."""
        async with uploaded_files(request, self.limits) as (files, form):
            kind, topic = (str(form.get(name, "")) for name in ("as", "scan_topic"))
        upload = reception.Upload(files, kind if kind in ("map", "scan", "log") else "", topic)
        return stream(
            with_progress(lambda progress: reception.receive(self.store, upload, progress))
        )

    async def share(self, request: Request) -> Response:
        """Return a view as one page."""
        fields = await self._fields(request)
        return HTMLResponse(await run_in_threadpool(share_page, fields.values))

    async def _fields(self, request: Request) -> Fields:
        data = bytearray()
        async for chunk in request.stream():  # a request need not say its length
            data += chunk
            if len(data) > self.limits.max_json_bytes:
                raise TooLargeError(self.limits.max_json_bytes)
        try:
            fields = json.loads(data)
        except (ValueError, RecursionError):
            raise iv.InputError("The body is not valid JSON.", code="unknown_format") from None
        return Fields(fields)

    def _json(self, answer: Callable[[SessionStore, Fields], Json]) -> Endpoint:
        """Return an endpoint that answers at once."""

        async def endpoint(request: Request) -> Response:
            fields = await self._fields(request)
            return JSONResponse(await run_in_threadpool(answer, self.store, fields))

        return endpoint

    def _lines(self, answer: Callable[[SessionStore, Fields], Iterator[Json]]) -> Endpoint:
        """Return an endpoint that answers line by line."""

        async def endpoint(request: Request) -> Response:
            return stream(answer(self.store, await self._fields(request)))

        return endpoint

    def _progress(self, answer: Callable[[SessionStore, Fields, Progress], Json]) -> Endpoint:
        """Return an endpoint that sends its progress before the answer."""
        return self._lines(
            lambda store, fields: with_progress(lambda progress: answer(store, fields, progress))
        )
