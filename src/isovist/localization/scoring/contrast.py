"""What each beam says of two places: why an answer is unique, or why it is not.

A beam that is rated ℓ₁ at one place and ℓ₂ at another (`compute.likelihood.beam_model`) favours the
first by

    δ = ℓ₁ − ℓ₂                                                                           (1)

nats.  It tells the places apart when |δ| ≥ 1: its range is e times as likely at one of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, FloatArray, IntArray, readonly
from isovist.atlas import Beams, SearchSpace
from isovist.localization.answer import Answer
from isovist.localization.fitting.sequence_fit import rate
from isovist.localization.query.scan_views import select_beams
from isovist.localization.query.search_space import AnyMaps, search_space_of, to_common_frame
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose
from isovist.sensing import ScanInput, last_scan
from isovist.settings import checked_settings

MIN_FAVOUR = 1.0
"""Least |δ| of (1) that tells places apart, in nats."""
SECTORS = 8
"""Of the directions around a robot, each as wide as the others; the first looks ahead."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """Two places of an answer, beam by beam.

    Attributes:
        numbers: Of the places in the answer, from 1.
        poses: T_world_robot of both.
        ends: Of the beams in the frame of the robot, in m, shape (m, d).  Read-only.
        favour: δ of (1) in nats, positive where a beam favours the first, shape (m,).  Read-only.
    """

    numbers: tuple[int, int]
    poses: tuple[AnyPose, AnyPose]
    ends: FloatArray
    favour: FloatArray

    def __len__(self) -> int:
        return len(self.favour)

    @property
    def telling(self) -> BoolArray:
        """Which beams tell the places apart, shape (m,)."""
        return np.asarray(np.abs(self.favour) >= MIN_FAVOUR)

    @property
    def counts(self) -> tuple[int, int]:
        """How many of those favour the first place, and how many the second."""
        return int((self.favour >= MIN_FAVOUR).sum()), int((self.favour <= -MIN_FAVOUR).sum())

    @property
    def by_sector(self) -> IntArray:
        """How many beams tell the places apart in each of `SECTORS`, counter-clockwise."""
        x, y = self.ends[self.telling, :2].T
        number = np.round(np.arctan2(y, x) * SECTORS / (2.0 * np.pi)).astype(np.int64) % SECTORS
        return np.bincount(number, minlength=SECTORS)


def contrast(
    atlas: AnyMaps, scan: ScanInput, answer: Answer, *, settings: LocalizationSettings | None = None
) -> Contrast | None:
    """Compare the best place of an answer with its strongest rival, beam by beam.

    The rival is the likeliest place that the scan does not exclude or, where all others are
    excluded, the likeliest of these.

    Args:
        atlas: The map, described, or several by name.
        scan: What the sensor saw, once or several times (`sensing.scan_sequence`); beams of scans
            before the last are rated from where odometry puts them.
        answer: Of `locate` to that scan.
        settings: How the scan was located.

    Returns:
        What the beams say that the verdict rests on; `None` where the answer has only one place.
    """
    chosen = checked_settings(LocalizationSettings, settings)
    site = search_space_of(atlas)
    site.check(last_scan(scan))
    held = scan.within(site.diagonal)
    if held is None or len(answer.estimates) < 2:
        return None
    alive = (k for k, estimate in enumerate(answer.estimates) if k > 0 and not estimate.refuted)
    second = next(alive, 1)
    both = answer.estimates[0], answer.estimates[second]
    beams = select_beams(site, held, chosen.beams[1], chosen.block)
    side_by_side = [to_common_frame(site, estimate).pose for estimate in both]
    ratings, _ = rate_at(site, held, beams, side_by_side, chosen)
    favour = (ratings[0] - ratings[1]).astype(np.float64)
    ends = held.T_robot_level.apply(beams.ends)
    poses = both[0].pose, both[1].pose
    return Contrast((1, second + 1), poses, readonly(ends), readonly(favour))


def rate_at(
    atlas: SearchSpace,
    scan: ScanInput,
    beams: Beams,
    poses: Sequence[AnyPose],
    settings: LocalizationSettings,
) -> tuple[Float32Array, NDArray[np.uint8]]:
    """ℓ and kind of beams of a scan with the robot at some poses, both of shape (K, m)."""
    T_robot_level = scan.T_robot_level
    rows = np.array([(pose @ T_robot_level).vector for pose in poses])
    return rate(atlas, beams, rows, settings)
