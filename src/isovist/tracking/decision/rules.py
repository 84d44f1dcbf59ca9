"""The rules of a verdict on the hypotheses of a drive."""

from dataclasses import dataclass

import numpy as np

from isovist.localization import Facts, LocalizationSettings, Reason, Rule, Verdict
from isovist.tracking.hypotheses.bank import HypothesisBank


@dataclass(frozen=True, slots=True)
class Evidence:
    """The numbers that the rules are tested on.

    Attributes:
        facts: The numbers that a belief reports.
        recent_score: Mean rating of the last scans at the best place, in nats.
        is_doubted: Whether the last scan did not fit the settled place.
        is_new: Whether the best place has not led for long enough.
        settings: Limits of the rules.
    """

    facts: Facts
    recent_score: float
    is_doubted: bool
    is_new: bool
    settings: LocalizationSettings


AMBIGUOUS = Verdict.AMBIGUOUS
RULES: tuple[Rule[Evidence], ...] = (
    Rule(
        Reason.POOR_FIT, Verdict.LOST, lambda e: e.recent_score < e.settings.decision.min_score_nats
    ),
    Rule(Reason.POSE_DOUBTED, AMBIGUOUS, lambda e: e.is_doubted),
    Rule(
        Reason.POSITION_SLIDES,
        AMBIGUOUS,
        lambda e: 2.0 * e.facts["position_std"] > e.settings.decision.max_position_std_m,
    ),
    Rule(
        Reason.FEW_GROUPS, AMBIGUOUS, lambda e: e.facts["groups"] < e.settings.decision.min_groups
    ),
    Rule(Reason.COMPETITORS, AMBIGUOUS, lambda e: e.facts["competitors"] > 0),
    Rule(Reason.SEVERAL_MAPS, AMBIGUOUS, lambda e: len(e.facts["maps"]) > 1),
    Rule(Reason.LEAD_TOO_NEW, AMBIGUOUS, lambda e: e.is_new),
    Rule(Reason.ONLY_PLACE, Verdict.UNIQUE, lambda _: True),
)
"""Ordered: the first rule that applies decides."""


def facts_of(bank: HypothesisBank, competitors: int, maps: tuple[str, ...]) -> Facts:
    """Return the facts about a bank whose first hypothesis is the best one.

    Args:
        bank: The hypotheses.
        competitors: Number of hypotheses that are not refuted, without the first.
        maps: Names of the maps of all that are not refuted, where there are several maps.
    """
    groups = sum(keyframe.weight * len(keyframe.beams.columns) for keyframe in bank.keyframes)
    return {
        "groups": groups,
        "competitors": competitors,
        "maps": maps,
        "position_std": position_std(bank),
    }


def is_position_uncertain(bank: HypothesisBank) -> bool:
    """Return whether the position of the first hypothesis is too uncertain for a unique verdict."""
    return 2.0 * position_std(bank) > bank.localization.decision.max_position_std_m


def position_std(bank: HypothesisBank) -> float:
    """Return the standard deviation of the first hypothesis along its worst axis, in m."""
    return float(np.sqrt(np.linalg.eigvalsh(bank.covariances[0, :2, :2])[-1]))
