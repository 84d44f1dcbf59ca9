"""The HTTP application of the server: its addresses, and one handler for each.

Handlers pass requests to worker processes (`processes.pool`). Every error becomes a status and one
sentence. Names and docstrings of the handlers are those of the OpenAPI description.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

import isovist as iv
from isovist.apps.server import openapi
from isovist.apps.server.maps import Maps
from isovist.apps.server.processes.messages import Call, Reply, Verb
from isovist.apps.server.processes.pool import WorkerPool, WorkerProcess
from isovist.apps.server.requests import Body
from isovist.apps.server.sessions import Sessions
from isovist.apps.web import (
    CONTENT_TYPE,
    ERROR_HANDLERS,
    Access,
    Gate,
    Limits,
    Metrics,
    RefusedError,
    RequestLog,
    uploaded_files,
)

if TYPE_CHECKING:
    from isovist.apps.server.zenoh_queries import ZenohEntrance

log = logging.getLogger("isovist.serve")
REFRESH_S = 1.0


class Server:
    """HTTP application of the localization server: its request handlers and their shared state.

    Args:
        maps: The maps that are served.
        access: Who may send requests.
        limits: Limits on request sizes, waiting requests and times.
        workers: Number of worker processes, each on one core.
        zenoh: A second entrance for zenoh queries.
    """

    def __init__(
        self,
        maps: Maps,
        access: Access | None = None,
        limits: Limits | None = None,
        workers: int = 1,
        zenoh: "ZenohEntrance | None" = None,
    ) -> None:
        self.maps, self.limits = maps, limits or Limits()
        self.workers = WorkerPool(workers, self.limits)
        self.provers = WorkerPool(1, self.limits, environment={})  # on all cores
        self.homes = Sessions[WorkerProcess](self.limits)  # the worker of each tracked robot
        self.metrics, self.is_ready = Metrics(), False
        self._zenoh, self._upload = zenoh, asyncio.Lock()
        self.routes = self._routes()
        paths = {route.endpoint: route.path for route in self.routes}
        self.app = Starlette(
            routes=self.routes,
            middleware=[
                Middleware(RequestLog, metrics=self.metrics, paths=paths),
                Middleware(Gate, access=access or Access(), limits=self.limits),
            ],
            lifespan=self._lifespan,
            exception_handlers=ERROR_HANDLERS,
        )

    def _routes(self) -> list[Route]:
        return [
            Route("/locate", self.locate, methods=["POST"]),
            Route("/check", self.check, methods=["POST"]),
            Route("/track", self.begin, methods=["POST"]),
            Route("/track/{session}", self.update, methods=["POST"]),
            Route("/track/{session}", self.end, methods=["DELETE"]),
            Route("/maps", self.list_maps, methods=["GET"]),
            Route("/maps/{name}", self.bring_map, methods=["POST"]),
            Route("/maps/{name}", self.remove_map, methods=["DELETE"]),
            Route("/health", self.get_health, methods=["GET"]),
            Route("/ready", self.get_ready, methods=["GET"]),
            Route("/metrics", self.get_metrics, methods=["GET"]),
            Route("/openapi.json", self.get_openapi, methods=["GET"]),
            Route("/", self.get_page, methods=["GET"]),
        ]

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        maintenance = asyncio.create_task(self._maintain())
        if self._zenoh is not None:
            self._zenoh.open(self.app)
        try:
            yield
        finally:
            if self._zenoh is not None:
                await self._zenoh.close()
            maintenance.cancel()
            with suppress(asyncio.CancelledError):
                await maintenance
            await self.workers.close()
            await self.provers.close()

    async def _maintain(self) -> None:
        """Start the workers, then refresh the maps and expire sessions once per second."""
        await self.warm_up()
        last_error = ""
        while True:
            await asyncio.sleep(REFRESH_S)
            try:
                if await asyncio.to_thread(self.maps.refresh):
                    log.info("maps: %s", ", ".join(self.maps.names) or "none")
                last_error = ""
            except (iv.IsovistError, OSError) as error:
                if str(error) != last_error:
                    last_error = str(error)
                    log.warning("the maps were not refreshed: %s", last_error)
            self.homes.expire()

    async def warm_up(self) -> None:
        """Start all workers and compile the kernels that the maps need."""
        with suppress(iv.IsovistError):
            if self.maps.names:
                await self.workers.warm_up(self.maps.library)
        self.is_ready = True

    async def locate(self, request: Request) -> Response:
        """Find the pose of a scan, as `isovist locate --json` does."""
        body, library = await _body_of(request), self.maps.library
        reply = await self.workers.ask(Call("locate", body), library)
        if reply.needs_proof:
            reply = await self.provers.ask(Call("prove", body), library)
        return _response(request, reply)

    async def check(self, request: Request) -> Response:
        """Check whether a pose explains a scan, as `isovist check --json` does."""
        body, library = await _body_of(request), self.maps.library
        return _response(request, await self.workers.ask(Call("check", body), library))

    async def begin(self, request: Request) -> Response:
        """Begin to track a robot."""
        body, library = await _body_of(request), self.maps.library
        worker = self.workers.least_used(self.homes)
        key = self.homes.begin(worker)
        try:
            reply = await self.workers.ask(Call("begin", body, key), library, worker)
            return _response(request, reply, 201)
        except BaseException:
            self.homes.drop(key)
            raise

    async def update(self, request: Request) -> Response:
        """Update a tracked robot, as `isovist track --json` does."""
        try:
            return _response(request, await self._ask_home(request, "update"))
        except RefusedError as error:
            if error.status == 404:  # its worker has ended
                self.homes.drop(request.path_params["session"])
            raise

    async def end(self, request: Request) -> Response:
        """Forget a tracked robot."""
        reply = await self._ask_home(request, "end")
        self.homes.drop(request.path_params["session"])
        _response(request, reply)
        return Response(status_code=204)

    async def _ask_home(self, request: Request, verb: Verb) -> Reply:
        """Return the reply of the worker that tracks the robot of a session."""
        body, key = await _body_of(request), request.path_params["session"]
        return await self.workers.ask(Call(verb, body, key), worker=self.homes.get(key))

    async def list_maps(self, _request: Request) -> Response:
        """List the maps."""
        return JSONResponse({"maps": await asyncio.to_thread(self.maps.rows)})

    async def bring_map(self, request: Request) -> Response:
        """Add or replace a map or an atlas, sent as files of a form (`file`)."""
        if self._upload.locked():
            text = "Another map is being uploaded. Try again later."
            raise RefusedError(429, text, self.limits.retry_after_s)
        async with self._upload, uploaded_files(request, self.limits) as (files, _):
            name = request.path_params["name"]
            request.scope["isovist"]["map"] = name[:100]
            is_new = await asyncio.to_thread(self.maps.add, name, files)
        return JSONResponse({"name": name, "new": is_new}, 201 if is_new else 200)

    async def remove_map(self, request: Request) -> Response:
        """Remove a map."""
        await asyncio.to_thread(self.maps.remove, request.path_params["name"])
        return Response(status_code=204)

    async def get_health(self, _request: Request) -> Response:
        """Say that the server runs."""
        return JSONResponse({"version": iv.__version__})

    async def get_ready(self, _request: Request) -> Response:
        """Say whether the server can answer: its workers have started."""
        if not self.is_ready:
            text = "The workers are still starting. Try again later."
            raise RefusedError(503, text, self.limits.retry_after_s)
        return JSONResponse({"maps": len(self.maps.names)})

    async def get_metrics(self, _request: Request) -> Response:
        """Return counts and times for Prometheus."""
        pools = self.workers, self.provers
        gauges = {
            "maps": float(len(self.maps.names)),
            "sessions": float(len(self.homes)),
            "waiting": float(sum(pool.waiting for pool in pools)),
        }
        batches, scans = (sum(counts) for counts in zip(*(p.batches for p in pools), strict=True))
        return Response(self.metrics.text(gauges, (batches, scans)), media_type=CONTENT_TYPE)

    async def get_openapi(self, _request: Request) -> Response:
        """Return this description as OpenAPI 3.1."""
        return JSONResponse(openapi.description(self.routes))

    async def get_page(self, _request: Request) -> Response:
        """Return this description as a page."""
        return HTMLResponse(openapi.page(self.routes))


async def _body_of(request: Request) -> Body:
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Body(await request.body(), content_type, dict(request.query_params))


def _response(request: Request, reply: Reply, status: int = 200) -> Response:
    """Return the answer of a worker, or raise its error."""
    request.scope["isovist"].update(reply.log_fields)
    if reply.error is not None:
        raise reply.error
    return Response(reply.content, status, media_type="application/json")
