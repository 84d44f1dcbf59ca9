"""How answers are measured: queries with known poses, each alone, and one row per site.

An answer is right when its best estimate lies within 0.5 m and 10° of the true pose of the
sensor.  It is falsely confident when it says "unique" and is not right.  Coverage is the share of
right answers whose true position lies in the 95 % ellipse of the estimate.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter

import numpy as np

from isovist.atlas.atlas import Atlas, build
from isovist.errors import InputError
from isovist.io.scan_sets import ScanSet
from isovist.locate.answer import Verdict
from isovist.locate.locate import locate
from isovist.maps.occupancy import Cell, OccupancyMap
from isovist.poses import Pose, wrap_angle
from isovist.sensing.lidar import Lidar
from isovist.sensing.scan import Scan
from isovist.types import BoolArray, IntArray

NEAR, TURNED = 0.5, np.deg2rad(10.0)  # m, rad: what counts as right
ELLIPSE = 5.991  # 95 % of a χ² with two degrees of freedom
EVERY, OFFSET = 5, 2  # scan i is a query when i mod 5 = 2
RESOLUTION = 0.05  # m, of maps made here
AT_WALL, MAPPED = 0.2, 0.8  # m, share: a place is mapped when so many beams end at walls

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A scan and the true pose of its sensor."""

    scan: Scan
    truth: Pose


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured on one site; shares are of all queries unless said otherwise."""

    site: str
    queries: int
    area_m2: float
    nodes: int
    success: float
    unique: float
    ambiguous: float
    lost: float
    false_confident: float
    unique_of_success: float
    right_or_ambiguous: float
    median_error_m: float
    median_error_deg: float
    p95_error_m: float
    coverage95: float
    median_ms: float
    p95_ms: float
    search_ms: float
    refine_ms: float
    judge_ms: float
    build_s: float

    def as_dict(self) -> dict[str, object]:
        """Plain data; NaN, where nothing was right, becomes `None`."""
        return {
            key: None if isinstance(value, float) and np.isnan(value) else value
            for key, value in asdict(self).items()
        }


def measure(
    site: str,
    world: OccupancyMap,
    queries: Sequence[Query],
    *,
    progress: Progress | None = None,
) -> Row:
    """Build the atlas of a map, ask every query alone, and sum up."""
    if not queries:
        raise InputError(f"{site}: there is no query.")
    warm_up(world, queries[0].scan)
    start = perf_counter()
    atlas = build(world)
    build_s = perf_counter() - start
    outcomes = []
    for k, query in enumerate(queries):
        outcomes.append(_ask(atlas, query))
        if progress is not None:
            progress((k + 1) / len(queries))
    return _sum_up(site, atlas, build_s, outcomes)


def warm_up(world: OccupancyMap, scan: Scan) -> None:
    """Compile on a corner of the map, so that no measured time holds compilation."""
    locate(build(world, spacing=2.0), scan)


@dataclass(frozen=True, slots=True)
class _Outcome:
    verdict: Verdict
    error: float
    turn: float
    covered: bool
    timing: dict[str, float]

    @property
    def right(self) -> bool:
        return self.error < NEAR and self.turn < TURNED


def _ask(atlas: Atlas, query: Query) -> _Outcome:
    answer = locate(atlas, query.scan)
    timing = dict(answer.timing_ms)
    if answer.best is None:
        return _Outcome(answer.verdict, np.inf, np.inf, False, timing)
    found = answer.best.pose @ query.scan.T_robot_sensor
    gap = np.array([found.x - query.truth.x, found.y - query.truth.y])
    turn = abs(float(wrap_angle(found.yaw - query.truth.yaw)))
    spread = gap @ np.linalg.solve(answer.best.covariance[:2, :2], gap)
    covered = bool(spread <= ELLIPSE)
    return _Outcome(answer.verdict, float(np.hypot(*gap)), turn, covered, timing)


def _sum_up(site: str, atlas: Atlas, build_s: float, outcomes: list[_Outcome]) -> Row:
    right = np.array([o.right for o in outcomes])
    verdicts = np.array([o.verdict.value for o in outcomes])
    unique = verdicts == Verdict.UNIQUE.value
    ambiguous = verdicts == Verdict.AMBIGUOUS.value
    errors = np.array([o.error for o in outcomes])[right]
    turns = np.rad2deg(np.array([o.turn for o in outcomes])[right])
    covered = np.array([o.covered for o in outcomes])[right]
    times = {
        key: np.array([o.timing[key] for o in outcomes])
        for key in ("search", "refine", "judge", "total")
    }

    def middle(values: np.ndarray, percent: float = 50.0) -> float:
        return float(np.percentile(values, percent)) if values.size else np.nan

    return Row(
        site=site,
        queries=len(outcomes),
        area_m2=round(atlas.world.free_area, 1),
        nodes=len(atlas.nodes),
        success=float(right.mean()),
        unique=float(unique.mean()),
        ambiguous=float(ambiguous.mean()),
        lost=float((verdicts == Verdict.LOST.value).mean()),
        false_confident=float((unique & ~right).mean()),
        unique_of_success=float(unique[right].mean()) if right.any() else np.nan,
        right_or_ambiguous=float((right | ambiguous).mean()),
        median_error_m=middle(errors),
        median_error_deg=middle(turns),
        p95_error_m=middle(errors, 95.0),
        coverage95=float(covered.mean()) if covered.size else np.nan,
        median_ms=middle(times["total"]),
        p95_ms=middle(times["total"], 95.0),
        search_ms=middle(times["search"]),
        refine_ms=middle(times["refine"]),
        judge_ms=middle(times["judge"]),
        build_s=build_s,
    )


def split_fifth(log: ScanSet) -> tuple[OccupancyMap, list[Query]]:
    """Every fifth scan of a log asks; the map is made of the others."""
    asks = np.arange(len(log)) % EVERY == OFFSET
    return _map_of(log, ~asks), queries_of(log, np.flatnonzero(asks))


def split_revisit(log: ScanSet) -> tuple[OccupancyMap, list[Query]]:
    """The map from the first half in time; what comes back to mapped places later asks."""
    late = np.arange(len(log)) >= len(log) // 2
    world = _map_of(log, ~late)
    walls = _distance_to_walls(world)
    chosen = []
    for query in queries_of(log, np.flatnonzero(late)):
        rows, cols = world.index(query.truth.apply(query.scan.endpoints))
        at_wall = (rows >= 0) & (walls[rows, cols] <= AT_WALL)
        if at_wall.mean() >= MAPPED and world.contains([query.truth.x, query.truth.y]):
            chosen.append(query)
    return world, chosen


def _map_of(log: ScanSet, which: BoolArray) -> OccupancyMap:
    used = np.flatnonzero(which & log.usable)
    return OccupancyMap.from_scans([log.scan(int(i)) for i in used], log.poses[used], RESOLUTION)


def _distance_to_walls(world: OccupancyMap) -> np.ndarray:
    from scipy.ndimage import distance_transform_edt

    gaps = distance_transform_edt(world.cells != Cell.OCCUPIED)
    return np.asarray(gaps) * world.resolution


def queries_of(log: ScanSet, which: IntArray | Iterable[int]) -> list[Query]:
    """The usable scans of a set among those named."""
    usable = log.usable
    return [
        Query(log.scan(int(i)), Pose.from_vector(log.poses[i])) for i in which if usable[int(i)]
    ]


def simulated(
    world: OccupancyMap, lidar: Lidar, count: int, seed: int = 0, clearance: float = 0.2
) -> list[Query]:
    """Scans from random free places at least `clearance` m from walls, headings at random."""
    from scipy.ndimage import distance_transform_edt

    rng = np.random.default_rng(seed)
    free = np.asarray(distance_transform_edt(world.cells == Cell.FREE)) * world.resolution
    rows, cols = np.nonzero(free > clearance)
    if rows.size == 0:
        raise InputError(f"No free place is {clearance:g} m from the walls.")
    queries: list[Query] = []
    for _ in range(20 * count):
        k = int(rng.integers(rows.size))
        shift = rng.uniform(-0.5, 0.5, 2) * world.resolution
        x, y = world.centres(rows[k], cols[k]) + shift
        truth = Pose(float(x), float(y), float(rng.uniform(-np.pi, np.pi)))
        try:
            queries.append(Query(lidar.scan(world, truth, rng), truth))
        except InputError:  # nothing within reach of the sensor
            continue
        if len(queries) == count:
            return queries
    raise InputError("Almost no place of the map shows the sensor a wall.")


def crossed(
    worlds: dict[str, OccupancyMap],
    queries: dict[str, list[Query]],
    *,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Ask every site's queries on every other site's map: (asked, answered "unique")."""
    asked = sure = 0
    for site, world in worlds.items():
        atlas = build(world)
        for other, foreign in queries.items():
            if other == site:
                continue
            for query in foreign:
                asked += 1
                sure += locate(atlas, query.scan).verdict is Verdict.UNIQUE
        if progress is not None:
            progress(asked / (len(worlds) - 1) / sum(map(len, queries.values())))
    return asked, sure
