"""A simulated robot that knows only its scans and odometry.

Scans are simulated from its true pose; odometry reports its motion with drift. It turns on the
spot, then drives straight with one stride between two updates, and stops when a beam ends in its
way.
"""

from dataclasses import dataclass, field

import numpy as np

from isovist.atlas import AnyScan, Atlas
from isovist.errors import InputError
from isovist.exploration import Ground, Proposal, clear_ahead
from isovist.localization import Verdict
from isovist.poses import Pose
from isovist.sensing import Drift, Lidar, Scan, SpinningLidar
from isovist.simulation.settings import RobotSettings
from isovist.tracking import Belief, Tracker, shows_enough


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """State of the simulation after one update.

    Attributes:
        truth: True pose T_world_robot.
        distance: Distance driven so far, in m.
        belief: Belief of the tracker.
        scan: Scan of the robot, in 3D reduced to its plane of motion.
        proposal: Proposal that led to this update; `None` at the start and after a random drive.
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
    scans: int = 0
    turns: int = 0
    scan: Scan | None = None
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tracker = Tracker(self.atlas, drift=self.drift)
        self.noise, self.choice = (np.random.default_rng([self.seed, k]) for k in (0, 1))

    @property
    def is_unique(self) -> bool:
        """True if the last verdict is "unique"."""
        return bool(self.steps) and self.steps[-1].belief.verdict is Verdict.UNIQUE

    @property
    def is_lost(self) -> bool:
        """True if there is no estimate to plan from, or the current scan shows too little."""
        if self.scan is None or not self.steps or not self.steps[-1].belief.estimates:
            return True
        return not shows_enough(self.scan, self.tracker.localization)

    def take_scan(self, proposal: Proposal | None) -> None:
        """Take a scan and update the tracker; skip the update if nothing is within reach."""
        self.scans += 1
        level = self.ground.level
        try:
            scan: AnyScan
            if level is None:
                scan = self.lidar.scan(self.ground.walls, self.truth, self.noise)
            else:
                scan = self.lidar.scan(level.walls, level.stand(self.truth), self.noise)
            self.scan = self.ground.flatten(scan)
        except InputError:
            self.scan = None
            return
        belief = self.tracker.update(self.odometry, scan)
        self.steps.append(Step(self.truth, self.distance, belief, self.scan, proposal))

    def free_distance(self, scan: Scan, heading: float, reach: float) -> float:
        """Return how far the robot could drive straight in a direction, in m."""
        return clear_ahead(scan, heading, self.ground.settings.robot.driving_clearance_m, reach)

    def move(self, motion: Pose) -> bool:
        """Move by a command and simulate its odometry; return whether there was room."""
        target = self.truth @ motion
        if not self.ground.fits(self.truth.position, target.position, self.settings.radius_m):
            return False
        self.distance += float(np.hypot(motion.x, motion.y))
        self.truth = target
        self.odometry = self.odometry @ self.drift.simulate(motion, self.noise)
        return True

    def turn(self, angle: float, proposal: Proposal | None) -> None:
        """Turn on the spot, with a scan after each part of the turn."""
        for _ in range(parts := int(np.ceil(abs(angle) / self.settings.max_turn_rad))):
            if not self.is_unique:
                self.move(Pose(0.0, 0.0, angle / parts))
                self.take_scan(proposal)

    def advance(self, angle: float, stride: float, proposal: Proposal | None) -> bool:
        """Turn, drive straight and scan; return whether the robot can go on."""
        if abs(angle) > self.settings.max_drive_angle_rad:
            self.turn(angle, proposal)
            angle = 0.0
            if self.is_unique:
                return False
        if self.scan is not None and self.free_distance(self.scan, angle, stride) < stride:
            return False
        c, s = np.cos(angle), np.sin(angle)
        has_moved = self.move(Pose(stride * c, stride * s, angle))
        self.take_scan(proposal)
        return has_moved and not self.is_unique

    def follow(self, proposal: Proposal, limit: float) -> None:
        """Follow the path of a proposal by odometry, for one leg."""
        corners = self.odometry.apply(proposal.path[1:, :2])
        start = self.distance
        if proposal.distance == 0.0:
            self.turn(proposal.direction, proposal)
            self.turns += 1
            return
        self.turns = 0
        for corner in corners:
            while self.distance < min(limit, start + self.settings.leg_m):
                offset = self.odometry.inverse.apply(corner)
                distance = float(np.hypot(*offset))
                if distance < 0.05:
                    break
                angle = float(np.arctan2(offset[1], offset[0]))
                if not self.advance(angle, min(distance, self.settings.max_stride_m), proposal):
                    return

    def wander(self, limit: float) -> None:
        """Turn to a random free direction, then drive straight until something is in the way."""
        min_free = self.settings.min_free_m
        for _ in range(self.settings.direction_tries):
            angle = float(self.choice.uniform(-np.pi, np.pi))
            scan = self.scan
            is_visible = scan is not None and scan.bearings[0] < angle < scan.bearings[-1]
            if scan is None or not is_visible:
                break
            if self.free_distance(scan, angle, min_free) >= min_free:
                break
        self.turn(angle, None)
        stride = self.settings.max_stride_m
        while not self.is_unique and self.distance < limit and self.advance(0.0, stride, None):
            pass
