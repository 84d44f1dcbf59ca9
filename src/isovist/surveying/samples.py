"""Collect the answers of `locate` to simulated scans."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from isovist.arrays import BoolArray, FloatArray, readonly
from isovist.localization import Answer, Verdict
from isovist.poses import AnyPose


@dataclass(frozen=True, slots=True, eq=False)
class SampledAnswers:
    """The answers of `locate` to scans simulated at k poses.

    All arrays are read-only.

    Attributes:
        poses: Poses of the sensor in the world, (x, y, yaw) in 2D, with (z, roll, pitch) in
            3D, shape (k, D), in m and rad.
        unique: Whether the answer was unique, shape (k,).
        sigma_m: Standard deviation of the position along its worst level axis that `locate`
            reported, in m, shape (k,); NaN without an estimate.
        sigma_deg: Standard deviation of the heading, in degrees, shape (k,).
        rivals: Number of other places in the answers that were not unique, shape (k,).
        alias_xy: Position of the likeliest other place, in m, shape (k, 2); NaN if there is none.
    """

    poses: FloatArray
    unique: BoolArray
    sigma_m: FloatArray
    sigma_deg: FloatArray
    rivals: FloatArray
    alias_xy: FloatArray

    @classmethod
    def from_answers(cls, poses: Sequence[AnyPose], answers: Sequence[Answer]) -> "SampledAnswers":
        """Collect the poses where scans were taken and the answers to these scans."""
        rows = np.full((len(answers), 6), np.nan)
        for row, answer in zip(rows, answers, strict=True):
            is_unique = answer.verdict is Verdict.UNIQUE
            others = () if is_unique else answer.estimates[1:]
            row[0], row[3] = is_unique, len(others)
            if answer.best is not None:
                C = answer.best.covariance
                row[1] = np.sqrt(np.linalg.eigvalsh(C[:2, :2])[-1])
                row[2] = np.degrees(np.sqrt(C[2, 2]))
            if others:
                row[4:] = others[0].pose.x, others[0].pose.y
        vectors = np.array([pose.vector for pose in poses])
        arrays = vectors, rows[:, 0] == 1.0, *rows.T[1:4].copy(), rows[:, 4:].copy()
        return cls(*(readonly(array) for array in arrays))

    def __len__(self) -> int:
        return len(self.poses)

    def arrays(self) -> dict[str, FloatArray | BoolArray]:
        """Return the arrays by name, as a file stores them."""
        named = {f"asked_{field.name}": getattr(self, field.name) for field in fields(self)}
        return {"asked": named.pop("asked_poses")} | named
