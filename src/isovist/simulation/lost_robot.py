"""Simulate a lost robot that drives until the tracker is unique, or until it gives up."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.atlas import Atlas, bare_walls
from isovist.errors import InputError
from isovist.exploration import Ground, Proposal, Rule
from isovist.exploration.propose import propose
from isovist.localization import Verdict, is_same_place
from isovist.poses import Pose
from isovist.renamed import accept_old_names
from isovist.sensing import Drift, Lidar, Placement, SpinningLidar, random_scans
from isovist.simulation.robot import Robot, Step
from isovist.simulation.settings import RobotSettings

ROBOT = RobotSettings()


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A drive of a lost robot, from its first scan until it is localized or gives up.

    Attributes:
        rule: Rule that chose where to drive.
        steps: State after each update.
        distance: Distance driven until the end of the run, in m.
        unique: Whether the verdict became unique.
        right: Whether it is unique and the best estimate is within 0.5 m and 10° of the true pose.
    """

    rule: Rule
    steps: tuple[Step, ...]
    distance: float
    unique: bool
    right: bool

    @property
    def poses(self) -> FloatArray:
        """The true poses (x, y, yaw) at each update, shape (n, 3), in m and rad."""
        return readonly(np.array([step.truth.vector for step in self.steps]))

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict of the tracker at each update."""
        return tuple(step.belief.verdict for step in self.steps)

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """The proposals in the order in which the robot followed them."""
        proposals = {id(s.proposal): s.proposal for s in self.steps if s.proposal is not None}
        return tuple(proposals.values())


@accept_old_names
def explore(
    atlas: Atlas,
    start: Pose,
    lidar: Lidar | SpinningLidar,
    rule: Rule | str = Rule.RIVALS,
    *,
    seed: int = 0,
    limit: float = 40.0,
    ground: Ground | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Drive until the tracker says "unique", the robot is stuck, or `limit` m are driven.

    Args:
        atlas: Atlas of the map, whose walls the sensor measures too.
        start: True pose T_world_robot at the start, unknown to the robot.
        lidar: The sensor.
        rule: Rule that decides where to drive.
        seed: Seed of sensor noise, odometry noise and random drives.
        limit: Maximum distance to drive, in m.
        ground: Ground of the map; made from the atlas when `None`.
        progress: Function that is called with the share of the limit that is driven.
    """
    rule = Rule.from_text(rule)
    if not (np.isfinite(limit) and limit > 0.0):
        raise InputError.about("limit", f"must be a positive length in m, got {limit}.")
    _check_seed(seed)
    ground = Ground.from_atlas(atlas) if ground is None else ground
    if ground.clearance(start.position) < ROBOT.radius_m:
        raise InputError(
            f"The robot at ({start.x:g}, {start.y:g}) is less than {ROBOT.radius_m} m from a wall.",
            code="not_free",
        )
    robot = Robot(atlas, ground, start, lidar, Drift(), seed, ROBOT)
    robot.take_scan(None)
    max_scans = ROBOT.max_scans_per_m * (1.0 + limit)
    is_stuck = False
    while not robot.is_unique and robot.distance < limit and robot.scans < max_scans:
        before = robot.distance
        if rule is Rule.RANDOM:
            robot.wander(limit)
        elif is_stuck or robot.scan is None or robot.is_lost:
            robot.wander(min(limit, before + ROBOT.leg_m))
            is_stuck = False
        else:
            proposal = propose(robot.tracker, ground, robot.scan, rule)
            robot.follow(proposal, limit)
            is_turning = 1 <= robot.turns <= ROBOT.max_turns
            is_stuck = robot.distance - before < ROBOT.min_leg_m and not is_turning
        if progress is not None:
            progress(min(1.0, robot.distance / limit))
    if not robot.steps:
        raise InputError(
            f"Within {robot.distance:.1f} m of ({start.x:g}, {start.y:g}) the sensor never "
            "reached a wall.",
            code="empty",
        )
    best = robot.steps[-1].belief.best
    pose = None if best is None else Pose.from_vector(best.pose.vector[:3])
    is_right = pose is not None and is_same_place(pose, robot.truth, robot.tracker.localization)
    right = robot.is_unique and is_right
    return Run(rule, tuple(robot.steps), robot.distance, robot.is_unique, right)


def ambiguous_starts(
    atlas: Atlas, lidar: Lidar | SpinningLidar, count: int, *, seed: int = 0, tries: int = 40
) -> Iterator[tuple[Pose, int]]:
    """Yield random poses whose first verdict is ambiguous, each with the seed that was used.

    Args:
        atlas: The map.
        lidar: The sensor.
        count: Maximum number of poses.
        seed: Seed of the poses.
        tries: Number of poses to try for each one wanted.
    """
    _check_seed(seed)
    ground, height = Ground.from_atlas(atlas), 0.0
    probe: Lidar | SpinningLidar
    if isinstance(lidar, Lidar):
        probe = replace(lidar, beams=ROBOT.probe_beams, noise=0.05, clutter=0.0)
    else:
        probe, height = lidar, 0.0 if ground.level is None else ground.level.height
    places = random_scans(
        atlas.world, bare_walls(atlas.world), probe, tries * count, seed=seed,
        placement=Placement(ROBOT.start_clearance_m, height),
    )  # fmt: skip
    for k, (place, _) in enumerate(places):
        truth = Pose.from_vector(place.vector[:3])
        if ground.clearance(truth.position) < ROBOT.radius_m:
            continue
        robot = Robot(atlas, ground, truth, lidar, Drift(), seed + k, ROBOT)
        robot.take_scan(None)
        if robot.steps and robot.steps[0].belief.verdict is Verdict.AMBIGUOUS:
            yield truth, seed + k
            count -= 1
        if count == 0:
            return


def lost_start(atlas: Atlas, lidar: Lidar | SpinningLidar, seed: int) -> tuple[Pose, int]:
    """Return a random pose at which one scan is not enough, and the seed that gave it."""
    for start in ambiguous_starts(atlas, lidar, 1, seed=seed):
        return start
    raise InputError(
        "One scan was enough at every start, so there is nothing to explore. "
        "Take a shorter `range_max` or a narrower `field_of_view`.",
        code="empty",
    )


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise InputError.about("seed", f"must not be negative, got {seed}.")
