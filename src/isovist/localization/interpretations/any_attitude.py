"""Scans in space from any attitude: held in a hand, flying, on the side, upside down.

With u a way that may be up, in the frame of the robot, and A the roll and pitch that turn it into
ẑ, the scan is looked at as that of a level robot in the place of this one,

    T_world_robot = T_world_level A,        A u = ẑ.                                        (1)

A search with roll and pitch fitted forgives an error in u: of 40 scans of a real building 37 are
found from 0 to 9° off, 29 from 13°.  So the planes of the scan give ways enough (`sensing.planes`):
each is looked at briefly, and those that the best of them does not refute are asked in full.  Where
none of them explains the scan, ways all round are tried.  A place in another attitude is a rival
like any other.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.atlas import Fit, SearchSpace
from isovist.basis import DirectionalBasis
from isovist.errors import InputError
from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.candidates.map_streams import find_candidates
from isovist.localization.fitting.sequence_fit import rate
from isovist.localization.interpretations.alternative_scans import with_smaller_search
from isovist.localization.interpretations.levelling import MAX_ATTITUDE_STD, attitude_std
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
"""Ways of an even covering: none is farther than 10° from one of them."""
MAX_ATTITUDES = 4
"""Most ways that are asked in full."""
ATTITUDE_NEEDS_3D = "`any_attitude` is for maps in space; this atlas is of the plane."
ATTITUDE_NEEDS_POSE3 = (
    "A Pose is a motion on level ground. In any attitude give `motions` as Pose3."
)
ATTITUDE_WITHOUT_HEADING = (
    "A heading says nothing of a robot in any attitude. Give a `region` without one, e.g. "
    "Region.circle."
)

STEPS = ("search", "refine", "judge", "total")
Locate = Callable[[ScanInput], Answer]


@dataclass(frozen=True, slots=True, eq=False)
class AttitudeHypothesis:
    """A scan as that of a level robot.

    Attributes:
        tilt: A of (1).
        scan: What the level robot saw.
        pose: T_world_robot of the best place at a glance.
        score: Of that place, in nats.
    """

    tilt: Pose3
    scan: ScanInput
    pose: Pose3
    score: float

    def sensor(self, robot: Pose3) -> FloatArray:
        """The level frame of the sensor when the robot is there, shape (6,)."""
        return np.asarray((robot @ self.tilt.inverse @ self.scan.T_robot_level).vector)


def check_attitude(atlas: SearchSpace, region: SearchRegion, motions: Sequence[AnyPose]) -> None:
    """An error unless scans from any attitude can be located so."""
    if atlas.dimension != 3:
        raise InputError(ATTITUDE_NEEDS_3D, code="wrong_dimension", field="any_attitude")
    if not all(isinstance(motion, Pose3) for motion in motions):
        raise InputError(ATTITUDE_NEEDS_POSE3, field="motions")
    regions = region.regions.values() if isinstance(region, Regions) else (region,)
    if any(part is not None and part.heading is not None for part in regions):
        raise InputError(ATTITUDE_WITHOUT_HEADING, code="conflict", field="region")


def locate_in_any_attitude(
    atlas: SearchSpace,
    scan: ScanInput,
    region: SearchRegion,
    ask: Locate,
    settings: LocalizationSettings,
) -> tuple[Answer, ScanInput, Pose3]:
    """The answer about a level robot, its scan as it was asked, and A of (1).

    Args:
        atlas: The map in space, described.
        scan: What the sensor saw; what it tells of its roll and pitch is not believed.
        region: Where the robot may be.
        ask: Locates the scan of a level robot, with roll and pitch fitted.
        settings: How to look and to judge.
    """
    start = perf_counter()
    last = last_scan(scan)
    assert isinstance(last, CloudScan)  # as the map is in space
    answer, stance = _locate_best(atlas, scan, region, up_directions(last), ask, settings)
    if answer.verdict is Verdict.LOST:
        again, other = _locate_best(atlas, scan, region, all_up_directions(), ask, settings)
        if _score(again) > _score(answer):
            answer, stance = again, other
    timing, total = dict(answer.timing_ms), 1e3 * (perf_counter() - start)
    timing["search"] += total - timing["total"]
    answer = replace(answer, timing_ms=timing | {"total": total})
    return (answer, scan, Pose3()) if stance is None else (answer, stance.scan, stance.tilt)


def all_up_directions() -> FloatArray:
    """Return directions all round, evenly spread, each of which may be up, shape (n, 3)."""
    return DirectionalBasis.fibonacci(UP_DIRECTION_COUNT).directions


def from_level_robot(answer: Answer, tilt: Pose3) -> Answer:
    """What an answer about the level robot says of the robot itself, equation (1)."""
    return replace(answer, estimates=tuple(_transform(e, tilt) for e in answer.estimates))


def _transform(estimate: Estimate, by: Pose3) -> Estimate:
    """The estimate of a frame that is fixed to that of an estimate."""
    before = estimate.pose
    assert isinstance(before, Pose3)
    after = before @ by
    J = swing(before[None], after[None], len(estimate.covariance))[0]
    return replace(estimate, pose=after, covariance=readonly(J @ estimate.covariance @ J.T))


def _locate_best(
    atlas: SearchSpace,
    scan: ScanInput,
    region: SearchRegion,
    ups: FloatArray,
    ask: Locate,
    settings: LocalizationSettings,
) -> tuple[Answer, AttitudeHypothesis | None]:
    """The answer by the best of some ways up, in the frame of its level robot."""
    alive = attitude_hypotheses(atlas, scan, region, ups, settings)
    if not alive:
        return Answer(Verdict.LOST, (Reason.NO_CANDIDATES,), (), dict.fromkeys(STEPS, 0.0)), None
    answers = [(ask(one.scan), one) for one in alive[:MAX_ATTITUDES]]
    answers.sort(key=lambda pair: -_score(pair[0]))
    (answer, stance), others = answers[0], answers[1:]
    rivals = [
        _transform(estimate, one.tilt @ stance.tilt.inverse)
        for other, one in others
        for estimate in other.estimates
    ]
    unasked = max(0, len(alive) - MAX_ATTITUDES)
    return _compare_attitudes(atlas, answer, stance, rivals, unasked, settings), stance


def attitude_hypotheses(
    atlas: SearchSpace,
    scan: ScanInput,
    region: SearchRegion,
    ups: FloatArray,
    settings: LocalizationSettings,
) -> list[AttitudeHypothesis]:
    """Of some ways up, in the frame of the sensor, those that the best does not refute at a glance.

    Best first; none where the scan fits nowhere.
    """
    seen = (_attitude_hypothesis(atlas, scan, region, up, settings) for up in ups)
    tried: list[AttitudeHypothesis] = []
    for one in sorted((one for one in seen if one is not None), key=lambda one: -one.score):
        if not any(_is_same_pose(one.pose, known.pose, settings) for known in tried):
            tried.append(one)
    if not tried:
        return []
    fits = _rate_poses(atlas, tried[0], [one.pose for one in tried], settings)
    told = group_ratings(allow_for_removed_walls(atlas, fits, settings))
    out = is_refuted(told, fits.scores, float(fits.inliers[0]), settings)
    return [tried[0], *(one for one, gone in zip(tried[1:], out, strict=True) if not gone)]


def _attitude_hypothesis(
    atlas: SearchSpace,
    scan: ScanInput,
    region: SearchRegion,
    up: FloatArray,
    settings: LocalizationSettings,
) -> AttitudeHypothesis | None:
    """The scan with that way up, in the frame of the sensor, at a glance."""
    level, tilt = _as_level_scan(scan, last_scan(scan).T_robot_sensor.rotation @ up)
    few = with_smaller_search(settings)
    seeds = find_candidates(atlas, level, region, few).poses
    fits = CandidateFitter(atlas, level, few, tilt=True, thorough=True).fit_best(seeds, 1)
    if len(fits) == 0:
        return None
    sensor = atlas.lift(fits.poses[0])
    assert isinstance(sensor, Pose3)
    pose = sensor @ level.T_level_robot @ tilt
    return AttitudeHypothesis(tilt, level, pose, float(fits.scores[0]))


def _as_level_scan(scan: ScanInput, up: FloatArray) -> tuple[ScanInput, Pose3]:
    """The scan as that of a level robot, where `up` of the robot at the last one is up, and A."""
    if not isinstance(scan, ScanSequence):
        tilt = levelling_tilt(up)
        return as_level_robot(scan, tilt), tilt
    tilts = [levelling_tilt(up @ robot.rotation) for robot in map(Pose3.lifted, scan.robot_poses)]
    scans = tuple(as_level_robot(one, tilt) for one, tilt in zip(scan.scans, tilts, strict=True))
    motions = tuple(
        tilts[k] @ motion @ tilts[k + 1].inverse for k, motion in enumerate(scan.motions)
    )
    return replace(scan, scans=scans, motions=motions), tilts[-1]


def as_level_robot(scan: object, tilt: Pose3) -> CloudScan:
    """What a level robot saw with the sensor where it was."""
    assert isinstance(scan, CloudScan)
    return replace(scan, T_robot_sensor=tilt @ scan.T_robot_sensor, roll=0.0, pitch=0.0)


def levelling_tilt(up: FloatArray) -> Pose3:
    """A of (1) for a unit vector u, shape (3,), which is its last row."""
    pitch = -np.arctan2(up[0], np.hypot(up[1], up[2]))
    return Pose3(roll=float(np.arctan2(up[1], up[2])), pitch=float(pitch))


def _rate_poses(
    atlas: SearchSpace,
    stance: AttitudeHypothesis,
    robots: Iterable[Pose3],
    settings: LocalizationSettings,
) -> Fits:
    """What the beams of one stance are worth from poses of the robot in any attitude."""
    beams = select_beams(atlas, stance.scan, settings.beams[1], settings.block)
    poses = np.stack([stance.sensor(robot) for robot in robots])
    fit = Fit(poses, np.zeros((len(poses), 6, 6)), *np.zeros((2, len(poses))))
    return Fits(fit, beams, *rate(atlas, beams, poses, settings))


def _compare_attitudes(
    atlas: SearchSpace,
    answer: Answer,
    stance: AttitudeHypothesis,
    rivals: Sequence[Estimate],
    unasked: int,
    settings: LocalizationSettings,
) -> Answer:
    """An answer when places in other attitudes are rivals too, in the frame of its level robot.

    Args:
        atlas: The map, described.
        answer: Of the best stance.
        stance: That stance.
        rivals: Estimates of the other stances that were asked, in the same frame.
        unasked: How many more places were not refuted at a glance.
        settings: How to judge.
    """
    best = answer.best
    if best is None:
        return answer
    apart: list[Estimate] = []
    for rival in sorted(rivals, key=lambda one: -one.score):
        if all(
            not _is_same_pose(rival.pose, known.pose, settings)
            for known in (*answer.estimates, *apart)
        ):
            apart.append(rival)
    alive = unasked
    if apart:
        places = [one.pose @ stance.tilt for one in (best, *apart)]
        fits = _rate_poses(atlas, stance, places, settings)
        told = group_ratings(allow_for_removed_walls(atlas, fits, settings))
        out = is_refuted(told, fits.scores, float(fits.inliers[0]), settings)
        alive, worth = unasked + int((~out).sum()), adjusted_log_likelihoods(atlas, fits, settings)
        chances = best.probability * np.exp(settings.sure[0] * (worth[1:] - worth[0]))
        whole = 1.0 + float(chances.sum())
        apart = [
            replace(one, probability=float(chance), refuted=bool(gone))
            for one, chance, gone in zip(apart, chances, out, strict=True)
        ]
        every = [
            replace(one, probability=one.probability / whole) for one in (*answer.estimates, *apart)
        ]
        every.sort(key=lambda one: -one.probability)
        best = every[0]
        answer = replace(answer, estimates=tuple(every[: settings.listed]))
    if answer.verdict is not Verdict.UNIQUE:
        return answer
    sigma = attitude_std(best)
    tests = {
        Reason.OTHER_ATTITUDES: alive > 0,
        Reason.LOW_PROBABILITY: best.probability < settings.sure[2],
        Reason.ATTITUDE_UNCERTAIN: sigma > MAX_ATTITUDE_STD,
    }
    reasons = tuple(reason for reason, applies in tests.items() if applies)
    if not reasons:
        return answer
    facts: Facts = {
        **answer.facts,
        "competitors": alive,
        "probability": best.probability,
        "attitude_std": sigma,
    }
    return replace(answer, verdict=Verdict.AMBIGUOUS, reasons=reasons, facts=facts)


def _is_same_pose(a: AnyPose, b: AnyPose, settings: LocalizationSettings) -> bool:
    """Whether two poses are of one place in one attitude."""
    assert isinstance(a, Pose3)
    way, turn = way_of(a.inverse @ b)
    return way <= settings.same[0] and turn <= settings.same[1]


def _score(answer: Answer) -> float:
    return -np.inf if answer.best is None else answer.best.score
