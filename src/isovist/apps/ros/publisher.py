"""Publish the answers of a node: verdicts, poses, transforms and markers."""

import logging
from enum import StrEnum

import numpy as np

from isovist.apps.ros import messages
from isovist.apps.ros.buses.bus import Bus, Topic
from isovist.apps.ros.map_frames import MapFrames
from isovist.apps.ros.parameters import Parameters
from isovist.apps.ros.watchdog import Watchdog
from isovist.localization import Answer, Estimate, LocalizationSettings, Verdict, is_same_place
from isovist.poses import Pose, Pose3
from isovist.tracking import Belief

LEVELS = {Verdict.UNIQUE: 0, Verdict.AMBIGUOUS: 1, Verdict.LOST: 2}
SETTINGS = LocalizationSettings()
log = logging.getLogger("isovist.ros")


class InputReason(StrEnum):
    """Reasons why a scan got no answer, with stable values; those of answers are in `Reason`."""

    NO_MAP = "no_map"
    MAP_REFUSED = "map_refused"
    NO_ODOMETRY = "no_odometry"
    ODOMETRY_STALE = "odometry_stale"
    SCAN_BLIND = "scan_blind"
    SCAN_REFUSED = "scan_refused"


class Publisher:
    """Publishing part of a node: verdicts, poses, transforms and markers.

    Attributes:
        dropped: Number of scans that were not answered.
        last: The last answer, if any.
        text: The last verdict in words.
        published: Number of poses published on `/initialpose`.
    """

    def __init__(self, bus: Bus, parameters: Parameters) -> None:
        """Advertise the topics of the parameters on a bus."""
        self.parameters = parameters
        self.dropped = self.published = 0
        self.text = "There was no scan."
        self.last: Belief | Answer | None = None
        self.map_frames = MapFrames(parameters.map_frame)
        self.watchdog = Watchdog(self._publish_check)
        self.outputs = _outputs(parameters)
        self._out = {name: bus.advertise(topic) for name, topic in self.outputs.items()}
        self._last_pose: tuple[Pose, Pose, str | None] | None = None
        self._own: bytes | None = None
        self._note = ""
        self._odom_frame = parameters.odom_frame

    def _publish_answer(self, time: float, answer: Belief | Answer, odometry: Pose) -> None:
        """Publish the answer to a scan."""
        self.last = answer
        frame = self.map_frames.frame_of(answer.map)
        self._publish_verdict(time, answer.verdict, *self._status(answer), frame)
        estimates = [estimate for estimate in answer.estimates if estimate.map == answer.map]
        self._out["rivals"](messages.poses_message(estimates[1:], time, frame))
        self._out["markers"](messages.markers_message(estimates, time, frame))
        if answer.verdict is Verdict.LOST:
            self._last_pose = None
        if answer.verdict is not Verdict.UNIQUE or answer.best is None:
            return
        message = messages.stamped_pose(answer.best, time, frame)
        if "pose" in self._out:
            self._out["pose"](message)
        if self.map_frames.is_other_loaded(answer.map):  # of no use in the frame of another map
            self._last_pose = None
            return
        pose = answer.best.pose if isinstance(answer.best.pose, Pose) else answer.best.pose.flat
        if "tf" in self._out:
            link = pose @ odometry.inverse
            self._out["tf"](messages.transforms_message(link, time, frame, self._odom_frame))
        is_news = self._is_news(pose, odometry, answer)
        self._last_pose = pose, odometry, answer.map
        if "initialpose" in self._out and is_news:
            self.published += 1
            self._own = messages.encode(messages.POSE, message)
            self.watchdog.reset()
            self._out["initialpose"](message)
            log.info("the robot is at x %.2f m, y %.2f m, yaw %.2f rad", *pose.vector)

    def _status(self, answer: Belief | Answer) -> tuple[str, dict[str, str]]:
        """Return text and values of the diagnostic status of an answer."""
        text, loaded = answer.advice, self.map_frames.name
        values = {"reasons": ",".join(answer.reasons)}
        values |= {} if answer.best is None else _values(answer.best)
        if answer.map is not None:
            values |= {"map": answer.map, "loaded": loaded or ""}
        if isinstance(answer, Belief):
            values["lambda_min"] = f"{answer.least:.6g}"
            values["travelled_m"] = f"{answer.travelled:.3f}"
        if answer.verdict is Verdict.UNIQUE and self.map_frames.is_other_loaded(answer.map):
            text += f" It is on {answer.map}, but {loaded} is loaded. Load {answer.map}."
        return text, values

    def _is_news(self, pose: Pose, odometry: Pose, answer: Belief | Answer) -> bool:
        """Return whether to publish a unique pose: odometry did not lead there."""
        if self.parameters.watch and self.watchdog.has_pose:
            return self.watchdog.is_wrong
        if self._last_pose is None or self._last_pose[2] != answer.map:
            return True
        if not isinstance(answer, Belief):
            return False
        last_pose, last_odometry, _ = self._last_pose
        return not is_same_place(last_pose @ last_odometry.inverse @ odometry, pose, SETTINGS)

    def _publish_verdict(
        self,
        time: float,
        verdict: Verdict,
        words: str,
        values: dict[str, str],
        frame: str | None = None,
    ) -> None:
        """Publish a verdict in words, together with the note of the last input, if any."""
        self.text = words
        note, self._note = self._note, ""
        pairs = {"verdict": verdict.value, **values} | ({"note": note} if note else {})
        if self.dropped:
            pairs["dropped"] = str(self.dropped)
        frame = self.parameters.map_frame if frame is None else frame
        level = LEVELS[verdict]
        self._out["verdict"](messages.verdict_message(time, frame, "isovist", level, words, pairs))

    def _refuse(self, time: float, reason: InputReason, words: str) -> None:
        """Publish why a scan has no answer."""
        self._publish_verdict(time, Verdict.LOST, words, {"reasons": reason.value})

    def _publish_check(self, time: float, level: int, words: str, values: dict[str, str]) -> None:
        """Publish the check of a pose of another system."""
        name, frame = f"isovist: {self.parameters.watch}", self.parameters.map_frame
        self._out["verdict"](messages.verdict_message(time, frame, name, level, words, values))


def _values(best: Estimate) -> dict[str, str]:
    """Return the best estimate as the pairs of a diagnostic status."""
    rows = {"x": best.pose.x, "y": best.pose.y, "yaw": best.pose.yaw}
    if isinstance(best.pose, Pose3) and len(best.covariance) > 4:  # roll and pitch were fitted
        rows |= {"z": best.pose.z, "roll": best.pose.roll, "pitch": best.pose.pitch}
    spread = float(np.sqrt(np.linalg.eigvalsh(best.covariance[:2, :2])[-1]))
    rows |= {"spread_m": spread, "probability": best.probability, "inliers": best.inliers}
    return {name: f"{value:.6g}" for name, value in rows.items()}


def _outputs(parameters: Parameters) -> dict[str, Topic]:
    """Return the topics that a node publishes on."""
    optional = {
        "initialpose": Topic("/initialpose", messages.POSE, depth=1),
        "pose": Topic("/isovist/pose", messages.POSE),
        "tf": Topic("/tf", messages.TRANSFORM, depth=100),
    }
    always = {
        "verdict": Topic("/isovist/verdict", messages.VERDICT),
        "rivals": Topic("/isovist/rivals", messages.POSES),
        "markers": Topic("/isovist/markers", messages.MARKERS),
    }
    return always | {name: optional[name] for name in parameters.publish}
