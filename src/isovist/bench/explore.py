"""A lost robot that drives until it knows where it is, simulated.

The robot sees what the sensor would see from its true pose, and moves by what it commands; odometry
reports the motion with drift.  It knows nothing but scans and odometry: every verdict is the
tracker's.  It turns on the spot, then drives straight, at most `STRIDE` between two updates, and
stops when a beam ends in its way.  After each leg it asks the rule again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from isovist.atlas.plane import Atlas
from isovist.bench.trials import NEAR, TURNED, simulated_trials
from isovist.errors import InputError
from isovist.exploration.paths import Ground, clear_ahead
from isovist.exploration.propose import Proposal, Rule, propose
from isovist.localization.answer import Verdict
from isovist.poses import Pose, wrap_angle
from isovist.sensing.lidar import Lidar
from isovist.sensing.scan import Scan
from isovist.tracking.drift import Drift
from isovist.tracking.tracker import Belief, Tracker, sees
from isovist.types import FloatArray, readonly

STRIDE = 0.3
"""Way between two updates, in m."""
SWING = np.radians(60.0)
"""Turn between two updates, in rad."""
AIM = np.radians(25.0)
"""Smaller turns are made while driving."""
LEG = 2.0
"""A rule is asked again after this way, in m."""
BODY = 0.15
"""Radius of the robot itself, in m: no nearer to anything can it get."""
START = 0.3
"""Of a random start from all walls, in m."""
LIMIT = 40.0
"""Way after which a run gives up, in m."""
ROOM, TRIES = 1.0, 50
"""A random leg begins where the scan shows so much room, in m, or after so many tries anywhere."""
NOWHERE = 0.3
"""A leg shorter than this, in m, has led nowhere: the next one is random."""
TURNS = (1, 2, 3)
"""But so many turns on the spot in a row are legs."""
LOOKS = 20
"""Scans per m of the limit after which a run gives up: the robot cannot get away."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What was so after one update.

    Attributes:
        truth: T_world_robot.
        distance: Driven so far, in m.
        belief: Of the tracker.
        scan: What the robot saw.
        proposal: That led here, or `None`: a random leg or the start.
    """

    truth: Pose
    distance: float
    belief: Belief
    scan: Scan
    proposal: Proposal | None


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A drive from waking up to being sure.

    Attributes:
        rule: That chose the ways.
        steps: One for each update.
        distance: Driven until unique, or until the run gave up, in m.
        unique: Whether it became unique.
        right: Whether it did and the best estimate is within 0.5 m and 10° of the truth.
    """

    rule: Rule
    steps: tuple[Step, ...]
    distance: float
    unique: bool
    right: bool

    @property
    def poses(self) -> FloatArray:
        """(x, y, yaw) of the truth at each update, shape (n, 3)."""
        return readonly(np.array([step.truth.vector for step in self.steps]))

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Of the belief at each update."""
        return tuple(step.belief.verdict for step in self.steps)

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """In the order in which they were followed."""
        seen = {id(s.proposal): s.proposal for s in self.steps if s.proposal is not None}
        return tuple(seen.values())


def explore(
    atlas: Atlas,
    start: Pose,
    lidar: Lidar,
    rule: Rule | str = Rule.RIVALS,
    *,
    drift: Drift | None = None,
    seed: int = 0,
    limit: float = LIMIT,
    ground: Ground | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Drive until the tracker says "unique", or for `limit` m, or for `LOOKS` looks per m of them.

    Args:
        atlas: The map; its walls are also what the sensor sees.
        start: True pose T_world_robot at the start, unknown to the robot.
        lidar: The sensor.
        rule: Where to drive.
        drift: Of the odometry, simulated and believed.
        seed: Of sensor, odometry and random legs.
        limit: In m.
        ground: Of the map, when it is at hand already.
        progress: Told the share of the limit that is driven.
    """
    rule = Rule.from_text(rule)
    if not (np.isfinite(limit) and limit > 0.0):
        raise InputError(f"`limit` must be a positive length in m, got {limit}.")
    _check_seed(seed)
    ground = Ground.from_atlas(atlas) if ground is None else ground
    if ground.clearance([start.x, start.y]) < BODY:
        raise InputError(
            f"The robot at ({start.x:g}, {start.y:g}) is less than {BODY} m from a wall."
        )
    robot = _Robot(atlas, ground, start, lidar, Drift() if drift is None else drift, seed)
    robot.look(None)
    stuck = False
    while not robot.sure and robot.distance < limit and robot.looks < LOOKS * (1.0 + limit):
        before = robot.distance
        if rule is Rule.RANDOM:
            robot.wander(limit)
        elif stuck or robot.scan is None or robot.lost:
            robot.wander(min(limit, before + LEG))
            stuck = False
        else:
            proposal = propose(robot.tracker, ground, robot.scan, rule)
            robot.follow(proposal, limit)
            stuck = robot.distance - before < NOWHERE and robot.turns not in TURNS
        if progress is not None:
            progress(min(1.0, robot.distance / limit))
    if not robot.steps:
        raise InputError(
            f"On a way of {robot.distance:.1f} m from ({start.x:g}, {start.y:g}) the sensor never "
            "reached a wall."
        )
    best = robot.steps[-1].belief.best
    right = robot.sure and best is not None and _alike(best.pose, robot.truth)
    return Run(rule, tuple(robot.steps), robot.distance, robot.sure, right)


