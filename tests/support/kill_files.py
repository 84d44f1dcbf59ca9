"""Kill writers of files wherever they have changed a file, and look at what they leave.

Run as a program.  Prints for each writer what readers found after the kills, each finding once:
"old", "new" or "none" is well, anything else is half a file that reads.
"""

import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import isovist as iv
from isovist import IsovistError, read_map, read_scan, write_map, write_scan
from isovist.report import new_figure, save
from isovist.storage import check_folder, read_folder, write_folder

SIZES = {1: 0.1, 2: 0.2}


def world(value: int) -> iv.OccupancyMap:
    """A map whose cells and whose resolution say which one it is."""
    cells = np.zeros((6 + value, 9), dtype=np.uint8)
    cells[0] = 1
    return iv.OccupancyMap(cells, SIZES[value])


def found_map(path: Path) -> int:
    seen = read_map(path)
    (value,) = {seen.shape[0] - 6, {v: k for k, v in SIZES.items()}[seen.resolution]}
    return value


def found_plan(path: Path) -> int:
    return round(float(np.ptp(read_map(path).bounds[:, 0])))


def found_scan(path: Path) -> int:
    seen = read_scan(path)
    (value,) = {round(float(r)) for r in seen.ranges}
    return value


def found_picture(path: Path) -> int:
    from PIL import Image

    try:
        with Image.open(path) as image:
            image.load()
            return round(image.width / 150)
    except FileNotFoundError as error:
        raise iv.FileError("there is no such file.", code="not_found") from error


def scan_of(value: int) -> iv.Scan:
    return iv.Scan(np.linspace(-1.0, 1.0, 40), np.full(40, float(value)), 0.0, 9.0)


def write_one(path: Path, value: int) -> None:
    write_folder(path, "atlas", 1, {"value": value}, {"one": np.full((3, 2), value)})


def found_folder(path: Path) -> int:
    meta, arrays = read_folder(path, "atlas", 1)
    assert check_folder(path) == []
    (value,) = {meta["value"], *np.unique(arrays["one"]).tolist()}
    return value


WRITERS: dict[str, tuple[Callable[[Path, int], None], Callable[[Path], int]]] = {
    "map.yaml": (lambda path, value: write_map(world(value), path), found_map),
    "plan.geojson": (lambda p, value: write_map(iv.SegmentMap.room(value, 3.0), p), found_plan),
    "scan.json": (lambda path, value: write_scan(scan_of(value), path), found_scan),
    "scan.npz": (lambda path, value: write_scan(scan_of(value), path), found_scan),
    "folder": (write_one, found_folder),
    "picture.png": (lambda path, value: save(new_figure(float(value), 1.0), path), found_picture),
}


def before_each_line(look: Callable[[int], None]) -> None:
    """From now on look, with the number of the line, before each line of the readers' package."""
    seen = 0

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal seen
        if "isovist/storage" not in frame.f_code.co_filename:
            return None
        if event == "line":
            seen += 1
            look(seen)
        return trace

    sys.settrace(trace)


def contents(room: Path) -> dict[str, bytes]:
    files = (path for path in room.rglob("*") if path.is_file())
    return {str(path.relative_to(room)): path.read_bytes() for path in files}


def turns(write: Callable[[int], None], room: Path) -> list[int]:
    """The first line, and each before which the files are not what they were at the last one.

    A killed process leaves what is on the disk, so the lines between leave the same.
    """
    states: list[dict[str, bytes]] = []
    lines = []

    def look(line: int) -> None:
        now = contents(room)
        if states[-1:] != [now]:
            states.append(now)
            lines.append(line)

    before_each_line(look)
    write(2)
    sys.settrace(None)
    return lines


def write_and_die(write: Callable[[int], None], line: int) -> None:
    """Write the new one, but kill this process when it has run so many lines of the package."""

    def look(now: int) -> None:
        if now == line:
            os.kill(os.getpid(), signal.SIGKILL)

    before_each_line(look)
    write(2)


def state(path: Path, read: Callable[[Path], int]) -> str:
    """What a reader finds."""
    try:
        return {1: "old", 2: "new"}[read(path)]
    except IsovistError as error:
        return "none" if error.code == "not_found" else f"refused: {error}"


def findings(name: str, before: bool) -> list[str]:
    """What is there after a kill at any turn, and that the next writer is not hindered."""
    write, read = WRITERS[name]
    with tempfile.TemporaryDirectory() as elsewhere, tempfile.TemporaryDirectory() as scratch:
        write(Path(elsewhere) / name, 1)  # so that all modules are there
        path = Path(scratch) / name
        if before:
            write(path, 1)
        old = contents(path.parent)
        lines = turns(partial(write, path), path.parent)
    states = set()
    for line in (*lines, sys.maxsize):
        with tempfile.TemporaryDirectory() as room:
            path = Path(room) / name
            for other, data in old.items():
                Path(room, other).parent.mkdir(exist_ok=True)
                Path(room, other).write_bytes(data)
            child = os.fork()
            if child == 0:
                write_and_die(partial(write, path), line)
                os._exit(0)
            killed = os.waitpid(child, 0)[1] != 0
            if killed != (line in lines):
                states.add(f"line {line} was not met")
            states.add(state(path, read))
            write(path, 2)
            if state(path, read) != "new":
                states.add(f"after the next write: {state(path, read)}")
    return sorted(states)


if __name__ == "__main__":
    os.fsync = lambda _handle: None  # a killed process loses nothing that it gave to the system
    print(json.dumps({name: [findings(name, True), findings(name, False)] for name in WRITERS}))
