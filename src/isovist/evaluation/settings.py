"""Numbers that define the benchmark protocols. Results are comparable only with equal numbers."""

import math
from dataclasses import dataclass

from isovist.settings import Settings, setting

_PROTOCOL = "definition of the protocol, not varied"


@dataclass(frozen=True, slots=True)
class ProtocolSettings(Settings):
    """Set how the trials of benchmarks are made, and which answers count as right.

    Attributes:
        map_resolution_m: Side of the cells of maps that are made from logs.
        query_step: Every scan of a log with a number in this step is a query.
        query_remainder: Number of the first query of a log.
        timed_trials: Number of trials that run alone to measure times.
        min_mapped_share: Share of the beams of a query of a later visit that must end near a wall.
        max_wall_distance_m: Distance up to which the end of a beam is near a wall.
        right_3d_m: Maximum distance of a right 3D answer from the true pose.
        right_3d_rad: Maximum angle of a right 3D answer from the true pose.
        equal_score_nats: Difference of ratings up to which two poses rate equally.
        odometry_noise_share: Standard deviation of a simulated distance.
        odometry_noise_rad_per_m: Standard deviation of a simulated heading.
        kidnap_distance_m: Minimum distance that a robot is moved.
        updates_before_kidnap: Number of updates before a robot is moved.
        updates_after_kidnap: Number of updates after a robot is moved.
        updates_to_notice: Number of the first update after a move at which a wrong belief counts.
        calibration_clearance_m: Minimum distance of simulated scans from walls.
    """

    map_resolution_m: float = setting(
        0.05, unit="m", range=(0.01, 1.0), raises="coarser maps, less memory", evidence=_PROTOCOL
    )
    query_step: int = setting(
        5, unit="1", range=(2, 1000), raises="fewer queries of a log, denser maps",
        evidence=_PROTOCOL,
    )  # fmt: skip
    query_remainder: int = setting(
        2, unit="1", range=(0, 999), raises="other scans are queries", evidence=_PROTOCOL
    )
    timed_trials: int = setting(
        40, unit="1", range=(1, 100_000), raises="steadier times, longer runs", evidence=_PROTOCOL
    )
    min_mapped_share: float = setting(
        0.8, unit="1", range=(0.0, 1.0), raises="fewer queries of later visits", evidence=_PROTOCOL
    )
    max_wall_distance_m: float = setting(
        0.2, unit="m", range=(0.0, 10.0), raises="more queries of later visits", evidence=_PROTOCOL
    )
    right_3d_m: float = setting(
        0.3, unit="m", range=(0.0, 10.0), raises="more 3D answers count as right",
        evidence=_PROTOCOL,
    )  # fmt: skip
    right_3d_rad: float = setting(
        math.radians(5.0), unit="rad", range=(0.0, math.pi),
        raises="more 3D answers count as right", evidence=_PROTOCOL,
    )  # fmt: skip
    equal_score_nats: float = setting(
        0.02, unit="nats per beam", range=(0.0, 1.0), raises="more lists count as complete",
        evidence="the change by the last step of a fit",
    )  # fmt: skip
    odometry_noise_share: float = setting(
        0.02, unit="share of the distance", range=(0.0, 1.0), raises="harder drives",
        evidence=_PROTOCOL,
    )  # fmt: skip
    odometry_noise_rad_per_m: float = setting(
        math.radians(1.0), unit="rad per m", range=(0.0, 1.0), raises="harder drives",
        evidence=_PROTOCOL,
    )  # fmt: skip
    kidnap_distance_m: float = setting(
        5.0, unit="m", range=(0.0, 1000.0), raises="the robot is moved farther", evidence=_PROTOCOL
    )
    updates_before_kidnap: int = setting(
        25, unit="1", range=(1, 10_000), raises="a firmer belief before the robot is moved",
        evidence=_PROTOCOL,
    )  # fmt: skip
    updates_after_kidnap: int = setting(
        40, unit="1", range=(1, 10_000), raises="more time to recover", evidence=_PROTOCOL
    )
    updates_to_notice: int = setting(
        3, unit="1", range=(1, 10_000), raises="more time to notice", evidence=_PROTOCOL
    )
    calibration_clearance_m: float = setting(
        0.3, unit="m", range=(0.0, 10.0), raises="scans farther from walls", evidence=_PROTOCOL
    )


PROTOCOL = ProtocolSettings()
