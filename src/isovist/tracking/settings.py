"""Settings of tracking: how a robot is followed through many scans.

Each scan is searched, fitted and rated by `LocalizationSettings`.
"""

from dataclasses import dataclass

import numpy as np

from isovist.localization import LocalizationSettings
from isovist.renamed import accept_old_names
from isovist.settings import Settings, setting

DRIVE_LOCALIZATION = LocalizationSettings().with_values({"covariance.inflation": 6.0})
"""The scans of a drive share the errors of the map, so each of them says less than a single one."""
STARTS = "isovist bench starts on infinite-corridor, aces and fhw; not varied since"
FOLLOW = "coverage in isovist bench follow on intel and fr079"


@dataclass(frozen=True, slots=True)
class KeyframeSettings(Settings):
    """Set which scans are stored, and how much each of them counts.

    Attributes:
        min_distance_m: Distance from the last keyframe at which a scan becomes a keyframe.
        min_turn_rad: Rotation since the last keyframe at which a scan becomes a keyframe.
        max_keyframes: Maximum number of keyframes; the oldest ones are dropped.
        new_view_m: Distance after which a view is entirely new.
        new_view_rad: Rotation after which a view is entirely new.
        new_share_gain: Factor from the share of a view that is new to the share of a scan that
            corrects a hypothesis.
        min_new_share: Minimum share of a scan that corrects a hypothesis.
    """

    min_distance_m: float = setting(
        0.4, unit="m", range=(0.0, 1e6), evidence=STARTS,
        raises="fewer keyframes, farther apart",
    )  # fmt: skip
    min_turn_rad: float = setting(
        0.35, unit="rad", range=(0.0, 1e6), evidence=STARTS,
        raises="fewer keyframes from turns",
    )  # fmt: skip
    max_keyframes: int = setting(
        30, unit="1", range=(1, 10**6), evidence=STARTS,
        raises="a longer memory, with more work for each new hypothesis",
    )  # fmt: skip
    new_view_m: float = setting(
        1.0, unit="m", range=(1e-6, 1e6), evidence=STARTS,
        raises="scans along a drive count less",
    )  # fmt: skip
    new_view_rad: float = setting(
        1.5, unit="rad", range=(1e-6, 1e6), evidence=STARTS,
        raises="scans during a turn count less",
    )  # fmt: skip
    new_share_gain: float = setting(
        3.0, unit="1", range=(0.0, 1e6), evidence="not varied",
        raises="scans correct hypotheses more, odometry counts less",
    )  # fmt: skip
    min_new_share: float = setting(
        0.05, unit="1", range=(0.0, 1.0), evidence="not varied",
        raises="a robot at rest follows each scan more",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class MapSearchSettings(Settings):
    """Set when the map is searched for other places, and how many of them are added.

    Attributes:
        distance_m: Distance driven between two searches while competitors remain.
        settled_distance_m: The same distance while one place is left.
        max_candidates: Maximum number of candidates of a search; a long corridor has many places
            that look the same.
        settled_max_candidates: The same number while one place is left, for a check.
        max_score_gap_nats: Difference of mean ratings at which a candidate is dropped because
            another one explains the scan better.
        position_std_m: Standard deviation of the position of a new hypothesis, besides that of its
            fit.
        angle_std_rad: Standard deviation of the angles of a new hypothesis, besides that of its
            fit.
        beam_factor: Number of beams that compare hypotheses, as a multiple of those of a first fit.
    """

    distance_m: float = setting(
        1.0, unit="m", range=(0.0, 1e6), evidence=STARTS,
        raises="fewer searches, and places are found later",
    )  # fmt: skip
    settled_distance_m: float = setting(
        8.0, unit="m", range=(0.0, 1e6), evidence=STARTS,
        raises="fewer checks of the place that is left",
    )  # fmt: skip
    max_candidates: int = setting(
        120, unit="1", range=(1, 10**6), evidence=STARTS,
        raises="fewer places are missed, with more work",
    )  # fmt: skip
    settled_max_candidates: int = setting(
        20, unit="1", range=(1, 10**6), evidence=STARTS,
        raises="more careful checks, with more work",
    )  # fmt: skip
    max_score_gap_nats: float = setting(
        2.0, unit="nats per beam", range=(0.0, 1e6), evidence=STARTS,
        raises="more candidates that explain a scan badly are added",
    )  # fmt: skip
    position_std_m: float = setting(
        0.1, unit="m", range=(0.0, 1e3), evidence=STARTS,
        raises="the next scans move new hypotheses more",
    )  # fmt: skip
    angle_std_rad: float = setting(
        0.04, unit="rad", range=(0.0, 1e3), evidence=STARTS,
        raises="the next scans turn new hypotheses more",
    )  # fmt: skip
    beam_factor: int = setting(
        2, unit="1", range=(1, 100), evidence="not varied",
        raises="hypotheses are compared by more beams, with more work",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CompetitorSettings(Settings):
    """Set when a drive refutes a competing hypothesis, and when it is dropped.

    With t and d of (2) of `hypotheses.bank` and p the share of beams that the best place explains,
    a competitor is refuted if t p² and d are large enough.  Where much is unexplained the right
    place may be missing from the bank, hence the square.

    Attributes:
        min_agreement: Minimum t p² for a refutation.
        immediate_agreement: Value of t p² at which a refutation holds at once.
        clear_agreement: Value of t at which a refutation holds for any p, and at once.
        clear_lead_nats: Value of d that such a refutation needs as well.
        min_distance_m: Distance driven for which all competitors must stay refuted otherwise.
        max_gap_nats: Difference of evidence at which a refuted hypothesis is dropped.
        max_hypotheses: Maximum number of hypotheses.
        recent_keyframes: Number of last keyframes that are located as one scan, and whose mean
            rating says whether a place fits.
    """

    min_agreement: float = setting(
        1.1, unit="1", range=(0.0, 1e6), evidence=STARTS,
        raises="later unique verdicts, fewer wrong ones",
    )  # fmt: skip
    immediate_agreement: float = setting(
        1.25, unit="1", range=(0.0, 1e6), evidence=STARTS,
        raises="fewer places become unique at once",
    )  # fmt: skip
    clear_agreement: float = setting(
        2.0, unit="1", range=(0.0, 1e6), evidence=STARTS,
        raises="fewer places become unique where much is unexplained",
    )  # fmt: skip
    clear_lead_nats: float = setting(
        1.2, unit="nats per beam", range=(0.0, 1e6), evidence=STARTS,
        raises="fewer places become unique where much is unexplained",
    )  # fmt: skip
    min_distance_m: float = setting(
        1.0, unit="m", range=(0.0, 1e6), evidence=STARTS,
        raises="later unique verdicts, fewer wrong ones",
    )  # fmt: skip
    max_gap_nats: float = setting(
        30.0, unit="nats", range=(0.0, 1e6), evidence=STARTS,
        raises="refuted places stay longer, with more work",
    )  # fmt: skip
    max_hypotheses: int = setting(
        250, unit="1", range=(1, 10**6), evidence=STARTS,
        raises="fewer places are lost, with more work",
    )  # fmt: skip
    recent_keyframes: int = setting(
        3, unit="1", range=(1, 1000), evidence="as many as a usual `isovist locate`; not varied",
        raises="surer decisions by the last scans, but odometry drifts between them",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RelocalizationSettings(Settings):
    """Set how a slip of odometry and a kidnapping are recognized.

    Attributes:
        max_inconsistent_scans: Number of inconsistent scans in a row after which the drive so far
            is forgotten.
        typical_weight: Weight of the present scan in the typical mean rating.
        doubt_margins: Number of minimum leads (`refuted` of `LocalizationSettings`) by which a scan
            must fall below the typical rating to be compared with the result of a search.
        slip_m: Maximum distance by which odometry slips between two scans.
        slip_rad: Maximum rotation by which odometry slips between two scans.
    """

    max_inconsistent_scans: int = setting(
        2, unit="1", range=(1, 10**6), evidence=STARTS,
        raises="a kidnapping is recognized later, and crowds are taken for one less often",
    )  # fmt: skip
    typical_weight: float = setting(
        0.2, unit="1", range=(0.0, 1.0), evidence=STARTS,
        raises="the typical rating follows the last scans sooner",
    )  # fmt: skip
    doubt_margins: float = setting(
        2.0, unit="1", range=(0.0, 1e6),
        evidence="1 update in 12 on intel and 1 in 5 on fr079 are compared; not varied",
        raises="fewer searches, and a wrong place is noticed later",
    )  # fmt: skip
    slip_m: float = setting(
        1.5, unit="m", range=(0.0, 1e6), evidence=STARTS,
        raises="longer slips are recovered, with more work",
    )  # fmt: skip
    slip_rad: float = setting(
        0.8, unit="rad", range=(0.0, 1e6), evidence=STARTS,
        raises="larger slips are recovered, with more work",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class MotionSettings(Settings):
    """Set how hypotheses move between two scans.

    Attributes:
        unaided_std: Standard deviation of the position where there is no odometry and the robot is
            taken to go on at an even pace; `still` of `Drift`.
        max_elevation_rad: Elevation of the x axis of a robot in any attitude at which the level
            frame is turned, since yaw and roll are hardly separable above it.
        yaw_candidates: Number of rotations of the level frame that are tried, over half a circle.
    """

    unaided_std: float = setting(
        0.6, unit="m per √s", range=(0.0, 1e3),
        evidence="at 10 Hz, the error for a robot that drives 2 m/s and stops",
        raises="places are uncertain sooner where walls do not fix the motion",
    )  # fmt: skip
    max_elevation_rad: float = setting(
        float(np.radians(60.0)), unit="rad", range=(0.0, float(np.pi / 2)), evidence="not varied",
        raises="robots may look farther up or down before their frame is turned",
    )  # fmt: skip
    yaw_candidates: int = setting(
        16, unit="1", range=(1, 10**4), evidence="not varied",
        raises="finer rotations of the level frame, with more work",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class EstimateSettings(Settings):
    """Set the error of the map that estimates include, since no drive averages it out.

    Attributes:
        map_position_std_m: Standard deviation of positions on the map.
        map_angle_std_rad: Standard deviation of angles on the map.
    """

    map_position_std_m: float = setting(
        0.025, unit="m", range=(0.0, 1e3), evidence=FOLLOW,
        raises="wider covariances of positions",
    )  # fmt: skip
    map_angle_std_rad: float = setting(
        float(np.radians(0.4)), unit="rad", range=(0.0, 1e3), evidence=FOLLOW,
        raises="wider covariances of angles",
    )  # fmt: skip


@accept_old_names
@dataclass(frozen=True, slots=True)
class TrackingSettings(Settings):
    """Set how a robot is followed; `LocalizationSettings` set how each scan is used.

    Attributes:
        keyframes: Scans that are stored, and how much each of them counts.
        search: Searches of the map for other places.
        competitors: Refutation of competing hypotheses.
        relocalization: Recognition of slips and kidnappings.
        motion: Motion between two scans.
        estimates: Error of the map in estimates.
    """

    keyframes: KeyframeSettings = KeyframeSettings()
    search: MapSearchSettings = MapSearchSettings()
    competitors: CompetitorSettings = CompetitorSettings()
    relocalization: RelocalizationSettings = RelocalizationSettings()
    motion: MotionSettings = MotionSettings()
    estimates: EstimateSettings = EstimateSettings()
