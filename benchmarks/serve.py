"""How much a server answers, and what it bears.

    python -m benchmarks.serve [--scans N] [--clients N] [--minutes M] [--rest S] [--malformed N]
                               [--workers N] [--processes N] [--robots N]

`isovist serve` in a process of its own on the loopback, with a generated office.  64 clients, each
with a connection of its own, ask N scans, one after the other and again for M minutes, while as
many connections stay idle and as many send a body one byte a second; who is told to wait waits and
asks again, and between two scans a client rests for S seconds.  Clients of one process answer for a
thousand scans a second or so; `--processes` says how many they are spread over.
Rows: errors; the median and the 99th percentile of the time of a request; memory of the server
tenth by tenth; scans per second, and scans per second of CPU time, against `locate_many` on the
same scans in this process (bar 0.85); both are measured in turn, five times, since other work on a
machine comes and goes.  CPU time of the server is told without that of `--workers`.
Then N malformed requests, each of which must be refused with a status
from 400 to 499, and one more scan.  With `--robots` as many are followed at once for ten s, each by
a client that goes to and fro and tells the next scan as soon as the last is answered: updates in a
second, and how many know where they are in the end.  Exits with 1 on an error or a wrong answer.
"""

import argparse
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count, cycle
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np

from benchmarks.long import held
from isovist.atlas.base import Atlas
from isovist.atlas.build import build
from isovist.atlas.data.store import write_atlas
from isovist.io.scans.read import read_scan, write_scan
from isovist.localization import Answer
from isovist.localization.locate_many import locate_many
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.poses import Pose
from isovist.sensing.scan import Scan
from isovist.simulation.demo import LIDAR, random_pose
from isovist.simulation.worlds import office_floor

BAR = 0.85
TURNS, SOME = 5, 400
"""Times that the server and `locate_many` are measured, and how many scans the latter is given."""
JSON = {"Content-Type": "application/json"}


def scans_of(folder: Path, number: int) -> tuple[Atlas, list[Any], list[bytes]]:
    """An office, scans in it as the server reads them, and what is sent."""
    floor = office_floor(7)
    atlas = build(OccupancyMap.from_segments(floor.plan.walls.reshape(-1, 2, 2), 0.05))
    random = np.random.default_rng(0)
    scans, bodies, path = [], [], folder / "scan.json"
    for _ in range(number):
        write_scan(LIDAR.scan(floor.reality, random_pose(floor.reality, random), random), path)
        scans.append(read_scan(path))
        bodies.append(b'{"certificate":false,"hints":false,"scan":' + path.read_bytes() + b"}")
    return atlas, scans, bodies


def begin(folder: Path, workers: int | None) -> tuple[subprocess.Popen[str], int]:
    """A server and its port."""
    command = [sys.executable, "-m", "isovist", "serve", "--library", str(folder), "--port", "0"]
    command += [] if workers is None else ["--workers", str(workers)]
    running = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert running.stderr is not None
    for line in running.stderr:
        if "served at" in line:
            return running, int(line.split("/")[2].partition(":")[2])
    raise SystemExit("the server did not start")


def ask(line: http.client.HTTPConnection, body: bytes, path: str = "/locate") -> tuple[int, bytes]:
    """Status and text."""
    line.request("POST", path, body, JSON)
    answer = line.getresponse()
    return answer.status, answer.read()


class Nuisance:
    """Connections that say nothing, and others that say a byte a second."""

    def __init__(self, port: int, number: int) -> None:
        self.port, self.number = port, number
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        lines: list[socket.socket] = []
        head = b"POST /locate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000\r\n\r\n"
        while not self._over.wait(1.0):
            alive = []
            for line in lines:
                try:
                    line.sendall(b" ")
                    alive.append(line)
                except OSError:
                    line.close()
            lines = alive
            while len(lines) < 2 * self.number:
                line = socket.create_connection(("127.0.0.1", self.port))
                if len(lines) % 2:
                    line.sendall(head)
                lines.append(line)
        for line in lines:
            line.close()

    def end(self) -> None:
        """Close all of them."""
        self._over.set()
        self._thread.join()


@dataclass(slots=True)
class Load:
    """What came of requests: seconds of each, the first place or the status, memory in MB."""

    spent: list[float] = field(default_factory=list)
    told: list[tuple[int, float | int | None]] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    whole: float = 0.0

    def add(self, other: "Load") -> None:
        """What came of further ones."""
        self.spent += other.spent
        self.told += other.told
        self.memory += other.memory
        self.whole += other.whole

    @property
    def errors(self) -> int:
        """Answers that are none."""
        return sum(isinstance(place, int) for _, place in self.told)

    def differing(self, answers: list[Answer]) -> int:
        """How many give another place than these, for those scans that these are of."""
        known = [None if answer.best is None else answer.best.pose.x for answer in answers]
        return sum(
            not isinstance(place, int) and k < len(known) and place != known[k]
            for k, place in self.told
        )


