"""Does `survey` predict what `locate` says?

    python -m benchmarks.survey [--count N] [--seed N] [--sensor DEGREES,METRES]... MAP...

At random poses with fresh noise, the ones that `isovist bench simulate` would take, the share of
unique answers is measured and compared with what the survey predicts at the nearest nodes and
headings; poses from which no wall is in reach are left out, as the bench does.  The standard error
is that of the difference.  On maps in space the sensor is a lidar of 16 rings.
"""

import argparse
import math
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from scipy.spatial import cKDTree

from isovist.atlas.build import build
from isovist.evaluation.protocols import run_trials, simulated_trials
from isovist.io.maps.read import read_map
from isovist.localization import Verdict
from isovist.localization.locate import locate
from isovist.maps.kinds import AnyMap
from isovist.poses import wrap_angle
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.models.spinning import SpinningLidar
from isovist.surveying.survey import survey

SENSORS = ("360,10", "270,10", "180,5", "120,4")
FRESH = 10_000
"""Seed of the poses that measure; the survey asks at others."""


def sensor_of(world: AnyMap, view: float, reach: float) -> Lidar | SpinningLidar:
    """A sensor that fits the map, with a view in degrees and a reach in m."""
    if world.dimension == 3:
        return SpinningLidar(range_max=reach, noise=0.05, field_of_view=math.radians(view))
    return Lidar(math.radians(view), max(1, round(view)), reach, 0.05)


def compare(name: str, world: AnyMap, lidar: Lidar | SpinningLidar, count: int, seed: int) -> float:
    """Print one row; returns the difference in points."""
    start, work = perf_counter(), process_time()
    atlas = build(world)
    found = survey(atlas, lidar)
    seconds, work = perf_counter() - start, process_time() - work
    trials = simulated_trials(atlas.world, count, lidar, seed=seed)
    unique = np.array([o.verdict is Verdict.UNIQUE for o in run_trials(atlas, trials)])
    places = np.array([[trial.truth.x, trial.truth.y] for trial in trials])
    node = cKDTree(found.places[:, :2]).query(places)[1]
    yaws = np.array([[trial.truth.yaw] for trial in trials])
    heading = np.argmin(np.abs(wrap_angle(yaws - found.summary.headings)), axis=1)
    predicted = found.summary.unique_by_heading[node, heading]
    gap = 100.0 * float(predicted.mean() - unique.mean())
    error = 100.0 * math.hypot(found.standard_error, float(np.std(unique - predicted)) / count**0.5)
    print(
        f"| {name} | {math.degrees(lidar.field_of_view):.0f}°, {lidar.range_max:g} m | "
        f"{found.share:.1%} | {predicted.mean():.1%} | {unique.mean():.1%} | {gap:+.1f} | "
        f"{error:.1f} | {len(found.samples)} | {seconds:.1f} | {work:.1f} |",
        flush=True,
    )
    return gap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("maps", nargs="+", type=Path, metavar="MAP")
    parser.add_argument("--count", type=int, default=400, help="poses that measure")
    parser.add_argument("--seed", type=int, default=FRESH, help="of these poses")
    parser.add_argument("--sensor", action="append", help="field of view in degrees, range in m")
    given = parser.parse_args()
    print(
        "| map | sensor | predicted, whole floor | predicted there | measured there | points | "
        "standard error | asked | s | CPU s |\n" + "|---" * 10 + "|"
    )
    warm = build(read_map(given.maps[0]))
    trial = simulated_trials(warm.world, 1, sensor_of(warm.world, 360.0, 30.0))[0]
    locate(warm, trial.scan())  # so that no survey is charged for loading the kernels
    gaps = []
    for path in given.maps:
        world = read_map(path)
        for sensor in given.sensor or SENSORS:
            view, reach = (float(part) for part in sensor.split(","))
            lidar = sensor_of(world, view, reach)
            gaps.append(compare(path.stem, world, lidar, given.count, given.seed))
    print(f"largest difference: {max(map(abs, gaps)):.1f} points over {len(gaps)} surveys")


if __name__ == "__main__":
    main()
