"""Benchmark protocols for localization from one scan.

A protocol makes a map and a list of trials: scans and the poses that they were taken from.
`run_trials` locates the scans and compares the answers with the truth.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from isovist.arrays import BoolArray, IntArray
from isovist.atlas import Atlas, bare_walls
from isovist.atlas.build import build
from isovist.compute import THREADS, map_in_order
from isovist.errors import InputError
from isovist.evaluation.metrics import Outcome, Row, outcome_of, summarise
from isovist.evaluation.settings import PROTOCOL
from isovist.localization import Verdict
from isovist.localization.locate import locate
from isovist.maps import AnyMap, Cell, Map, OccupancyMap, VoxelMap
from isovist.poses import AnyPose, Pose
from isovist.sensing import CloudScan, Lidar, Placement, Scan, SpinningLidar, random_scans

if TYPE_CHECKING:
    from isovist.sensing import ScanSet


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A scan to locate, and its true pose.

    Attributes:
        scan: Function that returns the scan.
        truth: True pose of the robot.
    """

    scan: Callable[[], Scan | CloudScan]
    truth: AnyPose


@dataclass(frozen=True, slots=True)
class LocateOptions:
    """Options of `locate` for the trials of a benchmark.

    Attributes:
        prove: Whether to prove the answers.
        budget_s: Maximum time of a proof in s; the default of `locate` when `None`.
        any_attitude: Whether roll and pitch are unknown and may have any value.
    """

    prove: bool = False
    budget_s: float | None = None
    any_attitude: bool = False


DEFAULT = LocateOptions()
"""Options for scans that `locate` takes as they are."""


def carmen_trials(log: "ScanSet") -> tuple[OccupancyMap, list[Trial]]:
    """Make a map and trials from a log; every fifth scan is a query, the others make the map."""
    usable = np.flatnonzero(log.usable)
    is_query = usable % PROTOCOL.query_step == PROTOCOL.query_remainder
    return map_of(log, usable[~is_query]), scan_trials(log, usable[is_query])


def revisit_trials(log: "ScanSet") -> tuple[OccupancyMap, list[Trial]]:
    """Map the first half of a log; query scans of the second half from mapped places."""
    usable = np.flatnonzero(log.usable)
    is_first_half = usable < len(log) // 2
    world, revisits = map_of(log, usable[is_first_half]), usable[~is_first_half]
    return world, scan_trials(log, revisits[_is_mapped(world, log, revisits)])


def scan_trials(log: "ScanSet", index: IntArray) -> list[Trial]:
    """Make trials from the scans of a set with the given numbers."""
    return [
        Trial(lambda i=int(i): log.scan(i), Pose.from_vector(log.poses[i]))  # type: ignore[misc]
        for i in index
    ]


def simulated_trials(
    world: OccupancyMap | VoxelMap,
    count: int,
    lidar: Lidar | SpinningLidar,
    *,
    seed: int = 0,
    placement: Placement | None = None,
    reality: Map | None = None,
) -> list[Trial]:
    """Simulate scans at random poses on a map.

    Args:
        world: The map.
        count: Number of scans.
        lidar: The sensor.
        seed: Seed of the random numbers.
        placement: Possible positions and attitudes of the sensor.
        reality: World that the sensor measures; the walls of the map when `None`.
    """
    reality = bare_walls(world) if reality is None else reality
    scans = random_scans(world, reality, lidar, count, seed=seed, placement=placement)
    return [Trial(lambda scan=scan: scan, pose) for pose, scan in scans]  # type: ignore[misc]


def run_trials(
    atlas: Atlas, trials: Sequence[Trial], options: LocateOptions = DEFAULT
) -> Iterator[Outcome]:
    """Locate the scan of each trial, with unknown heading and no search region.

    The scans run in parallel on all cores.  Trials with proofs run one by one, since each proof
    uses all cores.
    """

    def run(_number: int, trial: Trial) -> Outcome:
        scan = trial.scan()
        answer = locate(atlas, scan, **asdict(options))
        return outcome_of(atlas, scan, answer, trial.truth)

    return map_in_order(run, trials, 1 if options.prove else THREADS)


