"""Where to drive, so that one place is left.

Two rules.  The *Gramian* rule is the paper's: along short straight motions from the best estimate,
with H the information of a scan (`foresight`, equation 2) and A_s what an error of the present pose
becomes at the pose s m ahead,

    W(s) = W + ∫ A_sᵀ H A_s ds,       maximise  (λ_min W(s) − λ_min W) / s.               (1)

The *rivals* rule asks what would tell the live places apart.  A way of the robot, the same in its
own frame whichever place i is the right one, leads to views; the scans predicted there add to what
the tracker holds against every other place j (`tracking.bank`, equation 2), and j counts as refuted
where t and d reach the tracker's own thresholds.  With c_i(v) the way on which the last rival of i
falls, or else the way to view v plus what a rival costs times the share still to refute, it takes

    arg min_v Σ_i p_i c_i(v).                                                             (2)

Where the way would end in a wall if i were right, the robot would have to stop: nothing more is
learnt there.  No way that the present scan shows to be blocked is proposed.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.atlas.base import AnyScan
from isovist.errors import InputError
from isovist.exploration.foresight import information, separate
from isovist.exploration.paths import Ground, Ways, clear_ahead
from isovist.exploration.rivals import Rivals, refutation
from isovist.poses import Pose, unit_vectors, wrap_angle
from isovist.sensing.scan import Scan
from isovist.tracking.tracker import Tracker


class Rule(StrEnum):
    """The rule that decides where to drive."""

    RIVALS = "rivals"
    GRAMIAN = "gramian"
    RANDOM = "random"

    @classmethod
    def from_text(cls, text: str) -> "Rule":
        """Return a rule by name or by letter: "a" is the paper's rule, "b" ours."""
        letters = {"a": cls.GRAMIAN, "b": cls.RIVALS}
        if text not in [*letters, *cls]:
            raise InputError(f"A rule is rivals (b), gramian (a) or random, got {text!r}.")
        return letters[text] if text in letters else cls(text)


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """A proposed motion of the robot, and what is expected of it.

    Attributes:
        rule: The rule that chose it.
        direction: Direction of the goal in the frame of the robot, in rad; the angle of a turn on
            the spot.
        distance: Distance to drive, in m.
        gain: Rule "rivals": expected number of places told from the right one.  Rule "gramian":
            growth of λ_min in 1/m² per m.  Rule "random": 0.
        path: (x, y, heading) of the corners in the frame of the robot, in m and rad, from where it
            stands, shape (k, 3).  Read-only.
        text: The proposal in words.
    """

    rule: Rule
    direction: float
    distance: float
    gain: float
    path: FloatArray
    text: str


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
    seen = ground.seen(scan)
    rivals = Rivals.from_tracker(tracker, seen)
    if rule is Rule.RIVALS and len(rivals.chances) > 1:
        return by_rivals(tracker, ground, seen, rivals)
    return by_gramian(tracker, ground, seen, rivals)


def by_rivals(tracker: Tracker, ground: Ground, scan: Scan, rivals: Rivals) -> Proposal:
    """Return the motion that best tells the possible places apart: equation (2)."""
    best = rivals.poses[0]
    others = len(rivals.chances) - 1
    *_, near, far = ground.settings.ways
    for reach in (near, far):
        ways = ground.ways(best, scan, reach, sparse=reach / near)
        ways = _with_turns(tracker, ground, ways, scan)
        if len(ways.poses) == 1:
            continue
        cost, told = _forecast(tracker, ground, scan, rivals, ways)
        goal = int(np.argmin(cost))
        if cost[goal] < cost[0] - ground.settings.cost[2]:
            break
    else:
        text = f"No drive of {far:.0f} m would tell {others + 1} places apart."
        return Proposal(Rule.RIVALS, 0.0, 0.0, 0.0, readonly(np.zeros((1, 3))), text)
    expected = float(told[goal])
    most = f"it would tell {expected:.0f} of {others} other place{'s' * (others > 1)} apart"
    hope = most if expected >= 0.5 else "it would make the places less alike"
    if goal >= len(ways.ends):
        turn = float(ways.poses[goal, 2])
        path = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, turn]])
        text = f"Turn by {_side(turn)}: {hope}."
        return Proposal(Rule.RIVALS, turn, 0.0, expected, readonly(path), text)
    corners = ground.straighten(best, ways.chain(goal))
    return _drive(Rule.RIVALS, corners, expected, hope)


