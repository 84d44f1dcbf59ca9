"""Answers to 300 stored scans of three generated plans, beside those that were recorded.

`python -m benchmarks.reference sample` writes the answers anew.
"""

import pytest
from benchmarks.reference.outcomes import Counts
from benchmarks.reference.sample import NAME, asked
from benchmarks.reference.store import read_outcomes
from tests.support.paths import ROOT

FOLDER = ROOT / "tests" / "support" / "recorded_answers"
SLACK = 2
"""So many scans may fall differently where the last bits of a machine differ."""

pytestmark = pytest.mark.slow


def test_answers_are_as_good_as_the_recorded_ones_and_none_is_unique_and_wrong():
    recorded, outcomes = read_outcomes(NAME, FOLDER), asked(FOLDER)
    assert outcomes.keys() == recorded.keys()
    assert [
        name for name, one in outcomes.items() if one.verdict == "unique" and not one.right
    ] == []
    now, then = Counts.of(outcomes.values()), Counts.of(recorded.values())
    assert now.queries == 300
    assert now.right >= then.right - SLACK
    assert now.unique >= then.unique - 2 * SLACK
    assert now.listed >= then.listed - SLACK
