"""Which floor is it?  Scans of five storeys that share most walls, and logs as one library.

    python -m benchmarks.floors [--scans 1000] [--seed 0] [--of NAME] [LOG.log.gz …]

The storeys (`isovist.simulation.worlds`) share 75 to 85 % of their walls two by two;
scans are taken all over them, in rooms that are furnished, and each asks where it is and on which
storey.  A storey differs within view when from the same pose on every other one at least 5 % of the
beams, of those that end at a wall here, would be longer or shorter by 0.2 m or more.  Right is
within 0.5 m and 10° of the truth on its own map.

With CARMEN logs, the queries of `isovist bench carmen` that were unique and right on their own map
are asked again on the maps of all logs together.  The cost is the time of an answer on all maps
over that of a search of each, one refinement and one judgement.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas.base import Atlas
from isovist.atlas.build import build
from isovist.evaluation.protocols import map_of
from isovist.io.logs.carmen import read_carmen
from isovist.localization import Answer, Verdict, is_same_place
from isovist.localization.locate import locate
from isovist.localization.settings import LocalizationSettings
from isovist.maps.surfaces.segment_map import SegmentMap
from isovist.poses import Pose, unit_vectors
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.models.simulate import random_scans
from isovist.sensing.scan import Scan
from isovist.simulation.worlds import OfficeFloor, shared_wall_share, similar_floors

LIDAR = Lidar(beams=360, range_max=20.0, noise=0.02)
TIMED = 10
"""Questions of each map whose cost is taken."""
DIFFERS = 0.2, 0.05
"""A beam so much longer or shorter, in m, differs; a view of which so large a share does."""
EVERY, QUERY = 5, 2
"""A scan of a log is a query when its number leaves the second over when divided by the first."""


@dataclass(slots=True)
class Tally:
    """What became of some questions."""

    asked: int = 0
    on_map: int = 0
    unique: int = 0
    wrong_map: int = 0
    wrong_place: int = 0

    def add(self, answer: Answer, name: str, truth: Pose) -> None:
        """Count one answer."""
        unique = answer.verdict is Verdict.UNIQUE
        mine = answer.map == name
        self.asked += 1
        self.on_map += mine
        self.unique += unique
        self.wrong_map += unique and not mine
        self.wrong_place += unique and mine and not right(answer, name, truth)

    def row(self, what: str) -> str:
        """A line of a table."""
        n = max(self.asked, 1)
        return (
            f"| {what} | {self.asked} | {self.on_map / n:.1%} | {self.unique / n:.1%} | "
            f"{self.wrong_map / n:.2%} | {self.wrong_place / n:.2%} |"
        )


def right(answer: Answer, name: str | None, truth: Pose) -> bool:
    """Whether the best place is the true one."""
    best = answer.best
    near = best is not None and is_same_place(best.pose, truth, LocalizationSettings())
    return near and answer.map == name


def differs(floors: list[OfficeFloor], number: int, pose: Pose) -> bool:
    """Whether every other storey would look different from the same pose."""
    metres, share = DIFFERS
    mine = seen(floors[number].plan, pose)
    walls = np.abs(seen(floors[number].reality, pose) - mine) < 0.5 * metres
    others = [seen(floor.plan, pose) for k, floor in enumerate(floors) if k != number]
    return all(float((walls & (np.abs(mine - view) > metres)).mean()) >= share for view in others)


def seen(world: SegmentMap, pose: Pose) -> FloatArray:
    """Ranges of an exact sensor; all 0 where a column stands."""
    if not world.contains(pose.position):
        return np.zeros(LIDAR.beams)
    turns = pose.yaw + np.linspace(0.0, 2.0 * np.pi, LIDAR.beams, endpoint=False)
    ranges = world.cast(pose.position, unit_vectors(turns)).ranges
    return np.minimum(ranges, LIDAR.range_max)


def generated(scans: int, seed: int) -> None:
    """The rows of five storeys."""
    floors = similar_floors(seed)
    common = [shared_wall_share(a, b) for a in floors for b in floors if a is not b]
    print(f"five storeys share {min(common):.0%} to {max(common):.0%} of their walls", flush=True)
    maps = {f"floor {k + 1}": build(floor.plan) for k, floor in enumerate(floors)}
    tallies = {"differs within view": Tally(), "looks like another": Tally()}
    costs: dict[Verdict, list[float]] = {verdict: [] for verdict in Verdict}
    for number, (name, atlas) in enumerate(maps.items()):
        count = len(range(number, scans, len(floors)))
        taken = random_scans(atlas.world, floors[number].reality, LIDAR, count, seed=seed + number)
        for k, (pose, scan) in enumerate(taken):
            answer = locate(maps, scan)
            kind = "differs within view" if differs(floors, number, pose) else "looks like another"
            tallies[kind].add(answer, name, pose)
            if k < TIMED:
                costs[answer.verdict].append(cost_of(maps, name, scan, answer))
    print("| scans where the storey | asked | right storey | unique | unique on a wrong storey | "
          "unique in a wrong place |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    for what, tally in tallies.items():
        print(tally.row(what), flush=True)
    known = {verdict.value: timed for verdict, timed in costs.items() if timed}
    parts = (f"{np.median(timed):.2f} when {name}" for name, timed in known.items())
    whole = np.median(np.concatenate(list(known.values())))
    print(f"cost: {whole:.2f} in the median; {', '.join(parts)}")


def cost_of(maps: dict[str, Atlas], name: str, scan: Scan, answer: Answer) -> float:
    """Time of an answer over that of a search of each map, one refinement and one judgement."""
    alone = {key: locate(atlas, scan).timing_ms for key, atlas in maps.items()}
    searches = sum(times["search"] for times in alone.values())
    return answer.timing_ms["total"] / (searches + alone[name]["refine"] + alone[name]["judge"])


def library(logs: list[Path], count: int, of: str) -> None:
    """The rows of several logs as one library, `of` all queries or those of one log."""
    maps: dict[str, Atlas] = {}
    queries: list[tuple[str, Scan, Pose]] = []
    for path in logs:
        log, name = read_carmen(path), path.name.split(".")[0]
        index = np.flatnonzero(log.usable)
        asked = index[index % EVERY == QUERY]
        maps[name] = build(map_of(log, np.setdiff1d(index, asked)))
        if count and len(asked) > count:
            asked = asked[np.linspace(0, len(asked) - 1, count).astype(int)]
        if of and of not in name:
            continue
        queries += [(name, log.scan(int(i)), Pose.from_vector(log.poses[i])) for i in asked]
    print("| map | unique and right alone | also together | unique on a wrong map | cost |")
    print("|---|---|---|---|---|")
    total = np.zeros(3, dtype=int)
    for name, atlas in maps.items():
        if of and of not in name:
            continue
        counts, costs = np.zeros(3, dtype=int), []
        for _, scan, truth in (query for query in queries if query[0] == name):
            alone = locate(atlas, scan)
            together = locate(maps, scan)
            counts[2] += together.verdict is Verdict.UNIQUE and together.map != name
            if alone.verdict is not Verdict.UNIQUE or not right(alone, None, truth):
                continue
            kept = together.verdict is Verdict.UNIQUE and right(together, name, truth)
            counts[:2] += 1, kept
            if len(costs) < TIMED:
                costs.append(cost_of(maps, name, scan, together))
        total += counts
        print(row_of(name, counts, costs), flush=True)
    print(row_of("all", total, []))


def row_of(name: str, counts: IntArray, costs: list[float]) -> str:
    """A line of the table of logs."""
    alone, kept, wrong = counts
    cost = f"{np.median(costs):.2f}" if costs else ""
    return f"| {name} | {alone} | {kept / max(alone, 1):.1%} | {wrong} | {cost} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("logs", nargs="*", type=Path, metavar="LOG")
    parser.add_argument("--scans", type=int, default=1000, help="of the storeys; 0 for none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=0, help="most queries of a log; 0 for all")
    parser.add_argument("--of", default="", metavar="NAME", help="ask queries of this log alone")
    given = parser.parse_args()
    if given.of and not any(given.of in path.name for path in given.logs):
        parser.error(f"none of the logs is called {given.of!r}")
    if given.scans:
        generated(given.scans, given.seed)
    if given.logs:
        library(given.logs, given.count, given.of)


if __name__ == "__main__":
    main()
