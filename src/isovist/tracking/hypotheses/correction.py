"""The correction of predicted poses by a scan."""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import Beams, Fit, SearchSpace
from isovist.localization import (
    RANGE_BIAS_PRIOR,
    Fits,
    LocalizationSettings,
    covariances,
    information,
)
from isovist.poses import wrap_angle
from isovist.tracking.hypotheses.keyframe import Explanations


@dataclass(frozen=True, slots=True, eq=False)
class Correction:
    """Poses after a correction.

    Attributes:
        poses: Shape (K, D), in m and rad.
        covariances: Shape (K, n, n).
        explanations: How well the corrected poses explain the scan.
    """

    poses: FloatArray
    covariances: FloatArray
    explanations: Explanations


@dataclass(frozen=True, slots=True, eq=False)
class Corrector:
    """Corrects predicted poses by scans.

    Attributes:
        space: The map, or several side by side.
        localization: How poses are fitted and rating.
        fitted: Number n of fitted coordinates.
        has_odometry: Whether predictions come from odometry.  Otherwise they are a guess, which
            counts less the more a scan disagrees with it.
    """

    space: SearchSpace
    localization: LocalizationSettings
    fitted: int
    has_odometry: bool

    def correct(
        self, beams: Beams, poses: FloatArray, priors: FloatArray, share: float
    ) -> Correction:
        """Correct predicted poses by the beams of a scan, and rate them.

        Args:
            beams: Beams of the scan.
            poses: Predicted poses, shape (K, D), in m and rad.
            priors: Covariances of the predictions, shape (K, n, n).
            share: Share of the scan that is new, 0 to 1.  The errors of a map are the same in
                neighbouring views.
        """
        settings, n = self.localization, self.fitted
        fit = self._fit(beams, poses)
        step = _wrapped(fit.poses - poses)[:, :n]
        matrices = information(fit, beams.blocks, self.space.cell(fit.poses), settings)
        R = covariances(matrices, settings)
        gain = share * np.linalg.inv(R)
        slip = np.einsum("ki,kij,kj->k", step, np.linalg.inv(priors + R), step)
        if not self.has_odometry:
            priors = priors * np.maximum(1.0, slip / n)[:, None, None]
        after = np.linalg.inv(np.linalg.inv(priors) + gain)
        corrected = poses.copy()
        corrected[:, :n] += np.einsum("kij,kj->ki", after @ gain, step)
        poses = _wrapped(corrected)
        rating = Fits(fit, beams, *self.space.rate(beams, poses, settings.model))
        slips = np.minimum(0.5 * slip, settings.scoring.max_slip_cost_nats)
        explanations = Explanations(
            beams.by_block(rating.ratings), rating.scores, slips, rating.inliers, poses, matrices
        )
        return Correction(poses, after, explanations)

    def _fit(self, beams: Beams, poses: FloatArray) -> Fit:
        """Fit poses, with steps from the error of odometry down to two cells.

        The widths are the later half of the coarse ones and the earlier of the fine ones.
        """
        coarse = self.localization.coarse_widths(self.space)[2:6]
        fine = self.localization.fine_widths(self.space)[:4]
        if self.fitted == 3:
            return self.space.fit(beams, poses, np.concatenate([coarse, fine]), 3)
        # Wide steps would take the height from any object on the way.
        flat = self.space.fit(beams, poses, coarse, 3)
        return self.space.fit(beams, flat.poses, fine, self.fitted, held=RANGE_BIAS_PRIOR)


def _wrapped(poses: FloatArray) -> FloatArray:
    """Wrap the angles of poses, or of steps between them, to [−π, π) in place; return the poses."""
    for k in (2, 4, 5):
        if k < poses.shape[1]:
            poses[:, k] = wrap_angle(poses[:, k])
    return poses
