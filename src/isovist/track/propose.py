"""Where to drive, so that one place is left.

Two rules.  The *Gramian* rule is the paper's: along short straight motions from the best estimate,
with H the information of a scan (`foresight`, equation 2) and A_s what an error of the present pose
becomes at the pose s m ahead,

    W(s) = W + ∫ A_sᵀ H A_s ds,       maximise  (λ_min W(s) − λ_min W) / s.               (1)

The *rivals* rule asks what would tell the live places apart.  A way of the robot, the same in its
own frame whichever place i is the right one, leads to views; the scans predicted there add to what
the tracker holds against every other place j (`track.bank`, equation 2), and j counts as refuted
where t and d reach the tracker's own thresholds.  With c_i(v) the way on which the last rival of i
falls, or the way to view v plus `SEARCH_WAY` times the share still to refute, it takes the view with

    min_v Σ_i p_i c_i(v).                                                                 (2)

Where the way would end in a wall if i were right, the robot would have to stop: nothing more is
learnt there.  No way that the present scan shows to be blocked is proposed.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from isovist.atlas.atlas import Atlas
from isovist.errors import InputError
from isovist.locate.judge import BLOCK, SOFT
from isovist.poses import Pose, wrap_angle
from isovist.sensing.scan import Scan
from isovist.track.foresight import information, separate
from isovist.track.paths import HALF_WIDTH, RADIUS, Ground, Ways, clear_ahead
from isovist.track.rivals import Rivals
from isovist.track.tracker import AGREEMENT, MARGIN, Tracker
from isovist.types import FloatArray, readonly

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
TRUST = 0.5
"""Weight of the tracker's probabilities against all live places alike."""


class Rule(StrEnum):
    """What decides where to drive."""

    RIVALS = "rivals"
    GRAMIAN = "gramian"
    RANDOM = "random"


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


def propose(tracker: Tracker, ground: Ground, scan: Scan, rule: Rule = Rule.RIVALS) -> Proposal:
    """Where to drive next.

    Args:
        tracker: After its update with `scan`.
        ground: Of its map.
        scan: What the robot sees now.
        rule: "rivals" or "gramian"; with a single place left both mean "gramian".
    """
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
        ways = ground.ways(best, scan, reach)
        views, parents, distances = _with_turns(ways, scan)
        if len(views) == 1:
            continue
        cost, told = _forecast(atlas, ground, scan, rivals, views, parents, distances)
        goal = int(np.argmin(cost))
        if cost[goal] < cost[0] - 0.05:
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
    trail = np.array([(now @ Pose.from_vector(step)).vector for step in rivals.trail])
    W = np.einsum("f,fij->ij", rivals.weights, _carried(atlas, trail, now, beams, scan.range_max))
    before = float(np.linalg.eigvalsh(W)[0])
    headings = wrap_angle(2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS)
    steps = np.array(AHEAD)
    goals = steps[:, None] * np.stack([np.cos(headings), np.sin(headings)], axis=-1)[:, None, :]
    room = np.array([clear_ahead(scan, float(heading), steps[-1]) for heading in headings])
    fits = (room[:, None] >= steps) & ground.fits([best.x, best.y], best.apply(goals), HALF_WIDTH)
    turned = np.broadcast_to(headings[:, None, None], (*fits.shape, 1))
    poses = np.concatenate([goals, turned], axis=-1).reshape(-1, 3)
    seen = np.array([(best @ Pose.from_vector(p) @ sensor).vector for p in poses])
    H = _carried(atlas, seen, now, beams, scan.range_max).reshape(*fits.shape, 3, 3)
    grown = W + np.cumsum(H, axis=1) * AHEAD[0]
    rate = np.where(fits, (np.linalg.eigvalsh(grown)[..., 0] - before) / steps, -np.inf)
    way, far = np.unravel_index(int(np.argmax(rate)), rate.shape)
    if not np.isfinite(rate[way, far]):
        text = "There is no room to drive straight anywhere."
        return Proposal(Rule.GRAMIAN, 0.0, 0.0, 0.0, readonly(np.zeros((1, 3))), text)
    hope = "the information about the pose would grow fastest"
    corners = np.stack([np.zeros(2), goals[way, far]])
    return _drive(Rule.GRAMIAN, corners, float(rate[way, far]), hope)


