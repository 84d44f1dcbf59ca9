"""At which share of places and headings would `locate` say "unique"?

`locate` itself is asked at random poses (`locate.protocol.simulated_trials`: the same places,
sensor and noise as `isovist bench simulate`).  From these, a logistic regression on what is known
of every node and heading,

    logit p = β₀ + β · (log(c + c₀), log σ, log(μ + μ₀), log(1 + beams)),                   (1)

with c the cost of the alias, σ and μ of `survey.views`, standardised, and a ridge on β.  Its mean
over all nodes and headings is the share predicted: it allows for the poses asked being, by chance,
better or worse than the floor.  What the regression misses is taken from the poses nearby: with
residuals e_j of the poses asked at x_j,

    p ← p + Σ_j K(x − x_j) e_j / (m + Σ_j K(x − x_j)) + δ,    K a Gaussian of `WIDTH`,        (2)

cut to [0, 1], with the constant δ that leaves the mean as it was.

Asking ends when the standard error of the mean, from residuals of poses left out of the fit, is
below `ENOUGH`, or after `most` poses.  Half a pose that was unique and half a pose that was not
are added to all, so that a run without exception is not taken for certainty.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isovist.atlas.plane import Atlas
from isovist.bench.trials import run_trials, simulated_trials
from isovist.localization.answer import Verdict
from isovist.poses import wrap_angle
from isovist.sensing.lidar import Lidar
from isovist.surveying.aliases import Aliases
from isovist.surveying.views import Views
from isovist.types import BoolArray, FloatArray, IntArray

FEWEST, BATCH, MOST = 250, 50, 1000
"""Poses asked before it may end, at a time, and at most."""
MANY_NODES = 9_000
"""With more nodes than this a search takes longer, and fewer poses are asked."""
LEAST = 20
"""Fewer poses than this teach nothing."""
ENOUGH = 0.0125
"""Standard error of the share at which asking ends."""
RIDGE = 1.0
"""On β, in units of one standard deviation of its measure."""
SMALL_COST, SMALL_MU = 0.005, 0.01
"""c₀ and μ₀ of (1)."""
WIDTH, SHRINK = 1.5, 3.0
"""Of K, in m, and m of (2), in poses."""
FOLDS = 5
CHUNK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """How likely an answer is unique.

    Attributes:
        chance: p where the sensor sees anything, 0 elsewhere, shape (N, H).
        error: Standard error of the mean of p.
        asked: How many poses were asked.
        unique: How many of them were unique.
    """

    chance: FloatArray
    error: float
    asked: int
    unique: int


def predict(
    atlas: Atlas,
    lidar: Lidar,
    places: FloatArray,
    views: Views,
    aliases: Aliases,
    *,
    seed: int,
    most: int,
    progress: Callable[[float], None] | None = None,
) -> Prediction:
    """Ask at random poses, and carry the answers over to all nodes, whose places these are."""
    from scipy.spatial import cKDTree

    trials = simulated_trials(
        atlas.world, most, seed=seed, beams=lidar.beams, field_of_view=lidar.field_of_view,
        range_max=lidar.range_max, noise=lidar.noise, clutter=lidar.clutter,
    )  # fmt: skip
    poses = np.array([trial.truth.vector for trial in trials])
    node = np.asarray(cKDTree(places).query(poses[:, :2])[1])
    heading = np.argmin(np.abs(wrap_angle(poses[:, 2:] - views.headings)), axis=1)
    X = measures(views, aliases)
    unique = np.empty(most, dtype=np.bool_)
    error = np.inf
    asked = 0
    while asked < most and (asked < FEWEST or error > ENOUGH):
        batch = slice(asked, min(asked + BATCH, most))
        outcomes = run_trials(atlas, trials[batch])
        unique[batch] = [outcome.verdict is Verdict.UNIQUE for outcome in outcomes]
        asked = batch.stop
        at = X[node[:asked], heading[:asked]]
        error = _standard_error(at, unique[:asked])
        if progress is not None:
            progress(asked / most)
    said = unique[:asked]
    beta = fit(at, said)
    added = smooth(poses[:asked, :2], said - logistic(beta, at), places)
    sees = views.beams > 0
    chance = np.zeros(sees.shape)
    chance[sees] = shifted(
        logistic(beta, X)[sees], np.broadcast_to(added[:, None], sees.shape)[sees]
    )
    return Prediction(chance, error, asked, int(said.sum()))


def affordable(nodes: int) -> int:
    """Poses to ask at most in an atlas of so many nodes: 1000, and 600 with 25 000 nodes."""
    return round(MOST * min(1.0, (MANY_NODES / nodes) ** 0.5))


def measures(views: Views, aliases: Aliases) -> FloatArray:
    """The four measures of (1), each with mean 0 and deviation 1, shape (N, H, 4)."""
    X = np.stack(
        [
            np.log(aliases.cost + SMALL_COST),
            np.log(views.sigma),
            np.log(views.mu + SMALL_MU),
            np.log1p(views.beams),
        ],
        axis=-1,
    )
    return (X - X.mean(axis=(0, 1))) / np.maximum(X.std(axis=(0, 1)), 1e-9)


def fit(X: FloatArray, said: BoolArray, steps: int = 30) -> FloatArray:
    """β₀ and β of (1) by Newton's method, shape (k + 1,).

    Args:
        X: Measures, shape (m, k).
        said: What was said at each, shape (m,).
        steps: Of Newton.
    """
    # Half a pose of each kind, at the mean of the measures.
    A = np.vstack([np.column_stack([np.ones(len(X)), X]), np.eye(1, X.shape[1] + 1)])
    weight = np.append(np.ones(len(X)), 1.0)
    y = np.append(said.astype(np.float64), 0.5)
    ridge = np.diag(np.append(0.0, np.full(X.shape[1], RIDGE)))
    beta = np.zeros(A.shape[1])
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-A @ beta))
        curvature = (A.T * (weight * p * (1.0 - p) + 1e-9)) @ A + ridge
        step = np.linalg.solve(curvature, A.T @ (weight * (y - p)) - ridge @ beta)
        beta = beta + np.clip(step, -2.0, 2.0)
    return beta


def logistic(beta: FloatArray, X: FloatArray) -> FloatArray:
    """p of (1), shape of X without its last axis."""
    return np.asarray(1.0 / (1.0 + np.exp(-(beta[0] + X @ beta[1:]))))


def smooth(spots: FloatArray, left: FloatArray, places: FloatArray) -> FloatArray:
    """What (2) adds at places (N, 2), from residuals `left` (m,) at `spots` (m, 2); shape (N,)."""
    from scipy.spatial.distance import cdist

    added = np.empty(len(places))
    for first in range(0, len(places), CHUNK):
        some = slice(first, first + CHUNK)
        K = np.exp(-0.5 * (cdist(places[some], spots) / WIDTH) ** 2)
        added[some] = (K @ left) / (SHRINK + K.sum(axis=1))
    return added


def shifted(p: FloatArray, added: FloatArray) -> FloatArray:
    """Chances with something added and cut to [0, 1], with the mean that they had."""
    low, high = -1.0, 1.0
    for _ in range(40):
        delta = 0.5 * (low + high)
        above = np.clip(p + added + delta, 0.0, 1.0).mean() > p.mean()
        low, high = (low, delta) if above else (delta, high)
    return np.clip(p + added + low, 0.0, 1.0)


def _standard_error(at: FloatArray, said: BoolArray) -> float:
    """Of the mean of p, from residuals of poses that the fit did not see."""
    fold: IntArray = np.arange(len(said)) % FOLDS
    square = 0.5  # that of the two half poses
    for k in range(FOLDS):
        known, new = fold != k, fold == k
        p = logistic(fit(at[known], said[known]), at[new])
        square += float(np.sum((said[new] - p) ** 2))
    return float(np.sqrt(square) / len(said))
