"""What was chosen about where to drive: every number with its unit and its origin.

All were chosen while looking at `benchmarks.explore` on five maps, and have not been varied since.
What refutes a rival is said by `TrackingSettings` and `LocalizationSettings`.
"""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas.settings import check_numbers


@dataclass(frozen=True, slots=True)
class ExplorationSettings:
    """The settings for planning drives and predicting what the sensor will see.

    Attributes:
        body: ρ, radius of the robot with what it keeps from walls, in m; share of it that must be
            clear where the robot sees for itself, along straight legs and between beams; and share
            of it that will do where it stands already, and before it is sure where it is.
        ways: Step of the lattice of paths, path between two views, and how far paths lead, in m;
            the last of these when nothing within the one before helps.
        cost: Numbers of `propose` (2): what a rival that is not refuted is taken to cost, in m; a
            turn, in m per rad; least that a drive must bring, in m; and the weight of the tracker's
            probabilities against all live places alike.
        beams: Angle between predicted beams, in rad, and σ of `foresight` (1), in m: a tracker
            shifts places a little before it rates them.
        slopes: Numbers of `foresight` (2): largest slope of a range, in m per m, per m of range for
            the yaw; and the step of the differences, in m, and in rad.
    """

    body: tuple[float, float, float] = (0.25, 0.8, 0.5)
    ways: tuple[float, float, float, float] = (0.2, 1.0, 12.0, 30.0)
    cost: tuple[float, float, float, float] = (15.0, 0.3, 0.05, 0.8)
    beams: tuple[float, float] = (float(np.radians(7.5)), 0.15)
    slopes: tuple[float, float] = (4.0, 0.05)

    def __post_init__(self) -> None:
        check_numbers(self)

    @property
    def radius(self) -> float:
        """The radius ρ of the robot with what it keeps from walls, in m."""
        return self.body[0]

    @property
    def tight(self) -> float:
        """The clearance that a robot needs where it sees for itself, in m."""
        return self.body[0] * self.body[1]

    @property
    def least(self) -> float:
        """The clearance that a robot needs where it stands, in m."""
        return self.body[0] * self.body[2]

    @property
    def ahead(self) -> FloatArray:
        """The lengths of the straight motions that the Gramian rule considers, in m.

        They are four, in steps of half the distance between views.
        """
        return 0.5 * self.ways[1] * np.arange(1.0, 5.0)

    @property
    def directions(self) -> FloatArray:
        """The headings that the Gramian rule considers in the frame of the robot, in rad.

        They are those of every other predicted beam.
        """
        count = round(np.pi / self.beams[0])
        return 2.0 * np.pi * np.arange(float(count)) / count
