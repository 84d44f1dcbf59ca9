"""What became of trials, and one row of numbers for all of them.

An answer is right when it is within 0.5 m and 10° of the truth, in space within 0.3 m (x and y) and
5°.  Its list is complete when a pose of it is right, or rates at least as high as the pose nearest
the truth does: then nothing was missed, and what is wrong is the sensor's model or the map.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas.base import AnyScan, Atlas
from isovist.localization.answer import Answer, Verdict, radius
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose, pose_error

NEAR_IN_SPACE = 0.3, float(np.radians(5.0))
"""So near to the truth an answer in space is right, in m and rad."""
AS_WELL = 0.02
"""Ratings nearer to each other than this, in nats, are equal: what a last step of a fit changes."""
LEVELS = (0.5, 0.68, 0.95)
"""Shares of right answers that ellipses should hold."""
EDGES = (0.0, 0.5, 0.9, 0.99, 0.999, 1.0)
"""Of the bins of reported probability."""


class Calibration(TypedDict):
    """Result of `calibration`."""

    ellipses: dict[str, float]
    probabilities: list[list[float]]


Row = dict[str, float | int | str | Calibration]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Result of a trial, compared with the truth.

    Attributes:
        verdict: Verdict of the answer.
        error_m: Distance of the best estimate to the truth; infinite without an estimate.
        error_rad: Angle of the best estimate to the truth.
        right: Whether the best estimate is near the truth.
        listed: Whether some estimate of the answer is right.
        complete: Whether some estimate is right, or rates as high as the pose nearest the truth.
        probability: Probability of the best estimate; 0 without one.
        off: Squared distance of the truth in standard deviations of the position.
        timing_ms: Times of the answer, in ms.
        proved: Whether the answer is proved unique.
        disproved: Whether a proved answer is wrong, or a complete proof leaves out the pose nearest
            the truth although that satisfies its premise.
    """

    verdict: Verdict
    error_m: float
    error_rad: float
    right: bool
    listed: bool
    complete: bool
    probability: float
    off: float
    timing_ms: dict[str, float]
    proved: bool = False
    disproved: bool = False


def outcome_of(atlas: Atlas, scan: AnyScan, answer: Answer, truth: AnyPose) -> Outcome:
    """Compare an answer with the true pose."""
    near_m, near_rad = LocalizationSettings().same if atlas.dimension == 2 else NEAR_IN_SPACE
    errors = [pose_error(estimate.pose, truth) for estimate in answer.estimates]
    near = [m <= near_m and turn <= near_rad for m, turn in errors]
    pose, rating = _at_truth(atlas, scan, truth)
    highest = max((estimate.score for estimate in answer.estimates), default=-np.inf)
    right, off, chance = bool(near and near[0]), np.inf, 0.0
    if answer.best is not None:
        d = answer.best.pose.position[:2] - truth.position[:2]
        off = float(d @ np.linalg.solve(answer.best.covariance[:2, :2], d))
        chance = answer.best.probability
    proof = answer.proof
    proved = proof is not None and proof.unique
    left_out = proof is not None and proof.complete and rating >= proof.floor
    return Outcome(
        answer.verdict, *(errors[0] if errors else (np.inf, np.pi)), right, any(near),
        any(near) or rating <= highest + AS_WELL, chance, off, dict(answer.timing_ms), proved,
        (proved and not right) or (left_out and proof is not None and not proof.holds(pose)),
    )  # fmt: skip


