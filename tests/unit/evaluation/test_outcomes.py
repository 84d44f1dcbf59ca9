"""Answers held against the truth, and what the numbers of many say."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.sites import PLANE, SITES

import isovist as iv
from isovist.evaluation import Outcome, calibration, outcome_of, summarise


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_list_is_complete_when_nothing_in_it_is_missed(site):
    place = site.places[0]
    scan = site.look(place, mount=site.mount)
    answer = iv.locate(site.atlas, scan)
    told = outcome_of(site.atlas, scan, answer, place)
    assert told.right
    assert told.listed
    assert told.complete
    assert told.off < 9.0
    only = replace(answer, estimates=answer.estimates[:1])
    wrong = outcome_of(site.atlas, scan, only, site.places[1])
    assert not wrong.right
    assert not wrong.listed
    assert wrong.complete  # the scan fits nowhere near that
    poor = replace(answer.estimates[0], pose=site.places[1], score=1.0)
    missed = outcome_of(site.atlas, scan, replace(answer, estimates=(poor,)), place)
    assert not missed.complete
    nothing = outcome_of(site.atlas, scan, replace(answer, estimates=()), place)
    assert (nothing.right, nothing.listed, nothing.complete) == (False, False, False)
    assert nothing.probability == 0.0


def test_a_proof_is_wrong_when_it_leaves_out_the_truth_or_proves_another_place():
    place = PLANE.places[0]
    scan = PLANE.look(place)
    answer = iv.locate(PLANE.atlas, scan, prove=True)
    assert outcome_of(PLANE.atlas, scan, answer, place).proved
    assert not outcome_of(PLANE.atlas, scan, answer, place).disproved
    assert outcome_of(PLANE.atlas, scan, answer, PLANE.places[1]).disproved
    empty = replace(answer.proof, unique=False, regions=np.empty((0, 5)))
    assert outcome_of(PLANE.atlas, scan, replace(answer, proof=empty), place).disproved
    early = replace(empty, complete=False)
    assert not outcome_of(PLANE.atlas, scan, replace(answer, proof=early), place).disproved


def outcome(probability, right, off=0.1, **more):
    times = {"search": 1.0, "prove": 8.0, "total": 9.0}
    verdict = iv.Verdict.UNIQUE
    return Outcome(verdict, 0.1, 0.0, right, right, right, probability, off, times, **more)


def test_calibration_counts_the_right_ones_in_bins_and_ellipses():
    told = calibration(
        [
            outcome(0.4, False),
            outcome(0.95, True, off=1.0),
            outcome(0.91, False),
            outcome(1.0, True, off=2.0),
            outcome(1.0, True, off=7.0),
        ]
    )
    assert told["probabilities"] == [
        [0.0, 0.5, 1.0, 0.4, 0.0],
        [0.9, 0.99, 2.0, pytest.approx(0.93), 0.5],
        [0.999, 1.0, 2.0, 1.0, 1.0],
    ]
    # The ellipses reach to 0.76, 1.53 and 10.2 squared standard deviations.
    third = pytest.approx(1 / 3)
    assert told["ellipses"] == {"0.5": 0.0, "0.68": third, "0.95": 1.0}


def test_a_row_of_proofs_counts_the_proved_among_the_unique():
    some = [outcome(1.0, True, proved=True), outcome(1.0, False, proved=True, disproved=True)]
    row = summarise([*some, outcome(1.0, True), outcome(1.0, True)])
    assert row["proved_unique"] == 0.5
    assert row["proof_wrong"] == 1
    assert row["prove_ms"] == 8.0
    assert row["listed_complete"] == 0.75


def test_ambiguous_is_said_and_lost_is_not_ambiguous():
    """Neither asks whether the truth is listed; that is a share of its own."""
    asked = [
        replace(outcome(0.9, right), verdict=verdict, listed=listed)
        for right, verdict, listed in (
            (True, iv.Verdict.UNIQUE, True),
            (False, iv.Verdict.AMBIGUOUS, False),
            (False, iv.Verdict.LOST, True),
            (True, iv.Verdict.LOST, True),
            (False, iv.Verdict.UNIQUE, True),
        )
    ]
    row = summarise(asked)
    assert row["right_or_ambiguous"] == 0.6
    assert row["listed"] == 0.8
