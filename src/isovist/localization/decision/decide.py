"""Decide whether the best place is the only one: turn fits into estimates and a verdict.

Neighbouring beams see the same object and are wrong together. A person, a table or a door that the
map does not show covers many degrees when it is near. So the scan is divided into blocks of 10°, in
3D of azimuth and of elevation. Blocks that see one object form a group: in 2D neighbours within
0.75 m, in 3D blocks above each other. A group counts as one piece of evidence.

Log-likelihood. Let ℓ_jc be the rating of group c at place j: the mean over its blocks of the mean
rating of their beams, at the most likely pose near the place (`climb_likelihood`). The place has
the log-likelihood

    L_j = Σ_c (ℓ_jc + κ e_j − κ u_j),                                                      (1)

where e_j is the share of beams that the map explains, and u_j that of beams that end in unknown
space. Clutter and unknown space explain any beam a little. Without e_j and u_j, a place that leaves
much to them could rate as high as one that accounts for the walls.

Probability. If no place is right, each of the C groups has the log-likelihood ℓ₀, so

    p_j ∝ exp(β L_j),        p_none ∝ exp(β C ℓ₀).                                          (2)

Removed walls. Neighbouring groups may look through one wall of the map: a pane of glass, a door,
or a partition that was removed. They count as one group if the map explains what they meet behind
the wall (`removed_walls`). The other groups are then rated as if no wall stood in their way, at
all places alike. This holds in (3), and in 2D also in (1).

Competitors. A competitor is ruled out if the groups agree that it is worse. With δ_c = ℓ_0c − ℓ_jc,

    t_j = Σ_c δ_c / √(Σ_c δ_c² + τ²),       d_j = mean of all beams ℓ_0 − ℓ_j.                 (3)

Both are taken at the fitted poses: what a place gains nearby does not make it the only one. t is
about 1 if a single group speaks against the competitor, which a moved cupboard can cause. It
approaches √C if all C groups do. The more a scan sees, the more of it has moved since the map was
made. So the place is unique only if every competitor has

    t_j · (share of beams explained) ≥ max(t_min, √(ρC))    and    d_j ≥ d_min.            (4)

A unique answer also needs enough groups, a position and a heading that are certain enough, and a
probability (2) of at least p_min: one object that moved can make a wrong place explain more than
the right one. The answer is lost if even the best place explains the scan badly. `RULES` has all
conditions in order.

Several maps. Hundreds of places of a large building fit a scan of another building a little, and
their number says nothing. So a place does not count in (2) if it lies on another map than the best
place, is ruled out, and is less likely than 1 − p_min times the best place.
"""

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas import SearchSpace
from isovist.localization.answer import Answer, Estimates, Verdict
from isovist.localization.decision.evidence import (
    EXHAUSTIVE,
    Evidence,
    RankedPlaces,
    SearchCoverage,
    collect_facts,
)
from isovist.localization.decision.probability import discount_other_maps, probabilities
from isovist.localization.decision.rules import Rule, apply_rules
from isovist.localization.fitting.covariance import covariances, information, to_robot_frame
from isovist.localization.reasons import Reason
from isovist.localization.scoring.hypotheses import Fits
from isovist.localization.scoring.weak_axis import widen_along_weak_axis
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose
from isovist.sensing import ScanInput, last_scan

