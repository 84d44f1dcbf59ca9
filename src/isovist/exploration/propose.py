"""Where to drive, so that one place is left.

Two rules.  The *Gramian* rule is the paper's: along short straight motions from the best estimate,
with H the information of a scan (`foresight`, equation 2) and A_s what an error of the present pose
becomes at the pose s m ahead,

    W(s) = W + ∫ A_sᵀ H A_s ds,       maximise  (λ_min W(s) − λ_min W) / s.               (1)

The *rivals* rule asks what would tell the live places apart.  A way of the robot, the same in its
own frame whichever place i is the right one, leads to views; the scans predicted there add to what
the tracker holds against every other place j (`track.bank`, equation 2), and j counts as refuted
where t and d reach the tracker's own thresholds.  With c_i(v) the way on which the last rival of i
falls, or else the way to view v plus `SEARCH_WAY` times the share still to refute, it takes

    arg min_v Σ_i p_i c_i(v).                                                             (2)

Where the way would end in a wall if i were right, the robot would have to stop: nothing more is
learnt there.  No way that the present scan shows to be blocked is proposed.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from isovist.atlas.plane import Atlas
from isovist.errors import InputError
from isovist.exploration.foresight import information, separate
from isovist.exploration.paths import HALF_WIDTH, RADIUS, Ground, Ways, clear_ahead
from isovist.exploration.rivals import Rivals, refutation
from isovist.localization.judge import BLOCK, SOFT
from isovist.poses import Pose, wrap_angle
from isovist.sensing.scan import Scan
from isovist.tracking.bank import FRESH_M, FRESH_RAD
from isovist.tracking.tracker import Tracker
from isovist.types import FloatArray, IntArray, readonly

SPACING = np.radians(7.5)
"""Of predicted beams, in rad."""
REACHES = (12.0, 30.0)
"""How far ways lead, in m; the second when nothing within the first helps."""
SEARCH_WAY = 15.0
"""What a rival that is not refuted is taken to cost, in m."""
TURN_WAY = 0.3
"""What a turn is taken to cost, in m per rad."""
TURNS = np.radians([60.0, -60.0, 120.0, -120.0, 180.0])
DIRECTIONS = 24
AHEAD = (0.5, 1.0, 1.5, 2.0)
"""Motions of the Gramian rule: straight, in so many directions, in m."""
WORTH = 0.05
"""Least that a drive must bring in (2), in m."""
TRUST = 0.8
"""Weight of the tracker's probabilities against all live places alike."""


class Rule(StrEnum):
    """What decides where to drive."""

    RIVALS = "rivals"
    GRAMIAN = "gramian"
    RANDOM = "random"

    @classmethod
    def from_text(cls, text: str) -> "Rule":
        """By name, or by letter: a is the paper's rule, b ours."""
        letters = {"a": cls.GRAMIAN, "b": cls.RIVALS}
        if text not in [*letters, *cls]:
            raise InputError(f"A rule is rivals (b), gramian (a) or random, got {text!r}.")
        return letters[text] if text in letters else cls(text)


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """A motion, and what is expected of it.

    Attributes:
        rule: That chose it.
        direction: Of the goal in the frame of the robot, in rad; of a turn on the spot, its angle.
        distance: To drive, in m.
        gain: Rule "rivals": expected number of places told from the right one.  Rule "gramian":
            growth of λ_min in 1/m² per m.  Rule "random": 0.
        path: (x, y, heading) of the corners in the frame of the robot, in m and rad, from where it
            stands, shape (k, 3).  Read-only.
        text: The same in words.
    """

    rule: Rule
    direction: float
    distance: float
    gain: float
    path: FloatArray
    text: str


def propose(
    tracker: Tracker, ground: Ground, scan: Scan, rule: Rule | str = Rule.RIVALS
) -> Proposal:
    """Where to drive next.

    Args:
        tracker: After its update with `scan`.
        ground: Of its map.
        scan: What the robot sees now.
        rule: "rivals" or "gramian"; with a single place left both mean "gramian".
    """
    rule = Rule.from_text(rule)
    if rule is Rule.RANDOM:
        raise InputError("A random walk needs no proposal; pass rule `rivals` or `gramian`.")
    rivals = Rivals.from_tracker(tracker, scan)
    if rule is Rule.RIVALS and len(rivals.poses) > 1:
        return by_rivals(tracker.atlas, ground, scan, rivals)
    return by_gramian(tracker.atlas, ground, scan, rivals)


