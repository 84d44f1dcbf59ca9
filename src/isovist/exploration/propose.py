"""Propose where to drive, so that one possible place remains.

There are two rules.  The *Gramian* rule is that of the paper.  It rates short straight motions from
the best estimate.  With H the information of a scan (`foresight`, equation 2), and A_s the map from
an error of the current pose to that of the pose s m ahead, it uses

    W(s) = W + ∫ A_sᵀ H A_s ds,       maximise  (λ_min W(s) − λ_min W) / s.               (1)

The *rivals* rule searches for views that distinguish the possible places.  A path, which is the
same in the frame of the robot for any true place i, leads to views.  The scans predicted there add
to the evidence of the tracker against every other place j (`tracking.hypotheses.bank`, equation 2).
Place j is refuted if t and d reach the thresholds of the tracker.  Let c_i(v) be the length of the
path on which the last rival of i is refuted.  If rivals remain, it is the length of the path to
view v, plus the cost of a rival times the share still to refute.  The rule takes

    arg min_v Σ_i p_i c_i(v).                                                             (2)

If the path would end in a wall at place i, the robot would stop there and gain nothing more.  Paths
that the current scan shows to be blocked are not proposed.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from isovist.arrays import BoolArray, FloatArray, readonly
from isovist.atlas import AnyScan
from isovist.errors import InputError
from isovist.exploration.foresight import Foresight
from isovist.exploration.paths import Ground, PathTree, clear_ahead
from isovist.exploration.rivals import Rivals, refutation
from isovist.poses import Pose, unit_vectors, wrap_angle
from isovist.sensing import Scan
from isovist.tracking import Tracker


class Rule(StrEnum):
    """A rule that decides where to drive."""

    RIVALS = "rivals"
    GRAMIAN = "gramian"
    RANDOM = "random"

    @classmethod
    def from_text(cls, text: str) -> "Rule":
        """Return the rule with a name or letter: "a" for the rule of the paper, "b" for ours."""
        letters = {"a": cls.GRAMIAN, "b": cls.RIVALS}
        if text not in [*letters, *cls]:
            raise InputError(f"A rule is rivals (b), gramian (a) or random, got {text!r}.")
        return letters[text] if text in letters else cls(text)


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """A proposed motion of the robot, and its expected gain.

    Attributes:
        rule: The rule that chose it.
        direction: Direction of the goal in the frame of the robot, or angle of a turn on the spot,
            in rad.
        distance: Distance to drive, in m.
        gain: Rule "rivals": expected number of places that are ruled out.  Rule "gramian": growth
            of λ_min in 1/m² per m.  Rule "random": 0.
        path: (x, y, heading) of the corners in the frame of the robot, in m and rad, starting at
            the robot, shape (k, 3).  Read-only.
        text: The proposal in words.
    """

    rule: Rule
    direction: float
    distance: float
    gain: float
    path: FloatArray
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """The input of a proposal.

    Attributes:
        tracker: The tracker, after its update with the scan.
        ground: Where the robot can drive.
        scan: What it sees of the plane of motion.
        rivals: The places that are possible.
        foresight: Predicted beams, over what the sensor sees.
    """

    tracker: Tracker
    ground: Ground
    scan: Scan
    rivals: Rivals
    foresight: Foresight

    @classmethod
    def of(cls, tracker: Tracker, ground: Ground, scan: AnyScan) -> "Situation":
        """Collect the possible places, and choose the beams to predict."""
        flat = ground.flatten(scan)
        spacing = ground.settings.foresight.beam_spacing_rad
        first, last = float(flat.bearings[0]), float(flat.bearings[-1])
        count = max(1.0, np.floor((last - first) / spacing))
        bearings = first + spacing * (0.5 + np.arange(count))
        reach = min(flat.range_max, tracker.atlas.settings.reach)
        rivals = Rivals.from_tracker(tracker, flat)
        return cls(tracker, ground, flat, rivals, Foresight(ground, bearings, reach))

    @property
    def alternatives(self) -> int:
        """The number of possible places besides the best one."""
        return len(self.rivals.chances) - 1


def propose(
    tracker: Tracker, ground: Ground, scan: AnyScan, rule: Rule | str = Rule.RIVALS
) -> Proposal:
    """Propose where the robot should drive next in order to localize.

    Args:
        tracker: The tracker, after its update with `scan`.
        ground: The ground of the tracker's map.
        scan: What the robot sees now; of a 3D scan the plane of motion counts (`level`).
        rule: "rivals" or "gramian"; with a single place left both mean "gramian".
    """
    rule = Rule.from_text(rule)
    if rule is Rule.RANDOM:
        raise InputError("A random walk needs no proposal; pass rule `rivals` or `gramian`.")
    situation = Situation.of(tracker, ground, scan)
    if rule is Rule.RIVALS and situation.alternatives:
        return by_rivals(situation)
    return by_gramian(situation)


def by_rivals(situation: Situation) -> Proposal:
    """Return the motion that best separates the possible places: equation (2)."""
    ground, rivals = situation.ground, situation.rivals
    settings, count = ground.settings, situation.alternatives
    best = rivals.poses[0]
    for reach in (settings.paths.length_m, settings.paths.max_length_m):
        sparsity = reach / settings.paths.length_m
        tree = ground.paths(best, situation.scan, reach, sparsity=sparsity)
        tree = _with_turns(situation, tree)
        if len(tree.poses) == 1:
            continue
        cost, gains = _forecast(situation, tree)
        goal = int(np.argmin(cost))
        if cost[goal] < cost[0] - settings.objective.min_gain_m:
            break
    else:
        return _stay(Rule.RIVALS, f"No drive of {reach:.0f} m would tell {count + 1} places apart.")
    gain = float(gains[goal])
    hope = "it would make the places less alike"
    if gain >= 0.5:
        hope = f"it would rule out {gain:.0f} of {count} other place{'s' * (count > 1)}"
    if goal >= len(tree.ends):
        turn = float(tree.poses[goal, 2])
        path = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, turn]])
        text = f"Turn by {_side(turn)}: {hope}."
        return Proposal(Rule.RIVALS, turn, 0.0, gain, readonly(path), text)
    corners = ground.straighten(best, tree.path_to(goal))
    return _drive(Rule.RIVALS, corners, gain, hope)


def by_gramian(situation: Situation) -> Proposal:
    """Return the straight motion along which λ_min grows fastest: equation (1)."""
    ground, scan, rivals = situation.ground, situation.scan, situation.rivals
    settings, best = ground.settings, rivals.poses[0]
    sensor = best @ scan.T_robot_sensor
    W = np.einsum("f,fij->ij", rivals.weights, _transported(situation, sensor @ rivals.trail))
    before = float(np.linalg.eigvalsh(W)[0])
    headings, steps = wrap_angle(settings.headings), settings.distances
    goals = steps[:, None] * unit_vectors(headings)[:, None, :]
    width = settings.robot.driving_clearance_m
    room = np.array([clear_ahead(scan, float(h), width, steps[-1]) for h in headings])
    fits = (room[:, None] >= steps) & ground.fits(best.position, best.apply(goals), width)
    robots = best @ Pose(goals[..., 0], goals[..., 1], headings[:, None])
    H = _transported(situation, robots @ scan.T_robot_sensor)
    after = np.linalg.eigvalsh(W + np.cumsum(H, axis=1) * steps[0])[..., 0]
    rate = np.where(fits, (after - before) / steps, -np.inf)
    row, column = np.unravel_index(int(np.argmax(rate)), rate.shape)
    if not np.isfinite(rate[row, column]):
        return _stay(Rule.GRAMIAN, "There is no room to drive straight anywhere.")
    hope = "the information about the pose would grow fastest"
    corners = np.stack([np.zeros(2), goals[row, column]])
    return _drive(Rule.GRAMIAN, corners, float(rate[row, column]), hope)


def _with_turns(situation: Situation, tree: PathTree) -> PathTree:
    """Add turns on the spot as views, if the sensor does not see all around.

    A turn shows as many new witnesses as a unique answer needs, or a multiple of that.  It ends at
    no point.  Turns along a path cost as much as on the spot.
    """
    objective = situation.ground.settings.objective
    if situation.scan.field_of_view > objective.full_view_rad:
        return tree
    localization = situation.tracker.localization
    part = localization.decision.min_groups * localization.scoring.group_rad
    count = int(np.pi / part + 1e-9)
    sides = part * np.repeat(np.arange(1, count + 1), 2) * np.tile([1.0, -1.0], count)
    angles = sides[sides > -np.pi + 1e-9]
    turns = np.column_stack([np.zeros((len(angles), 2)), angles])
    per_turn = objective.turn_m_per_rad
    turn = np.abs(wrap_angle(tree.poses[:, 2] - tree.poses[tree.parents, 2])) * per_turn
    distances = tree.distances.copy()
    for k in range(1, len(distances)):
        p = tree.parents[k]
        distances[k] = distances[p] + tree.distances[k] - tree.distances[p] + turn[k]
    return replace(
        tree,
        poses=np.concatenate([tree.poses, turns]),
        parents=np.append(tree.parents, np.zeros(len(angles), dtype=np.int64)),
        distances=np.append(distances, per_turn * np.abs(angles)),
    )


def _forecast(situation: Situation, tree: PathTree) -> tuple[FloatArray, FloatArray]:
    """Return the cost (2) and the expected number of refuted places at each view, shape (V,)."""
    tracker, rivals = situation.tracker, situation.rivals
    count, objective = situation.alternatives, situation.ground.settings.objective
    sums, lengths = _evidence(situation, tree)
    A, Q, D, W = np.moveaxis(sums, 1, 0)
    t, d = A / np.sqrt(Q + tracker.localization.refutation.softness), D / np.sqrt(W)
    share = refutation(tracker, t, d, rivals.explained)
    share[:, np.arange(count + 1), np.arange(count + 1)] = 1.0
    is_refuted = share >= 1.0
    final = np.where(is_refuted.all(axis=-1), lengths, np.inf)
    for v in range(1, len(final)):
        final[v] = np.minimum(final[v], final[tree.parents[v]])
    left = (1.0 - share).sum(axis=-1) / count
    cost = np.where(np.isfinite(final), final, lengths + objective.ambiguity_m * left)
    trust = objective.probability_share
    chances = trust * rivals.chances + (1.0 - trust) / (count + 1)
    return cost @ chances, (is_refuted.sum(axis=-1) - 1) @ chances


def _evidence(situation: Situation, tree: PathTree) -> tuple[FloatArray, FloatArray]:
    """Return the sums of `Rivals` after each view, and the length of path to it by each place.

    Their shapes are (V, 4, K, K) and (V, K).  Behind a wall both stay as they are.
    """
    tracker, ground, rivals = situation.tracker, situation.ground, situation.rivals
    views, parents, settings = tree.poses, tree.parents, ground.settings
    robots = rivals.poses @ Pose.from_vector(views)[:, None]
    clearance = settings.robot.standing_clearance_m
    has_room = ground.fits(robots.position[parents], robots.position, clearance)
    sensors = robots @ situation.scan.T_robot_sensor
    delta, is_valid = situation.foresight.separate(sensors, tracker.localization.model)
    count = is_valid.sum(axis=-1)
    total = delta.sum(axis=-1, dtype=np.float64)
    square = np.square(delta).sum(axis=-1, dtype=np.float64)
    mean = total / np.maximum(count, 1)[..., None]
    fresh = _novelty(tracker, tree)
    per_block = settings.foresight.beam_spacing_rad / tracker.localization.scoring.group_rad
    terms = np.stack([per_block * total, per_block * square, mean, np.ones_like(mean)], axis=1)
    sums = np.repeat(rivals.sums[None], len(views), axis=0)
    lengths = np.zeros(count.shape)
    is_reached: BoolArray = np.ones(count.shape, dtype=np.bool_)
    for v in range(1, len(views)):
        p = int(parents[v])
        is_reached[v] = is_reached[p] & has_room[v]
        weight = np.where(is_reached[v] & (count[v] > 0), fresh[v], 0.0)
        sums[v] = sums[p] + weight[:, None] * terms[v]
        lengths[v] = np.where(is_reached[v], tree.distances[v], lengths[p])
    return sums, lengths


def _novelty(tracker: Tracker, tree: PathTree) -> FloatArray:
    """Return how new each view is after the one before, from 0 to 1, shape (V,)."""
    moves = tree.poses - tree.poses[tree.parents]
    settings = tracker.settings.keyframes
    turns = np.abs(wrap_angle(moves[:, 2]))
    return np.asarray(
        np.minimum(
            1.0, np.hypot(*moves[:, :2].T) / settings.new_view_m + turns / settings.new_view_rad
        )
    )


def _transported(situation: Situation, poses: Pose) -> FloatArray:
    """Return AᵀHA, the information of scans at other poses about the current pose, (…, 3, 3)."""
    sensor = situation.rivals.poses[0] @ situation.scan.T_robot_sensor
    H = situation.foresight.information(poses, situation.tracker.localization.model.noise)
    A = np.broadcast_to(np.eye(3), H.shape).copy()
    lever = poses.position - sensor.position
    A[..., 0, 2], A[..., 1, 2] = -lever[..., 1], lever[..., 0]
    return np.asarray(A.swapaxes(-1, -2) @ H @ A)


def _stay(rule: Rule, text: str) -> Proposal:
    """Return a proposal not to move."""
    return Proposal(rule, 0.0, 0.0, 0.0, readonly(np.zeros((1, 3))), text)


def _drive(rule: Rule, corners: FloatArray, gain: float, hope: str) -> Proposal:
    """Return a proposal to follow corners, (k, 2)."""
    steps = np.diff(corners, axis=0)
    headings = np.arctan2(steps[:, 1], steps[:, 0])
    path = np.column_stack([corners, np.append(headings, headings[-1])])
    distance = float(np.hypot(*steps.T).sum())
    direction = float(np.arctan2(corners[-1, 1], corners[-1, 0]))
    text = f"Drive {distance:.1f} m, {_side(direction)}: {hope}."
    return Proposal(rule, direction, distance, gain, readonly(path), text)


def _side(angle: float) -> str:
    degrees = round(np.degrees(abs(angle)))
    return (
        "straight on" if degrees == 0 else f"{degrees}° to the {'left' if angle > 0 else 'right'}"
    )
