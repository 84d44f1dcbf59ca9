"""At which share of places and headings would `locate` say "unique"?

`locate` itself is asked at random poses (`sensing.models.simulate`: the places, sensor and noise of
`isovist bench simulate`).  From these, a logistic regression on what is known of every node and
heading,

    logit p = β₀ + β · (log(c + c₀), log σ, log(μ + μ₀), log(1 + beams)),                   (1)

with c the cost of the alias, σ and μ of `views`, standardised, and a ridge on β.  Its mean over all
nodes and headings is the share predicted: it allows for the poses asked being, by chance, better or
worse than the floor.  What the regression misses is taken from the poses nearby: with residuals e_j
of the poses asked at x_j,

    p ← p + Σ_j K(x − x_j) e_j / (m + Σ_j K(x − x_j)) + δ,    K a Gaussian,                 (2)

cut to [0, 1], with the constant δ that leaves the mean as it was.

Asking ends when the standard error of the mean, from residuals of poses left out of the fit, is
small enough, or when all poses are asked.  Half a pose that was unique and half a pose
that was not are added to all, so that a run without exception is not taken for certainty.
"""

from collections.abc import Callable, Sequence

import numpy as np

from isovist.arrays import BoolArray, FloatArray, IntArray
from isovist.atlas.base import AnyScan, Atlas
from isovist.localization.answer import Answer, Verdict
from isovist.localization.locate import locate
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose, wrap_angle
from isovist.surveying.aliases import Aliases
from isovist.surveying.asking import Asked
from isovist.surveying.lattice import shares_of_columns
from isovist.surveying.outlook import Outlook
from isovist.surveying.settings import SurveyingSettings
from isovist.surveying.views import Views

MEASURES = 4
"""Of (1)."""
FOLDS = 5
"""Poses are left out of the fit one fifth at a time."""
LEAST = FOLDS * MEASURES
"""Fewer poses than this teach nothing: a fold has as many as there are measures."""
CHUNK = 4096
"""Places that are smoothed at a time."""


def predict(
    atlas: Atlas,
    outlook: Outlook,
    scans: Sequence[tuple[AnyPose, AnyScan]],
    settings: SurveyingSettings,
    localization: LocalizationSettings,
    progress: Callable[[float], None],
) -> tuple[FloatArray, float, float, Asked]:
    """Ask `locate` at random poses and predict from its answers the chances at all nodes.

    It asks at as many poses as it takes.

    Returns:
        The chance p of a unique answer, 0 where the sensor sees nothing, shape (N, H); the share of
        the floor, from 0 to 1; its standard error; and what was said at the poses asked.
    """
    from scipy.spatial import cKDTree

    fewest, batch, _, _, enough = settings.asked
    places = atlas.positions[outlook.nodes, :2]
    poses = np.array([pose.vector[:3] for pose, _ in scans])
    views = outlook.views
    X = measures(views, outlook.aliases, settings)
    # At the nearest node, and the nearest heading.
    node = cKDTree(places).query(poses[:, :2])[1]
    at = X[node, np.argmin(np.abs(wrap_angle(poses[:, 2:] - views.headings)), axis=1)]
    answers: list[Answer] = []
    error = np.inf
    while len(answers) < len(scans) and (len(answers) < fewest or error > enough):
        some = scans[len(answers) : len(answers) + batch]
        answers += [locate(atlas, scan, settings=localization) for _, scan in some]
        said = np.array([answer.verdict is Verdict.UNIQUE for answer in answers])
        error = standard_error(said, at[: len(said)], settings)
        progress(len(answers) / len(scans))
    asked = Asked.from_answers([pose for pose, _ in scans[: len(answers)]], answers)
    spots = poses[: len(said), :2]
    beta = fit(at[: len(said)], said, settings.chance[0])
    added = smooth(spots, said - logistic(beta, at[: len(said)]), places, settings)
    sees = views.beams > 0
    chance = np.zeros(sees.shape)
    more = np.broadcast_to(added[:, None], chance.shape)
    chance[sees] = shifted(logistic(beta, X)[sees], more[sees])
    weights = shares_of_columns(atlas, outlook.nodes)
    return chance, float(np.average(chance.mean(axis=1), weights=weights)), error, asked


