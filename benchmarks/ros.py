"""A node of its own, a robot and a router on the loopback, from pip alone.

    python -m benchmarks.ros [SCANS]

A robot drives through a generated office: scans at 20 Hz, odometry at 50 Hz, over zenoh, to a node
in a process of its own that takes the latched map.  SCANS is 2000 unless something else is said.
Then it starts from four other places, each with a node of its own.  Bars: `/initialpose` within
100 ms of the first scan that has one place, in the median, every scan answered, memory flat (less
than 5 % more at the end than after a quarter).  Exits with 1 where scans are left unanswered or
memory is not flat.
"""

import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

from isovist.apps.ros import messages
from isovist.apps.ros.buses.bus import Topic
from isovist.apps.ros.buses.zenoh_bus import Router, ZenohBus
from isovist.apps.ros.demo_bag import (
    FRAMES,
    MOUNT,
    START,
    TOPICS,
    motion_of,
    odometry_message,
    scan_message,
)
from isovist.io.bags import time_of
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.poses import Pose
from isovist.simulation.demo import LIDAR, random_pose
from isovist.simulation.worlds import OfficeFloor, office_floor

ENDPOINT = "tcp/localhost:17447"
SCANS, ODOMETRY = 20, 50  # Hz
STARTS, SHORT = 5, 20
"""Nodes that are started, and scans of a drive from another place that only its start counts of."""
SLOWEST = 100.0  # ms, of the median
GROWN = 1.05  # times the memory after a quarter


def memory_of(process: int) -> float:
    """Of a process, in MB; 0 where the system does not say."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmRSS"))


def cpu_of(process: int) -> float:
    """That a process has used on all its threads, in ms; 0 where the system does not say."""
    try:
        threads = list(Path(f"/proc/{process}/task").iterdir())
        return sum(1e-6 * int((each / "schedstat").read_text().split()[0]) for each in threads)
    except OSError:
        return 0.0


@dataclass(slots=True)
class Run:
    """What came of a drive; moments by the stamp of the scan, in s, and what the node had used."""

    node: int = 0
    spent: dict[float, float] = field(default_factory=dict)
    first_cpu: float = 0.0
    sent: dict[float, float] = field(default_factory=dict)
    answers: dict[float, float] = field(default_factory=dict)
    poses: list[tuple[float, float]] = field(default_factory=list)
    unique: int = 0
    used: list[float] = field(default_factory=list)

    @property
    def first(self) -> float:
        """From the first scan that has one place to `/initialpose`, in ms; `inf` for none."""
        if not self.poses:
            return float("inf")
        stamp, heard = self.poses[0]
        return 1e3 * (heard - self.sent[stamp])


class Robot:
    """Drives through an office and tells a node over a bus."""

    def __init__(self, bus: ZenohBus, folder: Path, floor: OfficeFloor) -> None:
        self.bus, self.folder, self.floor = bus, folder, floor
        self.run = Run()
        world = OccupancyMap.from_segments(floor.plan.walls.reshape(-1, 2, 2), 0.05)
        bus.advertise(TOPICS["map"])(messages.map_message(world, START, FRAMES[0]))
        static = messages.transforms_message(MOUNT, START, FRAMES[2], FRAMES[3])
        bus.advertise(TOPICS["tf_static"])(static)
        self.scan, self.odometry = (bus.advertise(TOPICS[name]) for name in ("scan", "odom"))
        bus.subscribe(Topic("/isovist/verdict", messages.VERDICT), self._heard)
        bus.subscribe(Topic("/initialpose", messages.POSE), self._found)

    def _found(self, message: Any) -> None:
        run, stamp = self.run, time_of(message.header)
        if not run.poses:
            run.first_cpu = cpu_of(run.node) - run.spent[stamp]
        run.poses.append((stamp, perf_counter()))

    def _heard(self, message: Any) -> None:
        self.run.answers[time_of(message.header)] = perf_counter()
        self.run.unique += message.status[0].level == 0

    def drive(self, count: int, seed: int) -> Run:
        """So many scans from a place that the seed says, with a node in a process of its own."""
        self.run = run = Run()
        log = (self.folder / f"{seed}.log").open("w+")
        command = [sys.executable, "-m", "isovist", "ros", "--connect", ENDPOINT]
        node = subprocess.Popen(command, stderr=log)
        try:
            while "the map is ready" not in Path(log.name).read_text():
                sleep(0.05)
            sleep(1.0)  # until the routes are known
            run.node = node.pid
            self._go(count, np.random.default_rng(seed))
        finally:
            node.terminate()
            node.wait()
            log.close()
        return run

    def _go(self, count: int, random: np.random.Generator) -> None:
        world, (_, odom, robot, sensor) = self.floor.reality, FRAMES
        truth, way, began = random_pose(world, random), Pose(), perf_counter()
        for k in range(count * ODOMETRY // SCANS):
            time = START + k / ODOMETRY
            self.odometry(odometry_message(way, time, odom, robot))
            if k * SCANS // ODOMETRY != (k - 1) * SCANS // ODOMETRY:
                message: Any = scan_message(LIDAR.scan(world, truth @ MOUNT, random), time, sensor)
                stamp = time_of(message.header)
                self.run.sent[stamp], self.run.spent[stamp] = perf_counter(), cpu_of(self.run.node)
                self.scan(message)
            motion = motion_of(world, truth)
            truth, way = truth @ motion, way @ motion
            while (left := began + (k + 1) / ODOMETRY - perf_counter()) > 0.0:
                self.bus.run(left)
            if k % ODOMETRY == 0:
                self.run.used.append(memory_of(self.run.node))
        self.odometry(odometry_message(way, START + count / SCANS + 1.0, odom, robot))
        self.bus.run(2.0)


def main() -> None:
    """Print what came of it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    with (
        tempfile.TemporaryDirectory() as folder,
        Router(ENDPOINT),
        ZenohBus(endpoint=ENDPOINT, node="robot") as bus,
    ):
        robot = Robot(bus, Path(folder), office_floor(0))
        run = robot.drive(count, 0)
        starts = [run, *(robot.drive(SHORT, seed) for seed in range(1, STARTS))]
    sent, answers = run.sent, run.answers
    waits = [1e3 * (answers[stamp] - sent[stamp]) for stamp in sent if stamp in answers]
    lost = sorted(set(sent) - set(answers))
    print(f"{len(sent)} scans at {SCANS} Hz, {len(lost)} without an answer, {run.unique} unique")
    firsts, spent = sorted(one.first for one in starts), np.median([s.first_cpu for s in starts])
    told = ", ".join(f"{first:.0f}" for first in firsts)
    print(
        f"/initialpose {np.median(firsts):.0f} ms after the first scan that has one place, median "
        f"of {len(firsts)} starts ({told}; bar {SLOWEST:g} ms); the node used {spent:.0f} ms of CPU"
    )
    print(
        f"scan to verdict: median {np.median(waits):.0f} ms, 95 % {np.quantile(waits, 0.95):.0f} ms"
    )
    quarter, end = run.used[len(run.used) // 4], run.used[-1]
    print(f"memory {quarter:.0f} MB after a quarter, {end:.0f} MB at the end (bar + 5 %)")
    if lost or not run.poses:
        sys.exit("missed: scans without an answer" if lost else "missed: no pose")
    if end > GROWN * quarter:
        sys.exit("missed: memory grows")


if __name__ == "__main__":
    main()