def by_rivals(atlas: Atlas, ground: Ground, scan: Scan, rivals: Rivals) -> Proposal:
    """The motion that best tells the live places apart: equation (2)."""
    best = Pose.from_vector(rivals.poses[0])
    others = len(rivals.poses) - 1
    for reach in REACHES:
        ways = ground.ways(best, scan, reach, sparse=reach / REACHES[0])
        views, parents, distances = _with_turns(ways, scan)
        if len(views) == 1:
            continue
        cost, told = _forecast(atlas, ground, scan, rivals, views, parents, distances)
        goal = int(np.argmin(cost))
        if cost[goal] < cost[0] - WORTH:
            break
    else:
        text = f"No drive of {REACHES[-1]:.0f} m would tell {others + 1} places apart."
        return Proposal(Rule.RIVALS, 0.0, 0.0, 0.0, readonly(np.zeros((1, 3))), text)
    expected = float(told[goal])
    most = f"it would tell {expected:.0f} of {others} other place{'s' * (others > 1)} apart"
    hope = most if expected >= 0.5 else "it would make the places less alike"
    if goal >= len(ways.poses):
        turn = float(views[goal, 2])
        path = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, turn]])
        text = f"Turn by {_side(turn)}: {hope}."
        return Proposal(Rule.RIVALS, turn, 0.0, expected, readonly(path), text)
    corners = ground.straighten(best, ways.chain(goal))
    return _drive(Rule.RIVALS, corners, expected, hope)


def by_gramian(atlas: Atlas, ground: Ground, scan: Scan, rivals: Rivals) -> Proposal:
    """The straight motion along which λ_min grows fastest: equation (1)."""
    best, beams = Pose.from_vector(rivals.poses[0]), _beams(scan)
    sensor = scan.T_robot_sensor
    now = best @ sensor
    trail = np.array([(now @ Pose.from_vector(back)).vector for back in rivals.trail])
    W = np.einsum("f,fij->ij", rivals.weights, _carried(atlas, trail, now, beams, scan.range_max))
    before = float(np.linalg.eigvalsh(W)[0])
    headings = wrap_angle(2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS)
    steps = np.array(AHEAD)
    goals = steps[:, None] * np.stack([np.cos(headings), np.sin(headings)], axis=-1)[:, None, :]
    room = np.array([clear_ahead(scan, float(heading), steps[-1]) for heading in headings])
    fits = (room[:, None] >= steps) & ground.fits([best.x, best.y], best.apply(goals), HALF_WIDTH)
    turned = np.broadcast_to(headings[:, None, None], (*fits.shape, 1))
    poses = np.concatenate([goals, turned], axis=-1).reshape(-1, 3)
    robots = np.column_stack([best.apply(poses[:, :2]), poses[:, 2] + best.yaw])
    H = _carried(atlas, _sensors(robots, sensor), now, beams, scan.range_max).reshape(
        *fits.shape, 3, 3
    )
    grown = W + np.cumsum(H, axis=1) * AHEAD[0]
    rate = np.where(fits, (np.linalg.eigvalsh(grown)[..., 0] - before) / steps, -np.inf)
    way, far = np.unravel_index(int(np.argmax(rate)), rate.shape)
    if not np.isfinite(rate[way, far]):
        text = "There is no room to drive straight anywhere."
        return Proposal(Rule.GRAMIAN, 0.0, 0.0, 0.0, readonly(np.zeros((1, 3))), text)
    hope = "the information about the pose would grow fastest"
    corners = np.stack([np.zeros(2), goals[way, far]])
    return _drive(Rule.GRAMIAN, corners, float(rate[way, far]), hope)


