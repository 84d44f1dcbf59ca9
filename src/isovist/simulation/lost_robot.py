"""A lost robot that drives until it knows where it is, simulated (`simulation.robot`).

Every verdict is the tracker's.  After each leg the robot asks the rule again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.atlas.base import Atlas
from isovist.atlas.data.surfaces import bare_walls
from isovist.errors import InputError
from isovist.exploration.paths import Ground
from isovist.exploration.propose import Proposal, Rule, propose
from isovist.localization.answer import Verdict
from isovist.localization.judge import is_same
from isovist.poses import Pose
from isovist.sensing.drift import Drift
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.models.simulate import Placement, random_scans
from isovist.sensing.models.spinning import SpinningLidar
from isovist.settings import checked_settings
from isovist.simulation.robot import Robot, RobotSettings, Step


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A drive of a lost robot, from its first scan until it is localized or gives up.

    Attributes:
        rule: Rule that chose where to drive.
        steps: State after each update.
        distance: Distance driven until unique, or until the run gave up, in m.
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
        """True poses (x, y, yaw) at each update, shape (n, 3), in m and rad."""
        return readonly(np.array([step.truth.vector for step in self.steps]))

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts of the tracker at each update."""
        return tuple(step.belief.verdict for step in self.steps)

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """Proposals in the order in which they were followed."""
        seen = {id(s.proposal): s.proposal for s in self.steps if s.proposal is not None}
        return tuple(seen.values())


def explore(
    atlas: Atlas,
    start: Pose,
    lidar: Lidar | SpinningLidar,
    rule: Rule | str = Rule.RIVALS,
    *,
    drift: Drift | None = None,
    seed: int = 0,
    limit: float = 40.0,
    ground: Ground | None = None,
    settings: RobotSettings | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Drive until the tracker says "unique", for at most `limit` m or until the robot is stuck.

    Args:
        atlas: The map; its walls are also what the sensor sees.
        start: True pose T_world_robot at the start, unknown to the robot.
        lidar: The sensor.
        rule: Where to drive.
        drift: Error model of the odometry, for the simulation and for the tracker.
        seed: Seed of sensor noise, odometry noise and random legs.
        limit: Most distance to drive, in m.
        ground: Ground of the map, if it was made already.
        settings: What the robot is and how it moves.
        progress: Called with the share of the limit that is driven.
    """
    rule, chosen = Rule.from_text(rule), checked_settings(RobotSettings, settings)
    if not (np.isfinite(limit) and limit > 0.0):
        raise InputError.about("limit", f"must be a positive length in m, got {limit}.")
    _check_seed(seed)
    ground = Ground.from_atlas(atlas) if ground is None else ground
    body = chosen.body[0]
    if ground.clearance(start.position) < body:
        raise InputError(
            f"The robot at ({start.x:g}, {start.y:g}) is less than {body} m from a wall.",
            code="not_free",
        )
    robot = Robot(atlas, ground, start, lidar, drift or Drift(), seed, chosen)
    robot.look(None)
    stuck = False
    while not robot.sure and robot.distance < limit and robot.looks < chosen.looks * (1.0 + limit):
        before = robot.distance
        if rule is Rule.RANDOM:
            robot.wander(limit)
        elif stuck or robot.scan is None or robot.lost:
            robot.wander(min(limit, before + chosen.leg))
            stuck = False
        else:
            proposal = propose(robot.tracker, ground, robot.scan, rule)
            robot.follow(proposal, limit)
            nowhere, turns = chosen.nowhere
            stuck = robot.distance - before < nowhere and not 1 <= robot.turns <= turns
        if progress is not None:
            progress(min(1.0, robot.distance / limit))
    if not robot.steps:
        raise InputError(
            f"On a way of {robot.distance:.1f} m from ({start.x:g}, {start.y:g}) the sensor never "
            "reached a wall.",
            code="empty",
        )
    best = robot.steps[-1].belief.best
    same = robot.tracker.localization
    found = None if best is None else Pose.from_vector(best.pose.vector[:3])
    right = robot.sure and found is not None and is_same(found, robot.truth, same)
    return Run(rule, tuple(robot.steps), robot.distance, robot.sure, right)


def ambiguous_starts(
    atlas: Atlas, lidar: Lidar | SpinningLidar, count: int, *, seed: int = 0, tries: int = 40
) -> Iterator[tuple[Pose, int]]:
    """Yield random poses whose first verdict is ambiguous, each with the seed that was used.

    Args:
        atlas: The map.
        lidar: The sensor.
        count: Most poses to yield.
        seed: Seed of the poses.
        tries: Number of poses to try for each one wanted.
    """
    _check_seed(seed)
    settings = RobotSettings()
    ground, found, height = Ground.from_atlas(atlas), 0, 0.0
    probe: Lidar | SpinningLidar
    if isinstance(lidar, Lidar):
        probe = replace(lidar, beams=settings.probe, noise=0.05, clutter=0.0)
    else:
        probe, height = lidar, 0.0 if ground.level is None else ground.level.height
    places = random_scans(
        atlas.world, bare_walls(atlas.world), probe, tries * count, seed=seed,
        placement=Placement(settings.body[1], height),
    )  # fmt: skip
    for k, (place, _) in enumerate(places):
        truth = Pose.from_vector(place.vector[:3])
        if ground.clearance(truth.position) < settings.body[0]:
            continue
        robot = Robot(atlas, ground, truth, lidar, Drift(), seed + k, settings)
        robot.look(None)
        if robot.steps and robot.steps[0].belief.verdict is Verdict.AMBIGUOUS:
            yield truth, seed + k
            found += 1
        if found == count:
            return


def lost_start(atlas: Atlas, lidar: Lidar | SpinningLidar, seed: int) -> tuple[Pose, int]:
    """Return a random pose from which one scan is not enough, and the seed that was used."""
    for found in ambiguous_starts(atlas, lidar, 1, seed=seed):
        return found
    raise InputError(
        "One scan was enough wherever it was tried, so there is nothing to explore. "
        "Take a shorter `range_max` or a narrower `field_of_view`.",
        code="empty",
    )


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise InputError.about("seed", f"must not be negative, got {seed}.")
