"""Descriptors side by side: who ranks the true place first?

Every node of a map has a ring of R rays, and every scan the same ring where it saw something.  A
method turns rings into features of n channels; turned by a heading, features of scans are compared
with those of nodes.  So all methods have the same rays, the same headings, the same nodes, and
differ in nothing but what they make of them:

    soft        the basis of the atlas, ε = ½h², or times a factor
    hard        bins of equal width
    shared      bins whose votes are shared linearly with the neighbour, as in SHOT
    rays        one ray per channel
    context     the bin of range that each sector shows, as in Scan Context
    fft         magnitudes of the Fourier coefficients: no heading needed
    vlad        residuals of patches of the ring to their words, summed: no heading needed
    fisher      the same with second moments
    fpfh        VLAD of the FPFH histograms of the ring (group `baselines`): no heading needed
    learned     a soft basis whose directions were fitted to the map (`paper.basis_fit.separation`)

Methods without a heading take that of the rays at each node.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import process_time

import numpy as np

from benchmarks.baselines.availability import MISSING, fpfh, has_fpfh
from benchmarks.worlds.perturbations import CONDITIONS, NEW_MAP, changed, changed_map
from isovist.arrays import BoolArray, FloatArray, IntArray
from isovist.atlas.base import Atlas
from isovist.atlas.build import build
from isovist.atlas.data.atlas2d import PlaneAtlas
from isovist.atlas.data.surfaces import bridge_gaps
from isovist.basis import DirectionalBasis
from isovist.errors import InputError
from isovist.evaluation.metrics import Row
from isovist.evaluation.protocols import Trial
from isovist.localization.settings import LocalizationSettings
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.maps.sweep.sweep2d import sweep_ranges
from isovist.paper.basis_fit.separation import fit_to_map
from isovist.paper.gram.gram import Gram
from isovist.paper.gram.partial_distances import NORMS, Norm, PartialFeatures, distances
from isovist.poses import wrap_angle
from isovist.sensing.scan import Scan

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
TURNLESS = ("fft", "vlad", "fisher", "fpfh")
"""Methods that know no heading."""
FITTED = 40
"""Places that a learned basis is fitted to."""


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
    *(Method("soft", n, norm) for norm in NORMS for n in (16, 32, 64, 128)),
    Method("soft", 64, factor=4.0), Method("soft", 64, factor=16.0),
    Method("hard"), Method("hard", 64, "euclid"), Method("shared"), Method("rays"),
    Method("context"), Method("fft", 64, "euclid"), Method("vlad", 64, "euclid"),
    Method("fisher", 64, "euclid"), Method("fpfh", 64, "euclid"), Method("learned", 32),
    Method("learned", 32, "euclid"),
)  # fmt: skip


THOROUGH = (
    *(Method("soft", 64, norm) for norm in NORMS), Method("soft", 32, "euclid"), Method("hard"),
    Method("rays"),
)  # fmt: skip
"""Methods that are tried under every condition."""


def chosen_methods(names: Sequence[str] | None) -> tuple[Method, ...]:
    """Those of `METHODS` with these names or labels; all when `None`."""
    known = tuple(dict.fromkeys(method.name for method in METHODS))
    labels = {method.label for method in METHODS}
    for name in names or ():
        if name not in known and name not in labels:
            raise InputError.about(
                "only",
                f"must be one of {', '.join(known)}, or a whole label such as "
                f'"{METHODS[0].label}", got {name}.',
            )
    return tuple(m for m in METHODS if not names or m.name in names or m.label in names)


def left_out(methods: Sequence[Method]) -> list[str]:
    """What to say of methods whose library is missing; an error where none remains."""
    if has_fpfh() or all(method.name != "fpfh" for method in methods):
        return []
    if all(method.name == "fpfh" for method in methods):
        raise InputError(MISSING, code="missing")
    return [MISSING]


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


def weights_of(method: Method, learned: DirectionalBasis | None = None) -> FloatArray:
    """What each channel takes of each ray, shape (R, n), for methods that are sums over rays."""
    n = method.channels
    angles = 2.0 * np.pi * np.arange(RAYS) / RAYS
    if method.name == "learned":
        assert learned is not None
        return learned.weights(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    at = np.arange(RAYS) * n / RAYS
    if method.name == "soft":
        basis = DirectionalBasis.circle(n, 0.5 * method.factor * (np.pi / n) ** 2)
        return basis.weights(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    off = np.abs((at[:, None] - np.arange(n) + 0.5 * n) % n - 0.5 * n)
    if method.name == "shared":
        return np.maximum(1.0 - off, 0.0)
    if method.name == "rays":
        return np.asarray(off < 0.5 / (RAYS / n), dtype=np.float64)
    return np.asarray((np.floor(at + 0.5)[:, None] % n) == np.arange(n), dtype=np.float64)


def features(
    method: Method, rings: Rings, words: FloatArray, learned: DirectionalBasis | None = None
) -> tuple[FloatArray, BoolArray]:
    """Features of rings and which channels they know, both of shape (P, channels)."""
    if method.name in ("soft", "hard", "shared", "rays", "learned"):
        W = weights_of(method, learned)
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
    elif method.name == "fpfh":
        found = _bag(fpfh(rings.values, rings.known), words, second=False)
    else:
        found = _bag(_patches(filled, PATCH // 2), words, second=method.name == "fisher")
    return found, np.ones(found.shape, np.bool_)


def _patches(filled: FloatArray, step: int) -> FloatArray:
    """Neighbouring rays of rings, shape (P, R / step, PATCH)."""
    index = (np.arange(0, RAYS, step)[:, None] + np.arange(PATCH)) % RAYS
    return np.asarray(filled[:, index])


def _bag(local: FloatArray, words: FloatArray, *, second: bool) -> FloatArray:
    """Sums of what local features differ from their words by, and of the squares; unit length."""
    k = np.empty(local.shape[:2], dtype=np.int64)
    for row, some in zip(k, local, strict=True):
        row[:] = ((some[:, None] - words) ** 2).sum(axis=-1).argmin(axis=-1)
    rest = local - words[k]
    rows = np.arange(len(local))[:, None]
    out = np.zeros((len(local), len(words), words.shape[1] * (2 if second else 1)))
    np.add.at(out, (rows, k), np.concatenate([rest, rest**2], axis=-1) if second else rest)
    flat = np.sign(out) * np.sqrt(np.abs(out))
    flat = flat.reshape(len(local), -1)
    return np.asarray(flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12))


def words_of(rings: Rings, name: str = "vlad") -> FloatArray:
    """Words of local features by k-means over some nodes, shape (WORDS, PATCH or bins)."""
    from scipy.cluster.vq import kmeans2

    some = slice(None, None, max(1, len(rings.values) // (100 if name == "fpfh" else 500)))
    filled = rings.values[some]
    local = fpfh(filled, rings.known[some]) if name == "fpfh" else _patches(filled, PATCH)
    return np.asarray(kmeans2(local.reshape(-1, local.shape[-1]), WORDS, minit="++", rng=0)[0])


class Contest:
    """The nodes of a map, ready for every method."""

    def __init__(self, atlas: Atlas) -> None:
        if not isinstance(atlas, PlaneAtlas):
            raise InputError(
                "Descriptors are compared on maps of the plane.", code="wrong_dimension"
            )
        self.atlas, self.places = atlas, atlas.positions
        clear = bridge_gaps(atlas.world, atlas.settings.gap)
        self.rings = Rings.of_nodes(clear, self.places)
        self._words: dict[str, FloatArray] = {}
        self._learned: dict[int, DirectionalBasis] = {}

    def words(self, method: Method) -> FloatArray:
        """Those of local features; none for methods without."""
        if method.name not in ("vlad", "fisher", "fpfh"):
            return np.empty((0, 0))
        name = "vlad" if method.name == "fisher" else method.name
        if name not in self._words:
            self._words[name] = words_of(self.rings, name)
        return self._words[name]

    def learned(self, method: Method) -> DirectionalBasis | None:
        """The basis that was fitted to the map."""
        n = method.channels
        if method.name == "learned" and n not in self._learned:
            found = fit_to_map(self.atlas.world, n, count=FITTED)
            self._learned[n] = found.basis
        return self._learned.get(n)

    def features(self, method: Method, rings: Rings) -> tuple[FloatArray, BoolArray]:
        """Features of rings, with what the map has taught."""
        return features(method, rings, self.words(method), self.learned(method))

    def described(self, method: Method) -> tuple[FloatArray, BoolArray]:
        """Features of the nodes."""
        return self.features(method, self.rings)

    @cached_property
    def out_of_date(self) -> "Contest":
        """The same building as an older map has it."""
        assert isinstance(self.atlas, PlaneAtlas)
        world = changed_map(self.atlas.world, np.random.default_rng(len(self.places)))
        return Contest(build(world, spacing=self.atlas.spacing))

    def rank(
        self, method: Method, nodes: tuple[FloatArray, BoolArray], scan: Scan
    ) -> tuple[IntArray, FloatArray]:
        """All nodes, the best first, and the heading of each in rad."""
        ring = Rings.of_scan(scan)
        turning = method.name not in TURNLESS
        steps = np.arange(0, RAYS, 2) if turning else np.zeros(1, np.int64)
        seen = self.features(method, ring.turned(steps))
        G = None
        if method.norm == "gram":
            n = method.channels
            basis = DirectionalBasis.circle(n, 0.5 * method.factor * (np.pi / n) ** 2)
            G = Gram.from_basis(basis).matrix
        if method.name == "context":
            table = _unequal(*nodes, *seen)
        else:
            parts = PartialFeatures(*nodes), PartialFeatures(*seen)
            table = distances(*parts, method.norm, gram=G, tau=parts[0].truncation)
        best = table.argmin(axis=1)
        order = np.argsort(table[np.arange(len(table)), best], kind="stable")
        if turning:
            return order, 2.0 * np.pi * steps[best[order]] / RAYS
        few = order[: max(RANKS)]
        rays = ring.turned(np.arange(0, RAYS, 2))
        tau = PartialFeatures(self.rings.values, self.rings.known).truncation
        yaws = np.zeros(len(order))
        table = distances(
            PartialFeatures(self.rings.values[few], self.rings.known[few]),
            PartialFeatures(rays.values, rays.known), "truncated", tau=tau,
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
    there = [m for m in methods if m.name != "fpfh" or has_fpfh()]
    asked = {m: conditions or (CONDITIONS if m in THOROUGH else CONDITIONS[:2]) for m in there}
    done, total = 0, sum(map(len, asked.values())) * len(trials)
    for method in there:
        known = contest.described(method)
        for condition in asked[method]:
            rng = np.random.default_rng(seed)
            map_, nodes = contest, known
            if condition == NEW_MAP:
                map_ = contest.out_of_date
                nodes = map_.described(method)
            hits, final, spent, count = np.zeros(len(RANKS)), 0, 0.0, 0
            for trial in trials:
                seen = trial.scan()
                assert isinstance(seen, Scan)
                done += 1
                progress(done / total)
                scan = changed(seen, condition, rng)
                if scan is None:
                    continue
                start = process_time()
                order, yaws = map_.rank(method, nodes, scan)
                spent += process_time() - start
                sensor = trial.truth @ scan.T_robot_level
                good = _right(map_.places[order], yaws, sensor.vector)
                hits += [good[:rank].any() for rank in RANKS]
                final += _fitted(map_.atlas, scan, order, yaws, sensor.vector)
                count += 1
            if count == 0:
                continue  # the sensor sees no more than that anyway
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
    beams = atlas.beams(scan, settings.fit.fine_beams, settings.scoring.group)
    poses = atlas.seeds(order[:KEPT], yaws[:KEPT])
    fit = atlas.fit(beams, poses, np.array([0.5, 0.25, 0.1, 0.05]), 3)
    ratings = atlas.rate(beams, fit.poses, settings.model)[0].mean(axis=1)
    best = fit.poses[int(ratings.argmax())]
    return bool(_right(best[None, :2], best[None, 2], truth)[0])
