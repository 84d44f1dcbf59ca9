"""What changes while a tracker follows a robot.

Each field of `MotionState` and `SearchState` names the key that a saved state has for it.
"""

from dataclasses import MISSING, dataclass, field
from typing import Any

import numpy as np

from isovist.atlas import SearchSpace
from isovist.localization import LocalizationSettings, SearchRegion
from isovist.poses import AnyPose
from isovist.sensing import StationaryScans
from isovist.tracking.hypotheses.bank import HypothesisBank
from isovist.tracking.settings import TrackingSettings


def stored(key: str, default: Any = MISSING) -> Any:
    """Declare a field and its key in a saved state."""
    return field(default=default, metadata={"stored": key})


@dataclass(slots=True, eq=False)
class MotionState:
    """How the robot has moved.

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

    mount: AnyPose = stored("_mount")
    sensor: AnyPose = stored("_sensor")
    step: AnyPose = stored("_step")
    has_default_drift: bool = stored("_unsure")
    odometry: AnyPose | None = stored("_odometry", None)
    travelled: float = stored("travelled", 0.0)
    clock: float = stored("_clock", 0.0)
    time: float | None = stored("_told", None)
    has_odometry: bool | None = stored("_aided", None)


@dataclass(slots=True, eq=False)
class SearchState:
    """How far the search for the place of the robot is.

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

    start: AnyPose | None = stored("_start", None)
    first_sensor: AnyPose | None = stored("_first", None)
    searched_at: float = stored("_searched", -np.inf)
    is_settled: bool = stored("_settled", False)
    typical_score: float = stored("_usual", 0.0)
    inconsistent_scans: int = stored("_surprises", 0)
    is_relocalizing: bool = stored("_shaken", False)
    leading_since: float = stored("_leads_since", np.inf)

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
        """How the robot is followed."""
        return self.bank.settings

    @property
    def localization(self) -> LocalizationSettings:
        """How places are searched, fitted and rated."""
        return self.bank.localization