def measures(views: Views, aliases: Aliases, settings: SurveyingSettings) -> FloatArray:
    """Return the four measures of (1), each with mean 0 and deviation 1, shape (N, H, 4)."""
    _, small_cost, small_mu, _, _ = settings.chance
    positive = aliases.cost + small_cost, views.sigma, views.mu + small_mu
    X = np.stack([*(np.log(x) for x in positive), np.log1p(views.beams)], axis=-1)
    return (X - X.mean(axis=(0, 1))) / np.maximum(X.std(axis=(0, 1)), 1e-9)


def fit(X: FloatArray, said: BoolArray, penalty: float, steps: int = 30) -> FloatArray:
    """Fit the coefficients β₀ and β of (1) by Newton's method, shape (k + 1,).

    Args:
        X: Measures, shape (m, k).
        said: Whether the answer at each pose was unique, shape (m,).
        penalty: The ridge on β.
        steps: Number of Newton steps.
    """
    # Half a pose of each kind, at the mean of the measures.
    A = np.vstack([np.column_stack([np.ones(len(X)), X]), np.eye(1, X.shape[1] + 1)])
    y = np.append(said.astype(np.float64), 0.5)
    ridge = np.diag(np.append(0.0, np.full(X.shape[1], penalty)))
    beta = np.zeros(A.shape[1])
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-A @ beta))
        curvature = (A.T * (p * (1.0 - p) + 1e-9)) @ A + ridge
        step = np.linalg.solve(curvature, A.T @ (y - p) - ridge @ beta)
        beta = beta + np.clip(step, -2.0, 2.0)
    return beta


def logistic(beta: FloatArray, X: FloatArray) -> FloatArray:
    """Return the chance p of (1), of the shape of X without its last axis."""
    return np.asarray(1.0 / (1.0 + np.exp(-(beta[0] + X @ beta[1:]))))


def smooth(
    spots: FloatArray, left: FloatArray, places: FloatArray, settings: SurveyingSettings
) -> FloatArray:
    """Return the correction (2) at places (N, 2), interpolated from residuals, shape (N,).

    The residuals `left`, shape (m,), are those at `spots`, shape (m, 2).
    """
    from scipy.spatial.distance import cdist

    *_, width, shrink = settings.chance
    added = np.empty(len(places))
    for first in range(0, len(places), CHUNK):
        some = slice(first, first + CHUNK)
        K = np.exp(-0.5 * (cdist(places[some], spots) / width) ** 2)
        added[some] = (K @ left) / (shrink + K.sum(axis=1))
    return added


def shifted(p: FloatArray, added: FloatArray) -> FloatArray:
    """Add corrections to chances, cut them to [0, 1] and restore their mean."""
    low, high = -1.0, 1.0
    for _ in range(40):
        delta = 0.5 * (low + high)
        above = np.clip(p + added + delta, 0.0, 1.0).mean() > p.mean()
        low, high = (low, delta) if above else (delta, high)
    return np.clip(p + added + low, 0.0, 1.0)


def standard_error(said: BoolArray, at: FloatArray, settings: SurveyingSettings) -> float:
    """Estimate the standard error of the share of unique answers by cross-validation.

    It uses the residuals of poses that the fit did not see.

    Args:
        said: Whether each answer was unique, shape (k,).
        at: The measures there, shape (k, 4).
        settings: Settings, for the ridge.
    """
    fold: IntArray = np.arange(len(said)) % FOLDS
    square = 0.5  # that of the two half poses
    for k in range(FOLDS):
        known, new = fold != k, fold == k
        p = logistic(fit(at[known], said[known], settings.chance[0]), at[new])
        square += float(np.sum((said[new] - p) ** 2))
    return float(np.sqrt(square) / len(said))
