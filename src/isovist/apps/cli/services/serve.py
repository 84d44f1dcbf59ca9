"""`isovist serve`: where am I, for many robots, over HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def serve(
    library: Annotated[
        Path, typer.Option(help="Folder of atlases; maps that clients send are kept there.")
    ],
    port: options.Port = 8080,
    host: options.Host = "127.0.0.1",
    token_file: Annotated[
        Path | None, typer.Option(help="Tokens, one per line; each request must bring one of them.")
    ] = None,
    memory: Annotated[
        float | None, typer.Option(help="MiB that open atlases may take; no limit if not given.")
    ] = None,
    backend: Annotated[
        str | None, typer.Option(help="What computes, cpu or cuda; cpu if not given.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Worker processes that answer requests, on one core each; one per core if not "
            "given, or a single one with a card."
        ),
    ] = None,
    zenoh: Annotated[
        str | None,
        typer.Option(
            metavar="ENDPOINT",
            help="Answer queries over zenoh too, by the router there, e.g. tcp/localhost:7447.",
        ),
    ] = None,
) -> None:
    """Answer scans that are sent over HTTP, until Ctrl-C; the page at / says how to ask."""
    from isovist.apps.server.start import ServeOptions, start
    from isovist.compute.registry import set_default_backend

    if backend is not None:
        set_default_backend(backend)
    start(ServeOptions(library, host, port, token_file, memory, workers, zenoh))
