"""What a tracker says of each reason: the only place that compares its sentences."""

import pytest

from isovist import Belief, Reason, Verdict

FACTS = {
    "groups": 3.4, "competitors": 2, "maps": ("floor 1", "floor 2", "roof"), "position_std": 1.26,
}  # fmt: skip
SENTENCES = {
    Reason.SCAN_BLIND: "The scan shows almost nothing. Drive on.",
    Reason.NO_SCAN: "There was no scan yet. Update the tracker with a scan.",
    Reason.NO_CANDIDATES: "The map has no place that can be tried.",
    Reason.POOR_FIT: "The last scans fit nowhere on the map.",
    Reason.POSE_DOUBTED: (
        "The scan no longer fits the place of the last ones. Wait for the next scans."
    ),
    Reason.POSITION_SLIDES: (
        "The position is uncertain by 1.3 m (standard deviation) along one axis. Drive until an "
        "end or a door is in view."
    ),
    Reason.FEW_GROUPS: (
        "The scans so far show too little to exclude other places. Turn or drive on."
    ),
    Reason.COMPETITORS: (
        "2 other places explain the drive so far about as well. Drive on."
    ),
    Reason.SEVERAL_MAPS: (
        "The maps look alike from here: it may be floor 1, floor 2 or roof."
    ),
    Reason.LEAD_TOO_NEW: "One place leads, but not by much. Drive on to be sure.",
    Reason.ONLY_PLACE: "One place explains the drive so far, and no other comes near.",
    Reason.RECENT_SCANS_DECIDE: (
        "One place explains the last scans, and it explains the drive so far best."
    ),
}  # fmt: skip


def advice(*reasons, **changes):
    return Belief(Verdict.AMBIGUOUS, reasons, (), 0.0, 0.0, facts=FACTS | changes).advice


@pytest.mark.parametrize("reason", SENTENCES)
def test_every_reason_of_a_tracker_has_its_sentence(reason):
    assert advice(reason) == SENTENCES[reason]


def test_one_other_place_is_in_the_singular():
    said = "1 other place explains the drive so far about as well. Drive on."
    assert advice(Reason.COMPETITORS, competitors=1) == said


def test_the_first_reason_is_said_and_of_the_others_what_a_reader_needs():
    reasons = Reason.COMPETITORS, Reason.SEVERAL_MAPS, Reason.LEAD_TOO_NEW
    parts = SENTENCES[Reason.COMPETITORS], SENTENCES[Reason.SEVERAL_MAPS]
    assert advice(*reasons) == " ".join(parts)
