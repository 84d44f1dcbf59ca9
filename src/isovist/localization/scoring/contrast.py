"""Compare two places of an answer beam by beam: why it is unique, or why it is not.

A beam with the rating ℓ₁ at one place and ℓ₂ at another (`compute.likelihood.beam_model`) favours
the first place by

    δ = ℓ₁ − ℓ₂                                                                           (1)

nats. It tells the places apart if |δ| ≥ 1: its range is e times as likely at one of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isovist.arrays import BoolArray, FloatArray, IntArray, readonly
from isovist.atlas import Beams, SearchSpace
from isovist.compute import BeamRatings
from isovist.localization.answer import Answer
from isovist.localization.fitting.sequence_fit import rate
from isovist.localization.query.scan_views import select_beams
from isovist.localization.query.search_space import AnyMaps, search_space_of, to_common_frame
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose
from isovist.sensing import ScanInput, last_scan
from isovist.settings import checked_settings

MIN_FAVOUR = 1.0
"""Smallest |δ| of (1) that tells two places apart, in nats."""
SECTORS = 8
"""Number of equal sectors around a robot; the first looks ahead."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """Two places of an answer, compared beam by beam.

    Attributes:
        numbers: Positions of the places in the answer, from 1.
        poses: T_world_robot of both places.
        ends: Ends of the beams in the frame of the robot in m, shape (m, d).  Read-only.
        favour: δ of (1) in nats, shape (m,), positive if a beam favours the first place.
            Read-only.
    """

    numbers: tuple[int, int]
    poses: tuple[AnyPose, AnyPose]
    ends: FloatArray
    favour: FloatArray

    def __len__(self) -> int:
        return len(self.favour)

    @property
    def telling(self) -> BoolArray:
        """Return which beams tell the places apart, shape (m,)."""
        return np.asarray(np.abs(self.favour) >= MIN_FAVOUR)

    @property
    def counts(self) -> tuple[int, int]:
        """Count the telling beams that favour the first place, and those that favour the second."""
        return int((self.favour >= MIN_FAVOUR).sum()), int((self.favour <= -MIN_FAVOUR).sum())

    @property
    def by_sector(self) -> IntArray:
        """Count the telling beams in each sector, counter-clockwise, shape (SECTORS,)."""
        x, y = self.ends[self.telling, :2].T
        number = np.round(np.arctan2(y, x) * SECTORS / (2.0 * np.pi)).astype(np.int64) % SECTORS
        return np.bincount(number, minlength=SECTORS)


def contrast(
    atlas: AnyMaps, scan: ScanInput, answer: Answer, *, settings: LocalizationSettings | None = None
) -> Contrast | None:
    """Compare the best place of an answer with its strongest competitor, beam by beam.

    The strongest competitor is the most likely place that the scan does not rule out. If all are
    ruled out, it is the most likely of them.

    Args:
        atlas: An atlas, or several by name.
        scan: One scan, or a sequence of scans (`sensing.scan_sequence`). Earlier scans of a
            sequence are rated from where odometry puts them.
        answer: The answer of `locate` for that scan.
        settings: The settings with which the scan was located.

    Returns:
        The comparison, or `None` if the answer has fewer than two places.
    """
    options = checked_settings(LocalizationSettings, settings)
    space = search_space_of(atlas)
    space.check(last_scan(scan))
    measured = scan.within(space.diagonal)
    if measured is None or len(answer.estimates) < 2:
        return None
    competitors = (
        k for k, estimate in enumerate(answer.estimates) if k > 0 and not estimate.refuted
    )
    second = next(competitors, 1)
    pair = answer.estimates[0], answer.estimates[second]
    beams = select_beams(space, measured, options.fit.fine_beams, options.scoring.group)
    poses = [to_common_frame(space, estimate).pose for estimate in pair]
    ratings, _ = rate_at(space, measured, beams, poses, options)
    favour = (ratings[0] - ratings[1]).astype(np.float64)
    ends = measured.T_robot_level.apply(beams.ends)
    return Contrast((1, second + 1), (pair[0].pose, pair[1].pose), readonly(ends), readonly(favour))


def rate_at(
    space: SearchSpace,
    scan: ScanInput,
    beams: Beams,
    poses: Sequence[AnyPose],
    settings: LocalizationSettings,
) -> BeamRatings:
    """Rate the beams of a scan at poses of the robot.

    Args:
        space: The map or maps.
        scan: The scan that the m beams are of.
        beams: Its beams.
        poses: The K poses T_world_robot.
        settings: How to rate.

    Returns:
        Rating in nats and kind of each beam at each pose, both of shape (K, m).
    """
    T_robot_level = scan.T_robot_level
    rows = np.array([(pose @ T_robot_level).vector for pose in poses])
    return rate(space, beams, rows, settings)
