"""Sentences of answers and of checks, from their reasons: the one place where they are compared."""

import pytest

import isovist as iv

MOVE = "Move and look again."
UP_TO_DATE = "Check that the map is of this place and up to date"
ALONE = "One place explains the scan, and no other comes near."


ROWS = [
    ("outside_map", {},
     "Every beam is longer than the map is wide, so none can end in it. Are the ranges in m, "
     "and is the map of this place?"),
    ("no_candidates", {},
     "No place of the map can be tried: the region leaves none, or the scan sees nothing."),
    ("poor_fit", {"inliers": 0.456},
     "Nowhere in the map does the scan fit: at best 46% of the beams end at a wall. "
     f"{UP_TO_DATE}."),
    ("nothing_fits_well", {"inliers": 0.56},
     "Nothing fits well: at best 56% of the beams end at a wall. "
     f"{UP_TO_DATE}, or move and look again."),
    ("position_slides", {"position_std": 1.26},
     "The place can slide by 1.3 m (standard deviation) along one axis, as in a corridor. Move "
     "until an end or a door is in view."),
    ("heading_uncertain", {"heading_std": 0.14},
     "The heading is known to ± 8° (standard deviation) alone, as in a round room. Move until "
     "something else is in view."),
    ("few_groups", {"groups": 3.0},
     "The scan shows only 3 things apart from each other, too few to exclude other places. "
     "Turn, or take more beams."),
    ("competitors", {"competitors": 1},
     f"1 other place would explain the scan about as well. {MOVE}"),
    ("competitors", {"competitors": 3},
     f"3 other places would explain the scan about as well. {MOVE}"),
    ("other_attitudes", {"competitors": 1},
     "Turned another way, the robot could be at 1 other place that would explain the scan "
     f"about as well. {MOVE}"),
    ("other_attitudes", {"competitors": 2},
     "Turned another way, the robot could be at 2 other places that would explain the scan "
     f"about as well. {MOVE}"),
    ("low_probability", {"probability": 0.304},
     "One place explains the scan best, with a probability of 0.30; something that moved since "
     f"the map was made could be why. {MOVE}"),
    ("search_incomplete", {},
     "One place explains the scan best, but more places are like it than were tried. Give a "
     "region, or move and look again."),
    ("first_search_only", {},
     "After a short search one place explains the scan. A full search may find others."),
    ("tilt_fits_better", {},
     "The scan would fit better here if the sensor leaned more than the scan states, and only "
     "here. Give its roll and pitch, or move and look again."),
    ("attitude_uncertain", {"attitude_std": 0.0367},
     "One place explains the scan, but the attitude there is known to ± 2.1° (standard "
     "deviation) alone. Move until floor or ceiling is in view."),
    ("mirror_fits_better", {},
     "The mirrored scan would fit better than the scan does anywhere. Is the sensor mounted "
     "upside down?"),
    ("scale_fits_better", {"scale": 1.05},
     "The scan would fit better here if it were 5 % larger. Is the resolution of the map "
     "right, and are the ranges in m?"),
    ("scale_fits_better", {"scale": 0.85},
     "The scan would fit better here if it were 15 % smaller. Is the resolution of the map "
     "right, and are the ranges in m?"),
    ("only_place", {}, ALONE),
    ("pose_confirmed", {},
     "The pose explains the scan, and no other place that was tried comes near."),
    ("no_fit_nearby", {}, "Nothing near the pose explains the scan."),
    ("better_elsewhere", {"place": "on hall, x 1.00 m"},
     "Another place explains the scan better: on hall, x 1.00 m."),
    ("fit_displaced", {"distance": 1.004, "rotation": 0.1},
     "The scan does not fit here; it does 1.00 m and 5.7° from the pose."),
    # What decides, and what a reader should know besides.
    ("competitors several_maps low_probability",
     {"competitors": 2, "maps": ("a", "b", "c"), "probability": 0.3},
     f"2 other places would explain the scan about as well. {MOVE} "
     "The maps look alike from here: it may be a, b or c."),
    ("competitors maps_not_searched",
     {"competitors": 1, "maps_searched": 1, "maps_given": 3},
     f"1 other place would explain the scan about as well. {MOVE} "
     "Only 1 of 3 maps were looked at; some of the others may explain the scan as well."),
    ("only_place", {"lean": 0.1},
     f"{ALONE} The sensor leans by 5.7° more than the scan states; roll and pitch were fitted."),
    ("only_place", {"ignored_intensities": (127.5, 0.2, 0.9)},
     f"{ALONE} Intensities were ignored: their median is 128, and the walls of the map have "
     "0.2 to 0.9."),
    ("only_place", {"ignored_intensities": (), "lean": 0.2},
     f"{ALONE} The sensor leans by 11.5° more than the scan states; roll and pitch were fitted. "
     "Intensities were ignored: they are used on a single map only."),
]  # fmt: skip


@pytest.mark.parametrize(("reasons", "facts", "sentence"), ROWS)
def test_reasons_are_told_in_a_sentence(reasons, facts, sentence):
    reasons = tuple(map(iv.Reason, reasons.split()))
    assert iv.Answer(iv.Verdict.AMBIGUOUS, reasons, (), facts=facts).advice == sentence
    assert iv.Check("disagrees", reasons, iv.Pose(), None, (), 0, 0, facts=facts).advice == sentence


@pytest.mark.parametrize("reason", iv.Reason)
def test_every_reason_has_a_sentence(reason):
    facts = {name: value for _, facts, _ in ROWS for name, value in facts.items()}
    belief = iv.Belief(iv.Verdict.AMBIGUOUS, (reason,), (), 0.0, 0.0, facts=facts)
    assert belief.advice.endswith((".", "?"))
