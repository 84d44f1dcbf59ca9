"""How well does it locate?  The protocols of the benchmark, as plain functions.

A protocol makes a map and a list of trials, a trial being a scan and where it was taken;
`run_trials` locates them one by one, and `summarise` gives one row of numbers for all.  An answer
is right when it is within 0.5 m and 10° of the truth, in space within 0.3 m (x and y) and 5°.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from isovist.atlas.base import Atlas
from isovist.atlas.build import build
from isovist.atlas.walls import bare_walls
from isovist.errors import InputError
from isovist.localization.answer import Verdict
from isovist.localization.locate import locate
from isovist.maps.cells import Cell, OccupancyMap
from isovist.maps.voxels import VoxelMap
from isovist.poses import Pose, wrap_angle
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.lidar import Lidar
from isovist.sensing.scan import Scan
from isovist.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from isovist.io.scans.sets import ScanSet

NEAR, TURNED = 0.5, np.radians(10.0)
NEAR_IN_SPACE, TURNED_IN_SPACE = 0.3, np.radians(5.0)
RESOLUTION = 0.05
EVERY, QUERY = 5, 2
"""Scan i of a log is a query when i mod EVERY = QUERY."""
MAPPED_SHARE, MAPPED_DISTANCE = 0.8, 0.2
"""A place is mapped when this share of valid beams ends this near to a wall, in m."""
CLEARANCE = 0.25
"""Room that a sensor needs on all sides, in m."""
ELLIPSE95 = -2.0 * np.log(0.05)
"""95 % quantile of χ² with two degrees of freedom."""

Row = dict[str, float | int | str]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A scan, made when it is asked for, and the pose that it was taken from."""

    scan: Callable[[], Scan | CloudScan]
    truth: Pose


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What became of a trial.

    Attributes:
        verdict: Of the answer.
        error_m: Distance to the truth; infinite without an estimate.
        error_rad: Angle to the truth.
        right: Whether the best estimate is near the truth.
        covered: Whether the truth lies in the 95 % ellipse of the position.
        listed: Whether some estimate of the answer is right.
        timing_ms: Of the answer.
    """

    verdict: Verdict
    error_m: float
    error_rad: float
    right: bool
    covered: bool
    listed: bool
    timing_ms: dict[str, float]


def carmen_trials(log: "ScanSet") -> tuple[OccupancyMap, list[Trial]]:
    """Every fifth scan is a query; the map is made of the others."""
    index = np.arange(len(log))
    queries = (index % EVERY == QUERY) & log.usable
    mapped = (index % EVERY != QUERY) & log.usable
    return map_of(log, index[mapped]), scan_trials(log, index[queries])


def revisit_trials(log: "ScanSet") -> tuple[OccupancyMap, list[Trial]]:
    """The map from the first half of the log, queries from the second where that is mapped."""
    index = np.arange(len(log))
    half = len(log) // 2
    world = map_of(log, index[(index < half) & log.usable])
    later = index[(index >= half) & log.usable]
    return world, scan_trials(log, later[_mapped(world, log, later)])


def scan_trials(log: "ScanSet", index: IntArray) -> list[Trial]:
    """Scans of a set, by their numbers."""
    return [
        Trial(lambda i=int(i): log.scan(i), Pose.from_vector(log.poses[i]))  # type: ignore[misc]
        for i in index
    ]


def simulated_trials(
    world: OccupancyMap,
    count: int,
    *,
    seed: int = 0,
    beams: int = 360,
    field_of_view: float = 2.0 * np.pi,
    range_max: float = 10.0,
    noise: float = 0.05,
    clutter: float = 0.0,
    clearance: float = CLEARANCE,
) -> list[Trial]:
    """Scans of a simulated sensor at random poses in free space.

    Only walls end a beam: the grey fringe that many maps have before their walls is not there
    for a sensor.

    Args:
        world: The map.
        count: Number of poses.
        seed: Of the random numbers.
        beams: Per scan, evenly over the field of view.
        field_of_view: In rad, centred ahead.
        range_max: In m; what is farther returns nothing.
        noise: Standard deviation of a range in m.
        clutter: Share of beams cut short by something that the map lacks.
        clearance: Least distance of the sensor from anything that is not free, in m.
    """
    if count < 1:
        raise InputError(f"`count` must be at least 1, got {count}.")
    rows, cols = np.nonzero(standing_room(world, clearance))
    random = np.random.default_rng(seed)
    walls = bare_walls(world)
    lidar = Lidar(field_of_view, beams, range_max, noise, clutter)
    trials: list[Trial] = []
    for _ in range(100 * count):
        k = int(random.integers(rows.size))
        place = world.centres(rows[k], cols[k]) + world.resolution * random.uniform(-0.5, 0.5, 2)
        pose = Pose(float(place[0]), float(place[1]), float(random.uniform(-np.pi, np.pi)))
        try:
            scan = lidar.scan(walls, pose, random)
        except InputError:  # no wall within reach
            continue
        trials.append(Trial(lambda scan=scan: scan, pose))  # type: ignore[misc]
        if len(trials) == count:
            return trials
    raise InputError("Almost nowhere on the map does the sensor reach a wall.")


def standing_room(world: OccupancyMap, clearance: float = CLEARANCE) -> BoolArray:
    """Cells where a sensor can stand: the largest connected part of those with `clearance` (m).

    A robot cannot get into the courtyards of a drawing.
    """
    from scipy.ndimage import distance_transform_edt, label

    free = np.pad(world.cells == Cell.FREE, 1)
    roomy = (distance_transform_edt(free) * world.resolution >= clearance)[1:-1, 1:-1]
    parts, number = label(roomy)
    if number == 0:
        raise InputError(f"No free place of the map is {clearance} m from all walls.")
    return np.asarray(parts == 1 + int(np.argmax(np.bincount(parts.ravel())[1:])))


def run_trials(
    atlas: Atlas,
    trials: Sequence[Trial],
    near_m: float = NEAR,
    near_rad: float = TURNED,
) -> Iterator[Outcome]:
    """Locate each scan alone, heading unknown, without a prior.

    Args:
        atlas: The map, described.
        trials: Scans with the poses that they were taken from.
        near_m: An answer is right within this distance of the truth, in m, …
        near_rad: … and this angle, in rad.
    """
    for trial in trials:
        answer = locate(atlas, trial.scan())
        truth = trial.truth.vector
        errors = [
            (
                float(np.hypot(e.pose.x - truth[0], e.pose.y - truth[1])),
                float(abs(wrap_angle(e.pose.yaw - truth[2]))),
            )
            for e in answer.estimates
        ]
        near = [m <= near_m and turn <= near_rad for m, turn in errors]
        covered = False
        if answer.best is not None:
            d = answer.best.pose.vector[:2] - truth[:2]
            covered = bool(d @ np.linalg.solve(answer.best.covariance[:2, :2], d) <= ELLIPSE95)
        error = errors[0] if errors else (np.inf, np.pi)
        yield Outcome(
            answer.verdict,
            *error,
            bool(near and near[0]),
            covered,
            any(near),
            dict(answer.timing_ms),
        )


def measure(
    site: str,
    world: OccupancyMap | VoxelMap,
    trials: Sequence[Trial],
    progress: Callable[[], None] | None = None,
    *,
    height: float | None = None,
) -> Row:
    """One row: build the atlas of a map, run the trials, summarise."""
    if not trials:
        raise InputError(f"{site} has no query to try.")
    start = perf_counter()
    atlas: Atlas
    if isinstance(world, VoxelMap):
        atlas, near = build(world, height=height), (NEAR_IN_SPACE, TURNED_IN_SPACE)
    else:
        atlas, near = build(world), (NEAR, TURNED)
    build_s = perf_counter() - start
    locate(atlas, trials[0].scan())  # so that no query is charged for loading the kernels
    outcomes = []
    for outcome in run_trials(atlas, trials, *near):
        outcomes.append(outcome)
        if progress is not None:
            progress()
    head: Row = {"site": site, "queries": len(trials), "area_m2": atlas.area}
    return head | {"nodes": len(atlas.nodes)} | summarise(outcomes) | {"build_s": build_s}


def summarise(outcomes: Sequence[Outcome]) -> Row:
    """Shares and quantiles over trials.  Errors and coverage are those of the right answers."""
    right = np.array([o.right for o in outcomes])
    unique = np.array([o.verdict is Verdict.UNIQUE for o in outcomes])
    lost = np.array([o.verdict is Verdict.LOST for o in outcomes])
    listed = np.array([o.listed for o in outcomes])
    error = np.array([o.error_m for o in outcomes])[right]
    turn = np.degrees([o.error_rad for o in outcomes])[right]
    covered = np.array([o.covered for o in outcomes])[right]
    times = {k: np.array([o.timing_ms[k] for o in outcomes]) for k in outcomes[0].timing_ms}

    def over_right(values: FloatArray, share: float) -> float:
        return float(np.quantile(values, share)) if right.any() else float("nan")

    return {
        "success": float(right.mean()),
        "unique": float(unique.mean()),
        "unique_of_right": float(unique[right].mean()) if right.any() else float("nan"),
        "lost": float(lost.mean()),
        "listed": float(listed.mean()),
        "right_or_ambiguous": float((right | (~unique & listed)).mean()),
        "false_confident": float((unique & ~right).mean()),
        "median_error_m": over_right(error, 0.5),
        "median_error_deg": over_right(turn, 0.5),
        "p95_error_m": over_right(error, 0.95),
        "coverage95": float(covered.mean()) if right.any() else float("nan"),
        **{f"{k}_ms": float(np.median(v)) for k, v in times.items() if k != "total"},
        "median_ms": float(np.median(times["total"])),
        "p95_ms": float(np.quantile(times["total"], 0.95)),
    }


def map_of(log: "ScanSet", index: IntArray) -> OccupancyMap:
    scans = [log.scan(int(i)) for i in index]
    return OccupancyMap.from_scans(scans, log.poses[index], RESOLUTION)


def _mapped(world: OccupancyMap, log: "ScanSet", index: IntArray) -> np.ndarray:
    """Whether the map shows what each scan saw, at the logged pose."""
    from scipy.ndimage import distance_transform_edt

    far = distance_transform_edt(world.cells != Cell.OCCUPIED) * world.resolution
    shown = np.zeros(len(index), dtype=np.bool_)
    for k, i in enumerate(index):
        rows, cols = world.index(Pose.from_vector(log.poses[i]).apply(log.scan(int(i)).endpoints))
        near = (rows >= 0) & (far[rows, cols] <= MAPPED_DISTANCE)
        shown[k] = near.mean() >= MAPPED_SHARE
    return shown


def cross_trials(
    logs: "Mapping[str, ScanSet]", count: int, progress: Callable[[float], None] | None = None
) -> Row:
    """Ask `count` scans of every log on the maps of all the others, where no answer is right."""
    if len(logs) < 2:
        raise InputError("Crossing sites needs at least two logs.")
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
