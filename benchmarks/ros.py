"""A node of its own, a robot and a router on the loopback, from pip alone.

    python -m benchmarks.ros [SCANS]

A robot drives through a generated office: scans at 20 Hz, odometry at 50 Hz, over zenoh, to a node
in a process of its own that has read its atlas.  SCANS is 2000 unless something else is said.
Bars: `/initialpose` within 100 ms of the first scan that has one place, every scan answered, memory
flat (less than 5 % more at the end than after a quarter).  Exits with 1 where scans are left
unanswered.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, sleep

import numpy as np

from isovist.atlas.build import build
from isovist.atlas.store import write_atlas
from isovist.bench.demonstration import LIDAR, somewhere
from isovist.bench.worlds import office_floor
from isovist.io.bags import time_of
from isovist.maps.cells import OccupancyMap
from isovist.poses import Pose
from isovist.ros import messages
from isovist.ros.bus import Topic
from isovist.ros.demonstration import (
    FRAMES,
    MOUNT,
    START,
    TOPICS,
    motion_of,
    odometry_message,
    scan_message,
)
from isovist.ros.zenoh_bus import Router, ZenohBus

ENDPOINT = "tcp/localhost:17447"
SCANS, ODOMETRY = 20, 50  # Hz


def memory_of(process: int) -> float:
    """Of a process, in MB; 0 where the system does not say."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmRSS"))


def main() -> None:
    """Print what came of it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    floor, random = office_floor(0), np.random.default_rng(0)
    world = OccupancyMap.from_segments(floor.plan.walls.reshape(-1, 2, 2), 0.05)
    _, odom, robot, sensor = FRAMES
    with (
        tempfile.TemporaryDirectory() as folder,
        Router(ENDPOINT),
        ZenohBus(endpoint=ENDPOINT, node="robot") as bus,
    ):
        write_atlas(build(world), Path(folder) / "office.atlas")
        static = messages.transforms_message(MOUNT, START, robot, sensor)
        bus.advertise(TOPICS["tf_static"])(static)
        scan, odometry = (bus.advertise(TOPICS[name]) for name in ("scan", "odom"))
        poses: list[tuple[float, float]] = []
        answers: dict[float, float] = {}
        unique: list[float] = []

        def heard(message: object) -> None:
            stamp = time_of(message.header)  # type: ignore[attr-defined]
            answers[stamp] = perf_counter()
            if message.status[0].level == 0:  # type: ignore[attr-defined]
                unique.append(stamp)

        bus.subscribe(Topic("/isovist/verdict", messages.VERDICT), heard)
        bus.subscribe(
            Topic("/initialpose", messages.POSE),
            lambda message: poses.append((time_of(message.header), perf_counter())),
        )
        command = [sys.executable, "-m", "isovist", "ros", "--map", f"{folder}/office.atlas"]
        log = (Path(folder) / "log").open("w+")
        node = subprocess.Popen([*command, "--connect", ENDPOINT], stderr=log)
        try:
            while "listening" not in Path(log.name).read_text():
                sleep(0.05)
            sleep(1.0)  # until the routes are known
            truth, way, sent = somewhere(floor.reality, random), Pose(), {}
            began, used = perf_counter(), []
            for k in range(count * ODOMETRY // SCANS):
                time = START + k / ODOMETRY
                odometry(odometry_message(way, time, odom, robot))
                if k * SCANS // ODOMETRY != (k - 1) * SCANS // ODOMETRY:
                    seen = LIDAR.scan(floor.reality, truth @ MOUNT, random)
                    message = scan_message(seen, time, sensor)
                    sent[time_of(message.header)] = perf_counter()
                    scan(message)
                motion = motion_of(floor.reality, truth)
                truth, way = truth @ motion, way @ motion
                while (left := began + (k + 1) / ODOMETRY - perf_counter()) > 0.0:
                    bus.run(left)
                if k % ODOMETRY == 0:
                    used.append(memory_of(node.pid))
            odometry(odometry_message(way, START + count / SCANS + 1.0, odom, robot))
            bus.run(2.0)
        finally:
            node.terminate()
            node.wait()
            log.close()
    waits = [1e3 * (answers[stamp] - sent[stamp]) for stamp in sent if stamp in answers]
    lost = sorted(set(sent) - set(answers))
    first = 1e3 * (poses[0][1] - sent[poses[0][0]]) if poses else float("inf")
    print(f"{len(sent)} scans at {SCANS} Hz, {len(lost)} without an answer, {len(unique)} unique")
    print(f"/initialpose {first:.0f} ms after the first scan that has one place (bar 100 ms)")
    print(
        f"scan to verdict: median {np.median(waits):.0f} ms, 95 % {np.quantile(waits, 0.95):.0f} ms"
    )
    if used and used[0]:
        quarter = used[len(used) // 4]
        print(f"memory {quarter:.0f} MB after a quarter, {used[-1]:.0f} MB at the end (bar + 5 %)")
    if lost or not poses:
        sys.exit("missed: scans without an answer" if lost else "missed: no pose")


if __name__ == "__main__":
    main()
