"""Sentences made from the reasons of a tracker."""

from collections.abc import Callable, Sequence

from isovist.localization import ADDITIONAL_REASONS, Facts, Reason
from isovist.localization import SENTENCES as SENTENCES_OF_SCANS


def _competitors_sentence(facts: Facts) -> str:
    count = facts["competitors"]
    return (
        f"{count} other place{'s explain' if count > 1 else ' explains'} the drive so far about as "
        "well. Drive on."
    )


SENTENCES: dict[Reason, Callable[[Facts], str]] = {
    **SENTENCES_OF_SCANS,
    Reason.SCAN_BLIND: lambda _: "The scan shows almost nothing. Drive on.",
    Reason.NO_SCAN: lambda _: "There was no scan yet. Update the tracker with a scan.",
    Reason.NO_CANDIDATES: lambda _: "The map has no place that can be tried.",
    Reason.POOR_FIT: lambda _: "The last scans fit nowhere on the map.",
    Reason.POSE_DOUBTED: lambda _: (
        "The scan no longer fits the place of the last ones. Wait for the next scans."
    ),
    Reason.POSITION_SLIDES: lambda facts: (
        f"The position is uncertain by {facts['position_std']:.1f} m (standard deviation) along "
        "one axis. Drive until an end or a door is in view."
    ),
    Reason.FEW_GROUPS: lambda _: (
        "The scans so far show too little to exclude other places. Turn or drive on."
    ),
    Reason.COMPETITORS: _competitors_sentence,
    Reason.LEAD_TOO_NEW: lambda _: "One place leads, but not by much. Drive on to be sure.",
    Reason.ONLY_PLACE: lambda _: "One place explains the drive so far, and no other comes near.",
    Reason.RECENT_SCANS_DECIDE: lambda _: (
        "One place explains the last scans, and it explains the drive so far best."
    ),
}


def advice(reasons: Sequence[Reason], facts: Facts) -> str:
    """Return the sentences of the reason that decides, and of others that a reader should know."""
    decisive = [reasons[0], *(reason for reason in reasons[1:] if reason in ADDITIONAL_REASONS)]
    return " ".join(SENTENCES[reason](facts) for reason in decisive)
