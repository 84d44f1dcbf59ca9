"""Does a tracker in space find itself, and again when it is carried away?

    python -m benchmarks.track_space [--starts 20] [--kidnaps 20] [--seed 0] [--unaided]
    python -m benchmarks.track_space --street 300 [--starts 20] [--kidnaps 20] [--seed 0]

A generated office of 30 × 21 m with floor and ceiling, voxels of 0.1 m without furniture; a lidar
of 16 rings and 360 azimuths, σ = 0.02 m, 5 % of the beams cut short, sees it furnished.  Or a
generated quarter of a town of so many m, in the cells that suit the cloud of its drives, with other
cars parked than these saw, a lidar of 64 rings, and a robot that drives 0.5 m between updates.
Each start is unknown and goes on for 15 m.  A kidnapped robot drives 6 m, is put elsewhere, and
drives 10 m more.  The last row is the cost of an update with 64 rings of 1024 azimuths, as they
come at 10 Hz, once the place is unique.  Exits with 1 when a start is not found, a kidnapping not
noticed, the robot not found again, or any belief of a start wrong.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np

from benchmarks.worlds import streets
from benchmarks.worlds.drives3d import SHORT, STRIDE, building, drive, wander
from isovist.atlas.base import Atlas
from isovist.atlas.build import build
from isovist.errors import InputError
from isovist.evaluation.metrics import Row
from isovist.evaluation.tracking_protocols import summarise_kidnaps, summarise_starts
from isovist.maps.cloud import Cloud
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.poses import Pose3
from isovist.sensing.models.spinning import SpinningLidar
from isovist.simulation import demo
from isovist.tracking.tracker import Tracker

LIDAR = SpinningLidar(16, azimuths=360, range_max=30.0, noise=0.02, clutter=0.05)
DENSE = SpinningLidar(64, azimuths=1024, range_max=60.0, noise=0.02, clutter=0.05)
REACH, BEFORE, AFTER = 15.0, 6.0, 10.0
STREET = 0.5, 0.1
"""Between two updates on a street, in m and s."""


@dataclass(frozen=True)
class Course:
    """Where to drive: what is known of it, what is there, ways of so many m, s between updates."""

    name: str
    atlas: Atlas
    reality: MeshMap
    lidar: SpinningLidar
    way: Callable[[float, np.random.Generator], list[Pose3]]
    pause: float


def office(seed: int, aided: bool) -> Course:
    site, (stride, pause) = building(seed), (STRIDE, 0.3) if aided else (SHORT, 0.1)
    atlas = build(site.plan, height=demo.HEIGHT)

    def way(reach: float, rng: np.random.Generator) -> list[Pose3]:
        return wander(site.ground, reach, rng, stride)

    return Course(f"office {seed}", atlas, site.reality, LIDAR, way, pause)


def street(seed: int, size: float) -> Course:
    town, (stride, pause) = streets.quarter(seed, size=size), STREET
    cloud = Cloud(town.cloud())
    atlas = build(cloud.voxels(cloud.resolution()), height=streets.HEIGHT)

    def way(reach: float, rng: np.random.Generator) -> list[Pose3]:
        return town.wander(reach, rng, stride)

    return Course(f"street {seed}, {size:g} m", atlas, town.reality, streets.LIDAR, way, pause)


def show(title: str, row: Row) -> None:
    """A row of the benchmark."""
    print(title)
    for key, value in row.items():
        print(f"  {key:18s} {value:.3f}" if isinstance(value, float) else f"  {key:18s} {value}")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--kidnaps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--unaided", action="store_true", help="without odometry, at 1 m/s")
    parser.add_argument("--street", type=float, metavar="SIZE", help="a quarter of so many m")
    given = parser.parse_args()
    aided, rng = not given.unaided, np.random.default_rng(given.seed)
    try:
        on_street = given.street is not None
        course = street(given.seed, given.street) if on_street else office(given.seed, aided)
    except InputError as error:
        parser.error(str(error))
    starts = []
    for _ in range(given.starts):
        starts.append(_driven(course, course.way(REACH, rng), rng, aided))
    row = summarise_starts(course.name, starts)
    show("unknown starts", row)
    kidnaps = []
    for _ in range(given.kidnaps):
        first, second = (course.way(reach, rng) for reach in (BEFORE, AFTER))
        away = len(first)
        run = _driven(course, [*first, *second], rng, aided, away)
        kidnaps.append(run[away - 1 :])
    again = summarise_kidnaps(course.name, kidnaps, 1, AFTER)
    show("carried away", again)
    _speed(course, rng)
    good = row["found"] == again["noticed"] == again["found_again"] == 1.0 and row["wrong"] == 0.0
    sys.exit(0 if good else 1)


def _driven(course: Course, way, rng, aided: bool, *carried: int):
    return drive(
        Tracker(course.atlas), course.reality, course.lidar, way, rng,
        aided=aided, carried=carried, pause=course.pause,
    )  # fmt: skip


def _speed(course: Course, rng) -> None:
    """Time of an update with a dense lidar."""
    tracker, spent = Tracker(course.atlas), []

    class Timed:
        def update(self, odometry, scan, *, time):
            wall, cpu = perf_counter(), process_time()
            belief = tracker.update(odometry, scan, time=time)
            spent.append((perf_counter() - wall, process_time() - cpu))
            return belief

    updates = drive(Timed(), course.reality, DENSE, course.way(6.0, rng), rng, pause=0.1)
    settled = np.array([cost for cost, update in zip(spent, updates, strict=True) if update.unique])
    wall, cpu = 1e3 * np.median(settled[1:], axis=0)
    worst = 1e3 * settled[1:, 0].max()
    print(f"64 rings of 1024: {wall:.1f} ms per update, {cpu:.1f} of CPU, worst {worst:.1f} ms")


if __name__ == "__main__":
    main()
