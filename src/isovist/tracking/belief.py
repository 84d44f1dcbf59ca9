"""What a tracker says: a verdict on its places, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from isovist.atlas.base import AnyScan, Site
from isovist.localization.answer import Estimate, Verdict
from isovist.localization.maps import named
from isovist.localization.settings import LocalizationSettings
from isovist.sensing.cloud_scan import CloudScan
from isovist.tracking.bank import Bank

NOTHING = "The scan sees next to nothing of what is around. Drive on."
NOT_YET = "Nothing was seen yet. Update the tracker with a scan."
NOWHERE = "No place of the map can be tried."
LEADS = "One place leads, but not by much. Drive on to be sure."
TOGETHER = "One place explains the last scans, and the way so far best."


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """Where the robot is, as far as its way so far can tell.

    Attributes:
        verdict: Unique, ambiguous or lost.
        advice: The verdict in words, and what to do about it.
        estimates: Of the present pose T_world_robot, from most to least likely.
        least: λ_min of the Gramian: what the frames kept have told about the present pose, along
            the axis that they tell least about, per m²; see `tracking.gramian`.
        travelled: Way since the start by odometry, in m.
        timing_ms: Milliseconds spent in `total`, and of these on `search`.
    """

    verdict: Verdict
    advice: str
    estimates: Sequence[Estimate]
    least: float
    travelled: float
    timing_ms: Mapping[str, float] = field(default_factory=dict)

    @property
    def best(self) -> Estimate | None:
        """The most likely estimate, or `None` when there is none."""
        return self.estimates[0] if self.estimates else None

    @property
    def map(self) -> str | None:
        """Name of the map of the best estimate, where there are several; else `None`."""
        return self.estimates[0].map if self.estimates else None

    def told(self, site: Site) -> "Belief":
        """As a user wants it: each pose in the frame of its own map, with its name."""
        estimates, words = named(site, self.estimates, self.verdict)
        return replace(self, estimates=estimates, advice=self.advice + words)


def verdict_of(
    bank: Bank, recent: float, rivals: int, shaken: bool, settings: LocalizationSettings
) -> tuple[Verdict, str]:
    """What follows from the places of a bank.

    Args:
        bank: Places and frames, best first.
        recent: Mean rating of the last frames from the best place, in nats.
        rivals: Places that are not refuted.
        shaken: Whether the last scan did not fit the place that was believed.
        settings: What is too little, in nats and witnesses.
    """
    if recent < settings.poor[0]:
        return Verdict.LOST, "The last scans fit nowhere in the map."
    if shaken:
        return Verdict.AMBIGUOUS, (
            "The scan no longer fits the place that was believed. Wait for the next scans."
        )
    if is_loose(bank, settings):
        return Verdict.AMBIGUOUS, slides(bank)
    witnesses = sum(frame.weight * len(frame.beams.columns) for frame in bank.frames)
    if witnesses < settings.witnesses:
        return Verdict.AMBIGUOUS, (
            "What was seen so far is too little to exclude other places. Turn or drive on."
        )
    if rivals:
        return Verdict.AMBIGUOUS, (
            f"{rivals} other place{'s' if rivals > 1 else ''} would explain the way so far "
            "about as well. Drive on."
        )
    return Verdict.UNIQUE, "One place explains the way so far, and no other comes near."


def is_loose(bank: Bank, settings: LocalizationSettings) -> bool:
    """Whether the best place can slide too far to be called unique."""
    return 2.0 * _loosest(bank) > settings.loose


def slides(bank: Bank) -> str:
    """By how much the best place can slide, in words."""
    return (
        f"The place can slide by {_loosest(bank):.1f} m (standard deviation) along one axis. "
        "Drive until an end or a door is in view."
    )


def _loosest(bank: Bank) -> float:
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
