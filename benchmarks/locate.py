"""Rows of one-shot localization: `python -m benchmarks.locate DATA [WHAT…]`.

DATA is a folder laid out like the one that docs/how-to names: carmen/, tracking/, gh25_office/,
jarvis/, maps/.  WHAT is any of carmen, revisit, late, gh25, jarvis, simulate, cross; all when none.
"""

import json
import sys
from pathlib import Path

import numpy as np

from isovist.atlas.atlas import build
from isovist.io.carmen import read_carmen
from isovist.io.ros_map import read_ros_map
from isovist.io.scan_sets import read_scan_set
from isovist.locate import protocol
from isovist.locate.answer import Verdict
from isovist.locate.protocol import Row

LOGS = ("intel", "seattle", "freiburg-079", "aces", "fhw", "infinite-corridor")
KINDS = ("carmen", "revisit", "late", "gh25", "jarvis", "simulate", "cross")
CROSSED = 50


def main(arguments: list[str]) -> None:
    data = Path(arguments[0])
    for kind in arguments[1:] or KINDS:
        for row in globals()[kind](data):
            short = {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}
            print(kind, json.dumps(short), flush=True)


def _log(data: Path, name: str):
    return read_carmen(data / "carmen" / f"{name}-corrected.log.gz")


def carmen(data: Path):
    for name in LOGS:
        yield protocol.measure(name, *protocol.carmen_trials(_log(data, name)))


def revisit(data: Path):
    for name in LOGS:
        world, trials = protocol.revisit_trials(_log(data, name))
        if trials:
            yield protocol.measure(name, world, trials)


def late(data: Path):
    for name in ("intel", "fr079"):
        folder = data / "tracking" / name
        index = np.load(folder / "late_query.npz")["index"]
        trials = protocol.scan_trials(read_scan_set(folder / "scans.npz"), index)
        yield protocol.measure(name, read_ros_map(folder / "map_first.yaml"), trials)


def gh25(data: Path):
    scans = read_scan_set(data / "gh25_office" / "scans.npz")
    trials = protocol.scan_trials(scans, np.flatnonzero(~scans.in_map_split & scans.usable))
    yield protocol.measure("gh25", read_ros_map(data / "gh25_office" / "map_split.yaml"), trials)


def jarvis(data: Path):
    for prefix in ("nav_", "sec_"):
        scans = read_scan_set(data / "jarvis" / "jarvis_circular_path_fast.npz", prefix)
        trials = protocol.scan_trials(scans, np.flatnonzero(scans.usable))
        yield protocol.measure(prefix, read_ros_map(data / "jarvis" / "map.yaml"), trials)


def simulate(data: Path):
    for name in ("willow-full-0.05", "warehouse"):
        world = read_ros_map(data / "maps" / f"{name}.yaml")
        yield protocol.measure(name, world, protocol.simulated_trials(world, 400))


def cross(data: Path):
    logs = {name: _log(data, name) for name in LOGS}
    total, wrong = 0, 0
    for home in LOGS:
        atlas = build(protocol.carmen_trials(logs[home])[0])
        for away in LOGS:
            if away == home:
                continue
            _, trials = protocol.carmen_trials(logs[away])
            some = [trials[int(k)] for k in np.linspace(0, len(trials) - 1, CROSSED)]
            verdicts = [o.verdict for o in protocol.run_trials(atlas, some)]
            unique = sum(v is Verdict.UNIQUE for v in verdicts)
            lost = sum(v is Verdict.LOST for v in verdicts)
            total, wrong = total + len(some), wrong + unique
            row: Row = {"map": home, "scans": away, "unique": unique, "lost": lost}
            yield row
    yield {"site": "cross", "queries": total, "not_unique": 1.0 - wrong / total}


if __name__ == "__main__":
    main(sys.argv[1:])
