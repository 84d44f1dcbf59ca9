"""Check the poses of another system, such as AMCL, against the scans.

Odometry moves each pose to the time of the next scan, where `check` judges it. The other system is
wrong when several checks in a row disagree, since one scan may show a crowd.
"""

from collections import Counter
from collections.abc import Callable

from isovist.apps.ros.settings import NODE
from isovist.arrays import FloatArray
from isovist.atlas import AnyScan
from isovist.localization import AnyMaps, check
from isovist.poses import Pose

LEVELS = {"agrees": 0, "cannot tell": 1, "disagrees": 2}
Publish = Callable[[float, int, str, dict[str, str]], None]


class Watchdog:
    """Checker of the poses of another system against the scans.

    Attributes:
        has_pose: Whether the other system gave a pose since it was last corrected.
        disagreements: Number of checks in a row that disagreed.
        counts: Number of checks with each verdict.
    """

    def __init__(self, publish: Publish) -> None:
        """Take a function that publishes a verdict: time, level, text and values."""
        self._publish = publish
        self.has_pose = False
        self.disagreements = 0
        self.counts: Counter[str] = Counter()
        self._pose: tuple[float, Pose, FloatArray, str | None] | None = None

    @property
    def is_wrong(self) -> bool:
        """True if the pose of the other system disagreed with enough scans to correct it."""
        return self.disagreements >= NODE.disagreements_to_correct

    def reset(self) -> None:
        """Forget the poses of the other system, which was just corrected."""
        self.has_pose, self.disagreements, self._pose = False, 0, None

    def store(
        self, time: float, pose: Pose, covariance: FloatArray, name: str | None = None
    ) -> None:
        """Store a pose, and the name of its map if there are several, until the next scan comes."""
        self.has_pose = True
        self._pose = time, pose, covariance, name

    def check_scan(
        self, atlas: AnyMaps, time: float, scan: AnyScan, odometry: Callable[[float], Pose | None]
    ) -> None:
        """Check the last pose against a scan."""
        if self._pose is None:
            return
        pose_time, pose, covariance, name = self._pose
        self._pose = None
        before, after = odometry(pose_time), odometry(time)
        if before is not None and after is not None:
            pose = pose @ before.inverse @ after
        result = check(atlas, scan, pose, covariance, map=name)
        self.counts[result.verdict] += 1
        self.disagreements = self.disagreements + 1 if result.verdict == "disagrees" else 0
        values = {
            "verdict": result.verdict,
            "reasons": ",".join(result.reasons),
            "inliers": f"{result.inliers:.6g}",
        }
        if name is not None:
            values["map"] = name
        if result.moved is not None:
            values |= {"off_m": f"{result.moved[0]:.6g}", "off_rad": f"{result.moved[1]:.6g}"}
        self._publish(time, LEVELS[result.verdict], result.advice, values)
