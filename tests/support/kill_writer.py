"""Kill a writer of a folder at every line that it runs, and look at what it leaves.

Run as a program.  Prints what readers found after the kills, each finding once: first where an old
folder was to be replaced, then where there was none.
"""

import os
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from isovist import FileError
from isovist.storage import check_folder, read_folder, write_folder

TRACED = ("folder.py", "files.py")


def write(path: Path, value: int) -> None:
    write_folder(path, "atlas", 1, {"value": value}, {"one": np.full((3, 2), value)})


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
        return "none" if str(error).endswith(("no such folder.", "no such file.")) else str(error)
    whole = check_folder(path) == [] and all((a == meta["value"]).all() for a in arrays.values())
    return {1: "old", 2: "new"}[meta["value"]] if whole else "damaged"


def findings(before: str) -> list[str]:
    """What readers find after a kill at any line, and after the next writer."""
    states, line, done = set(), 0, False
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
            states.add(found(path))
            write(path, 2)
            if found(path) != "new":
                states.add(f"after the next write: {found(path)}")
    return sorted(states)


if __name__ == "__main__":
    os.fsync = lambda _handle: None  # a killed process loses nothing that it gave to the system
    print(findings("old"), findings("none"))
