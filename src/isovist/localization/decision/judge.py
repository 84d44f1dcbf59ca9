"""Is the best place the only one?

Beams side by side see the same thing, and err together: a person, a table or a door that the map
does not show fills many degrees when it is near.  So the scan is cut into blocks of 10°, in space
of azimuth and of elevation, and blocks that see one thing form a column: in the plane those side by
side on 0.75 m, in space those above each other.  A column is one witness: with ℓ_jc the mean over
its blocks of their mean rating from place j, at the best pose near it (`refine.polish`), a place is
worth

    L_j = Σ_c (ℓ_jc + κ e_j − κ u_j),                                                      (1)

where e_j is the share of beams explained and u_j that of beams which end in unknown space.  Clutter
and unknown space explain any beam a little, so that a place which leaves much to them can rate as
high as one that accounts for the walls.  That none of the places is right is worth ℓ₀ for each of
the C witnesses:

    p_j ∝ exp(β L_j),        p_none ∝ exp(β C ℓ₀).                                          (2)

Witnesses side by side that look through one wall of the map are one, where what they meet behind it
is explained: a pane of glass, a door or a partition that is gone (`gone`).  In (3), and in the
plane in (1), the others of them are rated as if nothing stood in their way, at all places alike.

A rival is refuted when the witnesses agree that it is worse.  With δ_c = ℓ_0c − ℓ_jc,

    t_j = Σ_c δ_c / √(Σ_c δ_c² + τ²),       d_j = mean rating of all beams, less the rival's:   (3)

of the fits where they are, since what a place gains nearby is not what makes it the only one.
t is about 1 when a single witness speaks against the rival, something that a moved cupboard can do,
and √C when all C of them do; the more is seen, the more of it has moved.  The place is unique when
every rival has

    t_j · (share of beams explained) ≥ max(t_min, √(ρC))    and    d_j ≥ d_min,           (4)

there are enough witnesses, the fit is loose neither along an axis nor in its heading, and p of (2)
is at least p_min: a single thing that stands where it does not in the map can make a look-alike
explain more than the right place does.  It is lost when even the best place explains the scan
badly.

Several maps have the places of all of them, and a large building hundreds that fit a scan of
another one a little: their number says nothing.  So a place of another map than that of the best
that is refuted, and has by (2) less than 1 − p_min of its chance, does not count in (2).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas import SearchSpace
from isovist.localization.answer import Answer, Estimate, Estimates, Verdict
from isovist.localization.candidates.node_search import distinct_indices
from isovist.localization.decision.rules import Rule, apply_rules
from isovist.localization.fitting.covariance import (
    covariances,
    information,
    major_axis,
    to_robot_frame,
)
from isovist.localization.reasons import Facts, Reason
from isovist.localization.scoring.hypotheses import Fits, group_ratings, is_refuted, log_likelihoods
from isovist.localization.scoring.likelihood_climb import climb_likelihood
from isovist.localization.scoring.removed_walls import allows_removed_walls
from isovist.localization.scoring.weak_axis import widen_along_weak_axis
from isovist.localization.settings import LocalizationSettings
from isovist.sensing import ScanInput, last_scan


@dataclass(frozen=True, slots=True)
class SearchCoverage:
    """What a search left out.

    Attributes:
        cost_ratio: Gives, for a pose of the sensor, how many times its cost the cheapest pose
            costs that was not searched.
        is_last: Whether no more is searched, whatever comes of it.
    """

    cost_ratio: Callable[[FloatArray], float]
    is_last: bool


EXHAUSTIVE = SearchCoverage(lambda _: math.inf, is_last=True)
"""Nothing was left out, or other poses do not matter."""


def decide(
    atlas: SearchSpace,
    scan: ScanInput,
    fits: Fits,
    settings: LocalizationSettings,
    *,
    nearby: bool = True,
    search: SearchCoverage = EXHAUSTIVE,
) -> Answer:
    """Turn fits into distinct estimates, their probabilities and a verdict.

    Args:
        atlas: The map, described.
        scan: What the sensor saw, once or several times.
        fits: Places that may be right.
        settings: How to judge.
        nearby: Look for the best rating around the places that contend (`polish`).
        search: What was left out by the search that found the places.
    """
    if len(fits) == 0:
        return Answer(Verdict.LOST, (Reason.NO_CANDIDATES,), ())
    chosen = distinct_indices(fits.poses, *settings.same)
    plain = fits if len(chosen) == len(fits) else fits.select(chosen)
    eased = plain.forgiven(atlas, settings)
    likely = eased if allows_removed_walls(atlas) else plain.sums
    fits, totals = plain, log_likelihoods(likely, settings)
    if nearby:
        fits, totals = climb_likelihood(atlas, plain, settings, totals)
    order = np.argsort(-totals, kind="stable")
    ratio = search.cost_ratio(fits.poses[order[0]])
    if not search.is_last and ratio < settings.stop:
        settings = settings.careful()
    scores, inliers = fits.scores[order], fits.inliers[order]
    witnesses, explained = group_ratings(eased)[order], float(plain.inliers[order[0]])
    out = np.zeros(len(order), dtype=np.bool_)
    out[1:] = is_refuted(witnesses, plain.scores[order], explained, settings)
    chances = probabilities(totals[order], witnesses.shape[1], settings)
    elsewhere = atlas.is_on_other_map(fits.poses[order])
    if elsewhere is not None and elsewhere.any():
        faint = elsewhere & out & (chances[:-1] < (1.0 - settings.sure[2]) * chances[0])
        chances[:-1][faint] = 0.0
        chances /= chances.sum()
    shown = _shown(scores, settings)
    listed = fits.fit.select(order[shown])
    if fits.known is None:
        known = information(listed, fits.beams.blocks, atlas.cell(listed.poses), settings)
        spreads = covariances(known, settings)
        spreads[0] = widen_along_weak_axis(atlas, fits.beams, listed.poses[0], spreads[0], settings)
    else:
        spreads = covariances(fits.known[order[shown]], settings)
    robots, spreads = to_robot_frame(atlas, scan.T_level_robot, listed.poses, spreads)
    told = [each[shown].tolist() for each in (chances, inliers, scores, out)]
    estimates = Estimates(robots, spreads, [*told, [None] * len(shown)])
    maps = atlas.names_of(fits.poses[order[~out]])
    facts = collect_facts(estimates[0], witnesses.shape[1], int((~out).sum()) - 1, maps)
    evidence = Evidence(facts, estimates[0].score, float(chances[-1]), settings, ratio)
    verdict, reasons = apply_rules(RULES, evidence)
    if (ignored := atlas.ignored_intensities(last_scan(scan))) is not None:
        facts["ignored_intensities"] = ignored
    return Answer(verdict, reasons, estimates, facts=facts)


def _shown(scores: FloatArray, settings: LocalizationSettings) -> IntArray:
    """Which places are listed: the first, and the one whose beams rate highest on average."""
    shown, highest = np.arange(min(settings.listed, len(scores))), int(scores.argmax())
    if highest >= len(shown) > 1:
        shown[-1] = highest
    return shown


def probabilities(totals: FloatArray, witnesses: int, settings: LocalizationSettings) -> FloatArray:
    """Probabilities of places, and last that of none of them, equation (2), shape (K + 1,)."""
    beta, none, _ = settings.sure
    chances = np.empty(len(totals) + 1)
    chances[:-1], chances[-1] = totals, none * witnesses
    chances *= beta
    chances -= chances.max()
    np.exp(chances, out=chances)
    chances /= chances.sum()
    return chances


def collect_facts(best: Estimate, groups: int, competitors: int, maps: tuple[str, ...]) -> Facts:
    """Collect what the verdict rests on."""
    return {
        "groups": groups,
        "competitors": competitors,
        "maps": maps,
        "inliers": best.inliers,
        "probability": best.probability,
        "position_std": math.sqrt(major_axis(best.covariance)[0]),
        "heading_std": math.sqrt(best.covariance[2, 2]),
    }


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the rules are tested on.

    Attributes:
        facts: As an answer reports them.
        score: Of the best place, in nats per beam.
        none: Probability that no place is right.
        settings: How to judge.
        cost_ratio: Cost of the cheapest pose that was not searched, relative to that of the best.
    """

    facts: Facts
    score: float
    none: float
    settings: LocalizationSettings
    cost_ratio: float = math.inf


