"""Does a tracker in space find itself, and again when it is carried away?

    python -m benchmarks.track_space [--starts 20] [--kidnaps 20] [--seed 0] [--unaided]

A generated office of 30 × 21 m with floor and ceiling, voxels of 0.1 m without furniture; a lidar
of 16 rings and 360 azimuths, σ = 0.02 m, 5 % of the beams cut short, sees it furnished.  Each start
is unknown and wanders for 15 m.  A kidnapped robot drives 6 m, is put elsewhere, and drives 10 m
more.  The last row is the cost of an update with 64 rings of 1024 azimuths, as they come at 10 Hz,
once the place is unique.  Exits with 1 when a start is not found, or when any belief is wrong.
"""

import argparse
import sys
from time import perf_counter, process_time

import numpy as np

from isovist.atlas.build import build
from isovist.bench.demonstration import HEIGHT
from isovist.bench.drives import summarise_kidnaps, summarise_starts
from isovist.bench.outcomes import Row
from isovist.bench.space_drives import SHORT, STRIDE, building, drive, wander
from isovist.sensing.spinning import SpinningLidar
from isovist.tracking.tracker import Tracker

LIDAR = SpinningLidar(16, azimuths=360, range_max=30.0, noise=0.02, clutter=0.05)
DENSE = SpinningLidar(64, azimuths=1024, range_max=60.0, noise=0.02, clutter=0.05)
REACH, BEFORE, AFTER = 15.0, 6.0, 10.0


def show(title: str, row: Row) -> None:
    """A row of the benchmark."""
    print(title)
    for key, value in row.items():
        print(f"  {key:18s} {value:.3f}" if isinstance(value, float) else f"  {key:18s} {value}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--kidnaps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--unaided", action="store_true", help="without odometry, at 1 m/s")
    given = parser.parse_args()
    site, rng = building(given.seed), np.random.default_rng(given.seed)
    atlas, aided = build(site.plan, height=HEIGHT), not given.unaided
    stride, pause = (STRIDE, 0.3) if aided else (SHORT, 0.1)
    starts = []
    for _ in range(given.starts):
        way = wander(site.ground, REACH, rng, stride)
        starts.append(drive(Tracker(atlas), site, LIDAR, way, rng, aided=aided, pause=pause))
    row = summarise_starts(f"office {given.seed}", starts)
    show("unknown starts", row)
    good = row["found"] == 1.0 and row["wrong"] == 0.0
    kidnaps = []
    for _ in range(given.kidnaps):
        first, second = (wander(site.ground, reach, rng, stride) for reach in (BEFORE, AFTER))
        away = len(first)
        run = drive(
            Tracker(atlas), site, LIDAR, [*first, *second], rng, aided=aided, carried=[away],
            pause=pause,
        )  # fmt: skip
        kidnaps.append(run[away - 1 :])
    show("carried away", summarise_kidnaps(f"office {given.seed}", kidnaps, 1, AFTER))
    _speed(site, atlas, rng)
    sys.exit(0 if good else 1)


def _speed(site, atlas, rng) -> None:
    """Time of an update with a dense lidar."""
    tracker, spent = Tracker(atlas), []

    class Timed:
        def update(self, odometry, scan, *, time):
            wall, cpu = perf_counter(), process_time()
            belief = tracker.update(odometry, scan, time=time)
            spent.append((perf_counter() - wall, process_time() - cpu))
            return belief

    updates = drive(Timed(), site, DENSE, wander(site.ground, 6.0, rng), rng, pause=0.1)
    settled = np.array([cost for cost, update in zip(spent, updates, strict=True) if update.unique])
    wall, cpu = 1e3 * np.median(settled[1:], axis=0)
    worst = 1e3 * settled[1:, 0].max()
    print(f"64 rings of 1024: {wall:.1f} ms per update, {cpu:.1f} of CPU, worst {worst:.1f} ms")


if __name__ == "__main__":
    main()
