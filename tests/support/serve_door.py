"""A server with the maps of the tests, for those that ask it."""

import json
import logging
import re
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from logging.handlers import QueueHandler
from queue import SimpleQueue

import httpx
import numpy as np
import uvicorn
from tests.support.command_line import run
from tests.support.reports import believed
from tests.support.sites import SITES

import isovist as iv
from isovist import write_scan
from isovist.apps import Access, Limits, Maps, Server, listen, uvicorn_config


def library(folder, *names):
    """A folder with atlases of the plane, or of space, by the name of the site."""
    folder.mkdir(exist_ok=True)
    for name in names or ("plane",):
        iv.write_atlas(SITES[name].atlas, folder / f"{name}.atlas")
    return folder


@contextmanager
def serving(folder, *, tokens=(), zenoh=None, workers=1, **limits):
    """A server in a thread of this process, and a client that asks it."""
    folder.mkdir(exist_ok=True)
    limits = Limits(**{"answer_timeout_s": 600.0, **limits})  # a worker may compile first
    server = Server(Maps(folder), Access(tokens=tuple(tokens)), limits, workers, zenoh)
    listener = listen("127.0.0.1", 0)
    runner = uvicorn.Server(uvicorn_config(server, server.limits.max_connections))
    thread = threading.Thread(target=runner.run, args=([listener],), daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        with httpx.Client(base_url=address, timeout=600.0) as client:
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


def followed(tracker, number, odometry, scan, time=None):
    """What a tracker says of an update, as JSON without times."""
    belief = tracker.update(odometry, scan, time=time)
    stamp = number + 1.0 if time is None else time
    return believed(number, odometry, belief, stamp)


def refusal(response):
    """Status, code and field of what is refused, with one line for people."""
    told = response.json()
    assert set(told) == {"error", "code", "field"}
    assert told["error"].isprintable()
    return response.status_code, told["code"], told["field"]


def refused_at_start(*words):
    """Code and field of why `isovist serve` or `isovist studio` does not begin."""
    with listen("127.0.0.1", 0) as taken:  # so that none begins that should not
        port = str(taken.getsockname()[1])
        error = run(*words, "--port", port).error
    assert isinstance(error, iv.IsovistError), error
    return error.code, error.field


@contextmanager
def noted():
    """The lines of the log of requests, each when its request is done."""
    logger, lines = logging.getLogger("isovist.serve.requests"), SimpleQueue()
    handler, level = QueueHandler(lines), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield lambda: json.loads(lines.get(timeout=120.0).message)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@contextmanager
def server_process(maps, *words):
    """`isovist serve` as a process of its own, and a client that asks it."""
    command = [sys.executable, "-m", "isovist", "serve", "--library", str(maps), "--port", "0"]
    command += words
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = ""
        while not (found := re.search(r"http://[^ ]+", address)):
            address = running.stderr.readline()
            assert address, "it ended"
        with httpx.Client(base_url=found[0].rstrip("/"), timeout=120.0) as client:
            yield running, client
    finally:
        running.kill()
        running.communicate()


def line_to(client):
    """A connection to the server that a client asks."""
    line = socket.create_connection((client.base_url.host, client.base_url.port))
    line.settimeout(120.0)
    return line
