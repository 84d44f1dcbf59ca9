"""What `record.py` and the tests do alike: a table of what changed, and programs."""

import io
import json
import re
import warnings
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest

import isovist as iv
from isovist.renamed import ROWS

FIXTURES = Path(__file__).resolve().parent / "fixtures"
FILES, PROGRAMS, STATES = (FIXTURES / name for name in ("files", "programs", "states"))
CHANGED = {row.old: ("renamed", row.reason) for row in ROWS if row.new is None} | {
    "isovist bench descriptors office.yaml --count 4 --only vlad --condition clean"
    " --spacing 0.8 --json": ("renamed", "benchmarks.baselines descriptors"),
    "isovist bench space site.stl --simulate 1 --only isovist --json": (
        "renamed",
        "benchmarks.baselines space",
    ),
}
"""What no longer works, by the code of its error and the name that this says to use instead: a
program, a command line, a file, `state NAME`, a parameter `function(name)`, an attribute
`Class.name`, a name `iv.Name` or an option `isovist verb --option`."""
MARK = "\n# ----\n"
"""Between the blocks of a page."""
SAID = ("answer", "belief", "told", "update", "F", "J")
"""Names of what the blocks of pages find out."""


def stored(name):
    """A JSON file of the fixtures."""
    return json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))


@contextmanager
def works_or_says(key):
    """Run what worked; where it no longer does, expect the error that says what to do."""
    if key not in CHANGED:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* will be gone in version 1.0", DeprecationWarning)
            yield
        return
    with pytest.raises(iv.IsovistError) as caught:
        yield
    assert caught.value.code == CHANGED[key][0]
    assert CHANGED[key][1] in str(caught.value)


def program_of(name):
    """The text of a program, with names of files here and numbers that take less time."""
    text = (PROGRAMS / f"{name}.txt").read_text(encoding="utf-8")
    for was, now in stored("smaller").get(name, {}).items():
        assert was in text, (name, was)
        text = text.replace(was, now)
    return text


def run_example(name):
    """The decimals that an example prints, line by line."""
    names, out = {"__name__": name}, io.StringIO()
    with redirect_stdout(out):
        exec(compile(program_of(name), name, "exec"), names)
        names["main"]()
    lines = (re.findall(r"-?\d+\.\d+", line) for line in out.getvalue().splitlines())
    return [[*map(float, line)] for line in lines]


def run_page(name):
    """What is known after each block of a page: verdicts, poses and descriptors."""
    msg = {"angle_min": -np.pi, "angle_increment": np.pi / 90.0, "ranges": (2.0,) * 180}
    names = {
        "iv": iv, "world": iv.read_map("plan.geojson"), "scan": iv.read_scan("scan.json"),
        "atlas": iv.read_atlas("office.atlas"), "odometry": iv.Pose(), "stamp": 0.0,
        "msg": MagicMock(**msg, range_min=0.0, range_max=12.0), "covariance": 0.01 * np.eye(3),
        "publisher": MagicMock(), "PoseWithCovarianceStamped": MagicMock, "LaserScan": object,
    }  # fmt: skip
    told = []
    for block in program_of(name).split(MARK):
        with redirect_stdout(io.StringIO()):
            exec(compile(block, name, "exec"), names)
        told.append({key: said(names[key]) for key in SAID if key in names})
    return told


def said(thing):
    """The verdict and the best pose, or the numbers of an array."""
    if isinstance(thing, np.ndarray):
        return thing.ravel().tolist()
    thing = getattr(thing, "belief", thing)
    best = getattr(thing, "best", None) or getattr(thing, "fit", None)
    return [str(thing.verdict), *([] if best is None else best.pose.vector.tolist())]


def parsed(text):
    """The objects that a command line prints: one, or one per line."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(row) for row in text.splitlines() if row.startswith("{")]
