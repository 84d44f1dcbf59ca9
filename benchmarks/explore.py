"""How far must a lost robot drive until it knows where it is?

python -m benchmarks.explore [--starts N] [--range-max M] [--field-of-view °] [hall | MAP.yaml …]

From poses whose first scan is ambiguous, a simulated robot drives by each rule, from the same poses
with the same seeds, until the tracker says "unique" or 30 m are driven.  Its lidar sees 360° and
6 m unless told otherwise, with 2 cm noise; its odometry has the default drift.  Runs that do not
end unique and right count 30 m.  `hall` is a generated hall, two-fold symmetric but for one crate.

Exits with 1 when a run was unique and wrong, or when rule "rivals" needs more than 60 % of the
random walk's way.
"""

import argparse
import sys
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from isovist.atlas.base import Atlas
from isovist.atlas.build import build
from isovist.exploration.paths import Ground
from isovist.exploration.propose import Rule, propose
from isovist.exploration.rivals import Rivals
from isovist.io.maps.read import read_map
from isovist.localization.settings import LocalizationSettings
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.poses import Pose
from isovist.sensing.models.lidar2d import Lidar
from isovist.simulation.lost_robot import Run, ambiguous_starts, explore
from isovist.simulation.worlds import twofold_hall
from isovist.tracking.tracker import Tracker

LIMIT = 30.0
MOST = LocalizationSettings().decision.max_estimates
HEAD = "| map | starts | rule | mean m | median m | share of random | unique and right | wrong |"


def drive(atlas: Atlas, lidar: Lidar, count: int, first: int) -> dict[Rule, list[Run]]:
    """Runs of every rule from the same starts."""
    ground = Ground.from_atlas(atlas)
    runs: dict[Rule, list[Run]] = {rule: [] for rule in Rule}
    for start, seed in ambiguous_starts(atlas, lidar, count, seed=first):
        for rule in Rule:
            run = explore(atlas, start, lidar, rule, seed=seed, limit=LIMIT, ground=ground)
            runs[rule].append(run)
    return runs


def time_proposals(atlas: Atlas, lidar: Lidar, starts: list[Pose]) -> list[tuple[float, float]]:
    """Milliseconds of proposals where the tracker holds the most rivals looked at: wall and CPU."""
    ground, random = Ground.from_atlas(atlas), np.random.default_rng(0)
    spent: list[tuple[float, float]] = []
    for start in starts:
        tracker, scan = Tracker(atlas), lidar.scan(ground.walls, start, random)
        tracker.update(Pose(), scan)
        if Rivals.from_tracker(tracker, scan).poses.shape == (MOST,):
            begin, cpu = perf_counter(), process_time()
            propose(tracker, ground, scan)
            spent.append((1e3 * (perf_counter() - begin), 1e3 * (process_time() - cpu)))
    return spent


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
    parser.add_argument("maps", nargs="*", default=["hall"])
    parser.add_argument("--starts", type=int, default=25)
    parser.add_argument("--seed", type=int, default=5, help="of the starts")
    parser.add_argument("--range-max", type=float, default=6.0)
    parser.add_argument("--field-of-view", type=float, default=360.0)
    options = parser.parse_args()
    lidar = Lidar(np.radians(options.field_of_view), range_max=options.range_max, noise=0.02)
    worlds: dict[str, OccupancyMap] = {}
    for name in options.maps:
        path = Path(name)
        world = twofold_hall() if name == "hall" else read_map(path)
        if not isinstance(world, OccupancyMap):
            sys.exit(f"{path}: the benchmark drives on maps of cells.")
        worlds[path.stem] = world
    print(HEAD + "\n" + "|---" * 8 + "|")
    together: dict[Rule, list[Run]] = {rule: [] for rule in Rule}
    spent: list[tuple[float, float]] = []
    begin = perf_counter()
    for name, world in worlds.items():
        atlas = build(world)
        runs = drive(atlas, lidar, options.starts, options.seed)
        rows(name, runs)
        spent += time_proposals(atlas, lidar, [run.steps[0].truth for run in runs[Rule.RANDOM]])
        for rule, some in runs.items():
            together[rule] += some
    if len(worlds) > 1:
        rows("all", together)
    if spent:
        wall, cpu = np.median(spent, axis=0)
        print(
            f"a proposal among {MOST} places: median {wall:.0f} ms, of CPU {cpu:.0f} ms, "
            f"at most {np.max(spent, axis=0)[1]:.0f} ms ({len(spent)} of them)"
        )
    print(f"{perf_counter() - begin:.0f} s in all")
    wrong = sum(run.unique and not run.right for some in together.values() for run in some)
    share = ways(together[Rule.RIVALS]).mean() / ways(together[Rule.RANDOM]).mean()
    sys.exit(0 if wrong == 0 and share <= 0.6 else 1)


if __name__ == "__main__":
    main()
