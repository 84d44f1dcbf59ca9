"""Which of a thousand floors is it?

    python -m benchmarks.library [--floors N] [--scans N] [--most N] [--memory MB] [--folder F]

Generated office floors, each of another seed, are written as a library (or found in F), and read
with a limit of memory.  Scans with furniture in view are taken on floors spread over all of them;
each asks which floor it is and where.  An answer is of one of four kinds: the floor that it names,
as unique or as the likeliest, is right (`named`); it says that several floors explain the scan and
lists the right one (`listed`); it is not unique, and more places explain the scan than are listed,
or none does (`open`); or it is `wrong`: unique on another floor, or with all its rivals listed and
the right floor not among them.  Besides, how many are unique on their own floor alone, which no
library can better; how many maps and nodes a bound left to be looked at, the first eight maps among
them; and wall and CPU time of an answer.  Bars: 99 % of answers not wrong, 1 s on two free cores.
Exits with 1 when the first is missed.
"""

import argparse
import resource
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from isovist.atlas.build import build
from isovist.atlas.data.store import write_atlas
from isovist.atlas.library import Library, read_library
from isovist.atlas.multimap import MultiMap
from isovist.localization import Answer, Verdict, search_space_of
from isovist.localization.candidates.map_selection import CoarseBounds, MapSelection
from isovist.localization.locate import locate
from isovist.localization.settings import LocalizationSettings
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.poses import pose_error
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.models.simulate import random_scans
from isovist.simulation.worlds import OfficeFloor, office_floor

LIDAR = Lidar(beams=360, range_max=20.0, noise=0.02)
FIRST_SEED = 1000
KINDS = ("named", "listed", "open", "wrong")


def floor_of(number: int) -> OfficeFloor:
    """A floor of about 230 m²."""
    return office_floor(FIRST_SEED + number, length=18.0, rows=2)


def write_floors(folder: Path, count: int) -> None:
    """Those that are not there yet."""
    for k in range(count):
        path = folder / f"floor {k:04d}.atlas"
        if not path.exists():
            walls = floor_of(k).plan.walls.reshape(-1, 2, 2)
            write_atlas(build(OccupancyMap.from_segments(walls, 0.05)), path)


def kind_of(answer: Answer, home: str, settings: LocalizationSettings) -> str:
    """How an answer speaks of the floor that a scan is of."""
    if answer.map == home:
        return "named"
    if answer.verdict is Verdict.UNIQUE:
        return "wrong"
    if any(estimate.map == home for estimate in answer.estimates):
        return "listed"
    full = 1 + len(answer.rivals) >= settings.decision.max_estimates
    return "open" if full or answer.verdict is Verdict.LOST else "wrong"


def measure(library: Library, scans: int) -> bool:
    """Print the rows; whether the bar of the right floor is met."""
    names, settings = list(library), LocalizationSettings()
    start = process_time(), perf_counter()
    site, kept = search_space_of(library), CoarseBounds.of(library).bounds.table.nbytes
    print(
        f"{len(names)} floors, made ready once in {perf_counter() - start[1]:.1f} s (CPU "
        f"{process_time() - start[0]:.1f} s); {kept / 2**20:.0f} MiB are kept of them, open "
        f"atlases take {library.open_bytes / 2**20:.0f} MiB",
        flush=True,
    )
    kinds: Counter[str] = Counter()
    unique, alone, off, wall, cpu = [], [], 0, [], []
    left: list[tuple[int, int]] = []
    asked = np.linspace(0, len(names) - 1, scans).astype(int)
    for turn, k in enumerate(asked):
        home = library[names[k]]
        reality = floor_of(int(k)).reality
        ((truth, scan),) = random_scans(home.world, reality, LIDAR, 1, seed=turn)
        own = locate(home, scan)
        clock = perf_counter(), process_time()
        answer = locate(library, scan)
        wall.append(perf_counter() - clock[0])
        cpu.append(process_time() - clock[1])
        choice = MapSelection.of(site, scan, settings)
        if choice is not None and own.best is not None and isinstance(site, MultiMap):
            placed = replace(own.best, pose=site.to_common(names[k], own.best.pose))
            limit = choice.cost_limit(scan, replace(own, estimates=(placed,)), settings)
            part = choice.part(limit)[0]
            left.append((len(part.names), sum(len(nodes) for nodes in part.only.values())))
        kinds[kind_of(answer, names[k], settings)] += 1
        unique.append(answer.verdict is Verdict.UNIQUE)
        alone.append(own.verdict is Verdict.UNIQUE)
        if unique[-1] and answer.map == names[k] and answer.best is not None:
            off += pose_error(answer.best.pose, truth)[0] > 0.5
    told = ", ".join(f"{kind} {kinds[kind]}" for kind in KINDS)
    print(
        f"{scans} scans: {told}; unique {np.mean(unique):.1%} (alone on its floor "
        f"{np.mean(alone):.1%}), {off} of these on the right floor but more than 0.5 m off"
    )
    maps, nodes = np.median(left, axis=0), np.quantile(left, 0.9, axis=0)
    print(
        f"maps that a bound does not exclude: median {maps[0]:.0f} with {maps[1]:.0f} nodes, 90 % "
        f"{nodes[0]:.0f} with {nodes[1]:.0f}"
    )
    print(
        f"an answer: median {np.median(wall):.2f} s, 90 % within {np.quantile(wall, 0.9):.2f} s; "
        f"CPU {np.median(cpu):.2f} and {np.quantile(cpu, 0.9):.2f} s (bar 1 s on two free cores)"
    )
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    print(f"memory at the peak {most:.0f} MiB, open atlases at the end "
          f"{library.open_bytes / 2**20:.0f} MiB in {len(library.opened)}")  # fmt: skip
    return kinds["wrong"] <= 0.01 * scans


def main() -> None:
    """Make the floors, ask."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--floors", type=int, default=1000)
    parser.add_argument("--scans", type=int, default=200)
    parser.add_argument("--most", type=int, default=None, help="maps looked at for a scan")
    parser.add_argument("--memory", type=float, default=100.0, help="of open atlases, in MB")
    parser.add_argument("--folder", type=Path, default=None, help="of the floors; kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) if given.folder is None else given.folder
        folder.mkdir(parents=True, exist_ok=True)
        write_floors(folder, given.floors)
        library = read_library(folder, memory=1e6 * given.memory, max_maps=given.most)
        good = measure(library, given.scans)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
