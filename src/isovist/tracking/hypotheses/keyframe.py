"""A stored scan, and how well each hypothesis explains it."""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import Beams
from isovist.poses import AnyPose, way_of
from isovist.tracking.settings import KeyframeSettings


def stored(name: str) -> dict[str, str]:
    """Return the metadata of a field with its name in a saved state."""
    return {"stored": name}


@dataclass(slots=True, eq=False)
class Explanations:
    """Ratings of a scan by each hypothesis.

    Attributes:
        blocks: Mean rating ℓ of each block of beams, in nats, shape (K, B).
        scores: Mean rating of the beams, in nats, shape (K,).
        slips: Cost s of the disagreement with odometry, in nats, shape (K,).
        inliers: Share of the beams that are explained, shape (K,).
        poses: Pose of the sensor at the scan, shape (K, D), in m and rad.
        information: Information of this scan alone about the pose, shape (K, n, n), per m and rad.
    """

    blocks: FloatArray = field(metadata=stored("blocks"))
    scores: FloatArray = field(metadata=stored("scores"))
    slips: FloatArray = field(metadata=stored("slips"))
    inliers: FloatArray = field(metadata=stored("inliers"))
    poses: FloatArray = field(metadata=stored("places"))
    information: FloatArray = field(metadata=stored("known"))

    @classmethod
    def empty(cls) -> "Explanations":
        """Return the explanations of a scan before any hypothesis is compared with it."""
        shapes = (0, 0), (0,), (0,), (0,), (0, 0), (0, 0, 0)
        return cls(*map(np.empty, shapes))

    def arrays(self) -> dict[str, FloatArray]:
        """Return the arrays by their names in a saved state."""
        return {part.metadata["stored"]: getattr(self, part.name) for part in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, FloatArray]) -> "Explanations":
        """Return the explanations with these `arrays`."""
        return cls(*(arrays[part.metadata["stored"]] for part in fields(cls)))

    def select(self, index: Any) -> "Explanations":
        """Return the rows with these indices, in that order."""
        return Explanations(*(rows[index] for rows in self.arrays().values()))

    def join(self, other: "Explanations") -> "Explanations":
        """Return the rows of both."""
        pairs = zip(self.arrays().values(), other.arrays().values(), strict=True)
        return Explanations(*(np.concatenate(pair) for pair in pairs))

    def replace_first(self, other: "Explanations", row: int) -> None:
        """Set the first row to a row of other explanations of the same scan."""
        for rows, others in zip(self.arrays().values(), other.arrays().values(), strict=True):
            rows[0] = others[row]


@dataclass(slots=True, eq=False)
class Keyframe:
    """A stored scan, and how well each hypothesis of the bank explains it.

    Attributes:
        beams: Beams of the scan.
        T_odom_sensor: Pose of the sensor at the scan, by odometry.
        weight: Weight w of (1) of `hypotheses.bank`.
        time: Time of the scan by the clock of the tracker, in s.
        explanations: One row for each hypothesis.
    """

    beams: Beams
    T_odom_sensor: AnyPose
    weight: float
    time: float = 0.0
    explanations: Explanations = field(default_factory=Explanations.empty)

    @property
    def group_ratings(self) -> FloatArray:
        """Mean rating of each group of beams with independent errors, in nats, shape (K, C)."""
        return self.beams.by_column(self.explanations.blocks)

    @property
    def scores(self) -> FloatArray:
        """Mean rating of the beams for each hypothesis, in nats, shape (K,)."""
        return self.explanations.scores


def new_share(settings: KeyframeSettings, motion: AnyPose, view: float) -> float:
    """Return how new a view is after a motion; 1 and more if nothing of it was in view before.

    A turn shows only what was behind the sensor.

    Args:
        settings: Motions after which a view is entirely new.
        motion: Motion of the sensor since the other view.
        view: Field of view of the sensor, in rad.
    """
    distance, turn = way_of(motion)
    blind_angle = max(0.0, 2.0 * np.pi - view)
    return distance / settings.new_view_m + min(turn, blind_angle) / settings.new_view_rad
