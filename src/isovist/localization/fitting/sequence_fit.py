"""Several scans at once: fitted together, then each by itself.

All beams are fitted together, as those of
one long scan.  Then each scan may move against the others by what odometry leaves open: scan k
alone, fitted from where the last one puts it, says that the last one is at ŷ_k with covariance
P_k + Q_k, the second being the drift of the way between them, and

    Λ = Σ_k s_k (P_k + Q_k)⁻¹,       ŷ = Λ⁻¹ Σ_k s_k (P_k + Q_k)⁻¹ ŷ_k.                      (1)

A scan is rated from its own place between what odometry and its own fit say; the step between them
costs as in `tracking.bank`, shared out among its blocks.

s_k is the share of the beams of scan k that no later scan has (`query.scan_views`).
"""

from collections.abc import Iterable
from dataclasses import replace

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
    atlas: SearchSpace, beams: Beams, poses: FloatArray, settings: LocalizationSettings
) -> BeamRatings:
    """`Atlas.rate` of beams of one scan or of several, by odometry as it is."""
    if not isinstance(beams, SequenceBeams):
        return atlas.rate(beams, poses, settings.model)
    here = atlas.lift(poses)
    return _concatenate(
        atlas.rate(view.beams, (here @ view.place).vector, settings.model) for view in beams.views
    )


def fit_and_rate(
    atlas: SearchSpace,
    beams: Beams,
    poses: FloatArray,
    widths: FloatArray,
    fitted: int,
    settings: LocalizationSettings,
    most: int,
) -> tuple[Fit, BeamRatings]:
    """`Atlas.fit_and_rate` of beams of one scan or of several, by odometry as it is."""
    if not isinstance(beams, SequenceBeams):
        fit, (rated,) = atlas.fit_and_rate(beams, poses, widths, fitted, [settings.model], most)
        return fit, rated
    fit = atlas.fit(beams, poses, widths, fitted).firmest(most)
    return fit, rate(atlas, beams, fit.poses, settings)


def fit_sequence(
    atlas: SearchSpace,
    beams: SequenceBeams,
    poses: FloatArray,
    widths: FloatArray,
    n: int,
    settings: LocalizationSettings,
) -> tuple[Fit, BeamRatings, FloatArray]:
    """Fits of several scans, ℓ and kind of each beam, and what is known of the poses by (1).

    Args:
        atlas: The map, described.
        beams: Of several scans.
        poses: From where to begin, shape (K, D).
        widths: σ of each step in m.
        n: Coordinates that are fitted.
        settings: How to fit and to rate.
    """
    fit = atlas.fit(beams, poses, widths, n)
    own = [_fit_view(atlas, view, fit.poses, n, settings) for view in beams.views]
    poses, known = _fuse(atlas, beams.views, own, n, settings)
    here, told = atlas.lift(poses), []
    for view, (mine, firm) in zip(beams.views, own, strict=True):
        places, cost = (here @ view.place).vector, np.zeros(len(poses))
        if view.error.any():
            places, cost = _move_towards_fit(places, mine, firm, view.error[:n], settings)
        ratings, kinds = atlas.rate(view.beams, places, settings.model)
        ratings -= (cost / view.beams.blocks).astype(np.float32)[:, None]
        told.append(BeamRatings(ratings, kinds))
    return replace(fit, poses=poses), _concatenate(told), known


def _concatenate(told: Iterable[BeamRatings]) -> BeamRatings:
    """What views say, one after the other."""
    ratings, kinds = zip(*told, strict=True)
    return BeamRatings(np.concatenate(ratings, axis=1), np.concatenate(kinds, axis=1))


def _fit_view(
    atlas: SearchSpace, view: ScanView, poses: FloatArray, n: int, settings: LocalizationSettings
) -> tuple[FloatArray, FloatArray]:
    """Poses of one scan, fitted alone, and what is known of them, shapes (K, D) and (K, n, n)."""
    start = (atlas.lift(poses) @ view.place).vector
    fit = atlas.fit(view.beams, start, settings.fine_widths(atlas), n)
    return fit.poses, information(fit, view.beams.blocks, atlas.cell(fit.poses), settings)


def _fuse(
    atlas: SearchSpace,
    views: tuple[ScanView, ...],
    own: list[tuple[FloatArray, FloatArray]],
    n: int,
    settings: LocalizationSettings,
) -> tuple[FloatArray, FloatArray]:
    """ŷ and Λ of (1), shapes (K, D) and (K, n, n)."""
    here = own[-1][0]
    total, pull = np.zeros((len(here), n, n)), np.zeros((len(here), n))
    widest = np.diag(1.0 / np.square(coordinate_vector(10.0 * settings.loose, np.pi, n)))
    for view, (poses, known) in zip(views, own, strict=True):
        spreads = np.asarray(np.linalg.inv(known + widest) + np.diag(view.error[:n]))
        says, spreads = to_robot_frame(atlas, view.place.inverse, poses, spreads)
        told = view.share * np.linalg.inv(spreads)
        total += told
        pull += np.einsum("kij,kj->ki", told, _difference(here, says.vector)[:, :n])
    poses = here.copy()
    poses[:, :n] += np.linalg.solve(total, pull[..., None])[..., 0]
    return poses, total


def _move_towards_fit(
    places: FloatArray,
    own: FloatArray,
    known: FloatArray,
    error: FloatArray,
    settings: LocalizationSettings,
) -> tuple[FloatArray, FloatArray]:
    """Places between what odometry and a fit say, and what the step to the fit costs, in nats."""
    n = len(error)
    step = _difference(places, own)[:, :n]
    R = covariances(known, settings)
    weight = np.linalg.inv(R + np.diag(error))
    moved = places.copy()
    moved[:, :n] += np.einsum("i,kij,kj->ki", error, weight, step)
    cost = 0.5 * np.einsum("ki,kij,kj->k", step, weight, step)
    return moved, np.minimum(cost, settings.slip)


def _difference(start: FloatArray, end: FloatArray) -> FloatArray:
    step = end - start
    for angle in (2, 4, 5):
        if angle < step.shape[1]:
            step[:, angle] = wrap_angle(step[:, angle])
    return step
