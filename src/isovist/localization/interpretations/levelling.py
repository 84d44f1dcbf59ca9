"""Locate 3D scans that lean although they state that they are level.

1. If the ground in the scan is not level (`sensing.levelling`), the scan is levelled by it and
   searched with roll and pitch fitted.
2. The ground may be a ramp or a stack of boxes, so it does not decide alone. Unless a single place
   explains the levelled scan and leans, the scan is also searched as it is. The better fit wins. A
   unique place of the scan as it is must also fit better than the levelled scan does.
3. If the best place leans by more than its covariance allows, the scan is searched again with roll
   and pitch fitted. If that fits no better, the place is not unique.
4. If more than one place is left, the ground may not be in view. Then the scan is levelled by other
   planes that may be horizontal or vertical (`sensing.planes`), and the better fit wins.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.decision.rules import demote
from isovist.localization.decision.search_loop import Search
from isovist.localization.fitting.final_fit import (
    LEVEL_COORDINATES,
    final_fit,
    final_fit_cost,
    local_map_of,
)
from isovist.localization.query.query import Query
from isovist.localization.reasons import Reason
from isovist.localization.settings import LocalizationSettings
from isovist.poses import Pose3
from isovist.sensing import (
    CloudScan,
    ScanInput,
    ScanSequence,
    last_scan,
    level_by_planes,
    level_scans,
)

MIN_LEAN = float(np.radians(0.45))
"""Smallest fitted lean that counts, in rad. A unique answer is to be within 1°, and 97 of 100
final fits in a real building err by less than 0.45° (200 fits)."""
MAX_ATTITUDE_ERROR = float(np.radians(1.0))
"""Largest error of the attitude of a unique answer in rad. A scan whose attitude is known to within
that may not seem to lean by more."""
MAX_LEAN_STDS = 1.5
"""Largest lean that a scan may seem to have, in standard deviations. These are twice too large
where beams end at faces of cells, and 1.3 times elsewhere (`covariance`)."""
MAX_ATTITUDE_STD = float(np.radians(0.45))
"""Largest standard deviation of a roll and pitch that are well determined, in rad. Fits err by 0.75
of it in the root mean square, so three times that is 1°. They are well determined in 97 of 100
scans of a real building, in all on streets, and in one of thirty in a room of coarse cells."""


def resolve_tilt(
    query: Query,
    run: Callable[[ScanInput, bool, Search | None], Answer],
    begin: Callable[[ScanInput, bool], Search],
) -> tuple[Answer, ScanInput]:
    """Locate a scan as it is or levelled, whichever fits better.

    Args:
        query: The scan, and where to search for it. Only 3D scans can lean.
        run: Locates a scan: whether to fit roll and pitch, and a search that was begun, if any.
        begin: Begins a search for a scan: whether to fit roll and pitch.

    Returns:
        The answer, and the scan as it was searched for it.
    """
    scan, settings, last = query.scans, query.settings, last_scan(query.scans)
    if query.fits_tilt:
        return _require_attitude(run(scan, True, None)), scan
    if not isinstance(last, CloudScan):
        return run(scan, False, None), scan
    levelled, search, level = level_scans(scan), None, None
    if levelled is not scan:
        level = run(levelled, True, None)
        if _is_attitude_determined(level, last):
            if level.verdict is not Verdict.UNIQUE:
                search = begin(scan, False)
            if search is None or _score(level) > _score(search.first()):
                return _with_lean(level, last), levelled
    answer = run(scan, False, search)
    if (
        level is not None
        and answer.verdict is Verdict.UNIQUE
        and _score(level) > _score(answer)
        and _lean(level.best, last) > MIN_LEAN
    ):
        return _with_lean(_require_attitude(level), last), levelled
    if answer.best is not None and _leans_significantly(query, answer.best):
        leaning = run(scan, True, None)
        if _fits_better(leaning, answer, settings):
            return _with_lean(_require_attitude(leaning), last), scan
        if answer.verdict is Verdict.UNIQUE:
            answer = demote(answer, (Reason.TILT_FITS_BETTER,))
    if answer.verdict is not Verdict.UNIQUE:
        for plane_scan in level_by_planes(scan):
            search = begin(plane_scan, True)
            if _score(search.first()) > _score(answer):
                leaning = run(plane_scan, True, search)
                is_better = _fits_better(leaning, answer, settings)
                if is_better and _lean(leaning.best, last) > MIN_LEAN:
                    answer, scan = _with_lean(_require_attitude(leaning), last), plane_scan
    return answer, scan


def _score(answer: Answer) -> float:
    return -np.inf if answer.best is None else answer.best.score


def _fits_better(leaning: Answer, level: Answer, settings: LocalizationSettings) -> bool:
    """Return whether a scan fits better with its roll and pitch fitted.

    Two more coordinates always gain a little. So unless they are well determined, the gain must be
    as large as one that rules out a competitor.
    """
    if leaning.best is None:
        return False
    is_determined = attitude_std(leaning.best) <= MAX_ATTITUDE_STD
    margin = 0.0 if is_determined else settings.refutation.min_lead_nats
    return _score(leaning) > _score(level) + margin


def _is_attitude_determined(answer: Answer, scan: CloudScan) -> bool:
    """Return whether an answer leans, and its roll and pitch are well determined."""
    if answer.best is None or _lean(answer.best, scan) <= MIN_LEAN:
        return False
    return attitude_std(answer.best) <= MAX_ATTITUDE_STD


def attitude_std(best: Estimate) -> float:
    """Return the standard deviation of roll and pitch along their worst direction, in rad."""
    return float(np.sqrt(np.linalg.eigvalsh(best.covariance[4:, 4:])[-1]))


def _require_attitude(answer: Answer) -> Answer:
    """Return an answer that is unique only if its roll and pitch are well determined."""
    best = answer.best
    if best is None or answer.verdict is not Verdict.UNIQUE:
        return answer
    if len(best.covariance) <= LEVEL_COORDINATES or attitude_std(best) <= MAX_ATTITUDE_STD:
        return answer
    return demote(answer, (Reason.ATTITUDE_UNCERTAIN,), {"attitude_std": attitude_std(best)})


def _lean(best: Estimate | None, scan: CloudScan) -> float:
    """Return how far an estimate leans beyond what the scan states, in rad; 0 without estimate."""
    if best is None:
        return 0.0
    up = best.pose.rotation[2] @ scan.T_level_robot.rotation[2]
    return float(np.arccos(np.clip(up, -1.0, 1.0)))


def _leans_significantly(query: Query, best: Estimate) -> bool:
    """Fit the best place once more, and return whether it leans by more than it may.

    Of a sequence, the scan with the most returns is fitted, as the last may be almost blind.
    """
    scan, settings = query.scans, query.settings
    part, pose = last_scan(scan), best.pose
    if isinstance(scan, ScanSequence):
        k = int(
            np.argmax([len(cloud.points) for cloud in scan.scans if isinstance(cloud, CloudScan)])
        )
        part, pose = scan.scans[k], pose @ Pose3.lifted(scan.robot_poses[k])
    assert isinstance(part, CloudScan)
    atlas, local = local_map_of(query.space, replace(best, pose=pose))
    start = np.atleast_2d((local.pose @ part.T_robot_level).vector)
    fit, spreads = final_fit(atlas, part, start, atlas.fitted(True), settings)
    tilt, spread = fit.poses[0, 4:], spreads[0, 4:, 4:]
    lean = np.hypot(*tilt)
    is_significant = tilt @ np.linalg.solve(spread, tilt) > MAX_LEAN_STDS**2
    is_unknown = np.linalg.eigvalsh(spread)[-1] > MAX_ATTITUDE_ERROR**2
    if lean <= MIN_LEAN or not (is_significant or (lean > MAX_ATTITUDE_ERROR and not is_unknown)):
        return False
    # On coarse cells the fit may slide to where it fits less well.
    level, _ = final_fit(atlas, part, start, atlas.fitted(False), settings)
    leaning_cost, level_cost = (final_fit_cost(f, atlas, settings)[0] for f in (fit, level))
    return bool(leaning_cost < level_cost)


def _with_lean(answer: Answer, scan: CloudScan) -> Answer:
    """Return an answer that also reports how far the scan leans."""
    if answer.best is None:
        return answer
    return replace(answer, facts={**answer.facts, "lean": _lean(answer.best, scan)})
