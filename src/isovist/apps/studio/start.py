"""Start the server and open its page."""

import logging
import webbrowser
from pathlib import Path
from secrets import token_urlsafe

from isovist.apps.web.listening import listen
from isovist.errors import MissingExtraError

log = logging.getLogger("isovist.studio")
ANY = 0
"""A port that is free."""


def start(
    world: Path | None,
    drive: Path | None,
    *,
    host: str,
    port: int,
    browser: bool,
    scan_topic: str | None = None,
    odometry_topic: str | None = None,
) -> None:
    """Serve the studio until it is interrupted.

    Args:
        world: A map or an atlas to begin with; the demonstration when `None`.
        drive: A log to begin with.
        host: Address to listen on.
        port: Port to listen on; a free one when 0.
        browser: Whether to open the page.
        scan_topic: Topic of the scans in a bag, as `read_log` takes it.
        odometry_topic: Topic of the odometry in a bag, as `read_log` takes it.
    """
    with MissingExtraError.unless_found("The studio", "studio"):
        import python_multipart  # noqa: F401
        import uvicorn

        from isovist.apps.studio.app import studio_app
        from isovist.apps.web.origin import LOOPBACK
    from isovist.apps.studio.session_store import Named, Shelf, Site
    from isovist.apps.web.uploads import read_drive, read_site

    shelf, first = Shelf(), "office"
    if world is not None:
        log.info("describing %s", world.name)
        atlas = read_site(world, lambda _share: None)
        shelf.sites.put("map", Site(world.name, atlas), stays=True)
        first = "map"
    if drive is not None:
        read = read_drive(drive, scan_topic, odometry_topic)
        shelf.logs.put("log", Named(drive.name, read), stays=True)
    listener = listen(host, port)
    port = listener.getsockname()[1]
    name = f"[{host}]" if ":" in host else host
    page = (
        f"http://{'localhost' if host in ('127.0.0.1', '0.0.0.0', '::', '::1') else name}:{port}/"
    )
    token = None if host in LOOPBACK else token_urlsafe(24)  # others can ask there
    query = "" if token is None else f"?token={token}"
    address = f"{page}{query}" if drive is None else f"{page}{query}#tab=follow"
    log.info("the studio is at %s (Ctrl-C ends it)", address)
    if browser:
        webbrowser.open(address)
    config = uvicorn.Config(
        studio_app(shelf, host, first, token), log_level="warning", server_header=False, ws="none"
    )
    uvicorn.Server(config).run(sockets=[listener])
