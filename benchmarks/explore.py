"""How far must a lost robot drive until it knows where it is?

python -m benchmarks.explore [--starts N] [MAP.yaml …]

From poses whose first scan is ambiguous, a simulated robot (360° lidar of 6 m, 2 cm noise; odometry
with the default drift) drives by each rule, from the same poses with the same seeds, until the
tracker says "unique" or 30 m are driven.  Runs that end otherwise than unique and right count 30 m.
Without a map it takes the generated two-fold hall.  Exits with 1 when a run was unique
and wrong, or rule "rivals" needs more than 60 % of the random walk's way.
"""

import argparse
import sys
from pathlib import Path
from time import perf_counter

import numpy as np

from isovist.atlas.atlas import Atlas, build
from isovist.io.maps import read_map
from isovist.maps.hall import twofold_hall
from isovist.maps.occupancy import OccupancyMap
from isovist.sensing.lidar import Lidar
from isovist.track.explore import Run, ambiguous_starts, explore
from isovist.track.paths import Ground
from isovist.track.propose import Rule

LIDAR = Lidar(field_of_view=2.0 * np.pi, beams=360, range_max=6.0, noise=0.02)
LIMIT = 30.0
HEAD = "| map | starts | rule | mean m | median m | share of random | unique and right | wrong |"


def drive(atlas: Atlas, count: int) -> dict[Rule, list[Run]]:
    """Runs of every rule from the same starts."""
    ground = Ground.from_atlas(atlas)
    runs: dict[Rule, list[Run]] = {rule: [] for rule in Rule}
    for start, seed in ambiguous_starts(atlas, LIDAR, count, seed=5):
        for rule in Rule:
            run = explore(atlas, start, LIDAR, rule, seed=seed, limit=LIMIT, ground=ground)
            runs[rule].append(run)
    return runs


def ways(runs: list[Run]) -> np.ndarray:
    """Driven until unique and right, in m; the limit where that did not come about."""
    return np.array([run.distance if run.right else LIMIT for run in runs])


def rows(name: str, runs: dict[Rule, list[Run]]) -> None:
    """Print one row for each rule."""
    baseline = ways(runs[Rule.RANDOM]).mean()
    for rule, some in runs.items():
        way = ways(some)
        right = sum(run.right for run in some)
        wrong = sum(run.unique and not run.right for run in some)
        print(
            f"| {name} | {len(some)} | {rule.value} | {way.mean():.2f} | {np.median(way):.2f} | "
            f"{way.mean() / baseline:.0%} | {right} | {wrong} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("maps", nargs="*", type=Path)
    parser.add_argument("--starts", type=int, default=25)
    options = parser.parse_args()
    worlds = {} if options.maps else {"two-fold hall": twofold_hall()}
    for path in options.maps:
        world = read_map(path)
        if not isinstance(world, OccupancyMap):
            sys.exit(f"{path}: the benchmark drives on maps of cells.")
        worlds[path.stem] = world
    print(HEAD + "\n" + "|---" * 8 + "|")
    together: dict[Rule, list[Run]] = {rule: [] for rule in Rule}
    begin = perf_counter()
    for name, world in worlds.items():
        runs = drive(build(world), options.starts)
        rows(name, runs)
        for rule, some in runs.items():
            together[rule] += some
    if len(worlds) > 1:
        rows("all", together)
    print(f"{perf_counter() - begin:.0f} s")
    wrong = sum(run.unique and not run.right for some in together.values() for run in some)
    share = ways(together[Rule.RIVALS]).mean() / ways(together[Rule.RANDOM]).mean()
    sys.exit(0 if wrong == 0 and share <= 0.6 else 1)


if __name__ == "__main__":
    main()
