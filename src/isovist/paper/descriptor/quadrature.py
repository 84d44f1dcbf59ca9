"""Turn integrals over directions into sums.

    ∫ f(θ) w_i(θ) dσ(θ) ≈ Σ_s c_s f(θ_s) w_i(θ_s)                            (1)

`CircleSum` is the plain S-term sum of the paper, of order 1/S when the signal jumps.  `Exact`
splits the circle at the visible corners of a map of segments and uses Gauss–Legendre on every
piece, so that it converges spectrally.  `Lebedev` integrates polynomials on the sphere exactly;
`EqualArea` is the sphere's S-term sum, for signals with jumps.

How long may a piece be?  An m-node Gauss–Legendre rule on a piece of half-length H errs by about
ρ^(−2m), where the integrand is analytic within a distance b = H (ρ − 1/ρ)/2 of the piece.  We
fix ρ = 10^(2/3) ≈ 4.64 for the longest pieces, hence a length of 0.90 b, and use
m = ½ log(1/tolerance)/log ρ + 2 nodes; a shorter piece has a larger ρ and needs fewer.
For softmax weights two neighbours a gap Δ apart share the sphere at a pole of height

    b = arsinh(π ε / (2 sin(Δ/2)))                                            (2)

above the midpoint of the gap, and elsewhere the weights grow like exp(b²/2ε), which keeps b to
about 2 √ε.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from isovist import DirectionalBasis, InputError, SegmentMap
from isovist.arrays import ArrayLike, FloatArray, IntArray, as_floats, check_whole, readonly
from isovist.basis import Band, Softmax, circle_gaps, compiled, fibonacci_sphere
from isovist.maps import Map, Pieces
from isovist.poses import unit_vectors
from isovist.sensing import Signal, WallHits

_ARCS = 40  # of the circle, on which a custom profile is tried
_MAX_HALVINGS = 11  # of a quarter of its support, in vain: a piece would be a thousandth of a rad


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """Directions θ_s, shape (S, d), and coefficients c_s, shape (S,), of equation (1)."""

    directions: FloatArray
    coefficients: FloatArray

    def within(self, band: Band) -> "Rule":
        """Return the rule over the directions of a band alone."""
        mask = band.mask(self.directions)
        return Rule(self.directions[mask], self.coefficients[mask])


@dataclass(frozen=True, slots=True)
class CircleSum:
    """A rule of S equal steps on the circle: θ_s = 2πs/S and c_s = 2π/S."""

    terms: int = 1024

    def rule(self) -> Rule:
        _check_terms(self.terms)
        angles = 2.0 * np.pi * np.arange(self.terms) / self.terms
        return _rule(unit_vectors(angles), np.full(self.terms, 2.0 * np.pi / self.terms))


@dataclass(frozen=True, slots=True)
class EqualArea:
    """A rule of S points on a Fibonacci spiral on the sphere, with c_s = 4π/S."""

    terms: int = 20_000

    def rule(self) -> Rule:
        _check_terms(self.terms)
        points = fibonacci_sphere(self.terms)
        return _rule(points, np.full(self.terms, 4.0 * np.pi / self.terms))


@dataclass(frozen=True, slots=True)
class Lebedev:
    """Lebedev's rule on the sphere, exact for polynomials up to `degree`."""

    degree: int = 131

    def rule(self) -> Rule:
        from scipy.integrate import lebedev_rule

        try:
            points, coefficients = lebedev_rule(self.degree)
        except (ValueError, NotImplementedError) as error:
            raise InputError(
                f"There is no Lebedev rule of degree {self.degree}: use 3, 5, …, 31, 35, …, 131."
            ) from error
        return _rule(np.ascontiguousarray(points.T), coefficients)