LOST, AMBIGUOUS = Verdict.LOST, Verdict.AMBIGUOUS
RULES: tuple[Rule[Evidence], ...] = (
    Rule(Reason.POOR_FIT, LOST, lambda e: e.score < e.settings.decision.min_score_nats),
    Rule(Reason.NOTHING_FITS_WELL, AMBIGUOUS, lambda e: e.no_place_probability > 0.5),
    Rule(
        Reason.POSITION_SLIDES,
        AMBIGUOUS,
        lambda e: e.facts["position_std"] > e.settings.decision.max_position_std_m,
    ),
    Rule(
        Reason.HEADING_UNCERTAIN,
        AMBIGUOUS,
        lambda e: e.facts["heading_std"] > 0.75 * e.settings.decision.same_place_rad,
    ),
    Rule(
        Reason.FEW_GROUPS, AMBIGUOUS, lambda e: e.facts["groups"] < e.settings.decision.min_groups
    ),
    Rule(Reason.COMPETITORS, AMBIGUOUS, lambda e: e.facts["competitors"] > 0),
    Rule(Reason.SEVERAL_MAPS, AMBIGUOUS, lambda e: len(e.facts["maps"]) > 1),
    Rule(
        Reason.LOW_PROBABILITY,
        AMBIGUOUS,
        lambda e: e.facts["probability"] < e.settings.decision.min_probability,
    ),
    Rule(
        Reason.SEARCH_INCOMPLETE,
        AMBIGUOUS,
        lambda e: e.cost_ratio < e.settings.decision.min_cost_ratio,
    ),
    Rule(Reason.ONLY_PLACE, Verdict.UNIQUE, lambda _: True),
)
"""Ordered: the first rule that applies decides. To change when a place is unique, change a row."""


def decide(
    space: SearchSpace,
    scan: ScanInput,
    fits: Fits,
    settings: LocalizationSettings,
    *,
    nearby: bool = True,
    coverage: SearchCoverage = EXHAUSTIVE,
) -> Answer:
    """Turn fits into distinct estimates, their probabilities and a verdict.

    Args:
        space: The map or maps.
        scan: One scan, or a sequence of scans.
        fits: Fitted and scored poses.
        settings: Thresholds.
        nearby: Whether to search for the most likely pose near each leading place.
        coverage: How much of the map the search covered that found the places.
    """
    if len(fits) == 0:
        return Answer(LOST, (Reason.NO_CANDIDATES,), ())
    ranked = RankedPlaces.of(space, fits, settings, nearby=nearby)
    fits, groups = ranked.fits, ranked.groups.shape[1]
    ratio = coverage.cost_ratio(fits.poses[0])
    if not coverage.is_last and ratio < settings.search.stop_cost_ratio:
        settings = settings.careful()
    is_out = ranked.refuted(settings)
    chances = discount_other_maps(
        probabilities(ranked.log_likelihoods, groups, settings),
        space.is_on_other_map(fits.poses),
        is_out,
        settings,
    )
    listed = _listed(fits.scores, settings)
    poses, spreads = _robot_poses(space, scan, fits.select(listed), settings)
    columns = [each[listed].tolist() for each in (chances, fits.inliers, fits.scores, is_out)]
    estimates = Estimates(poses, spreads, [*columns, [None] * len(listed)])
    best, maps = estimates[0], space.names_of(fits.poses[~is_out])
    facts = collect_facts(best, groups, int((~is_out).sum()) - 1, maps)
    evidence = Evidence(facts, best.score, float(chances[-1]), settings, ratio)
    verdict, reasons = apply_rules(RULES, evidence)
    if (intensities := space.ignored_intensities(last_scan(scan))) is not None:
        facts["ignored_intensities"] = intensities
    return Answer(verdict, reasons, estimates, facts=facts)


def _listed(scores: FloatArray, settings: LocalizationSettings) -> IntArray:
    """Return the indices of the most likely places, and of the one with the highest score."""
    listed = np.arange(min(settings.decision.max_estimates, len(scores)))
    highest = int(scores.argmax())
    if highest >= len(listed) > 1:
        listed[-1] = highest
    return listed


def _robot_poses(
    space: SearchSpace, scan: ScanInput, fits: Fits, settings: LocalizationSettings
) -> tuple[AnyPose, FloatArray]:
    """Return the poses of the robot, and their covariances in m and rad, shape (K, n, n)."""
    if fits.information is None:
        matrices = information(fits.fit, fits.beams.blocks, space.cell(fits.poses), settings)
        spreads = covariances(matrices, settings)
        spreads[0] = widen_along_weak_axis(space, fits.beams, fits.poses[0], spreads[0], settings)
    else:
        spreads = covariances(fits.information, settings)
    return to_robot_frame(space, scan.T_level_robot, fits.poses, spreads)
