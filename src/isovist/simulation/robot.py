"""A simulated robot that knows nothing but scans and odometry.

It sees what the sensor would see from its true pose, and moves by what it commands; odometry
reports the motion with drift.  It turns on the spot, then drives straight, a stride between two
updates, and stops when a beam ends in its way.
"""

from dataclasses import dataclass, field

import numpy as np

from isovist.atlas.base import AnyScan, Atlas
from isovist.errors import InputError
from isovist.exploration.paths import Ground, clear_ahead
from isovist.exploration.propose import Proposal
from isovist.localization.answer import Verdict
from isovist.poses import Pose
from isovist.sensing.drift import Drift
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.models.spinning import SpinningLidar
from isovist.sensing.scan import Scan
from isovist.tracking.belief import Belief, sees
from isovist.tracking.tracker import Tracker


@dataclass(frozen=True, slots=True)
class RobotSettings:
    """Size and motion settings of the simulated robot, those of a small indoor robot.

    Attributes:
        body: Radius of the robot, and least room around a random start, in m.
        stride: Most motion between two updates: distance in m, and turn on the spot in rad.
        aim: Smaller turns are made while driving, in rad.
        leg: Distance after which the rule is asked again, in m.
        nowhere: A leg shorter than this, in m, has led nowhere, and the next one is random; but so
            many turns on the spot in a row are legs.
        room: A random leg begins where the scan shows so much room, in m, or after so many tries
            anywhere.
        looks: Scans per m of the limit after which a run gives up: the robot cannot get away.
        probe: Beams of the scans that try out random starts.
    """

    body: tuple[float, float] = (0.15, 0.3)
    stride: tuple[float, float] = (0.3, float(np.radians(60.0)))
    aim: float = float(np.radians(25.0))
    leg: float = 2.0
    nowhere: tuple[float, int] = (0.3, 3)
    room: tuple[float, int] = (1.0, 50)
    looks: int = 20
    probe: int = 24


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """State of the simulation after one update.

    Attributes:
        truth: True pose T_world_robot.
        distance: Distance driven so far, in m.
        belief: Belief of the tracker.
        scan: Scan of the robot; with a 3D sensor, reduced to its plane of motion.
        proposal: Proposal that led here; `None` at the start and after a random leg.
    """

    truth: Pose
    distance: float
    belief: Belief
    scan: Scan
    proposal: Proposal | None


@dataclass(eq=False)
class Robot:
    """Simulated robot: its true state, its sensors and tracker, and its motions."""

    atlas: Atlas
    ground: Ground
    truth: Pose
    lidar: Lidar | SpinningLidar
    drift: Drift
    seed: int
    settings: RobotSettings
    odometry: Pose = field(default_factory=Pose)
    distance: float = 0.0
    looks: int = 0
    turns: int = 0
    scan: Scan | None = None
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tracker = Tracker(self.atlas, drift=self.drift)
        self.noise, self.choice = (np.random.default_rng([self.seed, k]) for k in (0, 1))

    @property
    def sure(self) -> bool:
        """Whether the last verdict is "unique"."""
        return bool(self.steps) and self.steps[-1].belief.verdict is Verdict.UNIQUE

    @property
    def lost(self) -> bool:
        """Whether there is no estimate to plan from, or the current scan sees next to nothing."""
        if self.scan is None or not self.steps or not self.steps[-1].belief.estimates:
            return True
        return not sees(self.scan, self.tracker.localization)

    def look(self, proposal: Proposal | None) -> None:
        """Take a scan and update the tracker; skip the update if nothing is within reach."""
        self.looks += 1
        level = self.ground.level
        try:
            seen: AnyScan
            if level is None:
                seen = self.lidar.scan(self.ground.walls, self.truth, self.noise)
            else:
                seen = self.lidar.scan(level.walls, level.stand(self.truth), self.noise)
            self.scan = self.ground.flatten(seen)
        except InputError:
            self.scan = None
            return
        belief = self.tracker.update(self.odometry, seen)
        self.steps.append(Step(self.truth, self.distance, belief, self.scan, proposal))

    def room(self, scan: Scan, heading: float, reach: float) -> float:
        """Return how far the robot could drive straight in a direction, in m."""
        return clear_ahead(scan, heading, self.ground.settings.robot.driving_clearance_m, reach)

    def move(self, motion: Pose) -> bool:
        """Move by a command and simulate its odometry; return whether there was room."""
        target = self.truth @ motion
        if not self.ground.fits(self.truth.position, target.position, self.settings.body[0]):
            return False
        self.distance += float(np.hypot(motion.x, motion.y))
        self.truth = target
        self.odometry = self.odometry @ self.drift.simulate(motion, self.noise)
        return True

    def turn(self, angle: float, proposal: Proposal | None) -> None:
        """Turn on the spot, with a scan after each part of the turn."""
        for _ in range(parts := int(np.ceil(abs(angle) / self.settings.stride[1]))):
            if not self.sure:
                self.move(Pose(0.0, 0.0, angle / parts))
                self.look(proposal)

    def advance(self, angle: float, stride: float, proposal: Proposal | None) -> bool:
        """Turn, drive straight and scan; return whether the robot can go on."""
        if abs(angle) > self.settings.aim:
            self.turn(angle, proposal)
            angle = 0.0
            if self.sure:
                return False
        if self.scan is not None and self.room(self.scan, angle, stride) < stride:
            return False
        c, s = np.cos(angle), np.sin(angle)
        moved = self.move(Pose(stride * c, stride * s, angle))
        self.look(proposal)
        return moved and not self.sure

    def follow(self, proposal: Proposal, limit: float) -> None:
        """Follow the path of a proposal by odometry, until the rule must be asked again."""
        corners = self.odometry.apply(proposal.path[1:, :2])
        start = self.distance
        if proposal.distance == 0.0:
            self.turn(proposal.direction, proposal)
            self.turns += 1
            return
        self.turns = 0
        for corner in corners:
            while self.distance < min(limit, start + self.settings.leg):
                away = self.odometry.inverse.apply(corner)
                left = float(np.hypot(*away))
                if left < 0.05:
                    break
                angle = float(np.arctan2(away[1], away[0]))
                if not self.advance(angle, min(left, self.settings.stride[0]), proposal):
                    return

    def wander(self, limit: float) -> None:
        """Turn to a random free direction, then drive straight until something is in the way."""
        needed, tries = self.settings.room
        for _ in range(tries):
            angle = float(self.choice.uniform(-np.pi, np.pi))
            seen = self.scan is not None and self.scan.bearings[0] < angle < self.scan.bearings[-1]
            if not seen or self.scan is None or self.room(self.scan, angle, needed) >= needed:
                break
        self.turn(angle, None)
        stride = self.settings.stride[0]
        while not self.sure and self.distance < limit and self.advance(0.0, stride, None):
            pass
