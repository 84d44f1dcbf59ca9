"""`isovist studio`: maps and answers in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def studio(
    world: Annotated[
        Path | None,
        typer.Argument(
            metavar="MAP_OR_ATLAS", help="Map or atlas to open; a generated office if not given."
        ),
    ] = None,
    log: Annotated[
        Path | None, typer.Argument(metavar="LOG", help="Log to track on that map.")
    ] = None,
    scan_topic: options.ScanTopic = None,
    odometry_topic: options.OdometryTopic = None,
    port: options.Port = 8765,
    host: options.Host = "127.0.0.1",
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Show maps and answers in the browser until Ctrl-C."""
    from isovist.apps.studio import StudioOptions
    from isovist.apps.studio.start import start

    start(StudioOptions(world, log, host, port, browser, scan_topic, odometry_topic))
