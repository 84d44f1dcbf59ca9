"""Scans in space that lean, though nobody said so.

A scan whose ground is not level (`sensing.levelling`) is looked at as if it were, with roll and
pitch fitted.  As it may be a ramp or a stack of boxes, the ground alone does not decide: unless one
place explains the scan so, and leans, it is looked at as it was told, too, and what fits better is
asked.  A place that is the only one as told, but fits less well than levelled, is not unique as
told.  What was asked as told is asked once more with roll and pitch fitted when the best place,
fitted so, leans by more than its covariance allows: it is not unique as told.  Where that, too,
leaves more than one place, the ground may not be in view: then the scan is looked at by whatever
else may be up (`sensing.planes`), and asked so where it fits better.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from isovist.atlas import SearchSpace
from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.decision.search_loop import Search
from isovist.localization.fitting.final_fit import (
    LEVEL_COORDINATES,
    final_fit,
    final_fit_cost,
    local_map_of,
)
from isovist.localization.reasons import Facts, Reason
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
"""Fitted tilts below this are not told from none, in rad: a unique answer is to be within 1°, and
of 200 last fits (`settle`) in a real building 97 in 100 err by less than that."""
MAX_ATTITUDE_ERROR = float(np.radians(1.0))
"""By so much a unique answer may be off, in rad: no scan that knows its attitude to within that may
seem to lean by more."""
MAX_LEAN_STDS = 1.5
"""Standard deviations by which a scan may seem to lean: they are twice too wide where beams end at
faces of cells, and 1.3 times elsewhere (`spread`)."""
MAX_ATTITUDE_STD = float(np.radians(0.45))
"""Largest standard deviation of a roll and a pitch that are worth telling, in rad: fits err by 0.75
of it in the root mean square, so three times that is 1°.  Of 100 scans of a real building 97 tell
them so, of streets all, of a room of coarse cells one in thirty."""


def resolve_tilt(
    atlas: SearchSpace,
    scan: ScanInput,
    tilt: bool,
    ask: Callable[[ScanInput, bool, Search | None], Answer],
    look: Callable[[ScanInput, bool], Search],
    settings: LocalizationSettings,
) -> tuple[Answer, ScanInput]:
    """The answer about a scan, and the scan as it was asked.

    Args:
        atlas: The map, described.
        scan: What the sensor saw, once or several times; only clouds can lean.
        tilt: Whether roll and pitch are to be fitted in any case.
        ask: Locates a scan, told whether to fit a tilt, and what a first look gave.
        look: Has a first look.
        settings: How to fit and to rate.
    """
    last = last_scan(scan)
    if tilt or not isinstance(last, CloudScan):
        return (_require_attitude(ask(scan, True, None)) if tilt else ask(scan, False, None)), scan
    flat, first, level = level_scans(scan), None, None
    if flat is not scan:
        level = ask(flat, True, None)
        if _is_attitude_determined(level, last):
            if level.verdict is not Verdict.UNIQUE:
                first = look(scan, False)
            if first is None or _score(level) > _score(first.first()):
                return _with_lean(level, last), flat
    answer = ask(scan, False, first)
    sure = answer.verdict is Verdict.UNIQUE
    if (
        sure
        and level is not None
        and _score(level) > _score(answer)
        and _lean(level.best, last) > MIN_LEAN
    ):
        return _with_lean(_require_attitude(level), last), flat
    if answer.best is not None and _leans_significantly(atlas, scan, answer.best, settings):
        again = ask(scan, True, None)
        if _fits_better(again, answer, settings):
            return _with_lean(_require_attitude(again), last), scan
        if answer.verdict is Verdict.UNIQUE:
            answer = replace(answer, verdict=Verdict.AMBIGUOUS, reasons=(Reason.TILT_FITS_BETTER,))
    if answer.verdict is not Verdict.UNIQUE:
        for turned in level_by_planes(scan):
            first = look(turned, True)
            if _score(first.first()) > _score(answer):
                again = ask(turned, True, first)
                if _fits_better(again, answer, settings) and _lean(again.best, last) > MIN_LEAN:
                    answer, scan = _with_lean(_require_attitude(again), last), turned
    return answer, scan


def _score(answer: Answer) -> float:
    return -np.inf if answer.best is None else answer.best.score


def _fits_better(leaning: Answer, told: Answer, settings: LocalizationSettings) -> bool:
    """Whether a scan fits better with its roll and pitch fitted than as told: where it hardly knows
    them, by as much as refutes a rival, since what is fitted besides always gains a little.
    """
    if leaning.best is None:
        return False
    margin = 0.0 if attitude_std(leaning.best) <= MAX_ATTITUDE_STD else settings.refuted[1]
    return _score(leaning) > _score(told) + margin


def _is_attitude_determined(answer: Answer, scan: CloudScan) -> bool:
    """Whether the scan tells roll and pitch, which walls alone do not, and not as told."""
    if answer.best is None or _lean(answer.best, scan) <= MIN_LEAN:
        return False
    return attitude_std(answer.best) <= MAX_ATTITUDE_STD


def attitude_std(best: Estimate) -> float:
    """Largest standard deviation of roll and pitch together, in rad."""
    return float(np.sqrt(np.linalg.eigvalsh(best.covariance[4:, 4:])[-1]))


def _require_attitude(answer: Answer) -> Answer:
    """An answer that is unique only where the attitude is known well."""
    best, unique = answer.best, answer.verdict is Verdict.UNIQUE
    if best is None or not unique or len(best.covariance) <= LEVEL_COORDINATES:
        return answer
    if attitude_std(best) <= MAX_ATTITUDE_STD:
        return answer
    facts: Facts = {**answer.facts, "attitude_std": attitude_std(best)}
    reasons = (Reason.ATTITUDE_UNCERTAIN,)
    return replace(answer, verdict=Verdict.AMBIGUOUS, reasons=reasons, facts=facts)


def _lean(best: Estimate | None, scan: CloudScan) -> float:
    """How much more an estimate leans than the scan tells, in rad; nothing where there is none."""
    if best is None:
        return 0.0
    up = best.pose.rotation[2] @ scan.T_level_robot.rotation[2]
    return float(np.arccos(np.clip(up, -1.0, 1.0)))


def _leans_significantly(
    atlas: SearchSpace, look: ScanInput, best: Estimate, settings: LocalizationSettings
) -> bool:
    """Whether the scan, fitted once more at the best place, leans by more than it may.

    Of several scans the one with the most returns is asked; the last may be almost blind.
    """
    scan, pose = last_scan(look), best.pose
    if isinstance(look, ScanSequence):
        k = int(np.argmax([len(one.points) for one in look.scans if isinstance(one, CloudScan)]))
        scan, pose = look.scans[k], pose @ Pose3.lifted(look.robot_poses[k])
    assert isinstance(scan, CloudScan)
    atlas, best = local_map_of(atlas, replace(best, pose=pose))
    start = np.atleast_2d((best.pose @ scan.T_robot_level).vector)
    fit, spreads = final_fit(atlas, scan, start, atlas.fitted(True), settings)
    tilt, spread = fit.poses[0, 4:], spreads[0, 4:, 4:]
    lean, sure = np.hypot(*tilt), tilt @ np.linalg.solve(spread, tilt) > MAX_LEAN_STDS**2
    blind = np.linalg.eigvalsh(spread)[-1] > MAX_ATTITUDE_ERROR**2  # which tells nothing
    if lean <= MIN_LEAN or not (sure or (lean > MAX_ATTITUDE_ERROR and not blind)):
        return False
    # On coarse cells it may slide to where it fits less well.
    level, _ = final_fit(atlas, scan, start, atlas.fitted(False), settings)
    return bool(final_fit_cost(fit, atlas, settings)[0] < final_fit_cost(level, atlas, settings)[0])


def _with_lean(answer: Answer, scan: CloudScan) -> Answer:
    """Add to an answer how far the scan leans."""
    if answer.best is None:
        return answer
    return replace(answer, facts={**answer.facts, "lean": _lean(answer.best, scan)})
