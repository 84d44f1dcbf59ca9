"""Time of a scan in this tree against another checkout of the project, asked in turn.

    python -m benchmarks.against CHECKOUT [--count N] [--clock] LOG.log.gz… MAP.yaml…

Two processes, one of each tree, build the same maps and locate the same scans, one after the other:
N queries of `isovist bench carmen` of each log, N simulated scans of a 270° lidar of each map.  A
row has the CPU time of a scan over all cores, or with `--clock` the time that it takes, median and
mean of the lesser of two times each, and the ratios.  Bar: 0.6 of the CPU time of the tree of
November 15, 2026, 09:00.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from isovist.evaluation.protocols import Trial, carmen_trials, simulated_trials
from isovist.io.logs.carmen import read_carmen
from isovist.io.maps.read import read_map
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.scan import Scan

WORKER = """
import sys, time
import numpy as np, isovist as iv
kept = np.load(sys.argv[1])
atlas = iv.build(iv.OccupancyMap(kept["cells"], float(kept["unit"]), iv.Pose(*kept["origin"])))
limit = float(kept["reach"])
scans = [iv.Scan(kept[f"b{k}"], kept[f"r{k}"], 0.0, limit) for k in range(int(kept["count"]))]
iv.locate(atlas, scans[0])
clock = time.perf_counter if "--clock" in sys.argv else time.process_time
print("ready", flush=True)
for line in sys.stdin:
    start = clock()
    iv.locate(atlas, scans[int(line)])
    print(clock() - start, flush=True)
"""


def trials_of(path: Path, count: int) -> tuple[OccupancyMap, list[Trial]]:
    """A map and some trials on it, evenly chosen."""
    if path.suffix == ".yaml":
        world = read_map(path)
        assert isinstance(world, OccupancyMap)
        return world, simulated_trials(world, count, Lidar(math.radians(270.0), 270, 12.0, 0.03))
    world, trials = carmen_trials(read_carmen(path))
    return world, [trials[k] for k in np.linspace(0, len(trials) - 1, count).astype(int)]


def ask(path: Path, other: Path, count: int, how: list[str]) -> str:
    """One row of the table."""
    world, trials = trials_of(path, count)
    scans = [trial.scan() for trial in trials]
    assert all(isinstance(scan, Scan) for scan in scans)
    reach = min(scan.range_max for scan in scans if isinstance(scan, Scan))
    arrays = {f"b{k}": scan.bearings for k, scan in enumerate(scans) if isinstance(scan, Scan)}
    arrays |= {f"r{k}": scan.ranges for k, scan in enumerate(scans) if isinstance(scan, Scan)}
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "asked.npz"
        np.savez(
            kept, cells=world.cells, unit=world.resolution, origin=world.origin.vector,
            reach=reach, count=len(scans), **arrays,  # type: ignore[arg-type]
        )  # fmt: skip
        known = [part for part in [os.environ.get("PYTHONPATH")] if part]
        trees = [Path(__file__).parents[1] / "src", other / "src"]
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", WORKER, str(kept), *how],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tree), *known])},
            )
            for tree in trees
        ]
        times = np.empty((2, 2, len(scans)))
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        for k in range(len(scans)):
            for turn in range(2):
                for row, worker in zip(times, workers, strict=True):
                    assert worker.stdin is not None
                    assert worker.stdout is not None
                    print(k, file=worker.stdin, flush=True)
                    row[turn, k] = 1e3 * float(worker.stdout.readline())
        for worker in workers:
            worker.communicate()
    least = times.min(axis=1)
    (ours, theirs), (mean, means) = np.median(least, axis=1), least.mean(axis=1)
    site = path.name.split(".")[0].removesuffix("-corrected")
    return (
        f"| {site} | {len(scans)} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} | {mean:.1f} | "
        f"{means:.1f} | {mean / means:.2f} |"
    )


def main() -> None:
    """Print a row for each site."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("sites", nargs="+", type=Path, metavar="LOG_OR_MAP")
    parser.add_argument("--count", type=int, default=60, help="scans of each site")
    parser.add_argument("--clock", action="store_true", help="time by the clock, not of the cores")
    given = parser.parse_args()
    if not (given.checkout / "src" / "isovist").is_dir():
        sys.exit(f"{given.checkout} is no checkout: there is no src/isovist in it.")
    print("| site | scans | median ms | there | ratio | mean ms | there | ratio |")
    print("|---" * 8 + "|", flush=True)
    for path in given.sites:
        how = ["--clock"] if given.clock else []
        print(ask(path, given.checkout, given.count, how), flush=True)


if __name__ == "__main__":
    main()
