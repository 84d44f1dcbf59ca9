"""Locate 3D scans in any attitude: from a hand, in flight, on the side, upside down.

Let u be a direction that may be up, in the frame of the robot, and A the roll and pitch that turn
it into ẑ. Then the scan is searched as that of a level robot at the same place,

    T_world_robot = T_world_level A,        A u = ẑ.                                        (1)

A search that fits roll and pitch forgives an error of u: of 40 scans of a real building 37 are
found from 0 to 9° off, and 29 from 13°. So the planes of the scan give enough directions
(`sensing.planes`). Each gets a short search, and those that the best one does not rule out get a
full one. If none of them explains the scan, directions all around are tried. A place in another
attitude is a competitor like any other.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from isovist.arrays import BoolArray, FloatArray, readonly
from isovist.atlas import Fit, SearchSpace
from isovist.basis import DirectionalBasis
from isovist.errors import InputError
from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.candidates.map_streams import find_candidates
from isovist.localization.decision.rules import demote
from isovist.localization.fitting.sequence_fit import rate
from isovist.localization.interpretations.alternative_scans import with_smaller_search
from isovist.localization.interpretations.levelling import MAX_ATTITUDE_STD, attitude_std
from isovist.localization.query.query import Query
from isovist.localization.query.scan_views import select_beams
from isovist.localization.query.search_space import Regions, SearchRegion
from isovist.localization.reasons import Facts, Reason
from isovist.localization.scoring.coarse_to_fine import CandidateFitter
from isovist.localization.scoring.hypotheses import Fits, group_ratings, is_refuted
from isovist.localization.scoring.removed_walls import (
    adjusted_log_likelihoods,
    allow_for_removed_walls,
)
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose, Pose3, swing, way_of
from isovist.sensing import CloudScan, ScanInput, ScanSequence, last_scan, up_directions

UP_DIRECTION_COUNT = 200
"""Number of evenly spread directions. Any direction is within 10° of one of them."""
MAX_ATTITUDES = 4
"""Most attitudes that get a full search."""
ATTITUDE_NEEDS_3D = "`any_attitude` needs a 3D map; this atlas is 2D."
ATTITUDE_NEEDS_POSE3 = (
    "A Pose is a motion on level ground. In any attitude give `motions` as Pose3."
)
ATTITUDE_WITHOUT_HEADING = (
    "A heading says nothing of a robot in any attitude. Give a `region` without one, e.g. "
    "Region.circle."
)

TIMING_STEPS = ("search", "refine", "judge", "total")
Locate = Callable[[ScanInput], Answer]


@dataclass(frozen=True, slots=True, eq=False)
class AttitudeHypothesis:
    """A direction that may be up, and the best place of a short search with it.

    Attributes:
        tilt: A of (1).
        scan: The scan of the level robot.
        pose: T_world_robot of the best place.
        score: Mean rating of a beam at that place in nats.
    """

    tilt: Pose3
    scan: ScanInput
    pose: Pose3
    score: float

    def sensor(self, robot: Pose3) -> FloatArray:
        """Return the pose of the level sensor frame for a pose of the robot, shape (6,)."""
        return np.asarray((robot @ self.tilt.inverse @ self.scan.T_robot_level).vector)


def check_attitude(space: SearchSpace, region: SearchRegion, motions: Sequence[AnyPose]) -> None:
    """Check that scans can be located in any attitude.

    Raises:
        InputError: If the map or a motion is 2D, or the region has a heading.
    """
    if space.dimension != 3:
        raise InputError(ATTITUDE_NEEDS_3D, code="wrong_dimension", field="any_attitude")
    if not all(isinstance(motion, Pose3) for motion in motions):
        raise InputError(ATTITUDE_NEEDS_POSE3, field="motions")
    regions = region.regions.values() if isinstance(region, Regions) else (region,)
    if any(part is not None and part.heading is not None for part in regions):
        raise InputError(ATTITUDE_WITHOUT_HEADING, code="conflict", field="region")


def locate_in_any_attitude(query: Query, locate: Locate) -> tuple[Answer, ScanInput, Pose3]:
    """Locate a scan whose roll and pitch are not known.

    Args:
        query: A scan and a 3D map. The roll and pitch that the scan states are ignored.
        locate: Locates the scan of a level robot, and fits roll and pitch.

    Returns:
        The answer for the level robot, its scan, and A of (1).
    """
    start = perf_counter()
    last = last_scan(query.scans)
    assert isinstance(last, CloudScan)  # as the map is 3D
    answer, best = _locate_best(query, up_directions(last), locate)
    if answer.verdict is Verdict.LOST:
        second = _locate_best(query, all_up_directions(), locate)
        if _score(second[0]) > _score(answer):
            answer, best = second
    timing, total = dict(answer.timing_ms), 1e3 * (perf_counter() - start)
    timing["search"] += total - timing["total"]
    answer = replace(answer, timing_ms=timing | {"total": total})
    if best is None:
        return answer, query.scans, Pose3()
    return answer, best.scan, best.tilt


def all_up_directions() -> FloatArray:
    """Return evenly spread up directions, shape (n, 3)."""
    return DirectionalBasis.fibonacci(UP_DIRECTION_COUNT).directions


def from_level_robot(answer: Answer, tilt: Pose3) -> Answer:
    """Return the answer for the robot from that for the level robot, equation (1)."""
    return replace(answer, estimates=tuple(_transform(e, tilt) for e in answer.estimates))


def _transform(estimate: Estimate, offset: Pose3) -> Estimate:
    """Return the estimate of a frame with a fixed offset from that of an estimate."""
    pose = estimate.pose
    assert isinstance(pose, Pose3)
    shifted = pose @ offset
    J = swing(pose[None], shifted[None], len(estimate.covariance))[0]
    return replace(estimate, pose=shifted, covariance=readonly(J @ estimate.covariance @ J.T))


def _locate_best(
    query: Query, directions: FloatArray, locate: Locate
) -> tuple[Answer, AttitudeHypothesis | None]:
    """Return the answer with the best up direction, in the frame of its level robot."""
    hypotheses = attitude_hypotheses(query, directions)
    if not hypotheses:
        timing = dict.fromkeys(TIMING_STEPS, 0.0)
        return Answer(Verdict.LOST, (Reason.NO_CANDIDATES,), (), timing), None
    pairs = [(locate(trial.scan), trial) for trial in hypotheses[:MAX_ATTITUDES]]
    pairs.sort(key=lambda pair: -_score(pair[0]))
    (answer, best), others = pairs[0], pairs[1:]
    competitors = [
        _transform(estimate, hypothesis.tilt @ best.tilt.inverse)
        for other, hypothesis in others
        for estimate in other.estimates
    ]
    competitors = _distinct(competitors, answer.estimates, query.settings)
    unsearched = max(0, len(hypotheses) - MAX_ATTITUDES)
    if answer.best is not None:
        answer = _compare_attitudes(query, answer, best, competitors, unsearched)
    return answer, best


def attitude_hypotheses(query: Query, directions: FloatArray) -> list[AttitudeHypothesis]:
    """Search briefly with each up direction, and keep those that the best does not rule out.

    Args:
        query: A scan and a 3D map.
        directions: Directions that may be up, in the frame of the sensor, shape (n, 3).

    Returns:
        The hypotheses, best first; none if the scan fits nowhere.
    """
    trials = [_attitude_hypothesis(query, up) for up in directions]
    fitting = [trial for trial in trials if trial is not None]
    distinct: list[AttitudeHypothesis] = []
    for trial in sorted(fitting, key=lambda hypothesis: -hypothesis.score):
        if not any(_is_same_pose(trial.pose, other.pose, query.settings) for other in distinct):
            distinct.append(trial)
    if not distinct:
        return []
    fits = _rate_poses(query, distinct[0], [hypothesis.pose for hypothesis in distinct])
    is_out = _refuted(query, fits)
    others = zip(distinct[1:], is_out, strict=True)
    return [distinct[0], *(hypothesis for hypothesis, out in others if not out)]


def _attitude_hypothesis(query: Query, up: FloatArray) -> AttitudeHypothesis | None:
    """Search briefly with one up direction in the frame of the sensor, shape (3,)."""
    space, scan = query.space, query.scans
    level, tilt = _as_level_scan(scan, last_scan(scan).T_robot_sensor.rotation @ up)
    reduced = with_smaller_search(query.settings)
    candidates = find_candidates(space, level, query.region, reduced).poses
    fitter = CandidateFitter(space, level, reduced, tilt=True, thorough=True)
    fits = fitter.fit_best(candidates, 1)
    if len(fits) == 0:
        return None
    sensor = space.lift(fits.poses[0])
    assert isinstance(sensor, Pose3)
    pose = sensor @ level.T_level_robot @ tilt
    return AttitudeHypothesis(tilt, level, pose, float(fits.scores[0]))


def _as_level_scan(scan: ScanInput, up: FloatArray) -> tuple[ScanInput, Pose3]:
    """Return the scan of a level robot, and A, by up in the frame of the robot, shape (3,)."""
    if not isinstance(scan, ScanSequence):
        tilt = levelling_tilt(up)
        return as_level_robot(scan, tilt), tilt
    tilts = [levelling_tilt(up @ robot.rotation) for robot in map(Pose3.lifted, scan.robot_poses)]
    scans = tuple(as_level_robot(part, tilt) for part, tilt in zip(scan.scans, tilts, strict=True))
    motions = tuple(
        tilts[k] @ motion @ tilts[k + 1].inverse for k, motion in enumerate(scan.motions)
    )
    return replace(scan, scans=scans, motions=motions), tilts[-1]


def as_level_robot(scan: object, tilt: Pose3) -> CloudScan:
    """Return the scan that a level robot would take with the sensor at the same place."""
    assert isinstance(scan, CloudScan)
    return replace(scan, T_robot_sensor=tilt @ scan.T_robot_sensor, roll=0.0, pitch=0.0)


def levelling_tilt(up: FloatArray) -> Pose3:
    """Return A of (1) for a unit vector u, shape (3,), which is the last row of A."""
    pitch = -np.arctan2(up[0], np.hypot(up[1], up[2]))
    return Pose3(roll=float(np.arctan2(up[1], up[2])), pitch=float(pitch))


def _rate_poses(query: Query, hypothesis: AttitudeHypothesis, robots: Iterable[Pose3]) -> Fits:
    """Rate the beams of one hypothesis at poses of the robot in any attitude."""
    space, settings = query.space, query.settings
    beams = select_beams(space, hypothesis.scan, settings.fit.fine_beams, settings.scoring.group)
    poses = np.stack([hypothesis.sensor(robot) for robot in robots])
    fit = Fit(poses, np.zeros((len(poses), 6, 6)), *np.zeros((2, len(poses))))
    return Fits(fit, beams, *rate(space, beams, poses, settings))


def _refuted(query: Query, fits: Fits) -> BoolArray:
    """Return which poses after the first are ruled out, shape (K - 1,)."""
    groups = group_ratings(allow_for_removed_walls(query.space, fits, query.settings))
    return is_refuted(groups, fits.scores, float(fits.inliers[0]), query.settings)


def _distinct(
    competitors: Sequence[Estimate], listed: Sequence[Estimate], settings: LocalizationSettings
) -> list[Estimate]:
    """Return the competitors at poses that are not listed, best first, each pose once."""
    distinct: list[Estimate] = []
    for competitor in sorted(competitors, key=lambda estimate: -estimate.score):
        if not any(
            _is_same_pose(competitor.pose, estimate.pose, settings)
            for estimate in (*listed, *distinct)
        ):
            distinct.append(competitor)
    return distinct


def _compare_attitudes(
    query: Query,
    answer: Answer,
    hypothesis: AttitudeHypothesis,
    competitors: Sequence[Estimate],
    unsearched: int,
) -> Answer:
    """Compare an answer with the places in other attitudes.

    Args:
        query: A scan and a 3D map.
        answer: The answer with the best hypothesis, with at least one estimate.
        hypothesis: That hypothesis.
        competitors: Estimates with other hypotheses, in the frame of its level robot.
        unsearched: Number of further hypotheses that had only a short search.
    """
    first, settings = answer.estimates[0], query.settings
    if competitors:
        poses = [estimate.pose @ hypothesis.tilt for estimate in (first, *competitors)]
        fits = _rate_poses(query, hypothesis, poses)
        is_out = _refuted(query, fits)
        unsearched += int((~is_out).sum())
        likelihoods = adjusted_log_likelihoods(query.space, fits, settings)
        gains = settings.decision.likelihood_power * (likelihoods[1:] - likelihoods[0])
        chances = first.probability * np.exp(gains)
        total = 1.0 + float(chances.sum())
        competitors = [
            replace(estimate, probability=float(chance), refuted=bool(out))
            for estimate, chance, out in zip(competitors, chances, is_out, strict=True)
        ]
        estimates = [
            replace(estimate, probability=estimate.probability / total)
            for estimate in (*answer.estimates, *competitors)
        ]
        estimates.sort(key=lambda estimate: -estimate.probability)
        answer = replace(answer, estimates=tuple(estimates[: settings.decision.max_estimates]))
    return _demote_attitude(answer, unsearched, settings)


def _demote_attitude(answer: Answer, competitors: int, settings: LocalizationSettings) -> Answer:
    """Return an answer that is unique only if no other attitude competes and its own is certain."""
    best = answer.best
    if answer.verdict is not Verdict.UNIQUE or best is None:
        return answer
    std = attitude_std(best)
    tests = {
        Reason.OTHER_ATTITUDES: competitors > 0,
        Reason.LOW_PROBABILITY: best.probability < settings.decision.min_probability,
        Reason.ATTITUDE_UNCERTAIN: std > MAX_ATTITUDE_STD,
    }
    reasons = tuple(reason for reason, applies in tests.items() if applies)
    if not reasons:
        return answer
    facts: Facts = {
        "competitors": competitors,
        "probability": best.probability,
        "attitude_std": std,
    }
    return demote(answer, reasons, facts)


def _is_same_pose(a: AnyPose, b: AnyPose, settings: LocalizationSettings) -> bool:
    """Return whether two poses are of one place in one attitude."""
    assert isinstance(a, Pose3)
    way, turn = way_of(a.inverse @ b)
    return way <= settings.decision.same_place_m and turn <= settings.decision.same_place_rad


def _score(answer: Answer) -> float:
    return -np.inf if answer.best is None else answer.best.score
