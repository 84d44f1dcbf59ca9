"""Is the pose of another system right?  Each is checked against the scan of its time.

A pose is carried by odometry to the scan next to it and judged by `check`.  The other system is
wrong when two checks in a row disagree: one scan may show a crowd.
"""

from collections import Counter
from collections.abc import Callable

from isovist.arrays import FloatArray
from isovist.atlas.base import AnyScan
from isovist.localization.check import check
from isovist.localization.maps import AnyMaps
from isovist.poses import Pose

ROW = 2
"""Checks in a row that must disagree."""
LEVELS = {"agrees": 0, "cannot tell": 1, "disagrees": 2}
Say = Callable[[float, int, str, dict[str, str]], None]


class Watchdog:
    """Checker of the poses of another system against the scans.

    Attributes:
        answered: Whether the other system gave a pose since it was last corrected.
        disagreed: Number of checks in a row that disagreed.
        counts: Number of checks with each verdict.
    """

    def __init__(self, say: Say) -> None:
        """With what to tell verdicts to: time, level, words and values."""
        self._say = say
        self.answered = False
        self.disagreed = 0
        self.counts: Counter[str] = Counter()
        self._pose: tuple[float, Pose, FloatArray, str | None] | None = None

    @property
    def wrong(self) -> bool:
        """Whether the other system is wrong."""
        return self.disagreed >= ROW

    def mended(self) -> None:
        """Forget the poses of the other system, which was just told where the robot is."""
        self.answered, self.disagreed, self._pose = False, 0, None

    def heard(
        self, time: float, pose: Pose, covariance: FloatArray, name: str | None = None
    ) -> None:
        """Store a pose, and the name of its map if there are several, until the next scan comes."""
        self.answered = True
        self._pose = time, pose, covariance, name

    def look(
        self, atlas: AnyMaps, time: float, scan: AnyScan, odometry: Callable[[float], Pose | None]
    ) -> None:
        """Check the last pose against a scan."""
        if self._pose is None:
            return
        said, pose, covariance, name = self._pose
        self._pose = None
        then, now = odometry(said), odometry(time)
        if then is not None and now is not None:
            pose = pose @ then.inverse @ now
        told = check(atlas, scan, pose, covariance, map=name)
        self.counts[told.verdict] += 1
        self.disagreed = self.disagreed + 1 if told.verdict == "disagrees" else 0
        values = {
            "verdict": told.verdict,
            "reasons": ",".join(told.reasons),
            "inliers": f"{told.inliers:.6g}",
        }
        if name is not None:
            values["map"] = name
        if told.moved is not None:
            values |= {"off_m": f"{told.moved[0]:.6g}", "off_rad": f"{told.moved[1]:.6g}"}
        self._say(time, LEVELS[told.verdict], told.advice, values)
