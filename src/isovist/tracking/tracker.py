"""A belief about where a moving robot is, from an unknown start.

The bank holds every place that may be right.  At each update odometry carries them along, the scan
corrects them and rates them; while rivals remain, the map is searched anew every metre, and what is
found is walked back along the way driven so far (`bank`).  Places that the way refutes are dropped.
When the scan suddenly no longer fits the one place left, the robot may have been carried away: what
was seen before is forgotten and the search begins again.  A scan that sees next to nothing is left
out, and odometry alone carries the places on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter

import numpy as np

from isovist.atlas.plane import Atlas
from isovist.errors import InputError
from isovist.localization.answer import Estimate, Verdict
from isovist.localization.judge import (
    APART,
    LISTED,
    LOOSE,
    POOR,
    TURNED,
    WITNESSES,
    count_blocks,
    covariances,
    in_world,
)
from isovist.localization.refine import refine
from isovist.localization.region import Region
from isovist.localization.search import search
from isovist.poses import Pose, wrap_angle
from isovist.sensing.scan import Scan
from isovist.tracking.bank import FRESH_M, FRESH_RAD, SLIP, Bank, Frame, compare
from isovist.tracking.chain import refine_chain
from isovist.tracking.drift import Drift
from isovist.tracking.gramian import least_needed
from isovist.tracking.trajectory import StartFit
from isovist.types import FloatArray

STEP_M, STEP_RAD = 0.4, 0.35
"""A frame is kept when the last kept one is this far, in m or rad."""
FOUND, FEW = 120, 20
"""Most places that a search adds: in a long corridor many look alike.  Few will do for a check."""
HOPELESS = 2.0
"""A place that explains a scan so much worse than another is not tried, in nats per beam."""
SEARCH_M = 1.0
"""Way between two searches while rivals remain, in m."""
CHECK_M = 8.0
"""Way between two searches when there is only one place left, in m."""
AGREEMENT, MARGIN = 1.1, 0.3
"""A rival is refuted when t (share of beams explained)² and d of `bank` (2) reach these.  Where
much is unexplained the right place may be missing from the bank, hence the square."""
CLEAR = (2.0, 1.2)
"""Or when t and d alone reach these: a lead that no missing place would leave."""
AT_ONCE, LASTING_M = 1.25, 1.0
"""A place becomes unique at once where the first of them is reached instead of `AGREEMENT`; else
when all rivals have been refuted for this way, in m."""
GONE = 30.0
"""A refuted rival this far behind in E is dropped, in nats."""
MOST = 250
"""Most places in the bank."""
DROP = 1.5
"""A scan whose mean rating falls this far below the usual surprises, in nats."""
SURPRISES = 2
"""Surprises in a row after which what was seen before is forgotten."""
HABIT = 0.2
"""Weight of the present scan in the usual rating."""
SLIPPED = (1.5, 0.8)
"""How far odometry may slip between two scans, in m and rad."""
TIGHT = (0.1, 0.1, 0.04)
"""Least standard deviation of a place just found, in m and rad."""
ACCURACY = 0.1
"""Of a refined start, in m."""
BENT = (0.025, 0.025, np.radians(0.4))
"""Standard deviation that no way averages out, in m and rad: what the map has wrong."""


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """Where the robot is, as far as its way so far can tell.

    Attributes:
        verdict: Unique, ambiguous or lost.
        advice: The verdict in words, and what to do about it.
        estimates: Of the present pose T_world_robot, from most to least likely.
        least: λ_min of the Gramian: what the frames kept have told about the present pose, along
            the axis that they tell least about, per m²; see `track.gramian`.
        travelled: Way since the start by odometry, in m.
        timing_ms: Milliseconds spent in `total`, and of these on `search`.
    """

    verdict: Verdict
    advice: str
    estimates: tuple[Estimate, ...]
    least: float
    travelled: float
    timing_ms: Mapping[str, float] = field(default_factory=dict)

    @property
    def best(self) -> Estimate | None:
        """The most likely estimate, or `None` when there is none."""
        return self.estimates[0] if self.estimates else None


class Tracker:
    """Follows a robot on a map, from an unknown start, through kidnappings.

    Attributes:
        bank: The places that may be right, best first.
        travelled: Way by odometry, in m.

    Args:
        atlas: The map, described (`build`).
        drift: How far odometry can be trusted.
    """

    def __init__(self, atlas: Atlas, *, drift: Drift | None = None) -> None:
        if not isinstance(atlas, Atlas):
            raise InputError("A tracker follows robots in the plane; this atlas is in space.")
        self.atlas = atlas
        self.drift = Drift() if drift is None else drift
        self.travelled = 0.0
        self.bank = Bank(atlas, self.drift)
        self._odometry: Pose | None = None
        self._sensor: Pose | None = None
        self._searched = -np.inf
        self._settled = False
        self._usual = 0.0
        self._surprises = 0
        self._shaken = False
        self._mount = Pose()
        self._leads_since = np.inf

    def update(self, odometry: Pose, scan: Scan) -> Belief:
        """Move by what odometry says, look, and judge.

        Args:
            odometry: T_odom_robot in any fixed frame; only its changes count.
            scan: What the sensor saw there.
        """
        start = perf_counter()
        if not isinstance(scan, Scan):
            raise InputError("A tracker follows robots in the plane; this scan is in space.")
        if not np.isfinite(odometry.vector).all():
            raise InputError(f"`odometry` must be finite, got {odometry}.")
        self._mount = scan.T_robot_sensor
        T_odom_sensor = odometry @ self._mount
        view = scan.field_of_view
        share = self._move(odometry, T_odom_sensor)
        spent = 0.0
        if sees(scan):
            weight = self._weight(T_odom_sensor, view)
            self.bank.look(Frame.from_scan(scan, T_odom_sensor, weight), share)
            spent = self._seek(scan)
        elif len(self.bank) == 0:
            few = "The scan sees next to nothing of what is around. Drive on."
            timing = {"search": 0.0, "total": 1e3 * (perf_counter() - start)}
            return Belief(Verdict.LOST, few, (), 0.0, self.travelled, timing)
        E = self.bank.sort()
        belief = self._judge(scan, E)
        total = 1e3 * (perf_counter() - start)
        return Belief(*belief, self.travelled, {"search": spent, "total": total})

    def refine_start(self, accuracy: float = ACCURACY) -> tuple[Pose, StartFit] | None:
        """Where the frames kept began, from all of them at once; `None` while that says too little.

        λ_min must pass what `readiness.least_needed` derives from the noise and the accuracy.

        Args:
            accuracy: Wanted of the start, in m.

        Returns:
            T_world_robot at the first frame by the belief, and refined by `chain.refine_chain`.
        """
        bank = self.bank
        if len(bank) == 0 or bank.gramian().least < least_needed(accuracy):
            return None
        T_sensor_robot = self._mount.inverse
        scans = [Scan(f.bearings, f.ranges, T_robot_sensor=self._mount) for f in bank.frames]
        odometry = [frame.T_odom_sensor @ T_sensor_robot for frame in bank.frames]
        drift = [self.drift.covariance(a.inverse @ b) for a, b in pairwise(odometry)]
        start = self.atlas.world.origin @ Pose.from_vector(bank.frames[0].places[0])
        guess = start @ T_sensor_robot
        steps = np.reshape(drift, (-1, 3, 3))
        return guess, refine_chain(self.atlas, scans, odometry, guess, steps)

    def _move(self, odometry: Pose, T_odom_sensor: Pose) -> float:
        """Carry the bank along; how far the next scan may correct it, 0 to 1.

        What the map has wrong stays wrong while the robot stands; driving and turning let
        odometry drift.
        """
        if self._odometry is None or self._sensor is None:
            self._odometry, self._sensor = odometry, T_odom_sensor
            return 1.0
        step = self._odometry.inverse @ odometry
        self.travelled += float(np.hypot(step.x, step.y))
        motion = self._sensor.inverse @ T_odom_sensor
        self._odometry, self._sensor = odometry, T_odom_sensor
        self.bank.carry(motion)
        return float(np.clip(_newness(motion, 0.0) * 3.0, 0.05, 1.0))

    def _weight(self, T_odom_sensor: Pose, view: float) -> float:
        """w of the next frame; a last frame that is still near is replaced by it."""
        frames = self.bank.frames
        if len(frames) > 1 and _near(frames[-2].T_odom_sensor, frames[-1].T_odom_sensor):
            frames.pop()
        if not frames:
            return 1.0
        motion = frames[-1].T_odom_sensor.inverse @ T_odom_sensor
        return float(min(1.0, _newness(motion, view)))

    def _seek(self, scan: Scan) -> float:
        """Search the map when it is time to; milliseconds spent."""
        start = perf_counter()
        surprised = self._settled and self._surprised()
        pause = CHECK_M if self._settled else SEARCH_M
        if surprised or self.travelled - self._searched >= pause:
            self._searched = self.travelled
            found = self._find(scan)
            if surprised:
                lead = self._recapture(scan, found)
                self._shaken = lead < MARGIN
                self._surprises = 0 if lead > -MARGIN else self._surprises + 1
                if self._surprises >= SURPRISES:
                    self._forget()
            self.bank.add(*found)
        if not surprised:
            self._shaken, self._surprises = False, 0
        return 1e3 * (perf_counter() - start)

    def _surprised(self) -> bool:
        """Whether the last scan fits the best place much worse than usual."""
        score = float(self.bank.frames[-1].scores[0])
        if score < max(POOR, self._usual - DROP):
            return True
        self._usual += HABIT * (score - self._usual)
        return False

    def _recapture(self, scan: Scan, found: tuple[FloatArray, FloatArray]) -> float:
        """Look around for the place, in case that odometry slipped, and take it up if it is good.

        Returns:
            By how much it explains the scan better than all other places, `found` ones too, in
            nats per beam; −∞ when nothing nearby explains it.
        """
        bank, frame = self.bank, self.bank.frames[-1]
        unit = self.atlas.world.resolution
        cell = bank.poses[0] / np.array([unit, unit, 1.0])
        pose, _ = in_world(self.atlas, scan, cell, bank.spreads[0])
        near, loose = self._find(scan, Region.around(pose, *SLIPPED))
        if len(near) == 0:
            return -np.inf
        said = Frame(frame.bearings, frame.ranges, frame.T_odom_sensor, frame.weight)
        poses = np.concatenate([near, found[0]])
        spreads = np.concatenate([loose, found[1]])
        poses, spreads = compare(self.atlas, said, poses, spreads, 1.0)
        best = int(np.argmax(said.scores[: len(near)]))
        score = float(said.scores[best])
        apart = np.hypot(*(poses[:, :2] - poses[best, :2]).T) > APART
        apart |= np.abs(wrap_angle(poses[:, 2] - poses[best, 2])) > TURNED
        lead = score - float(said.scores[apart].max(initial=-np.inf))
        if score < max(POOR, self._usual - DROP):
            return -np.inf
        if lead > -MARGIN:
            bank.poses[0], bank.spreads[0] = poses[best], spreads[best]
            frame.blocks[0], frame.scores[0] = said.blocks[best], score
            frame.inliers[0], frame.slips[0] = said.inliers[best], SLIP
            frame.places[0], frame.known[0] = poses[best], said.known[best]
        return lead

    def _find(self, scan: Scan, prior: Region | None = None) -> tuple[FloatArray, FloatArray]:
        """Places that explain one scan, as the bank wants them."""
        most = FEW if self._settled else FOUND
        fits = refine(self.atlas, scan, search(self.atlas, scan, prior), most)
        scores = fits.ratings.mean(axis=1, dtype=np.float64)
        good = scores >= scores.max(initial=-np.inf) - HOPELESS
        unit = self.atlas.world.resolution
        spreads = covariances(fits.normal[good], unit, count_blocks(fits.bearings))
        spreads += np.diag(np.square(TIGHT))
        return fits.poses[good] * np.array([unit, unit, 1.0]), spreads

    def _forget(self) -> None:
        """Drop all but the present scan: odometry cannot be trusted across the surprise."""
        del self.bank.frames[:-1]
        self.bank.frames[-1].weight = 1.0
        self._settled, self._leads_since = False, np.inf

    def _judge(self, scan: Scan, E: FloatArray) -> tuple[Verdict, str, tuple[Estimate, ...], float]:
        bank = self.bank
        if len(bank) == 0:
            return Verdict.LOST, "No place of the map can be tried.", (), 0.0
        t, d = bank.margins()
        score, inliers = bank.frames[-1].scores, bank.frames[-1].inliers
        explained = float(np.mean([frame.inliers[0] for frame in bank.frames]))
        clear = (t >= CLEAR[0]) & (d >= CLEAR[1])
        refuted = clear | ((t * explained**2 >= AGREEMENT) & (d >= MARGIN))
        at_once = clear | ((t * explained**2 >= AT_ONCE) & (d >= MARGIN))
        self._leads_since = min(self._leads_since, self.travelled) if refuted.all() else np.inf
        lasting = self._settled or self.travelled - self._leads_since >= LASTING_M
        gone = refuted & (E[0] - E[1:] >= GONE)
        keep = np.flatnonzero(np.append(False, gone) == 0)[:MOST]
        rivals = int((~refuted).sum())
        chances = np.exp(E - E[0])
        chances /= chances.sum()
        unit = self.atlas.world.resolution
        cells = bank.poses / np.array([unit, unit, 1.0])
        estimates = tuple(
            Estimate(
                *in_world(self.atlas, scan, cells[k], bank.spreads[k] + np.diag(np.square(BENT))),
                float(chances[k]),
                float(inliers[k]),
                float(score[k]),
            )
            for k in keep[:LISTED]
        )
        recent = float(np.mean([frame.scores[0] for frame in bank.frames[-3:]]))
        if not self._settled:
            recent = min(recent, float(score[0]))
        loosest = float(np.sqrt(np.linalg.eigvalsh(bank.spreads[0, :2, :2])[-1]))
        witnesses = sum(frame.weight * frame.blocks.shape[1] for frame in bank.frames)
        verdict, advice = self._verdict(recent, loosest, witnesses, rivals)
        if verdict is Verdict.UNIQUE and not (lasting or at_once.all()):
            verdict = Verdict.AMBIGUOUS
            advice = "One place leads, but not by much. Drive on to be sure."
        bank.select(keep)
        if verdict is Verdict.UNIQUE and not self._settled:
            self._settled, self._usual = True, float(score[0])
        return verdict, advice, estimates, bank.gramian().least

    def _verdict(
        self, recent: float, loosest: float, witnesses: float, rivals: int
    ) -> tuple[Verdict, str]:
        if recent < POOR:
            return Verdict.LOST, "The last scans fit nowhere in the map."
        if self._shaken:
            return Verdict.AMBIGUOUS, (
                "The scan no longer fits the place that was believed. Wait for the next scans."
            )
        if 2.0 * loosest > LOOSE:
            return Verdict.AMBIGUOUS, (
                f"The place can slide by {loosest:.1f} m (standard deviation) along one axis. "
                "Drive until an end or a door is in view."
            )
        if witnesses < WITNESSES:
            return Verdict.AMBIGUOUS, (
                "What was seen so far is too little to exclude other places. Turn or drive on."
            )
        if rivals:
            return Verdict.AMBIGUOUS, (
                f"{rivals} other place{'s' if rivals > 1 else ''} would explain the way so far "
                "about as well. Drive on."
            )
        return Verdict.UNIQUE, "One place explains the way so far, and no other comes near."


def sees(scan: Scan) -> bool:
    """Whether a scan sees enough to say anything: in 6 blocks of 10°, or half of its view."""
    blocks = count_blocks(scan.bearings[scan.valid])
    return blocks >= min(WITNESSES, 0.5 * count_blocks(scan.bearings))


def _newness(motion: Pose, view: float) -> float:
    """How much of a view (rad) was not seen before a motion; a turn shows only what was behind."""
    turned = min(abs(motion.yaw), max(0.0, 2.0 * np.pi - view))
    return float(np.hypot(motion.x, motion.y)) / FRESH_M + turned / FRESH_RAD


def _near(a: Pose, b: Pose) -> bool:
    motion = a.inverse @ b
    return bool(np.hypot(motion.x, motion.y) < STEP_M and abs(motion.yaw) < STEP_RAD)