def times_alone(
    atlas: Atlas, trials: Sequence[Trial], options: LocateOptions = DEFAULT
) -> list[Mapping[str, float]]:
    """Return the times in ms of a sample of trials that are located one at a time."""
    numbers = np.unique(np.linspace(0, len(trials) - 1, PROTOCOL.timed_trials).astype(np.int64))
    return [locate(atlas, trials[int(k)].scan(), **asdict(options)).timing_ms for k in numbers]


def measure(
    site: str,
    world: AnyMap,
    trials: Sequence[Trial],
    progress: Callable[[], None] | None = None,
    *,
    height: float | None = None,
    options: LocateOptions = DEFAULT,
) -> Row:
    """Build the atlas of a map, run trials on it, and summarise them in a row."""
    if not trials:
        raise InputError(f"{site} has no query to try.", code="empty")
    start = perf_counter()
    atlas = build(world, height=height)
    build_s = perf_counter() - start
    # So that no query is charged for loading the kernels.
    locate(atlas, trials[0].scan(), **asdict(options))
    outcomes = []
    for outcome in run_trials(atlas, trials, options):
        outcomes.append(outcome)
        if progress is not None:
            progress()
    times = None if options.prove else times_alone(atlas, trials, options)
    head: Row = {"site": site, "queries": len(trials), "area_m2": atlas.area}
    return head | {"nodes": len(atlas.nodes)} | summarise(outcomes, times) | {"build_s": build_s}


def map_of(log: "ScanSet", index: IntArray) -> OccupancyMap:
    """Build a map from some scans of a log, at the poses of the log."""
    scans = [log.scan(int(i)) for i in index]
    return OccupancyMap.from_scans(scans, log.poses[index], PROTOCOL.map_resolution_m)


def _is_mapped(world: OccupancyMap, log: "ScanSet", index: IntArray) -> BoolArray:
    """Return whether the map contains the view of each scan at its logged pose."""
    from scipy.ndimage import distance_transform_edt

    distance = distance_transform_edt(world.cells != Cell.OCCUPIED) * world.resolution
    is_mapped = []
    for i in index:
        rows, cols = world.index(Pose.from_vector(log.poses[i]).apply(log.scan(int(i)).endpoints))
        is_near = (rows >= 0) & (distance[rows, cols] <= PROTOCOL.max_wall_distance_m)
        is_mapped.append(is_near.mean() >= PROTOCOL.min_mapped_share)
    return np.array(is_mapped, dtype=np.bool_)


def cross_trials(
    logs: "Mapping[str, ScanSet]", count: int, progress: Callable[[float], None] | None = None
) -> Row:
    """Locate scans of each log on the maps of all other logs, where every pose is wrong.

    Args:
        logs: At least two logs of different sites, by name.
        count: Number of scans of each log.
        progress: Function that is called with the finished share.
    """
    if len(logs) < 2:
        raise InputError("Crossing sites needs at least two logs.", code="missing")
    sites = {name: carmen_trials(log) for name, log in logs.items()}
    verdicts: list[Verdict] = []
    for k, (home, (world, _)) in enumerate(sites.items()):
        atlas = build(world)
        for away, (_, trials) in sites.items():
            if away != home:
                numbers = np.linspace(0, len(trials) - 1, min(count, len(trials))).astype(np.int64)
                sample = [trials[int(i)] for i in numbers]
                verdicts += [outcome.verdict for outcome in run_trials(atlas, sample)]
        if progress is not None:
            progress((k + 1) / len(sites))
    unique = sum(verdict is Verdict.UNIQUE for verdict in verdicts)
    lost = sum(verdict is Verdict.LOST for verdict in verdicts)
    share = 1.0 - unique / len(verdicts)
    return {"asked": len(verdicts), "unique": unique, "lost": lost, "not_unique": share}