def _at_truth(atlas: Atlas, scan: AnyScan, truth: AnyPose) -> tuple[AnyPose, float]:
    """The best of the truth and of a fit from there, of the robot, and its mean rating in nats."""
    settings = LocalizationSettings()
    held = scan.within(atlas.diagonal)
    if held is None:
        return truth, -np.inf
    beams = atlas.beams(held, settings.beams[1], settings.block)
    sensor = np.asarray((truth @ scan.T_robot_level).vector)[None]
    fit = atlas.fit(beams, sensor, settings.fine_widths(atlas), atlas.fitted(False))
    poses = np.concatenate([sensor, fit.poses])
    scores = atlas.rate(beams, poses, settings.model)[0].mean(axis=1, dtype=np.float64)
    best = int(np.argmax(scores))
    return (atlas.lift(poses[best : best + 1]) @ scan.T_level_robot)[0], float(scores[best])


def summarise(
    outcomes: Sequence[Outcome], timed: Sequence[Mapping[str, float]] | None = None
) -> Row:
    """Compute shares and quantiles over trials; errors and coverage are those of right answers.

    `listed` has the share of trials with the truth among the places that an answer lists, and
    `listed_complete` with those in which it rates no higher than one of these: of a bare wall there
    are hundreds of places, and ten are listed.

    Args:
        outcomes: Results of the trials.
        timed: Times of some trials that ran alone, in ms; those of the answers when `None`.
    """
    timed = [o.timing_ms for o in outcomes] if timed is None else timed
    right = np.array([o.right for o in outcomes])
    unique = np.array([o.verdict is Verdict.UNIQUE for o in outcomes])
    lost = np.array([o.verdict is Verdict.LOST for o in outcomes])
    ambiguous = ~(unique | lost)
    listed = np.array([o.listed for o in outcomes])
    error = np.array([o.error_m for o in outcomes])[right]
    turn = np.degrees([o.error_rad for o in outcomes])[right]
    asked = [key for key in timed[0] if key != "total"]
    times = {k: np.array([one.get(k, 0.0) for one in timed]) for k in (*asked, "total")}
    told = calibration(outcomes)
    row: Row = {
        "success": float(right.mean()),
        "unique": float(unique.mean()),
        "unique_of_right": _mean(unique[right]),
        "lost": float(lost.mean()),
        "listed": float(listed.mean()),
        "listed_complete": float(np.mean([o.complete for o in outcomes])),
        "right_or_ambiguous": float((right | ambiguous).mean()),
        "false_confident": float((unique & ~right).mean()),
        "median_error_m": _quantile(error, 0.5),
        "median_error_deg": _quantile(turn, 0.5),
        "p95_error_m": _quantile(error, 0.95),
        "coverage95": told["ellipses"]["0.95"],
        **{f"{k}_ms": float(np.median(times[k])) for k in asked},
        "median_ms": float(np.median(times["total"])),
        "p95_ms": float(np.quantile(times["total"], 0.95)),
        "calibration": told,
    }
    if "prove" in times:
        proved = np.array([o.proved for o in outcomes])
        row["proved_unique"] = _mean(proved[unique])
        row["proof_wrong"] = int(sum(o.disproved for o in outcomes))
    return row


def calibration(outcomes: Sequence[Outcome]) -> Calibration:
    """Measure whether reported probabilities and ellipses hold as often as they say.

    `ellipses` has the share of right answers that each of `LEVELS` holds; `probabilities` a line
    for each bin of reported probability that has answers: lower and upper edge, how many, their
    mean probability, and the share of them that is right.
    """
    chance = np.array([o.probability for o in outcomes])
    right = np.array([o.right for o in outcomes])
    off = np.array([o.off for o in outcomes])[right]
    lines = []
    for low, high in itertools.pairwise(EDGES):
        held = (chance >= low) & ((chance < high) | (high == EDGES[-1]))
        if held.any():
            share = [float(held.sum()), float(chance[held].mean()), float(right[held].mean())]
            lines.append([low, high, *share])
    ellipses = {f"{level:g}": _mean(off <= radius(level) ** 2) for level in LEVELS}
    return {"ellipses": ellipses, "probabilities": lines}


def _mean(values: FloatArray) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _quantile(values: FloatArray, share: float) -> float:
    return float(np.quantile(values, share)) if len(values) else float("nan")