def load(
    running: subprocess.Popen[str], port: int, bodies: list[bytes], clients: int,
    minutes: float = 0.0, rest: float = 0.0, processes: int = 1, marks: int = 0,
) -> Load:  # fmt: skip
    """Ask all bodies, and again until the minutes are over; memory is looked at so many times."""
    came, start = Load(), perf_counter()

    def watch() -> None:
        for k in range(1, marks + 1):
            if over.wait(start + 60.0 * minutes * k / marks - perf_counter()):
                return
            came.memory.append(held(running.pid))

    over = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    if processes == 1:
        came.spent, came.told, came.whole = asking(port, bodies, clients, minutes, rest)
    else:
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            parts = [bodies[k::processes] for k in range(processes)]
            each = partial(asking, port, clients=clients // processes, minutes=minutes, rest=rest)
            for first, (spent, told, whole) in enumerate(pool.map(each, parts)):
                came.spent += spent
                came.told += [(first + processes * k, place) for k, place in told]
                came.whole = max(came.whole, whole)
    over.set()
    watcher.join()
    return came


def asking(
    port: int, bodies: list[bytes], clients: int, minutes: float, rest: float
) -> tuple[list[float], list[tuple[int, float | int | None]], float]:
    """Seconds of requests, what was told (the number of the body, and the place), and all s."""
    spent: list[float] = []
    places: list[tuple[int, float | int | None]] = []
    turn, start = count(), perf_counter()

    def client(_number: int) -> None:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=300.0)
        while (k := next(turn)) < len(bodies) or perf_counter() < start + 60.0 * minutes:
            begun = perf_counter()
            while (told := ask(line, bodies[k % len(bodies)]))[0] == 429:
                sleep(float(json.loads(told[1])["error"].split()[-2]))
            spent.append(perf_counter() - begun)
            places.append((k % len(bodies), place_of(*told)))
            sleep(rest)
        line.close()

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, range(clients)))
    return spent, places, perf_counter() - start


def place_of(status: int, text: bytes) -> float | int | None:
    """x of the first place, `None` of none; a status that is not 200."""
    if status != 200:
        return status
    places = json.loads(text)["estimates"]
    return float(places[0]["x"]) if places else None


