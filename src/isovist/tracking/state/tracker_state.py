"""What changes while a tracker follows a robot.

Each field of `MotionState` and `SearchState` names the key that a saved state has for it.
"""

from dataclasses import dataclass, field

import numpy as np

from isovist.atlas import SearchSpace
from isovist.localization import LocalizationSettings, SearchRegion
from isovist.poses import AnyPose
from isovist.sensing import StationaryScans
from isovist.tracking.hypotheses.bank import HypothesisBank
from isovist.tracking.hypotheses.keyframe import stored
from isovist.tracking.settings import TrackingSettings


@dataclass(slots=True, eq=False)
class MotionState:
    """The motion of the robot so far.

    Attributes:
        mount: T_robot_level, the frame whose pose is searched, at the last update.
        sensor: T_odom_sensor of that frame at the last update.
        step: Motion of the robot in a second, as far as scans tell.
        has_default_drift: Whether the user gave no drift.
        odometry: T_odom_robot at the last update; predicted where there is no odometry.
        travelled: Distance driven by odometry, in m.
        clock: Time since the first update by the tracker's own clock, in s.
        time: Time that the user gave to the last update, in s, if any.
        has_odometry: Whether updates have odometry; `None` before the first update.
    """

    mount: AnyPose = field(metadata=stored("_mount"))
    sensor: AnyPose = field(metadata=stored("_sensor"))
    step: AnyPose = field(metadata=stored("_step"))
    has_default_drift: bool = field(metadata=stored("_unsure"))
    odometry: AnyPose | None = field(default=None, metadata=stored("_odometry"))
    travelled: float = field(default=0.0, metadata=stored("travelled"))
    clock: float = field(default=0.0, metadata=stored("_clock"))
    time: float | None = field(default=None, metadata=stored("_told"))
    has_odometry: bool | None = field(default=None, metadata=stored("_aided"))


@dataclass(slots=True, eq=False)
class SearchState:
    """The progress of the search for the place of the robot.

    Attributes:
        start: T_odom_robot at the first update.
        first_sensor: T_odom_sensor of the first keyframe.
        searched_at: Distance driven at the last search, in m.
        is_settled: Whether one place was unique, and has not been given up since.
        typical_score: Mean rating that scans have at the settled place, in nats.
        inconsistent_scans: Number of scans in a row that another place explains better.
        is_relocalizing: Whether the last scan leaves doubt about the settled place.
        leading_since: Distance driven at which the first place began to lead, in m.
    """

    start: AnyPose | None = field(default=None, metadata=stored("_start"))
    first_sensor: AnyPose | None = field(default=None, metadata=stored("_first"))
    searched_at: float = field(default=-np.inf, metadata=stored("_searched"))
    is_settled: bool = field(default=False, metadata=stored("_settled"))
    typical_score: float = field(default=0.0, metadata=stored("_usual"))
    inconsistent_scans: int = field(default=0, metadata=stored("_surprises"))
    is_relocalizing: bool = field(default=False, metadata=stored("_shaken"))
    leading_since: float = field(default=np.inf, metadata=stored("_leads_since"))

    def settle(self, score: float) -> None:
        """Take the first place for the right one; `score` is the mean rating of its last scan."""
        self.is_settled, self.typical_score = True, score


@dataclass(slots=True, eq=False)
class TrackerState:
    """Everything that changes while a tracker follows a robot.

    Attributes:
        bank: The places where the robot may be.
        motion: How it has moved.
        search: How far the search for its place is.
        region: Where it may be at the first scan, while that still matters.
        stationary: The scans since it stands still.
    """

    bank: HypothesisBank
    motion: MotionState
    search: SearchState = field(default_factory=SearchState)
    region: SearchRegion = None
    stationary: StationaryScans | None = None

    @property
    def space(self) -> SearchSpace:
        """The map, or several side by side."""
        return self.bank.atlas

    @property
    def settings(self) -> TrackingSettings:
        """Settings of tracking."""
        return self.bank.settings

    @property
    def localization(self) -> LocalizationSettings:
        """Settings of each search, fit and rating."""
        return self.bank.localization