def by_gramian(tracker: Tracker, ground: Ground, scan: Scan, rivals: Rivals) -> Proposal:
    """Return the straight motion along which λ_min grows fastest: equation (1)."""
    best, settings = rivals.poses[0], ground.settings
    now = best @ scan.T_robot_sensor
    told = _carried(tracker, ground, scan, now @ rivals.trail, now)
    W = np.einsum("f,fij->ij", rivals.weights, told)
    before = float(np.linalg.eigvalsh(W)[0])
    headings, steps = wrap_angle(settings.directions), settings.ahead
    goals = steps[:, None] * unit_vectors(headings)[:, None, :]
    room = np.array([clear_ahead(scan, float(h), settings.tight, steps[-1]) for h in headings])
    fits = (room[:, None] >= steps) & ground.fits(best.position, best.apply(goals), settings.tight)
    robots = best @ Pose(goals[..., 0], goals[..., 1], headings[:, None])
    H = _carried(tracker, ground, scan, robots @ scan.T_robot_sensor, now)
    grown = W + np.cumsum(H, axis=1) * steps[0]
    rate = np.where(fits, (np.linalg.eigvalsh(grown)[..., 0] - before) / steps, -np.inf)
    way, far = np.unravel_index(int(np.argmax(rate)), rate.shape)
    if not np.isfinite(rate[way, far]):
        text = "There is no room to drive straight anywhere."
        return Proposal(Rule.GRAMIAN, 0.0, 0.0, 0.0, readonly(np.zeros((1, 3))), text)
    hope = "the information about the pose would grow fastest"
    corners = np.stack([np.zeros(2), goals[way, far]])
    return _drive(Rule.GRAMIAN, corners, float(rate[way, far]), hope)


def _with_turns(tracker: Tracker, ground: Ground, ways: Ways, scan: Scan) -> Ways:
    """The ways with turns on the spot as more views, if the sensor does not see all around.

    A turn shows as many witnesses anew as a unique answer needs, or a multiple of that.  It ends
    at no point, and turns on the way cost what they cost on the spot.
    """
    if scan.field_of_view > 1.8 * np.pi:
        return ways
    part = tracker.localization.witnesses * tracker.localization.block[0]
    count = int(np.pi / part + 1e-9)
    sides = part * np.repeat(np.arange(1, count + 1), 2) * np.tile([1.0, -1.0], count)
    angles = sides[sides > -np.pi + 1e-9]
    turns = np.column_stack([np.zeros((len(angles), 2)), angles])
    per_turn = ground.settings.cost[1]
    turn = np.abs(wrap_angle(ways.poses[:, 2] - ways.poses[ways.parents, 2])) * per_turn
    distances = ways.distances.copy()
    for k in range(1, len(distances)):
        p = ways.parents[k]
        distances[k] = distances[p] + ways.distances[k] - ways.distances[p] + turn[k]
    return replace(
        ways,
        poses=np.concatenate([ways.poses, turns]),
        parents=np.append(ways.parents, np.zeros(len(angles), dtype=np.int64)),
        distances=np.append(distances, per_turn * np.abs(angles)),
    )