LOST, AMBIGUOUS = Verdict.LOST, Verdict.AMBIGUOUS
RULES: tuple[Rule[Evidence], ...] = (
    Rule(Reason.POOR_FIT, LOST, lambda e: e.score < e.settings.poor[0]),
    Rule(Reason.NOTHING_FITS_WELL, AMBIGUOUS, lambda e: e.none > 0.5),
    Rule(Reason.POSITION_SLIDES, AMBIGUOUS, lambda e: e.facts["position_std"] > e.settings.loose),
    Rule(
        Reason.HEADING_UNCERTAIN,
        AMBIGUOUS,
        lambda e: e.facts["heading_std"] > 0.75 * e.settings.same[1],
    ),
    Rule(Reason.FEW_GROUPS, AMBIGUOUS, lambda e: e.facts["groups"] < e.settings.witnesses),
    Rule(Reason.COMPETITORS, AMBIGUOUS, lambda e: e.facts["competitors"] > 0),
    Rule(Reason.SEVERAL_MAPS, AMBIGUOUS, lambda e: len(e.facts["maps"]) > 1),
    Rule(Reason.LOW_PROBABILITY, AMBIGUOUS, lambda e: e.facts["probability"] < e.settings.sure[2]),
    Rule(Reason.SEARCH_INCOMPLETE, AMBIGUOUS, lambda e: e.cost_ratio < e.settings.lead),
    Rule(Reason.ONLY_PLACE, Verdict.UNIQUE, lambda _: True),
)
"""Ordered: the first rule that applies decides."""
