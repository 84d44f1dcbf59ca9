"""Broken questions: command lines whose words are wrong, and verbs whose numbers are absurd.

A command line ends with 0, 1 or 2, and with 2 it says one clear line; what it prints as JSON holds
no NaN.  `check` and a tracker take scans that are destroyed with poses and odometry that no robot
has; they answer in numbers or refuse in words.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

import isovist as iv
from benchmarks.fuzz import readers, scans, seeds
from benchmarks.fuzz.mutations import Random
from isovist.apps.cli.app import main
from isovist.io.maps.ros_map import write_ros_map

LINES = (
    "locate ATLAS SCAN --json --near 4.1 2.6 3 --heading 20 40 --sensor 0.1 0 0 --why",
    "locate ATLAS SCAN --prove --json",
    "locate ATLAS MAP SCAN --json",
    "locate SOLID CLOUD --json --roll 1 --pitch -1",
    "check ATLAS SCAN 4.1 2.6 0.4 --spread 0.1 0.1 --json",
    "build PLAN -o out --spacing 0.5",
    "info ATLAS --check --json",
    "convert PLAN out.yaml --resolution 0.2",
    "convert MAP out.geojson --tolerance 0.1",
    "map SET -o made.yaml --resolution 0.2",
    "track ATLAS LOG --json --start 0 --stop 3 --every 1",
    "survey ATLAS --count 20 --seed 2 --range-max 8 --json",
    "steer PLAN 4.1 2.6 --legs 1 --json",
    "paper --channels 6 --temperature 0.4 --json",
    "bench carmen LOG --every 3 --json",
    "bench simulate MAP --count 2 --range-max 8 --noise 0.02 --json",
)
HOSTILE = ("nan", "inf", "-inf", "-1", "0", "1e308", "-1e308", "1e-308", "9" * 400, "abc", "",
           "--", "-", "\x1b[31m", "é", "1,5", "0x10", "None", "--json", "--foo", "-o")  # fmt: skip
PATHS = ("no.yaml", "no/such/place.json", "/dev/null", "/dev/zero", ".", "x" * 300, "a\x00b")
ABSURD = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308, 1e9, -1e9, 1e16, 0.0, 7.0)
KEPT = ("--count", "--legs", "--channels", "--every")
"""Options whose large values take long, rightly: their numbers stay."""


def ask_line(random: Random) -> None:
    """A command line with one wrong word, or several."""
    line = LINES[int(random.integers(len(LINES)))]
    words = line.split()
    for _ in range(int(random.choice([1, 1, 1, 2, 3]))):
        words = damage_line(words, random)
    run(words)


def damage_line(words: list[str], random: Random) -> list[str]:
    """One word is replaced, dropped, doubled or put elsewhere; never the verb alone."""
    words = list(words)
    at = int(random.integers(1, len(words))) if len(words) > 1 else 0
    if at and words[at - 1] in KEPT:
        return words
    way = int(random.integers(8))
    if way == 0 and at:
        del words[at]
    elif way == 1:
        words.insert(at, words[at])
    elif way == 2:
        words.insert(int(random.integers(len(words))), words.pop(at))
    elif words[at].isupper():
        choices = (*PATHS, *sorted(files()))
        words[at] = choices[int(random.integers(len(choices)))]
    elif words[at].startswith("--"):
        others = [word for line in LINES for word in line.split() if word.startswith("--")]
        words[at] = others[int(random.integers(len(others)))]
    else:
        words[at] = HOSTILE[int(random.integers(len(HOSTILE)))]
    return words


def run(words: list[str]) -> None:
    """Run a command line here; raise what makes it a finding."""
    told, said, code = io.StringIO(), io.StringIO(), None
    before, where = sys.argv, Path.cwd()
    with tempfile.TemporaryDirectory(prefix="isovist-verbs-") as scratch:
        os.chdir(scratch)
        sys.argv = ["isovist", *(str(files().get(word, word)) for word in words)]
        try:
            with contextlib.redirect_stdout(told), contextlib.redirect_stderr(said):
                main()
        except SystemExit as end:
            code = end.code
        finally:
            sys.argv = before
            os.chdir(where)
    check_line(words, 0 if code is None else code, told.getvalue(), said.getvalue())


def check_line(words: list[str], code: object, told: str, said: str) -> None:
    """Raise what makes the end of a command a finding."""
    shown = " ".join(words)[:200]
    if code not in (0, 1, 2):
        raise readers.WrongError(f"exit code {code!r}: {shown!r}")
    last = said.rstrip("\n").split("\n")[-1]
    clear = last.startswith("isovist: ") and last.isprintable() and last.endswith((".", "?"))
    if code == 2 and not clear:
        raise readers.WrongError(f"no clear line: {last[:200]!r} of {shown!r}")
    if code != 2 and "--json" in words:
        for line in filter(None, told.splitlines()) if "track" in words[:1] else [told]:
            with contextlib.suppress(json.JSONDecodeError):  # help, or a word that took its place
                json.loads(line, parse_constant=_no_number)


def _no_number(word: str) -> None:
    raise readers.WrongError(f"{word} in JSON")


def ask_check(random: Random) -> None:
    """A pose that no robot has, or a scan that no sensor gives."""
    pose, scan = _destroyed(random)
    numbers = np.array(pose.vector)
    if random.random() < 0.7:
        numbers[int(random.integers(3))] = ABSURD[int(random.integers(len(ABSURD)))]
    spread = None
    if random.random() < 0.3:
        spread = np.diag([0.01, 0.01, 0.01])
        spread.reshape(-1)[int(random.integers(9))] = ABSURD[int(random.integers(len(ABSURD)))]
    checked = iv.check(readers.plane_atlas(), scan, iv.Pose(*numbers), spread)
    if checked.verdict == "agrees":
        # A pose that says of itself that it may be anywhere agrees wherever the scan fits.
        told = numbers if spread is None or checked.fit is None else checked.fit.pose.vector
        if np.linalg.norm(told[:2] - pose.vector[:2]) > 1.0:
            raise readers.WrongError(f"a pose {told} agrees, the robot is at {pose.vector}")


def ask_track(random: Random) -> None:
    """Three updates with odometry that no robot has, or priors that no map holds."""
    prior = None
    if random.random() < 0.3:
        x, y, radius = (ABSURD[int(k)] for k in random.integers(len(ABSURD), size=3))
        prior = iv.Region.circle((x, y), radius)
    tracker = iv.Tracker(readers.plane_atlas(), region=prior)
    for _ in range(3):
        _, scan = _destroyed(random)
        moved = np.array([0.1, 0.0, 0.1])
        if random.random() < 0.5:
            moved[int(random.integers(3))] = ABSURD[int(random.integers(len(ABSURD)))]
        readers.said(tracker.update(iv.Pose(*moved), scan))
    json.dumps(tracker.state(), allow_nan=False)


def _destroyed(random: Random) -> tuple[iv.Pose, iv.Scan]:
    views = scans.plane_views()
    pose, scan = views[int(random.integers(len(views)))]
    if random.random() < 0.5:
        return pose, scan
    ranges = scans.destroy(np.where(scan.valid, scan.ranges, np.inf), random)
    return pose, replace(scan, bearings=scan.bearings[: len(ranges)], ranges=ranges)


@lru_cache
def files() -> dict[str, Path]:
    """What the words in capitals stand for."""
    home = seeds.new_home()
    iv.write_atlas(readers.plane_atlas(), home / "plane.atlas")
    iv.write_atlas(readers.space_atlas(), home / "space.atlas")
    iv.write_map(seeds.plan(), home / "plan.geojson")
    write_ros_map(seeds.plane_world(), home / "map.yaml")
    iv.write_scan(seeds.plane_scan(), home / "scan.json")
    iv.write_scan(seeds.space_scan(), home / "cloud.npz")
    rows = np.random.default_rng(2).uniform(1.0, 8.0, (6, 90)).round(2)
    with (home / "drive.log").open("w") as log:
        for k, row in enumerate(rows.tolist()):
            log.write(" ".join(map(str, ["FLASER", 90, *row, k, 0, 0.1, k, 0.1, 0.1, k, "h", k])))
            log.write("\n")
    np.savez(home / "set.npz", ranges_m=rows, pose=np.zeros((6, 3)), angle_min=0.0, angle_inc=0.02)
    names = {
        "SET": "set.npz", "ATLAS": "plane.atlas", "SOLID": "space.atlas", "PLAN": "plan.geojson",
        "MAP": "map.yaml", "SCAN": "scan.json", "CLOUD": "cloud.npz", "LOG": "drive.log",
    }  # fmt: skip
    return {word: home / name for word, name in names.items()}


ASKED = {"command line": ask_line, "check.plane": ask_check, "track.plane": ask_track}
