"""What the first commands on a machine cost: wall and CPU time, in s.

    python -m benchmarks.first_minutes [--space]

Each row is a process of its own.  "cold" begins with an empty cache of compiled code, "warm" has
the one that the cold row left; the first imports write bytecode where there is none.  CPU is user
and system time of the process and its children.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import isovist as iv
from isovist.simulation.worlds import office_floor

SPACE = "--space" in sys.argv[1:]
IMPORTS = (
    "import isovist.apps.cli.app, isovist.apps.cli.support.maps, isovist.compute.infra.compiled"
)


def measure(name: str, cache: Path, *command: str) -> None:
    """Run a command and print its row."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's Python keeps its bytecode
    begin = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *command], env=environment, stdout=subprocess.DEVNULL, cwd=cache.parent
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - begin
    print(f"{name:<14} wall {wall:6.2f}   CPU {used.ru_utime + used.ru_stime:6.2f}", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        floor, place = office_floor(0), iv.Pose(25.478, 7.442, -2.88)
        iv.write_atlas(iv.build(floor.plan), here / "atlas")
        lidar = iv.Lidar(field_of_view=1.5 * np.pi, beams=541, range_max=15.0, noise=0.03)
        iv.write_scan(lidar.scan(floor.reality, place, np.random.default_rng(0)), here / "s.json")
        for name in ("first imports", "imports"):
            measure(name, here / "c0", "-c", IMPORTS)
        demo = ("demo", "--3d") if SPACE else ("demo",)
        for verb, words in (("locate", ("locate", "atlas", "s.json")), (" ".join(demo), demo)):
            for state in ("cold", "warm"):
                measure(f"{state} {verb}", here / f"c-{verb}", "-m", "isovist", *words)


if __name__ == "__main__":
    main()
