"""Describe by classical binning, for comparison: the limit ε → 0, and votes of single points.

As ε → 0 the weights become the indicators of the bins A_i = {θ : d_i is the nearest direction},

    F_i = ∫_{A_i} f dσ.                                                       (1)

An integral over a bin still varies continuously with the place.  Classical descriptors, though,
are made of finitely many points: each surface point x_k votes with its value v_k for the bin in
which its direction from p lies,

    F_i(p) = Σ_k v_k w_i(θ_k),     θ_k = (x_k − p)/‖x_k − p‖,                 (2)

with w_i the indicator of the bin.  Then a vote moves from one bin to the next at once: F jumps by
√2 v_k, and between jumps its slope does not show them.  This is the bin-boundary effect.  With soft
weights (2) is smooth, and with r_k = ‖x_k − p‖, v_k = c_k r_k,

    ∂F_i/∂p = Σ_k (−c_k w_i θ_kᵀ + v_k (∂w_i/∂θ)(θ_kθ_kᵀ − I)/r_k).           (3)

Published rules of this kind.  FPFH puts each of three angles of every neighbour into 11 equal bins,
hard.  SHOT divides the ball into 8 azimuths × 2 elevations × 2 radii, with 11 bins of the cosine of
a normal in each.  It softens the edges by sharing each vote linearly with the neighbouring bin.
`sectors` is that angular grid, hard or shared.
"""

from dataclasses import dataclass

import numpy as np

from isovist import DirectionalBasis, InputError, SegmentMap
from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.basis import circle_gaps
from isovist.paper.descriptor.norms import visible_walls


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """Descriptors along a straight path, soft and hard.

    Attributes:
        travelled: Distance from the start in m, shape (k,).
        soft: F with soft weights, shape (k, n).
        hard: F with hard bins, shape (k, n).
        soft_slope: ‖J u‖ along the path direction u, equation (3), shape (k,).
        hard_slope: The same for hard bins, blind to the jumps, shape (k,).
    """

    travelled: FloatArray
    soft: FloatArray
    hard: FloatArray
    soft_slope: FloatArray
    hard_slope: FloatArray

    @property
    def soft_steps(self) -> FloatArray:
        """Return ‖F(next) − F‖ per step, shape (k − 1,)."""
        return np.linalg.norm(np.diff(self.soft, axis=0), axis=1)

    @property
    def hard_steps(self) -> FloatArray:
        """Return ‖F(next) − F‖ per step for hard bins, shape (k − 1,)."""
        return np.linalg.norm(np.diff(self.hard, axis=0), axis=1)


def hard_features(world: SegmentMap, points: ArrayLike, basis: DirectionalBasis) -> FloatArray:
    """Return (1) for the range on a map of segments, exactly, shape (P, n)."""
    if basis.dimension != 2:
        raise InputError(
            "Hard bins of a SegmentMap need a basis on the circle.", code="wrong_dimension"
        )
    p = np.ascontiguousarray(as_floats("points", points, (None, 2)))
    angles, gaps = circle_gaps(basis.directions)
    edges = np.sort((angles + 0.5 * gaps) % (2.0 * np.pi))
    a, b, c, alpha = visible_walls(world, p, edges)
    # ∫ c/cos φ dφ = c artanh(sin φ).
    part = c * (np.arctanh(np.sin(b - alpha)) - np.arctanh(np.sin(a - alpha)))
    middle = 0.5 * (a + b)
    owner = np.argmax(
        np.cos(middle)[..., None] * basis.directions[:, 0]
        + np.sin(middle)[..., None] * basis.directions[:, 1],
        axis=-1,
    )
    part = np.where(b > a, part, 0.0)
    return np.stack(
        [np.where(owner == i, part, 0.0).sum(axis=1) for i in range(len(basis))], axis=1
    )


def votes(
    basis: DirectionalBasis, theta: ArrayLike, values: ArrayLike, *, hard: bool = False
) -> FloatArray:
    """Return Σ_k v_k w_i(θ_k), equation (2), for θ of shape (..., K, d) and v of shape (..., K)."""
    w = basis.hard_weights(theta) if hard else basis.weights(theta)
    return np.einsum("...k,...kn->...n", as_floats("values", values), w)


