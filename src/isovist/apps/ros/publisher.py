"""What a node says of its answers: verdicts in words, poses, transforms and markers."""

import logging
from enum import StrEnum

import numpy as np

from isovist.apps.ros import messages
from isovist.apps.ros.buses.bus import Bus, Topic
from isovist.apps.ros.map_frames import Loaded
from isovist.apps.ros.parameters import Parameters
from isovist.apps.ros.watchdog import Watchdog
from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.judge import is_same
from isovist.localization.settings import LocalizationSettings
from isovist.poses import Pose, Pose3
from isovist.tracking.belief import Belief

LEVELS = {Verdict.UNIQUE: 0, Verdict.AMBIGUOUS: 1, Verdict.LOST: 2}
USUAL = LocalizationSettings()
log = logging.getLogger("isovist.ros")


class InputReason(StrEnum):
    """Reasons why a scan got no answer, with stable values; those of answers are in `Reason`."""

    NO_MAP = "no_map"
    MAP_REFUSED = "map_refused"
    NO_ODOMETRY = "no_odometry"
    ODOMETRY_STALE = "odometry_stale"
    SCAN_BLIND = "scan_blind"
    SCAN_REFUSED = "scan_refused"


class Telling:
    """Publishing part of a node: verdicts, poses, transforms and markers.

    Attributes:
        dropped: Number of scans that were not answered.
        last: The last answer, if any.
        said: The last verdict in words.
        published: Number of poses published on `/initialpose`.
    """

    def __init__(self, bus: Bus, parameters: Parameters) -> None:
        """Advertise on a bus what the parameters say."""
        self.parameters = parameters
        self.dropped = self.published = 0
        self.said = "There was no scan."
        self.last: Belief | Answer | None = None
        self.loaded = Loaded(parameters.map_frame)
        self.watchdog = Watchdog(self._say_of_other)
        self.outputs = _outputs(parameters)
        self._out = {name: bus.advertise(topic) for name, topic in self.outputs.items()}
        self._told: tuple[Pose, Pose, str | None] | None = None
        self._own: bytes | None = None
        self._note = ""
        self._odom_frame = parameters.odom_frame

    def _tell(self, time: float, told: Belief | Answer, odometry: Pose) -> None:
        """Publish what a scan gave."""
        self.last = told
        best, frame = told.best, self.loaded.frame_of(told.map)
        values = {"reasons": ",".join(told.reasons), **({} if best is None else _values(best))}
        if told.map is not None:
            values |= {"map": told.map, "loaded": self.loaded.name or ""}
        if isinstance(told, Belief):
            values |= {"lambda_min": f"{told.least:.6g}", "travelled_m": f"{told.travelled:.3f}"}
        hidden = self.loaded.hides(told.map)
        words = told.advice
        if hidden and told.verdict is Verdict.UNIQUE:
            words += f" It is on {told.map}, and {self.loaded.name} is loaded: load {told.map}."
        self._say(time, told.verdict, words, values, frame)
        here = [estimate for estimate in told.estimates if estimate.map == told.map]
        self._out["rivals"](messages.poses_message(here[1:], time, frame))
        self._out["markers"](messages.markers_message(here, time, frame))
        if told.verdict is Verdict.LOST:
            self._told = None
        if told.verdict is not Verdict.UNIQUE or best is None:
            return
        message = messages.stamped_pose(best, time, frame)
        pose = best.pose if isinstance(best.pose, Pose) else best.pose.flat
        if "pose" in self._out:
            self._out["pose"](message)
        if hidden:  # nobody could use it in the frame of another map
            self._told = None
            return
        if "tf" in self._out:
            link = pose @ odometry.inverse
            self._out["tf"](messages.transforms_message(link, time, frame, self._odom_frame))
        news, self._told = self._is_news(pose, odometry, told), (pose, odometry, told.map)
        if "initialpose" in self._out and news:
            self.published += 1
            self._own = messages.encode(messages.POSE, message)
            self.watchdog.mended()
            self._out["initialpose"](message)
            log.info("the robot is at x %.2f m, y %.2f m, yaw %.2f rad", *pose.vector)

    def _is_news(self, pose: Pose, odometry: Pose, told: Belief | Answer) -> bool:
        """Whether a unique pose is to be published: odometry did not lead there."""
        if self.parameters.watch and self.watchdog.answered:
            return self.watchdog.wrong
        if self._told is None or self._told[2] != told.map:
            return True
        if not isinstance(told, Belief):
            return False
        before, then, _ = self._told
        return not is_same(before @ then.inverse @ odometry, pose, USUAL)

    def _say(
        self,
        time: float,
        verdict: Verdict,
        words: str,
        values: dict[str, str],
        frame: str | None = None,
    ) -> None:
        """Publish a verdict in words; what else was noticed goes along once."""
        self.said = words
        note, self._note = self._note, ""
        more = {"verdict": verdict.value, **values} | ({"note": note} if note else {})
        if self.dropped:
            more["dropped"] = str(self.dropped)
        frame = self.parameters.map_frame if frame is None else frame
        level = LEVELS[verdict]
        self._out["verdict"](messages.verdict_message(time, frame, "isovist", level, words, more))

    def _refuse(self, time: float, reason: InputReason, words: str) -> None:
        """Publish why nothing can be said of a scan."""
        self._say(time, Verdict.LOST, words, {"reasons": reason.value})

    def _say_of_other(self, time: float, level: int, words: str, values: dict[str, str]) -> None:
        """Publish what a check of another system's pose gave."""
        name, frame = f"isovist: {self.parameters.watch}", self.parameters.map_frame
        self._out["verdict"](messages.verdict_message(time, frame, name, level, words, values))


def _values(best: Estimate) -> dict[str, str]:
    """The best place as the pairs of a diagnostic status."""
    rows = {"x": best.pose.x, "y": best.pose.y, "yaw": best.pose.yaw}
    if isinstance(best.pose, Pose3) and len(best.covariance) > 4:  # roll and pitch were fitted
        rows |= {"z": best.pose.z, "roll": best.pose.roll, "pitch": best.pose.pitch}
    spread = float(np.sqrt(np.linalg.eigvalsh(best.covariance[:2, :2])[-1]))
    rows |= {"spread_m": spread, "probability": best.probability, "inliers": best.inliers}
    return {name: f"{value:.6g}" for name, value in rows.items()}


def _outputs(parameters: Parameters) -> dict[str, Topic]:
    """The topics that a node publishes on."""
    known = {
        "initialpose": Topic("/initialpose", messages.POSE, depth=1),
        "pose": Topic("/isovist/pose", messages.POSE),
        "tf": Topic("/tf", messages.TRANSFORM, depth=100),
    }
    always = {
        "verdict": Topic("/isovist/verdict", messages.VERDICT),
        "rivals": Topic("/isovist/rivals", messages.POSES),
        "markers": Topic("/isovist/markers", messages.MARKERS),
    }
    return always | {name: known[name] for name in parameters.publish}
