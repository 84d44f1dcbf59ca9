"""Start the server, and end it without losing a request."""

import logging
import math
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import isovist as iv
from isovist.apps.web import Limits
from isovist.localization import check_workers
from isovist.storage import read_bytes

if TYPE_CHECKING:
    import uvicorn

    from isovist.apps.server.app import Server
    from isovist.apps.server.zenoh_queries import ZenohEntrance
    from isovist.apps.web import Access

log = logging.getLogger("isovist.serve")
BYTES_PER_MIB = 2.0**20
FILES_PER_CONNECTION = 3
MIN_TOKEN_LENGTH = 16
_LOCAL_ROUTER = re.compile(r"[a-z]+/(localhost|127\.0\.0\.1|\[::1\]):")


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of `isovist serve`.

    Attributes:
        library: Folder of the maps; created if it is missing.
        host: Address to listen on.
        port: Port to listen on; 0 for a free one.
        token_file: File of tokens, one per line; each request must contain one of them.
        memory_mib: Memory that the open atlases of a worker may take, in MiB; `None` for no limit.
        workers: Number of worker processes; `None` for one per core, or one with a graphics card.
        zenoh: Endpoint of a zenoh router, e.g. `tcp/localhost:7447`, whose queries are answered
            too.
    """

    library: Path
    host: str = "127.0.0.1"
    port: int = 8080
    token_file: Path | None = None
    memory_mib: float | None = None
    workers: int | None = None
    zenoh: str | None = None


def start(options: ServeOptions, limits: Limits | None = None) -> None:
    """Serve the maps of a folder until the process gets SIGINT or SIGTERM."""
    if options.workers is not None:
        check_workers(options.workers)
    with iv.MissingExtraError.unless_found("The server", "serve"):
        import python_multipart  # noqa: F401
        import uvicorn

        from isovist.apps.server.app import Server
    from isovist.apps.server.maps import Maps
    from isovist.apps.web import listen, url_of

    limits = limits or Limits()
    access = access_of(options)
    memory = None if options.memory_mib is None else options.memory_mib * BYTES_PER_MIB
    maps, workers = Maps(options.library, memory), options.workers or default_workers()
    server = Server(maps, access, limits, workers, _zenoh_entrance(options.zenoh))
    log_requests()
    listener = listen(options.host, options.port, "The server")
    url = url_of(listener, options.host)
    log.info(
        "%d maps are served at %s by %d workers (Ctrl-C ends it)", len(maps.names), url, workers
    )
    config = uvicorn_config(server, allow_connections(limits.max_connections))
    with _signals_after_shutdown_ignored():
        uvicorn.Server(config).run(sockets=[listener])
    log.info("all requests are answered; the server ends")


def uvicorn_config(server: "Server", max_connections: int) -> "uvicorn.Config":
    """Return the configuration of the web server, which closes idle connections."""
    import uvicorn
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

    from isovist.apps.web import Connections

    limits = server.limits
    connections = Connections(max_connections, limits.idle_timeout_s)
    app: Any = server.app
    app = connections.watched(cast(Any, ProxyHeadersMiddleware(app)))
    config = uvicorn.Config(
        app, proxy_headers=False, http="h11", ws="none", server_header=False,
        log_level="error", access_log=False,
        timeout_keep_alive=math.ceil(limits.idle_timeout_s), backlog=max_connections,
        timeout_graceful_shutdown=int(limits.answer_timeout_s + limits.body_timeout_s),
    )  # fmt: skip
    connections.register(config)
    return config


def access_of(options: ServeOptions) -> "Access":
    """Return the permission to send requests; other machines need a token."""
    from isovist.apps.web import LOOPBACK, Access

    tokens = () if options.token_file is None else read_tokens(options.token_file)
    if not tokens and options.host not in LOOPBACK:
        raise iv.InputError(
            f"At `host` {options.host} other machines can send requests. Give a `token_file`, or "
            "listen at 127.0.0.1.",
            code="missing",
            field="token_file",
        )
    zenoh = options.zenoh
    if zenoh is not None and not tokens and not _LOCAL_ROUTER.match(zenoh):
        raise iv.InputError(
            f"Through the router at {zenoh} other machines can send requests. Give a `token_file`, "
            "or use a router on this machine, e.g. tcp/localhost:7447.",
            code="missing",
            field="token_file",
        )
    return Access(options.host, tokens)


def default_workers() -> int:
    """Return one worker per core, or a single one for a card."""
    from isovist.compute import active_backend

    if active_backend().name == "cuda":
        return 1
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def allow_connections(max_connections: int) -> int:
    """Raise the limit on open files, and return the number of connections that it allows.

    By default most systems allow a process 1024 open files.  Each connection takes one.  An equal
    number is reserved for waiting connections and for maps.
    """
    try:
        import resource
    except ImportError:  # only on Unix
        return max_connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files, unlimited = FILES_PER_CONNECTION * max_connections, resource.RLIM_INFINITY
    if soft != unlimited and soft < files:
        soft = files if hard == unlimited else min(files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max_connections if soft == unlimited else min(files, soft) // FILES_PER_CONNECTION


def _zenoh_entrance(endpoint: str | None) -> "ZenohEntrance | None":
    if endpoint is None:
        return None
    from isovist.apps.server.zenoh_queries import ZenohEntrance

    return ZenohEntrance(endpoint)


@contextmanager
def _signals_after_shutdown_ignored() -> Iterator[None]:
    """Let the process end without an error: uvicorn raises signals again when it has ended."""
    signals = (signal.SIGINT, signal.SIGTERM)
    handlers = {number: signal.signal(number, lambda *_: None) for number in signals}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def read_tokens(path: Path) -> tuple[str, ...]:
    """Read the access tokens of a file, one per line."""
    try:
        lines = read_bytes(path, "a file of tokens", 1 << 16).decode().splitlines()
    except UnicodeDecodeError as error:
        raise iv.FileError(
            f"{path.name} is not a text file. Write one token per line.", code="unknown_format"
        ) from error
    tokens = tuple(line.strip() for line in lines if line.strip())
    if not tokens:
        raise iv.FileError(f"{path.name} has no token. Write one per line.", code="empty")
    if any(len(token) < MIN_TOKEN_LENGTH for token in tokens):
        raise iv.FileError(
            f"{path.name}: a token must have at least {MIN_TOKEN_LENGTH} characters."
        )
    return tokens


def log_requests() -> None:
    """Log one line of JSON per request to standard output."""
    logger = logging.getLogger("isovist.serve.requests")
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.handlers[:] = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
