"""How well does it locate?  The protocols of the benchmark, as plain functions.

A protocol makes a map and a list of trials, a trial being a scan and where it was taken;
`run_trials` locates them, and `outcomes` holds the answers against the truth.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from isovist.arrays import BoolArray, IntArray
from isovist.atlas.base import Atlas
from isovist.atlas.build import build
from isovist.atlas.data.surfaces import bare_walls
from isovist.compute.infra.threads import THREADS, map_in_order
from isovist.errors import InputError
from isovist.evaluation.metrics import Outcome, Row, outcome_of, summarise
from isovist.localization.answer import Verdict
from isovist.localization.locate import locate
from isovist.maps.base import Map
from isovist.maps.grid2d.occupancy_map import Cell, OccupancyMap
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.maps.kinds import AnyMap
from isovist.poses import AnyPose, Pose
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.models.simulate import Placement, random_scans
from isovist.sensing.models.spinning import SpinningLidar
from isovist.sensing.scan import Scan

if TYPE_CHECKING:
    from isovist.sensing.scan_set import ScanSet

RESOLUTION = 0.05
EVERY, QUERY = 5, 2
"""Scan i of a log is a query when i mod EVERY = QUERY."""
TIMED = 40
"""Trials that are asked once more, one by one, for their times."""
MAPPED_SHARE, MAPPED_DISTANCE = 0.8, 0.2
"""A place is mapped when this share of valid beams ends this near to a wall, in m."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A scan, made when it is asked for, and the pose that it was taken from."""

    scan: Callable[[], Scan | CloudScan]
    truth: AnyPose


def carmen_trials(log: "ScanSet") -> tuple[OccupancyMap, list[Trial]]:
    """Make a map and trials from a log: every fifth scan is a query, the others make the map."""
    usable = np.flatnonzero(log.usable)
    asks = usable % EVERY == QUERY
    return map_of(log, usable[~asks]), scan_trials(log, usable[asks])


def revisit_trials(log: "ScanSet") -> tuple[OccupancyMap, list[Trial]]:
    """Map the first half of a log, and query scans of the second half that the map shows."""
    usable = np.flatnonzero(log.usable)
    first = usable < len(log) // 2
    world, later = map_of(log, usable[first]), usable[~first]
    return world, scan_trials(log, later[_mapped(world, log, later)])


def scan_trials(log: "ScanSet", index: IntArray) -> list[Trial]:
    """Return trials from the scans of a set that have the given numbers."""
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
    clearance: float = 0.25,
    height: float = 1.0,
    reality: Map | None = None,
    any_attitude: bool = False,
    lean: float = 0.0,
) -> list[Trial]:
    """Simulate scans at random places of a map (`sensing.models.simulate.random_scans`).

    Only walls end a beam: the grey fringe that many maps have before their walls is not there
    for a sensor.

    Args:
        world: The map.
        count: Number of poses.
        lidar: The sensor.
        seed: Seed of the random numbers.
        clearance: Least room of the sensor on all sides, in m.
        height: Height of the sensor above the floor in 3D, in m.
        reality: What the sensor sees; the walls of the map when `None`.
        any_attitude: In 3D, turn the sensor at random; the scans do not say how.
        lean: In 3D, largest random roll and pitch of the sensor, in rad; the scans omit them.
    """
    seen = bare_walls(world) if reality is None else reality
    placement = Placement(clearance, height, any_attitude, lean)
    scans = random_scans(world, seen, lidar, count, seed=seed, placement=placement)
    return [Trial(lambda scan=scan: scan, pose) for pose, scan in scans]  # type: ignore[misc]


def run_trials(atlas: Atlas, trials: Sequence[Trial], **how: Any) -> Iterator[Outcome]:
    """Locate each scan by itself, with unknown heading and no prior, on a core of its own.

    Args:
        atlas: Atlas of the map.
        trials: Scans and true poses.
        how: Options of `locate`.
    """

    def ask(_number: int, trial: Trial) -> Outcome:
        scan = trial.scan()
        answer = locate(atlas, scan, **how)
        return outcome_of(atlas, scan, answer, trial.truth)

    return map_in_order(ask, trials, 1 if how.get("prove") else THREADS)


def times_alone(atlas: Atlas, trials: Sequence[Trial], **how: Any) -> list[Mapping[str, float]]:
    """Return the times in ms of up to `TIMED` trials that are located one at a time."""
    few = np.unique(np.linspace(0, len(trials) - 1, TIMED).astype(np.int64))
    return [locate(atlas, trials[int(k)].scan(), **how).timing_ms for k in few]


def measure(
    site: str,
    world: AnyMap,
    trials: Sequence[Trial],
    progress: Callable[[], None] | None = None,
    *,
    height: float | None = None,
    **how: Any,
) -> Row:
    """Build the atlas of a map, run the trials with options of `locate`, and summarise in a row."""
    if not trials:
        raise InputError(f"{site} has no query to try.", code="empty")
    start = perf_counter()
    atlas = build(world, height=height)
    build_s = perf_counter() - start
    # So that no query is charged for loading the kernels.
    locate(atlas, trials[0].scan(), **how)
    outcomes = []
    for outcome in run_trials(atlas, trials, **how):
        outcomes.append(outcome)
        if progress is not None:
            progress()
    times = None if how.get("prove") else times_alone(atlas, trials, **how)
    head: Row = {"site": site, "queries": len(trials), "area_m2": atlas.area}
    return head | {"nodes": len(atlas.nodes)} | summarise(outcomes, times) | {"build_s": build_s}


def map_of(log: "ScanSet", index: IntArray) -> OccupancyMap:
    """Build a map from some scans of a log, at the poses of the log."""
    scans = [log.scan(int(i)) for i in index]
    return OccupancyMap.from_scans(scans, log.poses[index], RESOLUTION)


def _mapped(world: OccupancyMap, log: "ScanSet", index: IntArray) -> BoolArray:
    """Whether the map shows what each scan saw, at the logged pose."""
    from scipy.ndimage import distance_transform_edt

    far = distance_transform_edt(world.cells != Cell.OCCUPIED) * world.resolution
    shown = []
    for i in index:
        rows, cols = world.index(Pose.from_vector(log.poses[i]).apply(log.scan(int(i)).endpoints))
        near = (rows >= 0) & (far[rows, cols] <= MAPPED_DISTANCE)
        shown.append(near.mean() >= MAPPED_SHARE)
    return np.array(shown, dtype=np.bool_)


def cross_trials(
    logs: "Mapping[str, ScanSet]", count: int, progress: Callable[[float], None] | None = None
) -> Row:
    """Locate `count` scans of every log on the maps of all others, where no answer is right."""
    if len(logs) < 2:
        raise InputError("Crossing sites needs at least two logs.", code="missing")
    sites = {name: carmen_trials(log) for name, log in logs.items()}
    verdicts: list[Verdict] = []
    for k, (home, (world, _)) in enumerate(sites.items()):
        atlas = build(world)
        for away, (_, trials) in sites.items():
            if away != home:
                few = np.linspace(0, len(trials) - 1, min(count, len(trials))).astype(np.int64)
                some = [trials[int(i)] for i in few]
                verdicts += [outcome.verdict for outcome in run_trials(atlas, some)]
        if progress is not None:
            progress((k + 1) / len(sites))
    unique = sum(verdict is Verdict.UNIQUE for verdict in verdicts)
    lost = sum(verdict is Verdict.LOST for verdict in verdicts)
    share = 1.0 - unique / len(verdicts)
    return {"asked": len(verdicts), "unique": unique, "lost": lost, "not_unique": share}
