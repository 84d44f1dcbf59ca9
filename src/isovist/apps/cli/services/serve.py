"""`isovist serve`: localize many robots over HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def serve(
    library: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Folder of atlases; maps of clients are stored there."),
    ],
    port: options.Port = 8080,
    host: options.Host = "127.0.0.1",
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Tokens, one per line; each request must have one."),
    ] = None,
    memory: Annotated[
        float | None,
        options.number("MIB", "Maximum memory of open atlases, in MiB.", default="no limit"),
    ] = None,
    backend: Annotated[
        str | None, options.choice(("cpu", "cuda"), "Backend that computes.", default="cpu")
    ] = None,
    workers: Annotated[
        int | None,
        options.number("N", "Number of worker processes, one core each.", default="one per core"),
    ] = None,
    zenoh: Annotated[
        str | None,
        typer.Option(
            metavar="ENDPOINT",
            help="Answer zenoh queries too, through this router, e.g. tcp/localhost:7447.",
        ),
    ] = None,
) -> None:
    """Serve localization over HTTP until Ctrl-C. The page at / describes the requests."""
    from isovist.apps.server import ServeOptions
    from isovist.apps.server.start import start
    from isovist.compute import set_default_backend

    if backend is not None:
        set_default_backend(backend)
    start(ServeOptions(library, host, port, token_file, memory, workers, zenoh))
