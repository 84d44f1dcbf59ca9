"""Requests to the studio, and what the library says instead."""

import json

import numpy as np
from tests.support.paper_parts import paper_basis, paper_room
from tests.support.reports import plainly, update_json

import isovist as iv
from isovist import write_scan
from isovist.apps import office
from isovist.io import read_cloud_log
from isovist.tracking.replay import replay


def told(response):
    """The lines of a long answer."""
    assert response.status_code == 200, response.text
    return [json.loads(line) for line in response.text.splitlines()]


def send(door, files, kind=""):
    parts = [("file", (name, data)) for name, data in files.items()]
    return told(door.post("/read", files=parts, data={"as": kind}))[-1]


def wrong(said):
    """Code and field of an error, with one line for people."""
    assert set(said) == {"error", "code", "field"}
    assert said["error"].isprintable()
    return said["code"], said["field"]


def inside(folder, prefix=""):
    """The files of a folder, as a browser sends them."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {f"{prefix}{path.relative_to(folder)}": path.read_bytes() for path in paths}


def scan_file(scan, tmp_path, name="scan.json"):
    write_scan(scan, tmp_path / name)
    return {name: (tmp_path / name).read_bytes()}


def replayed(log, atlas=None):
    """What a tracker says of a drive, or of a file of clouds, as JSON without times."""
    log = log if hasattr(log, "frame") else read_cloud_log(log)
    tracker = iv.Tracker(office().atlas if atlas is None else atlas)
    return [plainly(update_json(update, log.frame)) for update in replay(tracker, log)]


def of_the_paper(point):
    """F and J of the example of the paper."""
    return iv.Descriptor(paper_basis()).at(paper_room(), np.array(point), jacobian=True)
