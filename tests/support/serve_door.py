"""A server with the maps of the tests, for those that ask it."""

import json
import threading
from contextlib import contextmanager

import httpx
import numpy as np
import uvicorn
from tests.support.sites import SITES

import isovist as iv
from isovist import write_scan
from isovist.apps import Limits, Maps, Server, listen, protocol_of


def library(folder, *names):
    """A folder with atlases of the plane, or of space, by the name of the site."""
    folder.mkdir(exist_ok=True)
    for name in names or ("plane",):
        iv.write_atlas(SITES[name].atlas, folder / f"{name}.atlas")
    return folder


@contextmanager
def serving(folder, *, tokens=(), door=None, workers=None, **limits):
    """A server in a thread of this process, and a client that asks it."""
    folder.mkdir(exist_ok=True)
    chosen = Limits(**limits)
    server = Server(Maps(folder), chosen, tokens, door=door, workers=workers)
    listener = listen("127.0.0.1", 0)
    http = protocol_of(chosen.head_s, chosen.connections)
    config = uvicorn.Config(server.app, http=http, log_level="error", ws="none", access_log=False)
    runner = uvicorn.Server(config)
    thread = threading.Thread(target=runner.run, args=([listener],), daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        with httpx.Client(base_url=address, timeout=120.0) as client:
            yield server, client
    finally:
        runner.should_exit = True
        thread.join(30.0)


def laser(scan):
    """A scan of the plane as the fields of a LaserScan."""
    ranges = [float(r) if ok else None for r, ok in zip(scan.ranges, scan.valid, strict=True)]
    return {
        "angle_min": float(scan.bearings[0]),
        "angle_increment": float(scan.bearings[-1] - scan.bearings[0]) / (len(ranges) - 1),
        "ranges": ranges,
        "range_min": float(scan.range_min),
        "range_max": float(scan.range_max) if np.isfinite(scan.range_max) else None,
    }


def npz(scan, folder):
    """A scan as the bytes of an .npz file."""
    path = folder / "scan-to-send.npz"
    write_scan(scan, path)
    return path.read_bytes()


def untimed(told):
    return {key: value for key, value in told.items() if key not in ("timing_ms", "update_ms")}


def plainly(told):
    """As it looks after a way through JSON."""
    return json.loads(json.dumps(untimed(told)))
