"""Descriptors side by side: who ranks the true place first?

Every node of a map has a ring of R rays, and every scan the same ring where it saw something.  A
method turns rings into features of n channels; turned by a heading, features of scans are compared
with those of nodes.  So all methods have the same rays, the same headings, the same nodes, and
differ in nothing but what they make of them:

    soft        the rose of the atlas, ε = ½h², or times a factor
    hard        bins of equal width
    shared      bins whose votes are shared linearly with the neighbour, as in SHOT
    rays        one ray per channel
    context     the bin of range that each sector shows, as in Scan Context
    fft         magnitudes of the Fourier coefficients: no heading needed
    vlad        residuals of patches of the ring to their words, summed: no heading needed
    fisher      the same with second moments

Methods without a heading take that of the rays at each node.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np

from isovist.atlas.base import Atlas
from isovist.atlas.plane import PlaneAtlas
from isovist.atlas.walls import bridge_gaps
from isovist.bench.outcomes import Row
from isovist.bench.trials import Trial
from isovist.errors import InputError
from isovist.localization.settings import LocalizationSettings
from isovist.maps.cells import OccupancyMap
from isovist.maps.sweep import sweep_ranges
from isovist.poses import wrap_angle
from isovist.roses import Rose
from isovist.sensing.scan import Scan
from isovist.theory.distances import Norm, distances, truncation
from isovist.theory.gram import Gram
from isovist.types import BoolArray, FloatArray, IntArray

RAYS = 256
REACH = 30.0
NEAR, TURN = 0.5, np.radians(10.0)
RANKS = (1, 20, 400)
PATCH, WORDS = 8, 16
"""Rays of a patch, and how many words patches are told by."""
RINGS = 20
"""Bins of range of a sector, of 1 m."""
KEPT = 20
"""Candidates that are fitted to the walls."""
CONDITIONS = ("clean", "people", "noise 5 cm", "noise 10 cm", "view 90°")


@dataclass(frozen=True, slots=True)
class Method:
    """A way to make features of rings.

    Attributes:
        name: One of the above.
        channels: n.
        norm: Of features.
        factor: On the temperature of "soft".
    """

    name: str
    channels: int = 64
    norm: Norm = "truncated"
    factor: float = 1.0

    @property
    def label(self) -> str:
        """As rows name it."""
        wide = f", ε × {self.factor:g}" if self.factor != 1.0 else ""
        return f"{self.name} {self.channels}, {self.norm}{wide}"


METHODS = (
    Method("soft", 16), Method("soft", 32), Method("soft", 64), Method("soft", 128),
    Method("soft", 64, "euclid"), Method("soft", 64, "gram"), Method("soft", 32, "euclid"),
    Method("soft", 64, factor=4.0), Method("soft", 64, factor=16.0),
    Method("hard"), Method("hard", 64, "euclid"), Method("shared"), Method("rays"),
    Method("context"), Method("fft", 64, "euclid"), Method("vlad", 64, "euclid"),
    Method("fisher", 64, "euclid"),
)  # fmt: skip


THOROUGH = (
    Method("soft", 64), Method("soft", 64, "euclid"), Method("soft", 32, "euclid"), Method("hard"),
    Method("rays"),
)  # fmt: skip
"""Methods that are tried under every condition."""


@dataclass(frozen=True, slots=True, eq=False)
class Rings:
    """log(1 + r) on R rays from each of some places, and where it is known; shape (P, R)."""

    values: FloatArray
    known: BoolArray

    @classmethod
    def of_nodes(cls, world: OccupancyMap, places: FloatArray) -> "Rings":
        """From the middles of cells."""
        angles = 2.0 * np.pi * np.arange(RAYS) / RAYS
        ranges, endings = sweep_ranges(world, angles, *world.index(places), maximum=REACH)
        known = (endings == 0).T | (endings == 3).T
        return cls(np.where(known, np.log1p(ranges.T.astype(np.float64)), 0.0), known)

    @classmethod
    def of_scan(cls, scan: Scan) -> "Rings":
        """Rays between beams take the nearest one, at most 1.5 steps of the scan away."""
        b, r = scan.bearings[scan.valid], np.minimum(scan.ranges[scan.valid], REACH)
        angles = 2.0 * np.pi * np.arange(RAYS) / RAYS
        gap = np.abs(wrap_angle(angles[:, None] - b))
        near = gap.argmin(axis=1)
        step = float(np.median(np.diff(scan.bearings))) if len(scan.bearings) > 1 else 0.1
        known = gap[np.arange(RAYS), near] <= max(1.5 * step, np.pi / RAYS)
        return cls(np.where(known, np.log1p(r[near]), 0.0)[None], known[None])

    def turned(self, steps: IntArray) -> "Rings":
        """The first ring turned by each of some numbers of rays, shape (H, R)."""
        index = (np.arange(RAYS) - steps[:, None]) % RAYS
        return Rings(self.values[0][index], self.known[0][index])


def weights_of(method: Method) -> FloatArray:
    """What each channel takes of each ray, shape (R, n), for methods that are sums over rays."""
    n = method.channels
    angles = 2.0 * np.pi * np.arange(RAYS) / RAYS
    at = np.arange(RAYS) * n / RAYS
    if method.name == "soft":
        rose = Rose.circle(n, 0.5 * method.factor * (np.pi / n) ** 2)
        return rose.weights(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    off = np.abs((at[:, None] - np.arange(n) + 0.5 * n) % n - 0.5 * n)
    if method.name == "shared":
        return np.maximum(1.0 - off, 0.0)
    if method.name == "rays":
        return np.asarray(off < 0.5 / (RAYS / n), dtype=np.float64)
    return np.asarray((np.floor(at + 0.5)[:, None] % n) == np.arange(n), dtype=np.float64)


def features(method: Method, rings: Rings, words: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Features of rings and which channels they know, both of shape (P, channels)."""
    if method.name in ("soft", "hard", "shared", "rays"):
        W = weights_of(method)
        mass = rings.known @ W
        seen = mass >= 0.5 * W.sum(axis=0)
        return np.where(seen, (rings.values @ W) / np.where(seen, mass, 1.0), 0.0), seen
    if method.name == "context":
        value, seen = features(Method("hard", method.channels), rings, words)
        return np.floor(np.minimum(np.expm1(value), RINGS - 1.0)), seen
    mean = (rings.values * rings.known).sum(axis=1) / np.maximum(rings.known.sum(axis=1), 1)
    filled = np.where(rings.known, rings.values, mean[:, None])
    if method.name == "fft":
        found = np.abs(np.fft.rfft(filled, axis=1))[:, : method.channels] / RAYS
    else:
        found = _bag(filled, words, second=method.name == "fisher")
    return found, np.ones(found.shape, np.bool_)