def _with_turns(ways: Ways, scan: Scan) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Views of all ways, and turns on the spot for a sensor that does not see all around."""
    if scan.field_of_view > 1.8 * np.pi:
        return ways.poses, ways.parents, ways.distances
    turns = np.column_stack([np.zeros((len(TURNS), 2)), TURNS])
    # A way that does not begin straight on begins with a turn.
    towards = ways.poses[np.maximum(ways.parents, 0)]
    turn = np.abs(wrap_angle(ways.poses[:, 2] - towards[:, 2])) * TURN_WAY
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
    parents: FloatArray,
    distances: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Expected cost of (2) and expected number of places refuted at each view, shape (V,) each."""
    beams, sensor = _beams(scan), scan.T_robot_sensor
    places = [Pose.from_vector(p) for p in rivals.poses]
    robots = np.stack([np.column_stack([q.apply(views[:, :2]), views[:, 2] + q.yaw]) for q in places], 1)
    c, s = np.cos(robots[..., 2]), np.sin(robots[..., 2])
    seen_from = robots + np.stack(
        [c * sensor.x - s * sensor.y, s * sensor.x + c * sensor.y, np.full_like(c, sensor.yaw)], -1
    )
    delta, valid = separate(atlas, seen_from, beams, scan.range_max)
    per_block = SPACING / BLOCK
    count = valid.sum(axis=-1)[:, :, None]
    total = delta.sum(axis=-1, dtype=np.float64)
    square = np.square(delta).sum(axis=-1, dtype=np.float64)
    mean = np.where(count > 0, total / np.maximum(count, 1), 0.0)
    room = ground.fits(robots[parents][..., :2], robots[..., :2], 0.5 * RADIUS)
    chances = TRUST * rivals.chances + (1.0 - TRUST) / len(places)
    A, Q, D, W = (np.repeat(a[None], len(views), 0) for a in (rivals.A, rivals.Q, rivals.D, rivals.W))
    fell = np.full((len(views), len(places)), np.inf)
    way = np.zeros((len(views), len(places)))
    open_ = np.ones((len(views), len(places)), dtype=np.bool_)
    for v in range(1, len(views)):
        p = int(parents[v])
        open_[v] = open_[p] & room[v]
        look = (open_[v] & (count[v, :, 0] > 0)).astype(np.float64)[:, None]
        A[v] = A[p] + look * per_block * total[v]
        Q[v] = Q[p] + look * per_block * square[v]
        D[v] = D[p] + look * mean[v]
        W[v] = W[p] + look
        way[v] = np.where(open_[v], distances[v], way[p])
    t = A / np.sqrt(Q + SOFT) * rivals.explained**2
    d = D / np.sqrt(W)
    self_ = np.eye(len(places), dtype=np.bool_)
    share = np.clip(np.minimum(t / AGREEMENT, d / MARGIN), 0.0, 1.0)
    share[:, self_] = 1.0
    refuted = (share >= 1.0) & ~self_
    alone = (share >= 1.0).all(axis=-1)
    left = (1.0 - share).sum(axis=-1) / (len(places) - 1)
    for v in range(len(views)):
        sooner = fell[parents[v]] if v else fell[0]
        fell[v] = np.where(np.isfinite(sooner), sooner, np.where(alone[v], way[v], np.inf))
    cost = np.where(np.isfinite(fell), fell, way + SEARCH_WAY * left)
    return cost @ chances, refuted.sum(axis=-1) @ chances


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
    return "straight on" if degrees == 0 else f"{degrees}° to the {'left' if angle > 0 else 'right'}"
