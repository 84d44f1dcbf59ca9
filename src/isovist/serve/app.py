"""The doors of the server: one address per verb, JSON back.

Requests are read and checked here, worked on elsewhere (`batches`), and whatever is wrong with one
is a status and a sentence.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from isovist import __version__
from isovist.atlas.library import Library
from isovist.errors import IsovistError
from isovist.localization.locate import compile_kernels
from isovist.serve import openapi, questions
from isovist.serve.answers import Served, asked, checking, locating
from isovist.serve.batches import Batcher
from isovist.serve.errors import RefusedError
from isovist.serve.gate import Gate
from isovist.serve.limits import Limits
from isovist.serve.maps import Maps
from isovist.serve.metrics import TYPE, Metrics
from isovist.serve.questions import Body, Fields, odometry_of, region_of
from isovist.serve.sessions import Sessions, updating
from isovist.serve.workers import Workers
from isovist.studio.guard import TooLargeError
from isovist.studio.streams import plain
from isovist.studio.uploads import MOST_FILES
from isovist.tracking.tracker import Tracker

if TYPE_CHECKING:
    from isovist.serve.zenoh_door import ZenohDoor

log = logging.getLogger("isovist.serve")
LOOK_S = 1.0
"""So often the folder of maps is looked at, in s."""
NOT_READY = "Not ready: the loops are being compiled. Try again later."
Handler = Callable[[Request], Awaitable[Response]]


class Server:
    """What the doors share.

    Args:
        maps: That are served.
        limits: Of what is taken on.
        tokens: Of which each request must bring one.
        host: Address that it is reached by.
        door: A second one, beside HTTP.
        workers: Processes that share the scans of `/locate`; threads of this one when `None`.
    """

    def __init__(
        self,
        maps: Maps,
        limits: Limits | None = None,
        tokens: Sequence[str] = (),
        host: str = "127.0.0.1",
        door: "ZenohDoor | None" = None,
        workers: int | None = None,
    ) -> None:
        self.door = door
        self.maps, self.limits = maps, Limits() if limits is None else limits
        self.batches, self.sessions = Batcher(self.limits), Sessions(self.limits)
        self.workers = None if workers is None else Workers(workers, self.limits, self.batches)
        self.metrics, self.ready = Metrics(), False
        self._bringing = asyncio.Lock()
        gate = Middleware(Gate, host=host, tokens=tokens, limits=self.limits, metrics=self.metrics)
        self.app = Starlette(
            routes=[self._route(*row[:2]) for row in openapi.ADDRESSES],
            middleware=[gate],
            lifespan=self._life,
            exception_handlers={
                Exception: _failed, HTTPException: _no_door, IsovistError: _bad,
                TooLargeError: self._too_large, MultiPartException: _bad,
                ClientDisconnect: _gone,
            },
        )  # fmt: skip

    def _route(self, method: str, path: str) -> Route:
        """The door of an address: the method of this object that is called like it."""
        word = path.partition("{")[0].strip("/").replace(".", "_") or "page"
        handler: Handler = getattr(self, f"{method}_{word}{'_one' if '{' in path else ''}")

        async def answer(request: Request) -> Response:
            request.scope["isovist"]["route"] = path
            return await handler(request)

        return Route(path, answer, methods=[method.upper()])

    @asynccontextmanager
    async def _life(self, _app: Starlette) -> AsyncIterator[None]:
        looking = asyncio.create_task(self._look_after())
        if self.door is not None:
            self.door.begin(self.app)
        try:
            yield
        finally:
            if self.door is not None:
                await self.door.end()
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
            await asyncio.to_thread(self.batches.close)
            if self.workers is not None:
                await self.workers.close()

    async def _look_after(self) -> None:
        """Compile, then look at the folder of maps now and then."""
        await self.warm_up()
        told = ""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                if await asyncio.to_thread(self.maps.refresh):
                    log.info("the maps are %s", ", ".join(self.maps.names) or "none")
                told = ""
            except (IsovistError, OSError) as error:
                if str(error) != told:
                    told = str(error)
                    log.warning("the maps stay as they were: %s", told)
            self.sessions.forget()

    async def warm_up(self) -> None:
        """Have everything compiled that the maps need; without maps nothing is."""
        with suppress(IsovistError):
            if self.maps.names:
                library = self.maps.library
                await asyncio.to_thread(_compile_for, library)
                if self.workers is not None:
                    await self.workers.warm_up(library)
        self.ready = True

    async def _body(self, request: Request) -> Body:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        return Body(await request.body(), kind, dict(request.query_params))

    async def _asked(
        self, request: Request, known: Sequence[str]
    ) -> tuple[Body, Fields, Served]:  # fmt: skip
        """Body and fields of a request, and the map that it is about."""
        body, noted = await self._body(request), request.scope["isovist"]
        about = partial(asked, body, known, self.maps.library, self.limits, noted)
        return body, *await asyncio.to_thread(about)

    def _told(self, request: Request, told: dict[str, Any]) -> Response:
        request.scope["isovist"]["verdict"] = told["verdict"]
        return JSONResponse(told)

    async def post_locate(self, request: Request) -> Response:
        body, library, noted = (
            await self._body(request),
            self.maps.library,
            request.scope["isovist"],
        )
        if self.workers is not None and not body.may_prove:
            ask = partial(self.workers.ask, library, body)
            answered = await self.batches.elsewhere(ask)
            noted.update(answered.noted)
            if answered.error is not None:
                raise answered.error
            return Response(answered.text, media_type="application/json")
        search, scan = await asyncio.to_thread(locating, body, library, self.limits, noted)
        if search.proves:
            (told,) = await self.batches.beside(lambda: search.run([scan]))
            if isinstance(told, Exception):
                raise told
        else:
            told = await self.batches.ask(search.kind, scan, search.run)
        return self._told(request, told)

    async def post_check(self, request: Request) -> Response:
        body, fields, site = await self._asked(request, questions.CHECK)
        work = await asyncio.to_thread(checking, site, body, fields)
        return self._told(request, await self.batches.beside(work))

    async def post_track(self, request: Request) -> Response:
        _, fields, site = await self._asked(request, questions.BEGIN)
        prior = region_of(fields)
        tilt, turned = (fields.switch(name, False) for name in ("tilt", "any_attitude"))
        tracker = await asyncio.to_thread(
            Tracker, site, prior=prior, tilt=tilt, any_attitude=turned
        )
        key = self.sessions.begin(tracker)
        return JSONResponse({"session": key, "expires_s": self.limits.session_s}, 201)

    async def post_track_one(self, request: Request) -> Response:
        body = await self._body(request)
        session = self.sessions.get(request.path_params["session"])
        fields = body.fields(questions.UPDATE)
        odometry = odometry_of(fields)
        time = fields.number("time", low=-1e15, high=1e15) if fields.has("time") else None
        scan = await asyncio.to_thread(body.scan, fields)
        work = updating(session, odometry, scan, time)
        return self._told(request, await self.batches.beside(work))

    async def delete_track_one(self, request: Request) -> Response:
        self.sessions.end(request.path_params["session"])
        return Response(status_code=204)

    async def get_maps(self, _request: Request) -> Response:
        return JSONResponse({"maps": await asyncio.to_thread(self.maps.told)})

    async def post_maps_one(self, request: Request) -> Response:
        if self._bringing.locked():
            raise RefusedError(429, "Another map is being brought.", self.limits.retry_s)
        async with self._bringing, request.form(max_files=MOST_FILES, max_fields=1) as form:
            files = {
                part.filename or "": await part.read()
                for part in form.getlist("file")
                if not isinstance(part, str)
            }
            name = request.path_params["name"]
            request.scope["isovist"]["map"] = name[:100]
            new = await asyncio.to_thread(self.maps.put, name, files)
        return JSONResponse({"name": name, "new": new}, 201 if new else 200)

    async def delete_maps_one(self, request: Request) -> Response:
        await asyncio.to_thread(self.maps.remove, request.path_params["name"])
        return Response(status_code=204)

    async def get_health(self, _request: Request) -> Response:
        return JSONResponse({"version": __version__})

    async def get_ready(self, _request: Request) -> Response:
        if not self.ready:
            raise RefusedError(503, NOT_READY, self.limits.retry_s)
        return JSONResponse({"maps": len(self.maps.names)})

    async def get_metrics(self, _request: Request) -> Response:
        now = {
            "maps": float(len(self.maps.names)),
            "sessions": float(len(self.sessions)),
            "waiting": float(self.batches.waiting),
        }
        return Response(self.metrics.text(now, self.batches.sizes), media_type=TYPE)

    async def get_openapi_json(self, _request: Request) -> Response:
        return JSONResponse(openapi.description())

    async def get_page(self, _request: Request) -> Response:
        return HTMLResponse(openapi.page())

    async def _too_large(self, request: Request, _error: Exception) -> Response:
        most = self.limits.map_bytes if request.url.path.startswith("/maps") else None
        most = self.limits.scan_bytes if most is None else most
        text = f"The body of this request has at most {most >> 20} MiB."
        return JSONResponse({"error": text}, 413)


def _compile_for(library: Library) -> None:
    """What the first of some maps needs, as those that stand together are alike."""
    compile_kernels(library[next(iter(library))])


async def _bad(_request: Request, error: Exception) -> Response:
    if isinstance(error, RefusedError):
        wait = {} if error.retry_s is None else {"Retry-After": str(error.retry_s)}
        return JSONResponse({"error": str(error)}, error.status, wait)
    return JSONResponse({"error": str(error)}, 400)


async def _no_door(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    texts = {
        404: "There is nothing at this address. GET / lists what there is.",
        405: "This address is asked in another way. GET / lists how.",
    }
    text = texts.get(error.status_code, error.detail)
    return JSONResponse({"error": text}, error.status_code, error.headers)


async def _gone(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)  # nobody reads it


async def _failed(_request: Request, error: Exception) -> Response:
    return JSONResponse({"error": plain(error)}, 500)