def _bag(filled: FloatArray, words: FloatArray, *, second: bool) -> FloatArray:
    """Sums of what patches differ from their words by, and of the squares; unit length."""
    index = (np.arange(0, RAYS, PATCH // 2)[:, None] + np.arange(PATCH)) % RAYS
    patches = filled[:, index]
    k = ((patches[:, :, None] - words) ** 2).sum(axis=-1).argmin(axis=-1)
    rest = patches - words[k]
    rows = np.arange(len(filled))[:, None]
    out = np.zeros((len(filled), len(words), PATCH * (2 if second else 1)))
    np.add.at(out, (rows, k), np.concatenate([rest, rest**2], axis=-1) if second else rest)
    flat = np.sign(out) * np.sqrt(np.abs(out))
    flat = flat.reshape(len(filled), -1)
    return np.asarray(flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12))


def words_of(rings: Rings) -> FloatArray:
    """Words of patches by k-means over the nodes, shape (WORDS, PATCH)."""
    from scipy.cluster.vq import kmeans2

    filled = rings.values[:: max(1, len(rings.values) // 500)]
    index = (np.arange(0, RAYS, PATCH)[:, None] + np.arange(PATCH)) % RAYS
    return np.asarray(kmeans2(filled[:, index].reshape(-1, PATCH), WORDS, minit="++", rng=0)[0])


class Contest:
    """The nodes of a map, ready for every method."""

    def __init__(self, atlas: Atlas) -> None:
        if not isinstance(atlas, PlaneAtlas):
            raise InputError("Descriptors are compared on maps of the plane.")
        self.atlas, self.places = atlas, atlas.positions
        clear = bridge_gaps(atlas.world, atlas.settings.gap)
        self.rings = Rings.of_nodes(clear, self.places)
        self.words = words_of(self.rings)

    def described(self, method: Method) -> tuple[FloatArray, BoolArray]:
        """Features of the nodes."""
        return features(method, self.rings, self.words)

    def rank(
        self, method: Method, nodes: tuple[FloatArray, BoolArray], scan: Scan
    ) -> tuple[IntArray, FloatArray]:
        """All nodes, the best first, and the heading of each in rad."""
        ring = Rings.of_scan(scan)
        turning = method.name not in ("fft", "vlad", "fisher")
        steps = np.arange(0, RAYS, 2) if turning else np.zeros(1, np.int64)
        seen = features(method, ring.turned(steps), self.words)
        G = None
        if method.norm == "gram":
            n = method.channels
            rose = Rose.circle(n, 0.5 * method.factor * (np.pi / n) ** 2)
            G = Gram.from_rose(rose).matrix
        if method.name == "context":
            table = _unequal(*nodes, *seen)
        else:
            tau = truncation(*nodes)
            table = distances(*nodes, *seen, method.norm, gram=G, tau=tau)
        best = table.argmin(axis=1)
        order = np.argsort(table[np.arange(len(table)), best], kind="stable")
        if turning:
            return order, 2.0 * np.pi * steps[best[order]] / RAYS
        few = order[: max(RANKS)]
        rays = ring.turned(np.arange(0, RAYS, 2))
        tau = truncation(self.rings.values, self.rings.known)
        yaws = np.zeros(len(order))
        table = distances(
            self.rings.values[few], self.rings.known[few], rays.values, rays.known,
            "truncated", tau=tau,
        )  # fmt: skip
        yaws[: len(few)] = 2.0 * np.pi * 2.0 * table.argmin(axis=1) / RAYS
        return order, yaws


def _unequal(nodes: FloatArray, seen: BoolArray, scans: FloatArray, known: BoolArray) -> FloatArray:
    """Share of the common sectors that show another bin of range, shape (K, H)."""
    same = np.zeros((len(nodes), len(scans)))
    for value in range(RINGS):
        same += ((nodes == value) & seen).astype(float) @ ((scans == value) & known).T.astype(float)
    common = seen.astype(float) @ known.T.astype(float)
    enough = common >= 0.75 * np.maximum(known.sum(axis=1), 1)
    return np.where(enough, 1.0 - same / np.maximum(common, 1.0), np.inf)


def changed(scan: Scan, condition: str, rng: np.random.Generator) -> Scan:
    """A scan under a condition of `CONDITIONS`."""
    from dataclasses import replace

    ranges = np.where(scan.valid, scan.ranges, np.nan)
    if condition == "people":
        m = len(ranges)
        for _ in range(3):
            first, width = int(rng.integers(m)), max(1, m // 10)
            block = (first + np.arange(width)) % m
            ranges[block] = np.minimum(ranges[block], rng.uniform(0.5, 2.0))
    elif condition.startswith("noise"):
        ranges = ranges + rng.normal(0.0, 0.01 * float(condition.split()[1]), len(ranges))
    elif condition == "view 90°":
        middle = 0.5 * (scan.bearings[0] + scan.bearings[-1])
        ranges = np.where(np.abs(scan.bearings - middle) <= np.pi / 4.0, ranges, np.nan)
    elif condition != "clean":
        raise InputError(f"`condition` must be one of {', '.join(CONDITIONS)}, got {condition}.")
    return replace(scan, ranges=ranges)


def contest_rows(
    site: str,
    contest: Contest,
    trials: Sequence[Trial],
    methods: Sequence[Method] = METHODS,
    conditions: Sequence[str] | None = None,
    *,
    seed: int = 0,
    progress: Callable[[float], None] = lambda _share: None,
) -> Iterator[Row]:
    """One row for each method and condition; all conditions for `THOROUGH` methods, else two."""
    asked = {m: conditions or (CONDITIONS if m in THOROUGH else CONDITIONS[:2]) for m in methods}
    done, total = 0, sum(map(len, asked.values())) * len(trials)
    for method in methods:
        nodes = contest.described(method)
        for condition in asked[method]:
            rng = np.random.default_rng(seed)
            hits, final, spent = np.zeros(len(RANKS)), 0, 0.0
            for trial in trials:
                scan = trial.scan()
                assert isinstance(scan, Scan)
                scan = changed(scan, condition, rng)
                start = process_time()
                order, yaws = contest.rank(method, nodes, scan)
                spent += process_time() - start
                sensor = trial.truth @ scan.T_level_robot.inverse
                good = _right(contest.places[order], yaws, sensor.vector)
                hits += [good[:rank].any() for rank in RANKS]
                final += _fitted(contest.atlas, scan, order, yaws, sensor.vector)
                done += 1
                progress(done / total)
            count = len(trials)
            yield {
                "site": site, "method": method.label, "condition": condition, "queries": count,
                **{f"recall@{k}": float(h / count) for k, h in zip(RANKS, hits, strict=True)},
                "final": final / count,
                "bytes": 4 * nodes[0].shape[1],
                "ms": 1e3 * spent / count,
            }  # fmt: skip


def _right(places: FloatArray, yaws: FloatArray, truth: FloatArray) -> BoolArray:
    near = np.hypot(*(places - truth[:2]).T) <= NEAR
    return np.asarray(near & (np.abs(wrap_angle(yaws - truth[2])) <= TURN))


def _fitted(atlas: Atlas, scan: Scan, order: IntArray, yaws: FloatArray, truth: FloatArray) -> bool:
    """Whether the best of some candidates, fitted to the walls and rated by rays, is right."""
    settings = LocalizationSettings()
    beams = atlas.beams(scan, settings.beams[1], settings.block)
    poses = atlas.seeds(order[:KEPT], yaws[:KEPT])
    fit = atlas.fit(beams, poses, np.array([0.5, 0.25, 0.1, 0.05]), 3)
    ratings = atlas.rate(beams, fit.poses, settings.model)[0].mean(axis=1)
    best = fit.poses[int(ratings.argmax())]
    return bool(_right(best[None, :2], best[None, 2], truth)[0])
