"""Size and motion of the simulated robot."""

import math
from dataclasses import dataclass

from isovist.settings import Settings, setting

_SMALL_ROBOT = "a small indoor robot, not varied"
_NOT_VARIED = "not varied"


@dataclass(frozen=True, slots=True)
class RobotSettings(Settings):
    """Set the size and the motion of a simulated robot that explores, and when it gives up.

    Attributes:
        radius_m: Radius of the robot.
        start_clearance_m: Minimum distance of a random start from walls.
        max_stride_m: Maximum distance between two scans.
        max_turn_rad: Maximum angle between two scans of a turn on the spot.
        max_drive_angle_rad: Direction of a goal above which the robot turns on the spot first.
        leg_m: Maximum length of a drive before the next proposal.
        min_leg_m: Length of a drive below which the robot is stuck.
        max_turns: Maximum number of turns on the spot in a row.
        min_free_m: Minimum free distance in the direction of a random drive.
        direction_tries: Maximum number of random directions for a random drive.
        max_scans_per_m: Number of scans after which the robot gives up.
        probe_beams: Number of beams for the choice of random starts.
    """

    radius_m: float = setting(
        0.15, unit="m", range=(0.01, 10.0), raises="fewer passages are wide enough",
        evidence=_SMALL_ROBOT,
    )  # fmt: skip
    start_clearance_m: float = setting(
        0.3, unit="m", range=(0.01, 10.0), raises="random starts farther from walls",
        evidence=_SMALL_ROBOT,
    )  # fmt: skip
    max_stride_m: float = setting(
        0.3, unit="m", range=(0.01, 10.0), raises="fewer scans per distance", evidence=_SMALL_ROBOT
    )
    max_turn_rad: float = setting(
        math.radians(60.0), unit="rad", range=(0.01, math.pi), raises="fewer scans per turn",
        evidence=_SMALL_ROBOT,
    )  # fmt: skip
    max_drive_angle_rad: float = setting(
        math.radians(25.0), unit="rad", range=(0.0, math.pi), raises="fewer turns on the spot",
        evidence=_SMALL_ROBOT,
    )  # fmt: skip
    leg_m: float = setting(
        2.0, unit="m", range=(0.1, 100.0), raises="the rule is asked less often",
        evidence=_NOT_VARIED,
    )  # fmt: skip
    min_leg_m: float = setting(
        0.3, unit="m", range=(0.0, 100.0), raises="more legs count as stuck", evidence=_NOT_VARIED
    )
    max_turns: int = setting(
        3, unit="1", range=(1, 1000), raises="more turns on the spot before a random leg",
        evidence=_NOT_VARIED,
    )  # fmt: skip
    min_free_m: float = setting(
        1.0, unit="m", range=(0.0, 100.0), raises="random legs start where more room is free",
        evidence=_NOT_VARIED,
    )  # fmt: skip
    direction_tries: int = setting(
        50, unit="1", range=(1, 10_000), raises="fewer random legs into an obstacle",
        evidence=_NOT_VARIED,
    )  # fmt: skip
    max_scans_per_m: int = setting(
        20, unit="scans per m of the limit", range=(1, 10_000), raises="later giving up",
        evidence=_NOT_VARIED,
    )  # fmt: skip
    probe_beams: int = setting(
        24, unit="1", range=(3, 100_000), raises="slower choice of random starts",
        evidence=_NOT_VARIED,
    )  # fmt: skip
