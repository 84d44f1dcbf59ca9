"""Kill a writer of a folder at every line that it runs, and look at what it leaves.

Run as a program with the mode of renaming ("exchange" or "two renames") and whether an old folder
exists ("old" or "none").  Prints what readers found after each kill, each finding once.
"""

import os
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from isovist.errors import FileError
from isovist.io.folder import swap
from isovist.io.folder.folder import check_folder, read_folder, write_folder

TRACED = ("folder.py", "swap.py")


def write(path: Path, value: int) -> None:
    rows = np.full((3, 2), value)
    write_folder(path, "atlas", 1, {"value": value}, {"one": rows, "two": [rows, rows]})


def write_and_die(path: Path, line: int) -> None:
    """Write, but kill this process when it has run so many lines."""
    seen = 0

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal seen
        if not frame.f_code.co_filename.endswith(TRACED):
            return None
        if event == "line":
            seen += 1
            if seen == line:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    write(path, 2)


def found(path: Path) -> str:
    """What a reader sees."""
    try:
        meta, arrays = read_folder(path, "atlas", 1)
    except FileError as error:
        return "none" if str(error).endswith("there is no such folder.") else str(error)
    whole = check_folder(path) == [] and all((a == meta["value"]).all() for a in arrays.values())
    return {1: "old", 2: "new"}[meta["value"]] if whole else "damaged"


def main(mode: str, before: str) -> None:
    if mode == "two renames":
        swap.exchange = lambda *_names: False
    os.fsync = lambda _handle: None  # a killed process loses nothing that it gave to the system
    findings: dict[str, int] = {}
    line, done = 0, False
    while not done:
        line += 1
        with tempfile.TemporaryDirectory() as room:
            path = Path(room) / "atlas"
            if before == "old":
                write(path, 1)
            child = os.fork()
            if child == 0:
                write_and_die(path, line)
                os._exit(0)
            done = os.waitpid(child, 0)[1] == 0
            state = found(path)
            findings[state] = findings.get(state, 0) + 1
            write(path, 2)
            left = sorted(entry.name for entry in Path(room).iterdir())
            if left != ["atlas"] or found(path) != "new":
                findings[f"after the next write: {left}"] = line
    print(sorted(findings), file=sys.stdout)
    print(findings, file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
