"""Start the studio and open its page."""

import logging
import webbrowser
from dataclasses import dataclass
from pathlib import Path

import isovist as iv

log = logging.getLogger("isovist.studio")


@dataclass(frozen=True, slots=True)
class StudioOptions:
    """Options of `isovist studio`.

    Attributes:
        world: A map or an atlas to begin with; the demonstration when `None`.
        drive: A log to begin with.
        host: Address to listen on.
        port: Port to listen on; 0 for a free one.
        has_browser: Whether to open the page in the browser.
        scan_topic: Topic of the scans in a bag, as `read_log` takes it.
        odometry_topic: Topic of the odometry in a bag, as `read_log` takes it.
    """

    world: Path | None = None
    drive: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8765
    has_browser: bool = True
    scan_topic: str | None = None
    odometry_topic: str | None = None


def start(options: StudioOptions) -> None:
    """Serve the studio until it is interrupted."""
    with iv.MissingExtraError.unless_found("The studio", "studio"):
        import python_multipart  # noqa: F401
        import uvicorn

        from isovist.apps.studio.app import studio_app
        from isovist.apps.web import Access
    from isovist.apps.studio.session_store import Named, SessionStore, Site
    from isovist.apps.web import listen, read_atlas_or_map, read_log_or_clouds, url_of

    store, world, drive = SessionStore(), options.world, options.drive
    if world is not None:
        log.info("building the atlas of %s", world.name)
        store.sites.add("map", Site(world.name, read_atlas_or_map(world)), is_pinned=True)
    if drive is not None:
        drive_log = read_log_or_clouds(drive, options.scan_topic, options.odometry_topic)
        store.logs.add("log", Named(drive.name, drive_log), is_pinned=True)
    host, access = options.host, Access.of_page(options.host)
    listener = listen(host, options.port)
    is_here = host in ("127.0.0.1", "0.0.0.0", "::", "::1")
    query = f"?token={access.tokens[0]}" if access.tokens else ""
    url = url_of(listener, "localhost" if is_here else host) + query
    url += "" if drive is None else "#tab=follow"
    log.info("the studio is at %s (Ctrl-C ends it)", url)
    if options.has_browser:
        webbrowser.open(url)
    app = studio_app(store, access, "office" if world is None else "map")
    config = uvicorn.Config(app, log_level="warning", server_header=False, ws="none")
    uvicorn.Server(config).run(sockets=[listener])