def cpu_of(process: int) -> float:
    """CPU time of a process so far, in s."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


STEPS, STEP, FOLLOW_S = 8, 0.03, 10.0
"""Of the way of a robot that is followed: how many, in m, and for how long, in s."""
Way = list[tuple[Pose, bytes]]
"""Where a robot is, and what it tells there."""


def ways(robots: int) -> list[Way]:
    """There and back for each robot, in the office of `scans_of`."""
    floor, random, found = office_floor(7), np.random.default_rng(1), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scan.json"
        for _ in range(robots):
            start, way = random_pose(floor.reality, random), []
            for k in range(STEPS):
                pose = start @ Pose(STEP * k, 0.0, 0.0)
                write_scan(LIDAR.scan(floor.reality, pose, random), path)
                odometry = json.dumps([pose.x, pose.y, pose.yaw]).encode()
                way.append((pose, b'{"odometry":%b,"scan":%b}' % (odometry, path.read_bytes())))
            found.append(way + way[-2:0:-1])
    return found


def followed(port: int, some: list[Way]) -> tuple[list[float], int]:
    """Seconds of the updates of robots, and how many know where they are in the end."""

    def follow(way: Way) -> tuple[list[float], bool]:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=300.0)
        key = json.loads(ask(line, b"{}", "/track")[1])["session"]
        spent, start = [], perf_counter()
        for pose, body in cycle(way):  # noqa: B007
            begun = perf_counter()
            status, text = ask(line, body, f"/track/{key}")
            if status != 200:
                raise SystemExit(f"an update was refused: {text.decode()}")
            spent.append(perf_counter() - begun)
            if perf_counter() > start + FOLLOW_S:
                told = json.loads(text)
                break
        line.close()
        best = told["estimates"][0] if told["verdict"] == "unique" else None
        known = best is not None and np.hypot(best["x"] - pose.x, best["y"] - pose.y) < 0.3
        return spent, bool(known)

    with ThreadPoolExecutor(len(some)) as pool:
        came = list(pool.map(follow, some))
    return [s for spent, _ in came for s in spent], sum(known for _, known in came)


def following(port: int, robots: int, processes: int) -> None:
    """A row about robots that are followed."""
    parts = [part for k in range(processes) if (part := ways(robots)[k::processes])]
    with ProcessPoolExecutor(len(parts), get_context("spawn")) as pool:
        came = list(pool.map(partial(followed, port), parts))
    spent = [s for some, _ in came for s in some]
    half, most = 1e3 * np.quantile(spent, [0.5, 0.99])
    print(f"{robots} robots followed at once: {len(spent) / FOLLOW_S:.0f} updates/s, median "
          f"{half:.0f} ms, 99 % within {most:.0f} ms; {sum(known for _, known in came)} know where "
          "they are", flush=True)  # fmt: skip


def malformed(port: int, number: int, good: bytes) -> Counter[int]:
    """Statuses of requests that are wrong in some way."""
    random = np.random.default_rng(0)
    paths = ("/locate", "/check", "/track", "/track/none", "/maps/x", "/nowhere")
    statuses: Counter[int] = Counter()
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60.0)
    for _ in range(number):
        body = bytearray(good)
        kind = int(random.integers(4))
        if kind == 0:
            body = body[: int(random.integers(len(body)))]
        elif kind == 1:
            body = bytearray(random.bytes(int(random.integers(200))))
        elif kind == 2:
            body = bytearray(b"[" * int(random.integers(1, 2000)))
        else:
            body[int(random.integers(20))] = 0
        statuses[ask(line, bytes(body) or b"0", str(random.choice(paths)))[0]] += 1
    line.close()
    return statuses


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scans", type=int, default=2000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--rest", type=float, default=0.0)
    parser.add_argument("--malformed", type=int, default=100_000)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--robots", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "maps"
        folder.mkdir()
        atlas, scans, bodies = scans_of(Path(place), given.scans)
        write_atlas(atlas, folder / "office.atlas")
        running, port = begin(folder, given.workers)
        load(running, port, bodies[: given.clients], given.clients)
        some = scans[:SOME]
        assert isinstance(some[0], Scan)
        locate_many(atlas, some[:4])
        came, turns = Load(), TURNS if given.minutes else 1
        spent, cpu_alone, cpu = 0.0, 0.0, 0.0
        for _ in range(turns):
            start, begun = perf_counter(), process_time()
            mine = locate_many(atlas, some)
            spent, cpu_alone = spent + perf_counter() - start, cpu_alone + process_time() - begun
            nuisance, begun = Nuisance(port, given.clients), cpu_of(running.pid)
            part = load(
                running, port, bodies, given.clients, given.minutes / turns, given.rest,
                given.processes, 10 // turns,
            )  # fmt: skip
            cpu += cpu_of(running.pid) - begun
            nuisance.end()
            came.add(part)
        alone = turns * len(some) / spent
        errors, wrong, asked = came.errors, came.differing(mine), len(came.told)
        rate = asked / came.whole
        half, most = np.quantile(came.spent, [0.5, 0.99])
        print(
            f"{asked} scans from {given.clients} clients in {came.whole / 60.0:.1f} min, "
            f"{2 * given.clients} idle and slow connections beside them: {errors} errors, "
            f"{wrong} answers differ"
        )
        print(f"a request: median {1e3 * half:.0f} ms, 99 % within {1e3 * most:.0f} ms")
        print(f"memory of the server, MB: {', '.join(f'{mb:.0f}' for mb in came.memory)}")
        print(
            f"{rate:.1f} scans/s, of locate_many {alone:.1f}: {rate / alone:.2f} (bar {BAR})",
            flush=True,
        )
        each = 1e3 * cpu_alone / (turns * len(some)), 1e3 * cpu / asked
        print(f"CPU of a scan: {each[1]:.1f} ms, of locate_many {each[0]:.1f}: "
              f"{each[0] / each[1]:.2f}", flush=True)  # fmt: skip
        start = perf_counter()
        statuses = malformed(port, given.malformed, bodies[0])
        spoilt = sum(number for status, number in statuses.items() if not 400 <= status < 500)
        print(
            f"{given.malformed} malformed requests in {perf_counter() - start:.0f} s: "
            f"{dict(sorted(statuses.items()))}, {spoilt} not refused"
        )
        if given.robots:
            following(port, given.robots, given.processes)
        last = ask(http.client.HTTPConnection("127.0.0.1", port, timeout=60.0), bodies[0])
        running.send_signal(signal.SIGTERM)
        ended = running.wait(120)
    sys.exit(1 if errors or wrong or spoilt or last[0] != 200 or ended else 0)


if __name__ == "__main__":
    main()
