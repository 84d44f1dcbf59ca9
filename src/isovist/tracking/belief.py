"""What a tracker says: a verdict on its places, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from isovist.atlas import AnyScan, SearchSpace
from isovist.localization import (
    Estimate,
    Facts,
    LocalizationSettings,
    Reason,
    Rule,
    Verdict,
    estimates_in_map_frames,
)
from isovist.renamed import accept_old_names
from isovist.sensing import CloudScan
from isovist.tracking.advice import advice
from isovist.tracking.bank import Bank


@accept_old_names
@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """Where the robot is, as far as its way so far can tell.

    Attributes:
        verdict: Unique, ambiguous or lost.
        reasons: Why: all rules of this verdict that apply, the one that decides first.
        estimates: Of the present pose T_world_robot, from most to least likely.
        least: λ_min of the Gramian: what the frames kept have told about the present pose, along
            the axis that they tell least about, per m²; see `tracking.gramian`.
        travelled: Way since the start by odometry, in m.
        timing_ms: Milliseconds spent in `total`, and of these on `search`.
        facts: Numbers that the reasons rest on.
    """

    verdict: Verdict
    reasons: tuple[Reason, ...]
    estimates: Sequence[Estimate]
    least: float
    travelled: float
    timing_ms: Mapping[str, float] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)

    @property
    def advice(self) -> str:
        """The verdict in words, and what to do about it."""
        return advice(self.reasons, self.facts)

    @property
    def best(self) -> Estimate | None:
        """The most likely estimate, or `None` when there is none."""
        return self.estimates[0] if self.estimates else None

    @property
    def map(self) -> str | None:
        """Name of the map of the best estimate, where there are several; else `None`."""
        return self.estimates[0].map if self.estimates else None

    def told(self, site: SearchSpace) -> "Belief":
        """As a user wants it: each pose in the frame of its own map, with its name."""
        return replace(self, estimates=estimates_in_map_frames(site, self.estimates))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the rules are tested on.

    Attributes:
        facts: As a belief reports them.
        recent: Mean rating of the last scans from the best place, in nats.
        is_doubted: Whether the last scan did not fit the place that was believed.
        is_new: Whether the best place has led for too short a way to be believed.
        settings: What is too little, in nats and groups.
    """

    facts: Facts
    recent: float
    is_doubted: bool
    is_new: bool
    settings: LocalizationSettings


AMBIGUOUS = Verdict.AMBIGUOUS
RULES: tuple[Rule[Evidence], ...] = (
    Rule(Reason.POOR_FIT, Verdict.LOST, lambda e: e.recent < e.settings.poor[0]),
    Rule(Reason.POSE_DOUBTED, AMBIGUOUS, lambda e: e.is_doubted),
    Rule(
        Reason.POSITION_SLIDES,
        AMBIGUOUS,
        lambda e: 2.0 * e.facts["position_std"] > e.settings.loose,
    ),
    Rule(Reason.FEW_GROUPS, AMBIGUOUS, lambda e: e.facts["groups"] < e.settings.witnesses),
    Rule(Reason.COMPETITORS, AMBIGUOUS, lambda e: e.facts["competitors"] > 0),
    Rule(Reason.SEVERAL_MAPS, AMBIGUOUS, lambda e: len(e.facts["maps"]) > 1),
    Rule(Reason.LEAD_TOO_NEW, AMBIGUOUS, lambda e: e.is_new),
    Rule(Reason.ONLY_PLACE, Verdict.UNIQUE, lambda _: True),
)
"""Ordered: the first rule that applies decides."""


def facts_of(bank: Bank, competitors: int, maps: tuple[str, ...]) -> Facts:
    """Collect what the verdict rests on, of a bank with its best place first."""
    groups = sum(frame.weight * len(frame.beams.columns) for frame in bank.frames)
    return {
        "groups": groups,
        "competitors": competitors,
        "maps": maps,
        "position_std": loosest(bank),
    }


def is_loose(bank: Bank, settings: LocalizationSettings) -> bool:
    """Whether the best place can slide too far to be called unique."""
    return 2.0 * loosest(bank) > settings.loose


def loosest(bank: Bank) -> float:
    """Standard deviation of the best place along its worst axis, in m."""
    return float(np.sqrt(np.linalg.eigvalsh(bank.spreads[0, :2, :2])[-1]))


def sees(scan: AnyScan, settings: LocalizationSettings) -> bool:
    """Whether a scan sees enough to say anything: in as many blocks of 10° as there must be
    witnesses, or half of its view.
    """
    if isinstance(scan, CloudScan):  # which tells nothing of beams that did not return
        return scan.columns(settings.block[0]) >= settings.witnesses
    seen, whole = (
        np.unique(np.floor((b - b[0]) / settings.block[0] + 1e-9)).size
        for b in (scan.bearings[scan.valid], scan.bearings)
    )
    return bool(seen >= min(settings.witnesses, 0.5 * whole))