@lru_cache(maxsize=8)
def _rules(tolerance: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute `Exact.rules`; finding the nodes takes longer than describing a place with them."""
    digits = -np.log(tolerance)
    longest = 10.0 ** (2.0 / 3.0)
    max_nodes = int(np.ceil(digits / (2.0 * np.log(longest)))) + 2
    x, w = np.zeros((2, max_nodes + 1, max_nodes))
    reach = np.zeros(max_nodes + 1)
    for m in range(1, max_nodes + 1):
        x[m, :m], w[m, :m] = np.polynomial.legendre.leggauss(m)
        if m > 2:
            rho = np.exp(min(digits / (2.0 * (m - 2)), 300.0))
            reach[m] = (longest - 1.0 / longest) / (rho - 1.0 / rho)
    return readonly(x), readonly(w), readonly(reach)


@dataclass(frozen=True, slots=True)
class Exact:
    """Gauss–Legendre integration between the visible corners of a `SegmentMap`, to a tolerance.

    The tolerance is relative to ∫|f| for the softmax profile.  A bump or a cosine power is not
    analytic at the edge of its support.  There the pieces are split, and tests measure the error,
    which has no proven bound.  For a custom profile, pieces are halved until sums of its weights
    settle to the tolerance.
    """

    tolerance: float = 1e-12

    def __post_init__(self) -> None:
        if not 1e-15 <= self.tolerance < 1.0:
            raise InputError.about("tolerance", f"must lie in [1e-15, 1), got {self.tolerance}.")

    def rules(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the Gauss–Legendre rules of 1, …, M nodes, and the longest piece for each.

        Row m of the first two arrays, shape (M + 1, M), holds the nodes and coefficients of the
        m-node rule on [−1, 1].  Entry m of the third array is its share of the longest piece of
        all.  Read-only.
        """
        return _rules(self.tolerance)

    def lengths(self, basis: DirectionalBasis) -> tuple[float, FloatArray, FloatArray]:
        """Return the longest piece in rad, and the angles at which pieces must end, with their b.

        Without such angles the length is valid everywhere.
        """
        if compiled(basis.profile) is None:
            return _converged_lengths(self, basis)
        angles, gaps = circle_gaps(basis.directions)
        if not isinstance(basis.profile, Softmax):
            return _lengths_within(basis, 0.25 * basis.profile.support)
        epsilon = basis.profile.temperature
        with np.errstate(divide="ignore"):
            poles = np.arcsinh(np.pi * epsilon / (2.0 * np.sin(np.minimum(gaps, np.pi) / 2.0)))
        poles = np.minimum(poles, 2.0 * np.sqrt(epsilon))
        if (poles >= 0.5 * gaps).all():
            return float(0.9 * poles.min()), np.empty(0), np.empty(0)
        middles = (angles + gaps / 2.0) % (2.0 * np.pi)
        order = np.argsort(middles)
        return (
            float(np.pi),
            np.ascontiguousarray(middles[order]),
            np.ascontiguousarray(poles[order]),
        )


Quadrature = CircleSum | EqualArea | Lebedev | Exact


def _lengths_within(
    basis: DirectionalBasis, longest: float
) -> tuple[float, FloatArray, FloatArray]:
    """Return `Exact.lengths` of a profile that is smooth except at the edges of its support."""
    angles, reach = circle_gaps(basis.directions)[0], basis.profile.support
    if reach >= np.pi and compiled(basis.profile) is None:
        return longest, np.empty(0), np.empty(0)
    edges = np.concatenate([angles - reach, angles + reach]) % (2.0 * np.pi)
    edges = np.unique(np.round(edges, 14))
    return longest, edges, np.full(len(edges), 0.4 * longest)


@lru_cache(maxsize=8)
def _converged_lengths(
    exact: Exact, basis: DirectionalBasis
) -> tuple[float, FloatArray, FloatArray]:
    """Return `Exact.lengths` of a custom profile: halved until sums over arcs change no more."""
    start = 2.4 * np.arange(_ARCS) % (2.0 * np.pi)
    arcs = np.stack([start, start + np.geomspace(0.01, 2.0, _ARCS)], axis=1)
    walls, counts = np.full((_ARCS, 1), -1), np.ones(_ARCS, np.int64)
    pieces, origins = Pieces(arcs, walls, counts), np.zeros((_ARCS, 2))
    view = SegmentView(SegmentMap.room(1.0, 1.0), origins, pieces, np.array([[0.0, 4.0 * np.pi]]))
    before = None
    for halvings in range(_MAX_HALVINGS):
        lengths = _lengths_within(basis, basis.profile.support / 2.0 ** (2 + halvings))
        nodes = _place(view, exact, lengths, ())
        sums = sum_channels(
            basis, nodes.offsets, nodes.rays.directions, nodes.coefficients[:, None]
        )
        if before is not None and np.abs(sums - before).max() <= max(exact.tolerance, 1e-14):
            return lengths
        before = sums
    raise InputError(
        f"The weights of a {type(basis.profile).__name__} profile do not settle to a tolerance of "
        f"{exact.tolerance:g}: it is too sharp or not smooth. "
        "Use Exact with a larger tolerance, or CircleSum."
    )


def _check_terms(terms: int) -> None:
    check_whole("terms", terms)
    if terms < 1:
        raise InputError(f"A sum needs at least 1 term, got {terms}.")


def _rule(directions: FloatArray, coefficients: FloatArray) -> Rule:
    return Rule(readonly(directions), readonly(coefficients))


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Quadrature nodes of many points, one after another.

    Attributes:
        offsets: Where the nodes of each point begin, shape (P + 1,).
        rays: The walls that rays along the nodes meet.
        coefficients: c_s of equation (1), shape (m,).
    """

    offsets: IntArray
    rays: WallHits
    coefficients: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class SegmentView:
    """The view of a map of segments from points.

    Attributes:
        world: The map.
        points: Points of view, shape (P, 2), in m.
        pieces: The visible pieces of wall around each point.
        intervals: Intervals of angles that count, ascending within [0, 2π], shape (v, 2), in rad.
    """

    world: SegmentMap
    points: FloatArray
    pieces: Pieces
    intervals: FloatArray

    @classmethod
    def of(
        cls, world: SegmentMap, points: FloatArray, intervals: ArrayLike | None = None
    ) -> "SegmentView":
        """Find the walls that are visible from points, shape (P, 2), within intervals of angles."""
        return cls(world, points, world.see(points), check_view(intervals))

    def numbered_pieces(self) -> tuple[IntArray, IntArray]:
        """Return the point of each piece, and the number of the piece at that point."""
        counts = self.pieces.counts
        owner = np.repeat(np.arange(len(self.points)), counts)
        return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)


def place_exact(
    view: SegmentView, basis: DirectionalBasis, quadrature: Exact, kinks: tuple[float, ...]
) -> Nodes:
    """Place Gauss–Legendre nodes on every visible piece of wall, split at kinks of the signal."""
    return _place(view, quadrature, quadrature.lengths(basis), kinks)


def _place(
    view: SegmentView,
    quadrature: Exact,
    lengths: tuple[float, FloatArray, FloatArray],
    kinks: tuple[float, ...],
) -> Nodes:
    from isovist.compute import place_nodes

    world, points, pieces = view.world, view.points, view.pieces
    inputs = (
        points, pieces.angles, pieces.walls, pieces.counts, view.intervals,
        world.walls, np.asarray(kinks, dtype=np.float64), *lengths, *quadrature.rules(),
    )  # fmt: skip
    offsets = np.zeros(len(points) + 1, np.int64)
    none = np.empty(0)
    place_nodes(*inputs, offsets, False, np.empty((0, 2)), none, none, np.empty(0, np.int64))
    np.cumsum(offsets, out=offsets)
    m = offsets[-1]
    directions, coefficients = np.empty((m, 2)), np.empty(m)
    ranges, walls = np.empty(m), np.empty(m, np.int64)
    place_nodes(*inputs, offsets, True, directions, coefficients, ranges, walls)
    origins = np.repeat(points, np.diff(offsets), axis=0)
    return Nodes(offsets, seen_along(world, origins, directions, ranges, walls), coefficients)


def seen_along(
    world: SegmentMap,
    origins: FloatArray,
    directions: FloatArray,
    ranges: FloatArray,
    walls: IntArray,
) -> WallHits:
    """Return the hits of rays from origins, given their ranges and walls, shape (m,) each.

    A wall of −1 means that nothing is met.
    """
    normals = np.where(walls[:, None] >= 0, world.normals[walls], 0.0)
    return WallHits(world, directions, ranges, walls, normals, origins)


def cast_signal(
    world: Map, points: FloatArray, directions: FloatArray, signal: Signal
) -> FloatArray:
    """Return f along directions, shape (S, d), from points, shape (P, d); shape (P, S)."""
    hits = world.cast(points[:, None, :], directions)
    m, d = hits.ranges.size, points.shape[1]
    along = np.broadcast_to(directions, (len(points), *directions.shape)).reshape(m, d)
    ranges, walls = hits.ranges.reshape(m), hits.walls.reshape(m)
    origins = np.repeat(points, len(directions), axis=0)
    rays = WallHits(world, along, ranges, walls, hits.normals.reshape(m, d), origins)
    return signal.values(rays).reshape(len(points), -1)


def check_dimension(basis: DirectionalBasis, world: Map) -> None:
    """Refuse a 2D basis for a 3D map, and a 3D basis for a 2D map."""
    if basis.dimension != world.dimension:
        raise InputError(
            f"A {basis.dimension}D basis cannot describe a {world.dimension}D map.",
            code="wrong_dimension",
        )


def check_free(world: Map, points: FloatArray) -> None:
    """Refuse places, shape (..., d), that are not in free space."""
    inside = np.asarray(world.contains(points))
    if not inside.all():
        where = ", ".join(f"{x:g}" for x in points[~inside][0])
        raise InputError(
            f"The point ({where}) is not in free space: it is in a wall or outside the map.",
            code="not_free",
        )


def check_view(view: ArrayLike | None) -> FloatArray:
    """Turn intervals of any angles into ascending ones within [0, 2π], shape (v, 2)."""
    if view is None:
        return np.array([[0.0, 2.0 * np.pi]])
    v = as_floats("view", view, (None, 2))
    width = v[:, 1] - v[:, 0]
    if len(v) == 0 or (width <= 0.0).any() or width.sum() > 2.0 * np.pi + 1e-9:
        raise InputError.about(
            "view",
            "must be disjoint intervals (from, to) with from < to, in rad, of at most a full turn.",
        )
    start = v[:, 0] % (2.0 * np.pi)
    stop = start + width
    over = stop > 2.0 * np.pi
    tail = np.stack([np.zeros(over.sum()), stop[over] - 2.0 * np.pi], axis=1)
    parts = np.concatenate([np.stack([start, np.minimum(stop, 2.0 * np.pi)], axis=1), tail])
    parts = parts[np.argsort(parts[:, 0])]
    if (parts[1:, 0] < parts[:-1, 1] - 1e-12).any():
        raise InputError("The intervals of `view` overlap.")
    return np.ascontiguousarray(parts)


def sum_channels(
    basis: DirectionalBasis, offsets: IntArray, directions: FloatArray, values: FloatArray
) -> FloatArray:
    """Return Σ_s w_i(θ_s) values_s over the nodes of each place, shape (P, n, k).

    Args:
        basis: The weights.
        offsets: Where the nodes of each place begin, shape (P + 1,).
        directions: θ_s, shape (m, d).
        values: Shape (m, k).
    """
    from isovist.compute import accumulate_signals

    out = np.empty((len(offsets) - 1, len(basis), values.shape[1]))
    profile = compiled(basis.profile)
    if profile is None:
        for place, first, stop in zip(out, offsets[:-1], offsets[1:], strict=True):
            place[:] = basis.weights(directions[first:stop]).T @ values[first:stop]
        return out
    order = basis.order
    sorted_basis = np.ascontiguousarray(basis.directions[order])
    accumulate_signals(offsets, directions, values, sorted_basis, order, *profile, out)
    return out


def sum_all(basis: DirectionalBasis, directions: FloatArray, values: FloatArray) -> FloatArray:
    """Return Σ_s w_i(θ_s) values_s over all nodes, shape (n, k), as `sum_channels` does."""
    # Parts for several threads; their number is fixed, so that the sum is too.
    offsets = np.arange(65) * len(directions) // 64
    return np.asarray(sum_channels(basis, offsets, directions, values).sum(axis=0))