def ambiguous_starts(
    atlas: Atlas, lidar: Lidar, count: int, *, seed: int = 0, tries: int = 40
) -> Iterator[tuple[Pose, int]]:
    """Random poses whose first verdict is ambiguous, each with the seed for which it is so.

    Args:
        atlas: The map.
        lidar: The sensor.
        count: How many at most.
        seed: Of the poses.
        tries: Poses looked at, for each one wanted.
    """
    _check_seed(seed)
    trials = simulated_trials(
        atlas.world, tries * count, seed=seed, field_of_view=lidar.field_of_view, beams=24,
        range_max=lidar.range_max, clearance=START,
    )  # fmt: skip
    ground, found = Ground.from_atlas(atlas), 0
    for k, trial in enumerate(trials):
        robot = _Robot(atlas, ground, trial.truth, lidar, Drift(), seed + k)
        robot.look(None)
        if robot.steps and robot.steps[0].belief.verdict is Verdict.AMBIGUOUS:
            yield trial.truth, seed + k
            found += 1
        if found == count:
            return


def lost_start(atlas: Atlas, lidar: Lidar, seed: int) -> tuple[Pose, int]:
    """A random pose from which one scan is not enough, and the seed for which it is so."""
    for found in ambiguous_starts(atlas, lidar, 1, seed=seed):
        return found
    raise InputError(
        "One scan was enough wherever it was tried, so there is nothing to explore. "
        "Take a shorter `range_max` or a narrower `field_of_view`."
    )


class _Robot:
    """The simulated robot: what it is, what it knows, and how it moves."""

    def __init__(
        self, atlas: Atlas, ground: Ground, truth: Pose, lidar: Lidar, drift: Drift, seed: int
    ) -> None:
        self.tracker = Tracker(atlas, drift=drift)
        self.ground, self.lidar, self.drift = ground, lidar, drift
        self.truth, self.odometry = truth, Pose()
        self.noise = np.random.default_rng([seed, 0])
        self.choice = np.random.default_rng([seed, 1])
        self.distance = 0.0
        self.looks, self.turns = 0, 0
        self.scan: Scan | None = None
        self.steps: list[Step] = []

    @property
    def sure(self) -> bool:
        """Whether the last verdict is "unique"."""
        return bool(self.steps) and self.steps[-1].belief.verdict is Verdict.UNIQUE

    @property
    def lost(self) -> bool:
        """Whether there is no place to plan from, or the present scan sees next to nothing."""
        if self.scan is None or not self.steps or not self.steps[-1].belief.estimates:
            return True
        return not sees(self.scan)

    def look(self, proposal: Proposal | None) -> None:
        """Scan and update; where nothing is within reach, drive on without."""
        self.looks += 1
        try:
            self.scan = self.lidar.scan(self.ground.walls, self.truth, self.noise)
        except InputError:
            self.scan = None
            return
        belief = self.tracker.update(self.odometry, self.scan)
        self.steps.append(Step(self.truth, self.distance, belief, self.scan, proposal))

    def move(self, motion: Pose) -> bool:
        """Move by a command, odometry by what it makes of it; whether there was room."""
        target = self.truth @ motion
        if not self.ground.fits([self.truth.x, self.truth.y], [target.x, target.y], BODY):
            return False
        self.distance += float(np.hypot(motion.x, motion.y))
        self.truth = target
        self.odometry = self.odometry @ self.drift.simulate(motion, self.noise)
        return True

    def turn(self, angle: float, proposal: Proposal | None) -> None:
        """Turn on the spot, looking every `SWING`."""
        for _ in range(parts := int(np.ceil(abs(angle) / SWING))):
            if not self.sure:
                self.move(Pose(0.0, 0.0, angle / parts))
                self.look(proposal)

    def advance(self, angle: float, stride: float, proposal: Proposal | None) -> bool:
        """Turn, drive straight, look; whether the way was clear."""
        if abs(angle) > AIM:
            self.turn(angle, proposal)
            angle = 0.0
            if self.sure:
                return False
        if self.scan is not None and clear_ahead(self.scan, angle, stride) < stride:
            return False
        c, s = np.cos(angle), np.sin(angle)
        moved = self.move(Pose(stride * c, stride * s, angle))
        self.look(proposal)
        return moved and not self.sure

    def follow(self, proposal: Proposal, limit: float) -> None:
        """Along the path of a proposal, by odometry, until it is time to ask again."""
        corners = self.odometry.apply(proposal.path[1:, :2])
        start = self.distance
        if proposal.distance == 0.0:
            self.turn(proposal.direction, proposal)
            self.turns += 1
            return
        self.turns = 0
        for corner in corners:
            while self.distance < min(limit, start + LEG):
                away = self.odometry.inverse.apply(corner)
                left = float(np.hypot(*away))
                if left < 0.05:
                    break
                angle = float(np.arctan2(away[1], away[0]))
                if not self.advance(angle, min(left, STRIDE), proposal):
                    return

    def wander(self, limit: float) -> None:
        """Turn at random to where there is room, then straight on until something is in the way."""
        for _ in range(TRIES):
            angle = float(self.choice.uniform(-np.pi, np.pi))
            seen = self.scan is not None and self.scan.bearings[0] < angle < self.scan.bearings[-1]
            if not seen or self.scan is None or clear_ahead(self.scan, angle, ROOM) >= ROOM:
                break
        self.turn(angle, None)
        while not self.sure and self.distance < limit and self.advance(0.0, STRIDE, None):
            pass


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise InputError(f"`seed` must not be negative, got {seed}.")


def _alike(a: Pose, b: Pose) -> bool:
    near = np.hypot(a.x - b.x, a.y - b.y) <= NEAR
    return bool(near and abs(wrap_angle(a.yaw - b.yaw)) <= TURNED)
