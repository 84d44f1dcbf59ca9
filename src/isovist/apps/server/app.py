"""The doors of the server: one address per verb, JSON back.

Requests are read and checked here, worked on elsewhere (`batches`), and whatever is wrong with one
is a status and a sentence.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from isovist import __version__
from isovist.apps.server import openapi
from isovist.apps.server.batches import Batcher
from isovist.apps.server.handlers import Question, Told, checked, locating
from isovist.apps.server.maps import Maps
from isovist.apps.server.processes.workers import Hired, Workers
from isovist.apps.server.requests import Body
from isovist.apps.server.sessions import Robot, Sessions, begun
from isovist.apps.web.access import Gate
from isovist.apps.web.errors import RefusedError
from isovist.apps.web.limits import Limits
from isovist.apps.web.metrics import TYPE, Metrics
from isovist.apps.web.origin import TooLargeError
from isovist.apps.web.streams import error_json, refusal_json
from isovist.apps.web.uploads import MOST_FILES
from isovist.atlas.library import Library
from isovist.errors import ErrorCode, IsovistError
from isovist.localization.locate import compile_kernels

if TYPE_CHECKING:
    from isovist.apps.server.zenoh_queries import ZenohDoor

log = logging.getLogger("isovist.serve")
LOOK_S = 1.0
"""So often the folder of maps is looked at, in s."""
NOT_READY = "Not ready: the loops are being compiled. Try again later."
Handler = Callable[[Request], Awaitable[Response]]


class Server:
    """HTTP application of the localization server: its request handlers and their shared state.

    Args:
        maps: The maps that are served.
        limits: Limits on request sizes, waiting requests and times.
        tokens: Accepted access tokens; each request must bring one if there are any.
        host: Address that the server is reached by.
        door: A second entrance beside HTTP, for zenoh queries.
        workers: Number of worker processes; requests run in threads of this process when `None`.
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
        self.batches = Batcher(self.limits)
        # Robots that are followed here, or by which worker.
        self.robots, self.homes = Sessions[Robot](self.limits), Sessions[Hired](self.limits)
        self.workers = None if workers is None else Workers(workers, self.limits, self.batches)
        self.metrics, self.ready = Metrics(), False
        self._bringing = asyncio.Lock()
        gate = Middleware(Gate, host=host, tokens=tokens, limits=self.limits, metrics=self.metrics)
        self.app = Starlette(
            routes=[self._route(one.method, one.path) for one in openapi.ADDRESSES],
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
            self.robots.forget()
            self.homes.forget()

    async def warm_up(self) -> None:
        """Compile the kernels that the maps need, here and in all workers."""
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

    def _told(self, request: Request, told: Told, status: int = 200) -> Response:
        if "verdict" in told:
            request.scope["isovist"]["verdict"] = told["verdict"]
        return JSONResponse(told, status)

    async def _elsewhere(
        self, request: Request, question: Question, one: Hired | None = None
    ) -> Response:
        """The answer of a worker."""
        assert self.workers is not None
        library = None if question.verb in ("update", "end") else self.maps.library
        ask = partial(self.workers.ask, library, question, one)
        answered = await self.batches.elsewhere(ask)
        request.scope["isovist"].update(answered.noted)
        if answered.error is not None:
            raise answered.error
        status = 201 if question.verb == "begin" else 200
        return Response(answered.text, status, media_type="application/json")

    async def post_locate(self, request: Request) -> Response:
        body, library = await self._body(request), self.maps.library
        if self.workers is not None and not await asyncio.to_thread(lambda: body.asks_for_proof):
            return await self._elsewhere(request, Question("locate", body))
        noted = request.scope["isovist"]
        search, scan = await asyncio.to_thread(locating, body, library, self.limits, noted)
        if search.proves:
            (told,) = await self.batches.beside(lambda: list(search.run(iter([scan]))))
            if isinstance(told, Exception):
                raise told
        else:
            told = await self.batches.ask(search.kind, scan, search.run)
        return self._told(request, told)

    async def post_check(self, request: Request) -> Response:
        body, library = await self._body(request), self.maps.library
        if self.workers is not None:
            return await self._elsewhere(request, Question("check", body))
        noted = request.scope["isovist"]
        work = partial(checked, body, library, self.limits, noted)
        return self._told(request, await self.batches.beside(work))

    async def post_track(self, request: Request) -> Response:
        body, library = await self._body(request), self.maps.library
        if self.workers is None:
            noted = request.scope["isovist"]
            robot = await asyncio.to_thread(Robot.of, body, library, self.limits, noted)
            return self._told(request, begun(self.robots.begin(robot), self.limits), 201)
        one = self.workers.least(self.homes)
        key = self.homes.begin(one)
        try:
            return await self._elsewhere(request, Question("begin", body, key), one)
        except BaseException:
            self.homes.drop(key)
            raise

    async def post_track_one(self, request: Request) -> Response:
        body, key = await self._body(request), request.path_params["session"]
        if self.workers is None:
            robot = self.robots.get(key)
            work = partial(robot.update, body)
            return self._told(request, await self.batches.beside(work))
        one = self.homes.get(key)
        try:
            return await self._elsewhere(request, Question("update", body, key), one)
        except RefusedError as error:
            if error.status == 404:  # the worker that followed it has ended
                self.homes.drop(key)
            raise

    async def delete_track_one(self, request: Request) -> Response:
        key = request.path_params["session"]
        if self.workers is None:
            self.robots.get(key)
            self.robots.drop(key)
        else:
            one = self.homes.get(key)
            self.homes.drop(key)
            await self._elsewhere(request, Question("end", await self._body(request), key), one)
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
            "sessions": float(len(self.robots) + len(self.homes)),
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
        return JSONResponse(refusal_json(text, "too_large"), 413)


def _compile_for(library: Library) -> None:
    """What the first of some maps needs, as those that stand together are alike."""
    compile_kernels(library[next(iter(library))])


async def _bad(_request: Request, error: Exception) -> Response:
    if isinstance(error, RefusedError):
        wait = {} if error.retry_s is None else {"Retry-After": str(error.retry_s)}
        return JSONResponse(error.to_dict(), error.status, wait)
    return JSONResponse(error_json(error), 400)


async def _no_door(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    texts = {
        404: "There is nothing at this address. GET / lists what there is.",
        405: "This address is asked in another way. GET / lists how.",
    }
    text = texts.get(error.status_code, error.detail)
    code: ErrorCode = "unknown_format" if error.status_code == 400 else "not_found"  # of a form
    return JSONResponse(refusal_json(text, code), error.status_code, error.headers)


async def _gone(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)  # nobody reads it


async def _failed(_request: Request, error: Exception) -> Response:
    return JSONResponse(error_json(error), 500)
