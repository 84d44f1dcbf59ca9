"""Settings of the ROS node: waiting scans, odometry gaps, priors, when AMCL is corrected."""

from dataclasses import dataclass

from isovist.settings import Settings, setting


@dataclass(frozen=True, slots=True)
class NodeSettings(Settings):
    """Set how the node uses odometry, poses of a user, and poses of other systems.

    Attributes:
        max_waiting_scans: Maximum number of scans that wait for their odometry.
        max_scans_without_odometry: Number of waiting scans at which a scan is answered without
            odometry.
        odometry_poses: Number of odometry poses that are stored.
        max_odometry_gap_s: Maximum time between a scan and the odometry pose that is used for it.
        min_prior_radius_m: Minimum radius of the search around a pose that a user set.
        min_prior_tolerance_rad: Minimum tolerance of the search around a heading that a user set.
        min_equal_cells: Share of equal cells at which a map on the topic is one of several maps.
        disagreements_to_correct: Number of scans in a row that must disagree with the pose of
            another system before that system is corrected.
    """

    max_waiting_scans: int = setting(
        200, unit="1", range=(1, 100_000), raises="more scans wait for late odometry",
        evidence="10 s at 20 Hz, not varied",
    )  # fmt: skip
    max_scans_without_odometry: int = setting(
        3, unit="1", range=(1, 1000), raises="later answers, with better odometry",
        evidence="not varied",
    )  # fmt: skip
    odometry_poses: int = setting(
        500, unit="1", range=(2, 1_000_000), raises="older scans can be placed by odometry",
        evidence="10 s at 50 Hz, not varied",
    )  # fmt: skip
    max_odometry_gap_s: float = setting(
        1.0, unit="s", range=(0.0, 60.0), raises="older odometry is used; clock jumps are missed",
        evidence="not varied",
    )  # fmt: skip
    min_prior_radius_m: float = setting(
        1.0, unit="m", range=(0.0, 1000.0), raises="a larger search around a user's pose",
        evidence="a click in RViz is rough; not varied",
    )  # fmt: skip
    min_prior_tolerance_rad: float = setting(
        0.5, unit="rad", range=(0.0, 3.15), raises="a wider search around a user's heading",
        evidence="a click in RViz is rough; not varied",
    )  # fmt: skip
    min_equal_cells: float = setting(
        0.99, unit="1", range=(0.0, 1.0), raises="the map on the topic is recognized less often",
        evidence="not varied",
    )  # fmt: skip
    disagreements_to_correct: int = setting(
        2, unit="1", range=(1, 100), raises="another system is corrected later, and less often",
        evidence="one scan may show a crowd; not varied",
    )  # fmt: skip


NODE = NodeSettings()
