"""Start the server, and end it without losing a request."""

import ctypes
import logging
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from isovist.apps.web.limits import Limits
from isovist.errors import FileError, InputError, MissingExtraError
from isovist.localization.workers import check_workers
from isovist.storage.files import read_bytes

if TYPE_CHECKING:
    from isovist.apps.server.zenoh_queries import ZenohDoor

log = logging.getLogger("isovist.serve")
MIB = 2.0**20
M_ARENA_MAX, ARENAS = -8, 2
"""What the C library of GNU calls the most places that memory is taken from, and how many do.  A
server of 16 cores held 849 MB after 24 s and more all the time, and with two of them 292 MB.
"""
FILES = 3
"""Files for each connection: itself, one that is about to be taken, and maps and the like."""
SHORTEST = 16
"""Letters of a token: fewer can be tried out."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_LOCAL = re.compile(r"[a-z]+/(localhost|127\.0\.0\.1|\[::1\]):")


def start(
    library: Path,
    *,
    host: str,
    port: int,
    token_file: Path | None = None,
    memory: float | None = None,
    limits: Limits | None = None,
    zenoh: str | None = None,
    workers: int | None = None,
) -> None:
    """Serve the maps of a folder until the process is told to end.

    Args:
        library: The folder; made where it is missing.
        host: Address to listen on.
        port: Port to listen on; a free one when 0.
        token_file: Tokens, one per line, of which each request must bring one.
        memory: MiB that open atlases may take together.
        limits: Limits on request sizes, waiting requests and times.
        zenoh: Where a zenoh router listens, e.g. `tcp/localhost:7447`, to answer queries there too.
        workers: Number of worker processes, on one core each, with `memory` each; requests run in
            threads of this process when `None`.
    """
    if workers is not None:
        check_workers(workers)
    with MissingExtraError.unless_found("The server", "serve"):
        import python_multipart  # noqa: F401
        import uvicorn

        from isovist.apps.server.app import Server
        from isovist.apps.server.processes.idle_connections import protocol_of
    from isovist.apps.server.maps import Maps
    from isovist.apps.web.listening import listen

    tokens = () if token_file is None else read_tokens(token_file)
    if not tokens and host not in LOOPBACK:
        raise InputError(
            f"At `host` {host} others can ask, so that the server needs a `token_file`; without "
            "one it listens at 127.0.0.1 alone.",
            code="missing",
            field="token_file",
        )
    if zenoh is not None and not tokens and not _LOCAL.match(zenoh):
        raise InputError(
            f"By the router at {zenoh} others can ask, so that the server needs a `token_file`; "
            "without one the router must be on this machine, e.g. tcp/localhost:7447.",
            code="missing",
            field="token_file",
        )
    chosen = Limits() if limits is None else limits
    maps, door = Maps(library, None if memory is None else memory * MIB), _door(zenoh)
    server = Server(maps, chosen, tokens, host, door, workers)
    note_requests()
    share_arenas()
    listener = listen(host, port, "The server")
    name = f"[{host}]" if ":" in host else host
    log.info(
        "%d maps are served at http://%s:%d/ (Ctrl-C ends it)",
        len(server.maps.names), name, listener.getsockname()[1],
    )  # fmt: skip
    most = room_for(chosen.connections)
    config = uvicorn.Config(
        server.app, http=protocol_of(chosen.head_s, most), log_level="error", server_header=False,
        ws="none", access_log=False, timeout_keep_alive=int(chosen.head_s), backlog=most,
        timeout_graceful_shutdown=int(chosen.seconds + chosen.body_s),
    )  # fmt: skip
    with _ending_by_signal():
        uvicorn.Server(config).run(sockets=[listener])
    log.info("every request is answered; the server ends")


def share_arenas() -> bool:
    """Let all threads share a few memory arenas; return whether the C library can do so.

    The GNU library gives each thread an arena of its own, and others cannot use what is free there.
    """
    if "MALLOC_ARENA_MAX" in os.environ:  # somebody knows better
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS))
    except (AttributeError, OSError, TypeError):
        return False


def room_for(connections: int) -> int:
    """Return how many connections the open-file limit allows, at most the given number.

    Each takes a file, and as many more may wait.  Most systems let a process have 1024 open
    files, and more when it asks.
    """
    try:
        import resource
    except ImportError:  # of Unix alone
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted, without = FILES * connections, resource.RLIM_INFINITY
    if soft != without and soft < wanted:
        soft = wanted if hard == without else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if soft == without else min(connections, soft // FILES)


def _door(endpoint: str | None) -> "ZenohDoor | None":
    if endpoint is None:
        return None
    from isovist.apps.server.zenoh_queries import ZenohDoor

    return ZenohDoor(endpoint)


@contextmanager
def _ending_by_signal() -> Iterator[None]:
    """Being told to end is no failure: uvicorn raises signals again when it has ended."""
    told = (signal.SIGINT, signal.SIGTERM)
    before = {one: signal.signal(one, lambda *_: None) for one in told}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def read_tokens(path: Path) -> tuple[str, ...]:
    """Read the access tokens of a file, one per line."""
    try:
        lines = read_bytes(path, "a file of tokens", 1 << 16).decode().splitlines()
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path.name} is no text. Write one token per line.", code="unknown_format"
        ) from error
    tokens = tuple(line.strip() for line in lines if line.strip())
    if not tokens:
        raise FileError(f"{path.name} holds no token. Write one per line.", code="empty")
    if any(len(token) < SHORTEST for token in tokens):
        raise FileError(f"{path.name}: a token has at least {SHORTEST} letters.")
    return tokens


def note_requests() -> None:
    """Log one line of JSON per request to standard output."""
    noted = logging.getLogger("isovist.serve.requests")
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter("%(message)s"))
    noted.handlers[:] = [handler]
    noted.setLevel(logging.INFO)
    noted.propagate = False
