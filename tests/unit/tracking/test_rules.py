"""The table that makes the verdicts of a tracker: facts in, verdict and reasons out."""

import numpy as np
import pytest

from isovist import LocalizationSettings
from isovist.localization.rules import decide
from isovist.tracking import RULES, Evidence

SETTINGS = LocalizationSettings(poor=(1.5, 4.4), loose=0.5, witnesses=4)
SURE = {
    "recent": 1.5, "is_doubted": False, "is_new": False, "position_std": 0.25, "groups": 4.0,
    "competitors": 0, "maps": (),
}  # fmt: skip
"""Of a place that is believed, each as near to doubt as it may be."""


def decided(**changes):
    facts = SURE | changes
    evidence = Evidence(
        recent=facts.pop("recent"), is_doubted=facts.pop("is_doubted"), is_new=facts.pop("is_new"),
        facts=facts, settings=SETTINGS,
    )  # fmt: skip
    verdict, reasons = decide(RULES, evidence)
    return verdict, [reason.value for reason in reasons]


@pytest.mark.parametrize(
    ("changes", "verdict", "reasons"),
    [
        ({}, "unique", ["only_place"]),
        ({"maps": ("a",)}, "unique", ["only_place"]),
        ({"recent": np.nextafter(1.5, 0.0)}, "lost", ["poor_fit"]),
        ({"is_doubted": True}, "ambiguous", ["pose_doubted"]),
        ({"position_std": np.nextafter(0.25, 1.0)}, "ambiguous", ["position_slides"]),
        ({"groups": 3.99}, "ambiguous", ["few_groups"]),
        ({"competitors": 1}, "ambiguous", ["competitors"]),
        ({"maps": ("a", "b")}, "ambiguous", ["several_maps"]),
        ({"is_new": True}, "ambiguous", ["lead_too_new"]),
    ],
)
def test_one_fact_alone_decides(changes, verdict, reasons):
    assert decided(**changes) == (verdict, reasons)


def test_all_reasons_of_the_verdict_are_told_in_the_order_of_the_rules():
    doubts = {
        "is_doubted": True, "position_std": 1.0, "groups": 1.0, "competitors": 3,
        "maps": ("a", "b"), "is_new": True,
    }  # fmt: skip
    assert decided(**doubts) == ("ambiguous", [
        "pose_doubted", "position_slides", "few_groups", "competitors", "several_maps",
        "lead_too_new",
    ])  # fmt: skip
    assert decided(**doubts, recent=0.0) == ("lost", ["poor_fit"])
