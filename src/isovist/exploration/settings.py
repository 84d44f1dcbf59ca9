"""Settings of exploration: where a robot can drive, and what a drive is worth.

What refutes a competing pose is set by `TrackingSettings` and `LocalizationSettings`.
"""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray
from isovist.renamed import accept_old_names
from isovist.settings import Settings, setting

FIVE_MAPS = "benchmarks.explore on five maps; not varied since"


@dataclass(frozen=True, slots=True)
class BodySettings(Settings):
    """Set the size of the robot.

    Attributes:
        radius_m: Radius of the robot, including the distance that it keeps from walls.
        driving_share: Share of the radius that must be free along straight drives and between
            beams, where the robot sees obstacles itself.
        standing_share: Share of the radius that must be free where the robot stands, and before its
            pose is known.
        curb_m: Height of an obstacle that the robot can drive over in 3D, at least one cell.
    """

    radius_m: float = setting(
        0.25, unit="m", range=(1e-3, 100.0), evidence=FIVE_MAPS,
        raises="the robot keeps farther from walls and avoids narrow passages",
    )  # fmt: skip
    driving_share: float = setting(
        0.8, unit="1", range=(0.0, 1.0), evidence=FIVE_MAPS,
        raises="fewer straight legs are clear",
    )  # fmt: skip
    standing_share: float = setting(
        0.5, unit="1", range=(0.0, 1.0), evidence=FIVE_MAPS,
        raises="a robot close to a wall finds no path",
    )  # fmt: skip
    curb_m: float = setting(
        0.15, unit="m", range=(0.0, 10.0), evidence="not varied",
        raises="higher steps do not block the robot",
    )  # fmt: skip

    @property
    def driving_clearance_m(self) -> float:
        """The clearance that a robot needs where it sees for itself, in m."""
        return self.radius_m * self.driving_share

    @property
    def standing_clearance_m(self) -> float:
        """The clearance in m that a robot needs at its own position."""
        return self.radius_m * self.standing_share


@dataclass(frozen=True, slots=True)
class PathSettings(Settings):
    """Set the paths that are considered.

    Attributes:
        step_m: Distance between the points of paths.
        view_spacing_m: Length of path between two views.
        length_m: Maximum length of the paths that are tried first.
        max_length_m: Maximum length of the paths that are tried if no shorter one helps.
        straight_motions: Number of straight motions in each direction for the Gramian rule; each is
            longer by half of `view_spacing_m`.
    """

    step_m: float = setting(
        0.2, unit="m", range=(1e-2, 100.0), evidence=FIVE_MAPS,
        raises="coarser paths, found faster",
    )  # fmt: skip
    view_spacing_m: float = setting(
        1.0, unit="m", range=(1e-2, 1000.0), evidence=FIVE_MAPS,
        raises="fewer places to look from, and less work",
    )  # fmt: skip
    length_m: float = setting(
        12.0, unit="m", range=(0.1, 1e4), evidence=FIVE_MAPS,
        raises="farther goals are considered, with more work",
    )  # fmt: skip
    max_length_m: float = setting(
        30.0, unit="m", range=(0.1, 1e4), evidence=FIVE_MAPS,
        raises="a robot among similar places drives farther before it gives up",
    )  # fmt: skip
    straight_motions: int = setting(
        4, unit="1", range=(1, 100), evidence="not varied",
        raises="the Gramian rule considers longer motions",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ObjectiveSettings(Settings):
    """Set the cost and the value of a drive (equation (2) of `exploration.propose`).

    Attributes:
        ambiguity_m: Cost of a competing pose that a drive does not refute.
        turn_m_per_rad: Cost of a turn.
        min_gain_m: Minimum gain of a drive.
        probability_share: Weight of the probabilities of the tracker.  The rest of the weight is
            equal for all poses.
        full_view_rad: Field of view at which a turn on the spot shows nothing new.
    """

    ambiguity_m: float = setting(
        15.0, unit="m", range=(0.0, 1e6), evidence=FIVE_MAPS,
        raises="longer drives for fewer competing poses",
    )  # fmt: skip
    turn_m_per_rad: float = setting(
        0.3, unit="m/rad", range=(0.0, 1e6), evidence=FIVE_MAPS,
        raises="fewer turns on the spot",
    )  # fmt: skip
    min_gain_m: float = setting(
        0.05, unit="m", range=(0.0, 1e6), evidence=FIVE_MAPS,
        raises="the robot gives up sooner",
    )  # fmt: skip
    probability_share: float = setting(
        0.8, unit="1", range=(0.0, 1.0), evidence=FIVE_MAPS,
        raises="likely poses count more than unlikely ones",
    )  # fmt: skip
    full_view_rad: float = setting(
        1.8 * np.pi, unit="rad", range=(0.0, 2.0 * np.pi), evidence="not varied",
        raises="sensors with a wide field of view turn on the spot, too",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ForesightSettings(Settings):
    """Set how scans are predicted: `exploration.foresight`.

    Attributes:
        beam_spacing_rad: Angle between two predicted beams.
        sigma_m: Standard deviation σ of a predicted range in (1).  It is large since a tracker
            shifts poses a little before it rates them.
        max_slope: Maximum slope of a range in (2), in m per m, and per m of range for the yaw.
        step: Step of the differences in (2), in m and in rad.
        level_beams: Number of beams of the 2D scan that is made from a 3D scan.
    """

    beam_spacing_rad: float = setting(
        float(np.radians(7.5)), unit="rad", range=(1e-3, np.pi), evidence=FIVE_MAPS,
        raises="fewer predicted beams, and less work",
    )  # fmt: skip
    sigma_m: float = setting(
        0.15, unit="m", range=(1e-3, 100.0), evidence=FIVE_MAPS,
        raises="poses are expected to be harder to tell apart",
    )  # fmt: skip
    max_slope: float = setting(
        4.0, unit="m/m", range=(1e-3, 1e6), evidence=FIVE_MAPS,
        raises="jumps from wall to wall count as information",
    )  # fmt: skip
    step: float = setting(
        0.05, unit="m and rad", range=(1e-6, 10.0), evidence=FIVE_MAPS,
        raises="smoother slopes of ranges",
    )  # fmt: skip
    level_beams: int = setting(
        360, unit="1", range=(4, 100_000), evidence="the beams of `Lidar`",
        raises="narrow obstacles are kept in their direction",
    )  # fmt: skip


@accept_old_names
@dataclass(frozen=True, slots=True)
class ExplorationSettings(Settings):
    """Set how drives are planned and how scans along them are predicted.

    Attributes:
        robot: Size of the robot.
        paths: Selection of the paths that are considered.
        objective: Cost and value of a drive.
        foresight: Prediction of scans.

    Examples:
        >>> import isovist as iv
        >>> settings = iv.ExplorationSettings().with_values({"robot.radius_m": 0.4})
        >>> settings.robot.radius_m
        0.4
    """

    robot: BodySettings = BodySettings()
    paths: PathSettings = PathSettings()
    objective: ObjectiveSettings = ObjectiveSettings()
    foresight: ForesightSettings = ForesightSettings()

    @property
    def distances(self) -> FloatArray:
        """The lengths of the straight motions that the Gramian rule considers, in m."""
        count = self.paths.straight_motions
        return 0.5 * self.paths.view_spacing_m * np.arange(1.0, count + 1.0)

    @property
    def headings(self) -> FloatArray:
        """The headings that the Gramian rule considers in the frame of the robot, in rad.

        There is one for every other predicted beam.
        """
        count = round(np.pi / self.foresight.beam_spacing_rad)
        return 2.0 * np.pi * np.arange(float(count)) / count
