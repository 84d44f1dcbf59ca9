"""Verify an answer: prove it, and try to refute a unique place by alternative scans."""

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

AMBIGUOUS_BUDGET_S = 1.0
"""Time limit in s of the proof of an answer that is not unique, which can only list places."""
ONE_MAP = "`prove` needs a single map, got {} by name. Prove the answer on its own map alone."


def check_proof(query: Query, *, prove: bool, budget_s: float | None) -> None:
    """Raise an error if the answer to a query cannot be proved.

    Args:
        query: The query.
        prove: Whether a proof is requested.
        budget_s: Time limit of the proof in s.
    """
    if budget_s is not None and not budget_s >= 0.0:
        raise InputError.about("budget_s", f"must be a time in s, 0 or more, got {budget_s:g}.")
    if budget_s is not None and not prove:
        raise InputError.about(
            "budget_s", "limits the time of a proof; set `prove` too.", code="conflict"
        )
    if prove and isinstance(query.space, MultiMap):
        message = ONE_MAP.format(len(query.space.names))
        raise InputError(message, code="conflict", field="prove")
    if prove and isinstance(query.scan, ScanSequence):
        raise InputError(
            "`prove` needs a single scan, got several. Prove the last one alone.",
            code="conflict",
            field="prove",
        )
    if prove and query.space.dimension == 3:
        raise InputError(ONLY_2D, code="wrong_dimension", field="prove")


def add_proof(query: Query, answer: Answer, budget_s: float | None) -> Answer:
    """Return the answer with a proof; places that only the complete search finds are judged too.

    Args:
        query: The query.
        answer: The answer of the search; without an estimate there is nothing to prove.
        budget_s: Time limit of the complete search in s.
    """
    if answer.best is None:
        return answer
    start, space, scan = perf_counter(), query.space, last_scan(query.scans)
    assert isinstance(space, Atlas)
    assert not isinstance(query.region, Regions)
    limits = ProofSettings()
    if budget_s is not None:
        limits = replace(limits, max_time_s=budget_s)
    elif answer.verdict is not Verdict.UNIQUE:
        limits = replace(limits, max_time_s=AMBIGUOUS_BUDGET_S)
    result = prove(space, scan, answer, query.region, query.settings, limits)
    if len(result.competitors):
        tilt = query.fits_tilt
        fitter = CandidateFitter(space, scan, query.settings, tilt, thorough=True)
        competitors, _ = fitter.fit(result.competitors)
        sensors = [(e.pose @ scan.T_robot_level).vector for e in answer.estimates]
        poses = np.concatenate([np.stack(sensors), competitors.poses])
        fits = refit(space, competitors.beams, poses, query.settings, tilt=tilt)
        decision = decide(space, scan, inside(space, scan, query.region, fits), query.settings)
        if answer.verdict is Verdict.UNIQUE or decision.verdict is not Verdict.UNIQUE:
            answer = replace(decision, timing_ms=answer.timing_ms, trace=answer.trace)
    elapsed_ms = 1e3 * (perf_counter() - start)
    timing = dict(answer.timing_ms) | {"prove": elapsed_ms}
    timing["total"] += elapsed_ms
    return replace(answer, proof=result.proof, timing_ms=timing)


def try_alternative_scans(query: Query, answer: Answer) -> Answer:
    """Return the answer, not unique if the scan fits better mirrored or at another scale."""
    if answer.verdict is not Verdict.UNIQUE:
        return answer
    start = perf_counter()
    assert answer.best is not None
    reason, facts = find_better_alternative(query, answer.best)
    if reason is not None:
        proof = None if answer.proof is None else replace(answer.proof, unique=False)
        answer = replace(demote(answer, (reason,), facts), proof=proof)
    timing, elapsed_ms = dict(answer.timing_ms), 1e3 * (perf_counter() - start)
    for step in ("judge", "total"):
        timing[step] += elapsed_ms
    return replace(answer, timing_ms=timing)
