"""Predict at which share of places and headings `locate` says "unique".

Scans are simulated at random poses and located (`sensing.models.simulate`: the places, sensor and
noise of `isovist bench simulate`).  From the answers, a logistic regression on what is known of
every node and heading is fitted,

    logit p = β₀ + β · (log(c + c₀), log σ, log(μ + μ₀), log(1 + beams)),                   (1)

with c the cost of the alias, σ and μ of `views`, standardised, and a ridge on β.  Its mean over all
nodes and headings is the predicted share: so it does not matter when the random poses are better or
worse than the floor.  What the regression misses is taken from the poses nearby: with residuals e_j
of the poses x_j,

    p ← p + Σ_j K(x − x_j) e_j / (m + Σ_j K(x − x_j)) + δ,    K a Gaussian,                 (2)

cut to [0, 1], with the constant δ that leaves the mean as it was.

Sampling ends when the standard error of the mean, from residuals of poses left out of the fit, is
small enough, or when all scans are located.  Half a pose that was unique and half a pose that was
not are added to all, so that a run without exception is not taken for certainty.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.atlas import AnyScan
from isovist.localization import Answer, Verdict
from isovist.localization.locate import locate
from isovist.poses import AnyPose, wrap_angle
from isovist.surveying.aliases import Aliases
from isovist.surveying.lattice import shares_of_columns
from isovist.surveying.samples import SampledAnswers
from isovist.surveying.settings import PredictionSettings
from isovist.surveying.views.view_set import Views
from isovist.surveying.visibility import Visibility

MEASURES = 4
"""Number of measures in (1)."""
CHUNK = 4096
"""Number of places that are smoothed together."""


class Prediction(NamedTuple):
    """The result of a prediction.

    Attributes:
        chance: Chance p of a unique answer, 0 where the sensor sees nothing, shape (N, H).
        share: Share of the floor and of the headings with a unique answer, from 0 to 1.
        standard_error: Standard error of this share.
        samples: The answers that it rests on.
    """

    chance: FloatArray
    share: float
    standard_error: float
    samples: SampledAnswers


def predict(
    visibility: Visibility,
    scans: Sequence[tuple[AnyPose, AnyScan]],
    progress: Callable[[float], None],
) -> Prediction:
    """Locate simulated scans, as many as it takes, and predict from the answers all chances.

    Args:
        visibility: What is seen from the nodes.
        scans: Simulated scans, with the poses of the sensor.
        progress: Called with the share of the scans that are located, from 0 to 1.
    """
    from scipy.spatial import cKDTree

    plan, views = visibility.plan, visibility.views
    settings, sampling = plan.settings.prediction, plan.settings.sampling
    places = plan.places[:, :2]
    poses = np.array([pose.vector[:3] for pose, _ in scans])
    X = measures(views, visibility.aliases, settings)
    # At the nearest node, and the nearest heading.
    node = cKDTree(places).query(poses[:, :2])[1]
    X_scans = X[node, np.argmin(np.abs(wrap_angle(poses[:, 2:] - views.headings)), axis=1)]
    answers: list[Answer] = []
    error = np.inf
    while (count := len(answers)) < len(scans) and (
        count < sampling.min_scans or error > sampling.max_error
    ):
        batch = scans[count : count + sampling.batch]
        answers += [locate(plan.atlas, scan, settings=plan.localization) for _, scan in batch]
        is_unique = np.array([answer.verdict is Verdict.UNIQUE for answer in answers])
        error = standard_error(is_unique, X_scans[: len(answers)], settings)
        progress(len(answers) / len(scans))
    X_scans = X_scans[: len(answers)]
    beta = fit(X_scans, is_unique, settings.ridge)
    residuals = is_unique - logistic(beta, X_scans)
    corrections = smooth(poses[: len(answers), :2], residuals, places, settings)
    has_beams = views.beams > 0
    chance = np.zeros(has_beams.shape)
    per_view = np.broadcast_to(corrections[:, None], chance.shape)
    chance[has_beams] = shifted(logistic(beta, X)[has_beams], per_view[has_beams])
    weights = shares_of_columns(plan.atlas, plan.nodes)
    share = float(np.average(chance.mean(axis=1), weights=weights))
    samples = SampledAnswers.from_answers([pose for pose, _ in scans[: len(answers)]], answers)
    return Prediction(chance, share, error, samples)


def measures(views: Views, aliases: Aliases, settings: PredictionSettings) -> FloatArray:
    """Return the four measures of (1), each with mean 0 and deviation 1, shape (N, H, 4)."""
    positive = aliases.cost + settings.cost_offset, views.sigma, views.mu + settings.mu_offset_per_m
    X = np.stack([*(np.log(x) for x in positive), np.log1p(views.beams)], axis=-1)
    return (X - X.mean(axis=(0, 1))) / np.maximum(X.std(axis=(0, 1)), 1e-9)


def min_scans(settings: PredictionSettings) -> int:
    """Return the number of scans that a prediction needs: a part has as many as measures."""
    return settings.folds * MEASURES


def fit(X: FloatArray, is_unique: BoolArray, ridge: float, steps: int = 30) -> FloatArray:
    """Fit the coefficients β₀ and β of (1) by Newton's method, shape (k + 1,).

    Args:
        X: Measures, shape (m, k).
        is_unique: Whether the answer at each pose was unique, shape (m,).
        ridge: The ridge on β.
        steps: Number of Newton steps.
    """
    # Half a pose of each kind, at the mean of the measures.
    A = np.vstack([np.column_stack([np.ones(len(X)), X]), np.eye(1, X.shape[1] + 1)])
    y = np.append(is_unique.astype(np.float64), 0.5)
    penalty = np.diag(np.append(0.0, np.full(X.shape[1], ridge)))
    beta = np.zeros(A.shape[1])
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-A @ beta))
        curvature = (A.T * (p * (1.0 - p) + 1e-9)) @ A + penalty
        step = np.linalg.solve(curvature, A.T @ (y - p) - penalty @ beta)
        beta = beta + np.clip(step, -2.0, 2.0)
    return beta


def logistic(beta: FloatArray, X: FloatArray) -> FloatArray:
    """Return the chance p of (1), of the shape of X without its last axis."""
    return np.asarray(1.0 / (1.0 + np.exp(-(beta[0] + X @ beta[1:]))))


def smooth(
    spots: FloatArray, residuals: FloatArray, places: FloatArray, settings: PredictionSettings
) -> FloatArray:
    """Return the correction (2) at places (N, 2), without δ, shape (N,).

    The residuals, shape (m,), are those at `spots`, shape (m, 2).
    """
    from scipy.spatial.distance import cdist

    result = np.empty(len(places))
    for first in range(0, len(places), CHUNK):
        chunk = slice(first, first + CHUNK)
        K = np.exp(-0.5 * (cdist(places[chunk], spots) / settings.width_m) ** 2)
        result[chunk] = (K @ residuals) / (settings.shrinkage + K.sum(axis=1))
    return result


def shifted(p: FloatArray, corrections: FloatArray) -> FloatArray:
    """Add corrections to chances, cut them to [0, 1] and restore their mean."""
    low, high = -1.0, 1.0
    for _ in range(40):
        delta = 0.5 * (low + high)
        is_above = np.clip(p + corrections + delta, 0.0, 1.0).mean() > p.mean()
        low, high = (low, delta) if is_above else (delta, high)
    return np.clip(p + corrections + low, 0.0, 1.0)


def standard_error(is_unique: BoolArray, X: FloatArray, settings: PredictionSettings) -> float:
    """Estimate the standard error of the share of unique answers by cross-validation.

    It uses the residuals of poses that the fit did not see.

    Args:
        is_unique: Whether each answer was unique, shape (k,).
        X: The measures at the poses, shape (k, 4).
        settings: The ridge, and the number of parts.
    """
    fold = np.arange(len(is_unique)) % settings.folds
    square = 0.5  # that of the two half poses
    for k in range(settings.folds):
        train, test = fold != k, fold == k
        p = logistic(fit(X[train], is_unique[train], settings.ridge), X[test])
        square += float(np.sum((is_unique[test] - p) ** 2))
    return float(np.sqrt(square) / len(is_unique))
