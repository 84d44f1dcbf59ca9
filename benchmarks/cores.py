"""What the cores of a machine make of many scans on one floor: alone, by threads, by processes.

    python -m benchmarks.cores [--scans N]

Rows are scans a second on a floor of about 1000 m² (that of `benchmarks.cuda`): a loop of `locate`
on one core and on all, by threads with a scan each, of which `locate_many` takes eight at most, and
by a process on each core that has begun (`Workers`).
"""

import argparse
from collections.abc import Callable
from time import perf_counter

import isovist as iv
from benchmarks.cuda import SENSOR, site
from isovist.compute.infra import threads
from isovist.localization.answer_stream import scan_locator
from isovist.localization.workers import Workers
from isovist.sensing.models.simulate import random_scans


def told(what: str, count: int, work: Callable[[], object]) -> None:
    """Do some work, and print its rate."""
    start = perf_counter()
    work()
    print(f"{what}: {count / (perf_counter() - start):.0f} scans/s", flush=True)


def main() -> None:
    """All rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scans", type=int, default=400)
    count = parser.parse_args().scans
    if count < 4:
        parser.error(f"--scans must be 4 or more, got {count}")
    world, every = site(640, 1), threads.THREADS
    atlas = iv.build(world)
    scans = [scan for _, scan in random_scans(world, world, SENSOR, count, seed=6)]
    iv.locate(atlas, scans[0])
    few = scans[: count // 4]
    told(f"loop, {every} cores", len(few), lambda: [iv.locate(atlas, scan) for scan in few])
    try:
        threads.THREADS = 1
        told("loop, one core", len(few), lambda: [iv.locate(atlas, scan) for scan in few])
        for cores in sorted({2, 4, 8, every}):
            if 1 < cores <= every:
                threads.THREADS = cores
                ask = scan_locator(atlas)
                told(
                    f"threads, {cores}",
                    count,
                    lambda: list(threads.map_in_order(ask, scans, cores)),  # noqa: B023
                )
    finally:
        threads.THREADS = every
    with Workers(atlas, every) as workers:
        iv.locate_many(atlas, scans, workers=workers)
        many = 4 * scans
        told(f"processes, {every}", len(many), lambda: iv.locate_many(atlas, many, workers=workers))


if __name__ == "__main__":
    main()
