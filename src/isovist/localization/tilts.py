"""Scans in space that lean, though nobody said so.

A scan whose ground is not level (`sensing.level`) is asked as if it were, with roll and pitch
fitted; as it was told where nothing fits so, for the ground may be a ramp.  Any other is asked as
it was told, and once more with roll and pitch fitted when the best place, fitted so, leans by more
than its covariance allows and explains the scan better.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from isovist.atlas.base import Site
from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.settings import LocalizationSettings
from isovist.localization.spread import covariances, information
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.joined import Look
from isovist.sensing.level import levelled

LEVEL = float(np.radians(0.8))
"""Ground that is tilted by more is levelled, in rad: less moves ends at 30 m by 0.4 m at most."""
LEAST = float(np.radians(0.5))
"""Fitted tilts below this are not told from none, in rad: maps bend by as much."""
ALLOWED = 2.5
"""Standard deviations by which a scan may seem to lean."""
FIRM = float(np.radians(1.0))
"""Largest standard deviation of a roll and a pitch that are worth telling, in rad."""
LEANS = " The sensor leans by {:.1f}° more than was told; roll and pitch were fitted."

UNSURE = (
    "The scan would fit better here if the sensor leant by more than was told, and nowhere else "
    "so. Tell its roll and pitch, or move and look again."
)


def upright(
    atlas: Site,
    scan: Look,
    tilt: bool,
    ask: Callable[[Look, bool], Answer],
    settings: LocalizationSettings,
) -> tuple[Answer, Look]:
    """What `ask` answers about a scan, told whether to fit a tilt, and the scan that it was asked.

    Args:
        atlas: The map, described.
        scan: What the sensor saw; only a cloud can lean.
        tilt: Whether roll and pitch are to be fitted in any case.
        ask: Locates a scan.
        settings: How to fit and to rate.
    """
    if tilt or not isinstance(scan, CloudScan):
        return ask(scan, tilt), scan
    flat, by = levelled(scan)
    if by > LEVEL and scan.roll == 0.0 and scan.pitch == 0.0:
        answer = ask(flat, True)
        if answer.none <= 0.5 and answer.verdict is not Verdict.LOST and _firm(answer):
            return _said(answer, scan), flat
        told = ask(scan, False)
        if _firm(answer) and (told.best is None or _score(answer) >= _score(told)):
            return _said(answer, scan), flat
        answer = told
    else:
        answer = ask(scan, False)
    if answer.best is not None and _leans(atlas, scan, answer.best, settings):
        again = ask(scan, True)
        if again.best is not None and again.best.score > answer.best.score:
            return _said(again, scan), scan
        if answer.verdict is Verdict.UNIQUE:
            answer = replace(answer, verdict=Verdict.AMBIGUOUS, advice=UNSURE)
    return answer, scan


def _score(answer: Answer) -> float:
    return -np.inf if answer.best is None else answer.best.score


def _firm(answer: Answer) -> bool:
    """Whether the scan tells roll and pitch: walls alone do not."""
    if answer.best is None:
        return False
    return float(np.linalg.eigvalsh(answer.best.covariance[4:, 4:])[-1]) <= FIRM**2


def _leans(atlas: Site, scan: CloudScan, best: Estimate, settings: LocalizationSettings) -> bool:
    """Whether the best place explains the scan better when it leans by more than it may."""
    start = np.atleast_2d((best.pose @ scan.T_level_robot.inverse).vector)
    beams = atlas.beams(scan, settings.beams[1], settings.block)
    fit = atlas.fit(beams, start, settings.fine_widths(atlas), atlas.fitted(True))
    known = information(fit, beams.blocks, atlas.cell(fit.poses), settings)
    tilt, spread = fit.poses[0, 4:], covariances(known, settings)[0, 4:, 4:]
    if np.hypot(*tilt) <= LEAST or tilt @ np.linalg.solve(spread, tilt) <= ALLOWED**2:
        return False
    return float(atlas.rate(beams, fit.poses, settings.model)[0].mean()) > best.score


def _said(answer: Answer, scan: CloudScan) -> Answer:
    """The answer, with words about how far the scan leans."""
    if answer.best is None:
        return answer
    up = answer.best.pose.rotation[2] @ (scan.T_level_robot.rotation[2])
    lean = float(np.degrees(np.arccos(np.clip(up, -1.0, 1.0))))
    return replace(answer, advice=answer.advice + LEANS.format(lean))
