"""Fit a sequence of scans: all beams together, then each scan by itself.

First all beams are fitted together, as those of one scan. Odometry has errors, so each scan is then
fitted alone, from the pose that the sequence gives it. Scan k says that the last scan is at ŷ_k
with the covariance P_k + Q_k: P_k is that of its fit, Q_k that of the drift on the way between the
two scans. Together they give

    Λ = Σ_k s_k (P_k + Q_k)⁻¹,       ŷ = Λ⁻¹ Σ_k s_k (P_k + Q_k)⁻¹ ŷ_k.                      (1)

s_k is the share of the beams of scan k that see something no later scan sees (`scan_views`).

Each scan is rated at its own pose, between that of odometry and that of its own fit. The step away
from odometry costs as much as in `tracking.hypotheses.bank`, shared among the blocks of the scan.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import Beams, Fit, SearchSpace
from isovist.compute import BeamRatings
from isovist.localization.fitting.covariance import (
    coordinate_vector,
    covariances,
    information,
    to_robot_frame,
)
from isovist.localization.query.scan_views import ScanView, SequenceBeams
from isovist.localization.settings import LocalizationSettings
from isovist.poses import wrap_angle


def rate(
    space: SearchSpace, beams: Beams, poses: FloatArray, settings: LocalizationSettings
) -> BeamRatings:
    """Rate beams at poses, with the scans of a sequence where odometry puts them.

    Args:
        space: The map or maps.
        beams: Beams of one scan, or of a sequence.
        poses: Poses of the level sensor frame of the last scan in m and rad, shape (K, D).
        settings: Gives the beam model.

    Returns:
        Rating in nats and kind of each beam at each pose, both of shape (K, m).
    """
    if not isinstance(beams, SequenceBeams):
        return space.rate(beams, poses, settings.model)
    last = space.lift(poses)
    return _concatenate(
        space.rate(view.beams, (last @ view.place).vector, settings.model) for view in beams.views
    )


def fit_and_rate(
    space: SearchSpace,
    beams: Beams,
    poses: FloatArray,
    n: int,
    settings: LocalizationSettings,
    max_rated: int,
) -> tuple[Fit, BeamRatings]:
    """Fit candidates with wide steps, and rate those that the beams constrain best.

    Args:
        space: The map or maps.
        beams: Beams of one scan, or of a sequence with the scans where odometry puts them.
        poses: Poses of the level sensor frame in m and rad, shape (K, D).
        n: Number of coordinates to fit.
        settings: Gives the widths of the steps and the beam model.
        max_rated: Number of poses that are kept and rated.
    """
    widths = settings.coarse_widths(space)
    if not isinstance(beams, SequenceBeams):
        fit, (rated,) = space.fit_and_rate(beams, poses, widths, n, [settings.model], max_rated)
        return fit, rated
    fit = space.fit(beams, poses, widths, n).firmest(max_rated)
    return fit, rate(space, beams, fit.poses, settings)


@dataclass(frozen=True, slots=True, eq=False)
class _ViewFit:
    """Fits of one scan of a sequence alone.

    Attributes:
        poses: Poses of its level sensor frame in m and rad, shape (K, D).
        information: Their information matrices per m and rad, shape (K, n, n).
    """

    poses: FloatArray
    information: FloatArray


def fit_sequence(
    space: SearchSpace,
    beams: SequenceBeams,
    poses: FloatArray,
    widths: FloatArray,
    n: int,
    settings: LocalizationSettings,
) -> tuple[Fit, BeamRatings, FloatArray]:
    """Fit a sequence of scans, and rate each scan at its own pose.

    Args:
        space: The map or maps.
        beams: Beams of the sequence.
        poses: Start poses of the level sensor frame of the last scan in m and rad, shape (K, D).
        widths: σ of each step in m.
        n: Number of coordinates to fit.
        settings: How to fit and to rate.

    Returns:
        The fits, rating and kind of each beam, and the information Λ of (1) per m and rad, shape
        (K, n, n).
    """
    fit = space.fit(beams, poses, widths, n)
    fits = [_fit_view(space, view, fit.poses, n, settings) for view in beams.views]
    poses, total = _fuse(space, beams.views, fits, n, settings)
    last, ratings = space.lift(poses), []
    for view, own in zip(beams.views, fits, strict=True):
        places, cost = (last @ view.place).vector, np.zeros(len(poses))
        if view.error.any():
            places, cost = _move_towards_fit(places, own, view.error[:n], settings)
        rated = space.rate(view.beams, places, settings.model)
        rated.ratings[:] -= (cost / view.beams.blocks).astype(np.float32)[:, None]
        ratings.append(rated)
    return replace(fit, poses=poses), _concatenate(ratings), total


def _concatenate(parts: Iterable[BeamRatings]) -> BeamRatings:
    """Join the ratings of one scan after the other, shape (K, m)."""
    ratings, kinds = zip(*parts, strict=True)
    return BeamRatings(np.concatenate(ratings, axis=1), np.concatenate(kinds, axis=1))


def _fit_view(
    space: SearchSpace, view: ScanView, poses: FloatArray, n: int, settings: LocalizationSettings
) -> _ViewFit:
    """Fit one scan alone, from poses of the last scan, shape (K, D)."""
    start = (space.lift(poses) @ view.place).vector
    fit = space.fit(view.beams, start, settings.fine_widths(space), n)
    cell = space.cell(fit.poses)
    return _ViewFit(fit.poses, information(fit, view.beams.blocks, cell, settings))


def _fuse(
    space: SearchSpace,
    views: tuple[ScanView, ...],
    fits: list[_ViewFit],
    n: int,
    settings: LocalizationSettings,
) -> tuple[FloatArray, FloatArray]:
    """Return ŷ and Λ of (1), shapes (K, D) and (K, n, n)."""
    last = fits[-1].poses
    total, pull = np.zeros((len(last), n, n)), np.zeros((len(last), n))
    widest = np.diag(
        1.0 / np.square(coordinate_vector(10.0 * settings.decision.max_position_std_m, np.pi, n))
    )
    for view, own in zip(views, fits, strict=True):
        spreads = np.asarray(np.linalg.inv(own.information + widest) + np.diag(view.error[:n]))
        estimates, spreads = to_robot_frame(space, view.place.inverse, own.poses, spreads)
        weight = view.share * np.linalg.inv(spreads)
        total += weight
        pull += np.einsum("kij,kj->ki", weight, _difference(last, estimates.vector)[:, :n])
    poses = last.copy()
    poses[:, :n] += np.linalg.solve(total, pull[..., None])[..., 0]
    return poses, total


def _move_towards_fit(
    places: FloatArray, own: _ViewFit, error: FloatArray, settings: LocalizationSettings
) -> tuple[FloatArray, FloatArray]:
    """Return poses between odometry and fit, shape (K, D), and the cost of the step in nats, (K,).

    Args:
        places: Poses of the scan by odometry in m and rad, shape (K, D).
        own: Fits of the scan alone.
        error: Variances of odometry in m² and rad², shape (n,).
        settings: Gives the largest cost.
    """
    n = len(error)
    step = _difference(places, own.poses)[:, :n]
    R = covariances(own.information, settings)
    weight = np.linalg.inv(R + np.diag(error))
    between = places.copy()
    between[:, :n] += np.einsum("i,kij,kj->ki", error, weight, step)
    cost = 0.5 * np.einsum("ki,kij,kj->k", step, weight, step)
    return between, np.minimum(cost, settings.scoring.max_slip_cost_nats)


def _difference(start: FloatArray, end: FloatArray) -> FloatArray:
    """Return the steps from poses to others in m and rad, with angles in (−π, π]."""
    step = end - start
    for angle in (2, 4, 5):
        if angle < step.shape[1]:
            step[:, angle] = wrap_angle(step[:, angle])
    return step