def _forecast(
    tracker: Tracker, ground: Ground, scan: Scan, rivals: Rivals, ways: Ways
) -> tuple[FloatArray, FloatArray]:
    """Expected cost of (2) and expected number of places refuted at each view, shape (V,) each."""
    views, parents, distances = ways.poses, ways.parents, ways.distances
    settings, localization = ground.settings, tracker.localization
    robots = rivals.poses @ Pose.from_vector(views)[:, None]
    room = ground.fits(robots.position[parents], robots.position, settings.least)
    delta, valid = separate(
        ground.plane, ground.walls, robots @ scan.T_robot_sensor, _beams(ground, scan),
        _reach(tracker, scan), localization.model, settings.beams[1],
    )  # fmt: skip
    count = valid.sum(axis=-1)
    total = delta.sum(axis=-1, dtype=np.float64)
    square = np.square(delta).sum(axis=-1, dtype=np.float64)
    mean = total / np.maximum(count, 1)[..., None]
    turns = np.abs(wrap_angle(views[:, 2] - views[parents, 2]))
    steps = np.hypot(*(views[:, :2] - views[parents, :2]).T)
    metres, radians = tracker.settings.fresh
    fresh = np.minimum(1.0, steps / metres + turns / radians)
    per_block = settings.beams[0] / localization.block[0]
    sums = np.repeat(rivals.sums[None], len(views), axis=0)
    more = np.stack([per_block * total, per_block * square, mean, np.ones_like(mean)], axis=1)
    way = np.zeros(count.shape)
    reached = np.ones(count.shape, dtype=np.bool_)
    for v in range(1, len(views)):
        p = int(parents[v])
        reached[v] = reached[p] & room[v]
        looked = np.where(reached[v] & (count[v] > 0), fresh[v], 0.0)
        sums[v] = sums[p] + looked[:, None] * more[v]
        way[v] = np.where(reached[v], distances[v], way[p])
    A, Q, D, W = np.moveaxis(sums, 1, 0)
    t, d = A / np.sqrt(Q + localization.refuted[2]), D / np.sqrt(W)
    share = refutation(tracker, t, d, rivals.explained)
    others = len(rivals.chances) - 1
    share[:, np.arange(others + 1), np.arange(others + 1)] = 1.0
    refuted = share >= 1.0
    fell = np.where(refuted.all(axis=-1), way, np.inf)
    for v in range(1, len(views)):
        fell[v] = np.minimum(fell[v], fell[parents[v]])
    missed, _, _, trust = settings.cost
    left = (1.0 - share).sum(axis=-1) / others
    cost = np.where(np.isfinite(fell), fell, way + missed * left)
    chances = trust * rivals.chances + (1.0 - trust) / (others + 1)
    return cost @ chances, (refuted.sum(axis=-1) - 1) @ chances


def _carried(tracker: Tracker, ground: Ground, scan: Scan, poses: Pose, now: Pose) -> FloatArray:
    """AᵀHA: what scans at other poses of the same way tell about the pose now, (..., 3, 3)."""
    noise = tracker.localization.model.noise
    beams, longest = _beams(ground, scan), _reach(tracker, scan)
    H = information(ground.walls, poses, beams, longest, noise, ground.settings)
    A = np.broadcast_to(np.eye(3), H.shape).copy()
    lever = poses.position - now.position
    A[..., 0, 2], A[..., 1, 2] = -lever[..., 1], lever[..., 0]
    return np.asarray(A.swapaxes(-1, -2) @ H @ A)


def _beams(ground: Ground, scan: Scan) -> FloatArray:
    """Bearings of predicted beams, over what the sensor sees."""
    apart = ground.settings.beams[0]
    first, last = float(scan.bearings[0]), float(scan.bearings[-1])
    return first + apart * (0.5 + np.arange(max(1.0, np.floor((last - first) / apart))))


def _reach(tracker: Tracker, scan: Scan) -> float:
    """Longest range that can count, in m."""
    return min(scan.range_max, tracker.atlas.settings.reach)


def _drive(rule: Rule, corners: FloatArray, gain: float, hope: str) -> Proposal:
    """A proposal to follow corners, (k, 2)."""
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