def _with_turns(ways: Ways, scan: Scan) -> tuple[FloatArray, IntArray, FloatArray]:
    """Views of all ways, and turns on the spot for a sensor that does not see all around."""
    if scan.field_of_view > 1.8 * np.pi:
        return ways.poses, ways.parents, ways.distances
    turns = np.column_stack([np.zeros((len(TURNS), 2)), TURNS])
    turn = np.abs(wrap_angle(ways.poses[:, 2] - ways.poses[ways.parents, 2])) * TURN_WAY
    distances = ways.distances.copy()
    for k in range(1, len(distances)):
        p = ways.parents[k]
        distances[k] = distances[p] + ways.distances[k] - ways.distances[p] + turn[k]
    return (
        np.concatenate([ways.poses, turns]),
        np.concatenate([ways.parents, np.zeros(len(TURNS), dtype=np.int64)]),
        np.concatenate([distances, TURN_WAY * np.abs(TURNS)]),
    )


def _forecast(
    atlas: Atlas,
    ground: Ground,
    scan: Scan,
    rivals: Rivals,
    views: FloatArray,
    parents: IntArray,
    distances: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Expected cost of (2) and expected number of places refuted at each view, shape (V,) each."""
    robots = np.stack(
        [
            np.column_stack([Pose.from_vector(place).apply(views[:, :2]), views[:, 2] + place[2]])
            for place in rivals.poses
        ],
        axis=1,
    )
    room = ground.fits(robots[parents][..., :2], robots[..., :2], 0.5 * RADIUS)
    seen_from = _sensors(robots, scan.T_robot_sensor)
    delta, valid = separate(atlas, seen_from, _beams(scan), scan.range_max)
    count = valid.sum(axis=-1)
    total = delta.sum(axis=-1, dtype=np.float64)
    square = np.square(delta).sum(axis=-1, dtype=np.float64)
    mean = total / np.maximum(count, 1)[..., None]
    turns = np.abs(wrap_angle(views[:, 2] - views[parents, 2]))
    steps = np.hypot(*(views[:, :2] - views[parents, :2]).T)
    fresh = np.minimum(1.0, steps / FRESH_M + turns / FRESH_RAD)
    per_block = SPACING / BLOCK
    sums = np.repeat(np.stack([rivals.A, rivals.Q, rivals.D, rivals.W])[None], len(views), axis=0)
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
    share = refutation(A / np.sqrt(Q + SOFT), D / np.sqrt(W), rivals.explained)
    others = len(rivals.poses) - 1
    share[:, np.arange(others + 1), np.arange(others + 1)] = 1.0
    refuted = share >= 1.0
    fell = np.where(refuted.all(axis=-1), way, np.inf)
    for v in range(1, len(views)):
        fell[v] = np.minimum(fell[v], fell[parents[v]])
    left = (1.0 - share).sum(axis=-1) / others
    cost = np.where(np.isfinite(fell), fell, way + SEARCH_WAY * left)
    chances = TRUST * rivals.chances + (1.0 - TRUST) / (others + 1)
    return cost @ chances, (refuted.sum(axis=-1) - 1) @ chances


def _sensors(robots: FloatArray, T_robot_sensor: Pose) -> FloatArray:
    """Poses of the sensor, shape (..., 3), on robots at these poses."""
    c, s = np.cos(robots[..., 2]), np.sin(robots[..., 2])
    x, y, yaw = T_robot_sensor.vector
    return robots + np.stack([c * x - s * y, s * x + c * y, np.full_like(c, yaw)], axis=-1)


def _carried(
    atlas: Atlas, poses: FloatArray, now: Pose, beams: FloatArray, longest: float
) -> FloatArray:
    """AᵀHA: what scans at other poses of the same way tell about the pose now, shape (N, 3, 3)."""
    H = information(atlas, poses, beams, longest)
    A = np.broadcast_to(np.eye(3), H.shape).copy()
    A[:, 0, 2], A[:, 1, 2] = now.y - poses[:, 1], poses[:, 0] - now.x
    return np.asarray(A.transpose(0, 2, 1) @ H @ A)


def _beams(scan: Scan) -> FloatArray:
    """Bearings of predicted beams, over what the sensor sees."""
    first, last = float(scan.bearings[0]), float(scan.bearings[-1])
    return first + SPACING * (0.5 + np.arange(max(1, int((last - first) / SPACING))))


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
