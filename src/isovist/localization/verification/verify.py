"""Look once more at an answer: prove it, and try to refute a unique place."""

from dataclasses import replace
from time import perf_counter

import numpy as np

from isovist.atlas import Atlas, MultiMap
from isovist.errors import InputError
from isovist.localization.answer import Answer, Verdict
from isovist.localization.decision.decide import decide
from isovist.localization.decision.rules import demote
from isovist.localization.decision.search_loop import inside
from isovist.localization.interpretations.alternative_scans import find_better_alternative
from isovist.localization.query.query import Query
from isovist.localization.query.search_space import Regions
from isovist.localization.scoring.coarse_to_fine import CandidateFitter, refit
from isovist.localization.settings import ProofSettings
from isovist.localization.verification.proof import ONLY_2D, prove
from isovist.sensing import ScanSequence, last_scan

LISTED_S = 1.0
"""Time of a complete search where nothing can be proved unique any more, in s."""
PROVED = "A proof is of one map, got {} by name. Prove it on the map of the answer alone."


def check_proof(query: Query, *, prove: bool, budget_s: float | None) -> None:
    """Raise an error unless the answer to a query can be proved as asked."""
    if budget_s is not None and not budget_s >= 0.0:
        raise InputError.about("budget_s", f"must be a time in s, 0 or more, got {budget_s:g}.")
    if budget_s is not None and not prove:
        raise InputError.about("budget_s", "is the time of a proof; ask for one.", code="conflict")
    if prove and isinstance(query.space, MultiMap):
        message = PROVED.format(len(query.space.names))
        raise InputError(message, code="conflict", field="prove")
    if prove and isinstance(query.scan, ScanSequence):
        raise InputError(
            "A proof is of one scan, got several. Prove the last one alone.",
            code="conflict",
            field="prove",
        )
    if prove and query.space.dimension == 3:
        raise InputError(ONLY_2D, code="wrong_dimension", field="prove")


def add_proof(query: Query, answer: Answer, budget_s: float | None) -> Answer:
    """Return the answer with a proof.  Places that only the complete search finds are judged too.

    Args:
        query: What was asked.
        answer: What the search found; it stays as it is where it has no estimate.
        budget_s: Time of the complete search, in s.
    """
    if answer.best is None:
        return answer
    start, space, scan = perf_counter(), query.space, last_scan(query.scans)
    assert isinstance(space, Atlas)
    assert not isinstance(query.region, Regions)
    limits = ProofSettings()
    if budget_s is not None:
        limits = replace(limits, seconds=budget_s)
    elif answer.verdict is not Verdict.UNIQUE:
        limits = replace(limits, seconds=LISTED_S)
    findings = prove(space, scan, answer, query.region, query.settings, limits)
    if len(findings.competitors):
        tilt = query.fits_tilt
        fitter = CandidateFitter(space, scan, query.settings, tilt, thorough=True)
        new, _ = fitter.fit(findings.competitors)
        listed = [(one.pose @ scan.T_robot_level).vector for one in answer.estimates]
        poses = np.concatenate([np.stack(listed), new.poses])
        fits = refit(space, new.beams, poses, query.settings, tilt=tilt)
        again = decide(space, scan, inside(space, scan, query.region, fits), query.settings)
        if answer.verdict is Verdict.UNIQUE or again.verdict is not Verdict.UNIQUE:
            answer = replace(again, timing_ms=answer.timing_ms, trace=answer.trace)
    spent = 1e3 * (perf_counter() - start)
    timing = dict(answer.timing_ms) | {"prove": spent}
    timing["total"] += spent
    return replace(answer, proof=findings.proof, timing_ms=timing)


def try_alternative_scans(query: Query, answer: Answer) -> Answer:
    """Return the answer; a unique place that fits better mirrored or rescaled is not unique."""
    if answer.verdict is not Verdict.UNIQUE:
        return answer
    start = perf_counter()
    assert answer.best is not None
    reason, facts = find_better_alternative(
        query.space, query.scans, answer.best, query.region, query.settings
    )
    if reason is not None:
        proof = None if answer.proof is None else replace(answer.proof, unique=False)
        answer = replace(demote(answer, (reason,), facts), proof=proof)
    timing, spent = dict(answer.timing_ms), 1e3 * (perf_counter() - start)
    for step in ("judge", "total"):
        timing[step] += spent
    return replace(answer, timing_ms=timing)
