"""Requests to the studio."""

import json

from isovist import write_scan

UNTIMED = ("timing_ms", "update_ms")


def untimed(answer):
    return {key: value for key, value in answer.items() if key not in UNTIMED}


def told(response):
    """The lines of a long answer."""
    assert response.status_code == 200, response.text
    return [json.loads(line) for line in response.text.splitlines()]


def send(door, files, kind=""):
    parts = [("file", (name, data)) for name, data in files.items()]
    return told(door.post("/read", files=parts, data={"as": kind}))[-1]


def scan_file(scan, tmp_path, name="scan.json"):
    write_scan(scan, tmp_path / name)
    return {name: (tmp_path / name).read_bytes()}