def point_features(
    basis: DirectionalBasis, cloud: FloatArray, p: FloatArray, *, hard: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return F of equation (2) with v_k = r_k σ(S)/K, and its slope (3), for surface points.

    The points have shape (K, d).  For hard bins the slope is that between jumps, ∂w_i/∂θ = 0.
    """
    d = cloud.shape[1]
    share = (2.0 * np.pi if d == 2 else 4.0 * np.pi) / len(cloud)
    gap = cloud - p
    r = np.linalg.norm(gap, axis=1)
    theta = gap / r[:, None]
    w = basis.hard_weights(theta) if hard else basis.weights(theta)
    F = share * (r @ w)
    J = -share * (w.T @ theta)
    if not hard:
        # θθᵀ − I only removes what is not tangent, and the gradient is tangent already.
        J -= share * basis.gradient(theta).sum(axis=0)
    return F, J


def walk(
    basis: DirectionalBasis,
    cloud: ArrayLike,
    start: ArrayLike,
    stop: ArrayLike,
    *,
    steps: int = 400,
) -> Walk:
    """Describe surface points, shape (K, d), along a path from `start` to `stop`, in m."""
    x, a, b = as_floats("cloud", cloud), as_floats("start", start), as_floats("stop", stop)
    length = float(np.linalg.norm(b - a))
    if steps < 2 or length == 0.0:
        raise InputError("A walk needs at least 2 steps between two different places.")
    u = (b - a) / length
    t = np.linspace(0.0, length, steps)
    soft = [point_features(basis, x, a + s * u) for s in t]
    hard = [point_features(basis, x, a + s * u, hard=True) for s in t]
    return Walk(
        readonly(t),
        readonly(np.array([F for F, _ in soft])),
        readonly(np.array([F for F, _ in hard])),
        readonly(np.array([float(np.linalg.norm(J @ u)) for _, J in soft])),
        readonly(np.array([float(np.linalg.norm(J @ u)) for _, J in hard])),
    )


def localize(
    basis: DirectionalBasis,
    cloud: FloatArray,
    F_obs: FloatArray,
    start: FloatArray,
    *,
    hard: bool = False,
) -> FloatArray:
    """Ten damped Gauss–Newton steps on point votes from `start`; the best place met, shape (d,)."""
    p, best, best_cost, damping = start, start, np.inf, 1e-3
    for _ in range(10):
        F, J = point_features(basis, cloud, p, hard=hard)
        rest = F_obs - F
        cost = float(rest @ rest)
        if cost < best_cost:
            best, best_cost, damping = p, cost, damping / 4.0
        else:
            damping *= 8.0
            F, J = point_features(basis, cloud, best, hard=hard)
            rest = F_obs - F
        H = J.T @ J
        step = np.linalg.solve(H + damping * np.trace(H) * np.eye(len(H)), J.T @ rest)
        p = best + step
    return best


def localization_errors(
    basis: DirectionalBasis,
    cloud: ArrayLike,
    places: ArrayLike,
    *,
    noise: float,
    offset: float = 0.1,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """Return errors in m of localizing from noisy surface points, with soft and with hard bins.

    Each place is observed through the points with Gaussian noise of standard deviation `noise` (m)
    per coordinate.  Gauss–Newton starts `offset` m away, at the same point for both.

    Returns:
        Two arrays of shape (P,), for soft and for hard bins.
    """
    x, p = as_floats("cloud", cloud), as_floats("places", places)
    rng = np.random.default_rng(seed)
    errors = np.empty((2, len(p)))
    for k, place in enumerate(p):
        noisy_cloud = x + noise * rng.normal(size=x.shape)
        away = rng.normal(size=x.shape[1])
        start = place + offset * away / np.linalg.norm(away)
        for row, hard in enumerate((False, True)):
            F_obs, _ = point_features(basis, noisy_cloud, place, hard=hard)
            place_found = localize(basis, x, F_obs, start, hard=hard)
            errors[row, k] = np.linalg.norm(place_found - place)
    return errors[0], errors[1]


def sectors(theta: ArrayLike, *, shared: bool) -> FloatArray:
    """Return the weights of SHOT's angular grid of 8 azimuths × 2 elevations, shape (m, 16).

    Args:
        theta: Unit vectors, shape (m, 3).
        shared: Whether a vote is shared linearly with the neighbouring azimuth and the other
            elevation, as in SHOT; otherwise one sector gets it.
    """
    t = as_floats("theta", theta, (None, 3))
    place = (np.arctan2(t[:, 1], t[:, 0]) % (2.0 * np.pi)) / (0.25 * np.pi) - 0.5
    low = np.floor(place)
    high_share = place - low if shared else (place - low > 0.5).astype(np.float64)
    # Centres of the two elevations stand at z = ∓½.
    up = np.clip(t[:, 2] + 0.5, 0.0, 1.0) if shared else (t[:, 2] > 0.0).astype(np.float64)
    around = np.zeros((len(t), 8))
    rows, first = np.arange(len(t)), low.astype(np.int64)
    around[rows, first % 8] = 1.0 - high_share
    around[rows, (first + 1) % 8] = high_share
    return np.concatenate([(1.0 - up)[:, None] * around, up[:, None] * around], axis=1)
