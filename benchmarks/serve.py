"""How much a server answers, and what it bears.

    python -m benchmarks.serve [--scans N] [--clients N] [--malformed N]

`isovist serve` in a process of its own on the loopback, with a generated office.  64 clients, each
with a connection of its own, ask N scans in all, one after the other, while as many connections
stay idle and as many send a body one byte a second; who is told to wait waits and asks again.
Rows: errors; the median and the 99th percentile of the time of a request; scans per second, and
scans per second of CPU time, against `locate_many` on the same scans in this process (bar 0.85).
Then N malformed requests, each of which must be refused with a status
from 400 to 499, and one more scan.  Exits with 1 on an error or a wrong answer.
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
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np

from isovist.atlas.base import Atlas
from isovist.atlas.build import build
from isovist.atlas.store import write_atlas
from isovist.bench.demonstration import LIDAR, somewhere
from isovist.bench.worlds import office_floor
from isovist.io.scans.read import read_scan, write_scan
from isovist.localization.many import locate_many
from isovist.maps.cells import OccupancyMap
from isovist.sensing.scan import Scan

BAR = 0.85
JSON = {"Content-Type": "application/json"}


def scans_of(folder: Path, number: int) -> tuple[Atlas, list[Any], list[bytes]]:
    """An office, scans in it as the server reads them, and what is sent."""
    floor = office_floor(7)
    atlas = build(OccupancyMap.from_segments(floor.plan.walls.reshape(-1, 2, 2), 0.05))
    random = np.random.default_rng(0)
    scans, bodies, path = [], [], folder / "scan.json"
    for _ in range(number):
        write_scan(LIDAR.scan(floor.reality, somewhere(floor.reality, random), random), path)
        scans.append(read_scan(path))
        bodies.append(b'{"certificate":false,"hints":false,"scan":' + path.read_bytes() + b"}")
    return atlas, scans, bodies


def begin(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """A server and its port."""
    command = [sys.executable, "-m", "isovist", "serve", "--library", str(folder), "--port", "0"]
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


def load(port: int, bodies: list[bytes], clients: int) -> tuple[list[float], float, list[Any]]:
    """Time of each request, of all of them, and what was told, in order."""
    told: list[Any] = [None] * len(bodies)
    spent: list[float] = [0.0] * len(bodies)
    turn = count()

    def client(_number: int) -> None:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=300.0)
        while (k := next(turn)) < len(bodies):
            start = perf_counter()
            told[k] = ask(line, bodies[k])
            while told[k][0] == 429:
                sleep(float(json.loads(told[k][1])["error"].split()[-2]))
                told[k] = ask(line, bodies[k])
            spent[k] = perf_counter() - start
        line.close()

    start = perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, range(clients)))
    return spent, perf_counter() - start, told


def cpu_of(process: int) -> float:
    """CPU time of a process so far, in s."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
    parser.add_argument("--malformed", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "maps"
        folder.mkdir()
        atlas, scans, bodies = scans_of(Path(place), given.scans)
        write_atlas(atlas, folder / "office.atlas")
        running, port = begin(folder)
        load(port, bodies[: given.clients], given.clients)
        some = scans[: min(len(scans), 200)]
        assert isinstance(some[0], Scan)
        locate_many(atlas, some[:4])
        start, cpu = perf_counter(), process_time()
        mine = locate_many(atlas, some)
        alone, cpu_alone = len(some) / (perf_counter() - start), process_time() - cpu
        nuisance = Nuisance(port, given.clients)
        cpu = cpu_of(running.pid)
        spent, whole, told = load(port, bodies, given.clients)
        cpu = cpu_of(running.pid) - cpu
        nuisance.end()
        errors = sum(status != 200 for status, _ in told)
        wrong = 0
        for (status, text), answer in zip(told, mine, strict=False):
            if status == 200 and answer.best is not None:
                wrong += json.loads(text)["estimates"][0]["x"] != answer.best.pose.x
        rate = len(bodies) / whole
        half, most = np.quantile(spent, [0.5, 0.99])
        print(
            f"{len(bodies)} scans from {given.clients} clients, {2 * given.clients} idle and slow "
            f"connections beside them: {errors} errors, {wrong} answers differ"
        )
        print(f"a request: median {1e3 * half:.0f} ms, 99 % within {1e3 * most:.0f} ms")
        print(
            f"{rate:.1f} scans/s, of locate_many {alone:.1f}: {rate / alone:.2f} (bar {BAR})",
            flush=True,
        )
        each = 1e3 * cpu_alone / len(some), 1e3 * cpu / len(bodies)
        print(f"CPU of a scan: {each[1]:.1f} ms, of locate_many {each[0]:.1f}: "
              f"{each[0] / each[1]:.2f}", flush=True)  # fmt: skip
        start = perf_counter()
        statuses = malformed(port, given.malformed, bodies[0])
        spoilt = sum(number for status, number in statuses.items() if not 400 <= status < 500)
        print(
            f"{given.malformed} malformed requests in {perf_counter() - start:.0f} s: "
            f"{dict(sorted(statuses.items()))}, {spoilt} not refused"
        )
        last = ask(http.client.HTTPConnection("127.0.0.1", port, timeout=60.0), bodies[0])
        running.send_signal(signal.SIGTERM)
        ended = running.wait(120)
    sys.exit(1 if errors or wrong or spoilt or last[0] != 200 or ended else 0)


if __name__ == "__main__":
    main()
