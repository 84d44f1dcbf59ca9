"""Compare answers with the truth, and summarise trials in one row of numbers.

An answer is right when it is within 0.5 m and 10° of the truth, in 3D within 0.3 m (x and y) and
5°. Its list is complete when a pose of it is right, or scores at least as high as the pose nearest
the truth. Then the search missed nothing, and the model of the sensor or the map is wrong.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import AnyScan, Atlas
from isovist.evaluation.settings import PROTOCOL
from isovist.localization import Answer, LocalizationSettings, Verdict, ellipse_radius
from isovist.poses import AnyPose, pose_error

LEVELS = (0.5, 0.68, 0.95)
"""Shares of right answers that the covariance ellipses should contain."""
BIN_EDGES = (0.0, 0.5, 0.9, 0.99, 0.999, 1.0)
"""Edges of the bins of reported probability."""


class Reliability(TypedDict):
    """Result of `calibration`."""

    ellipses: dict[str, float]
    probabilities: list[list[float]]


Row = dict[str, float | int | str | Reliability]
"""A row of a result table: values by column name."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The result of one trial, compared with the true pose.

    Attributes:
        verdict: Verdict of the answer.
        error_m: Distance from the best estimate to the true position; infinite without an estimate.
        error_rad: Angle between the best estimate and the true pose; π without an estimate.
        right: Whether the best estimate is near the true pose.
        listed: Whether any estimate of the answer is near the true pose.
        complete: Whether any estimate is near the true pose, or rates as high as it.
        probability: Probability of the best estimate; 0 without one.
        mahalanobis: Squared Mahalanobis distance of the true position from the best estimate.
        timing_ms: Times of the answer, in ms.
        proved: Whether the answer is proved unique.
        disproved: Whether the proof is wrong: it proves a wrong answer, or excludes the true pose.
    """

    verdict: Verdict
    error_m: float
    error_rad: float
    right: bool
    listed: bool
    complete: bool
    probability: float
    mahalanobis: float
    timing_ms: dict[str, float]
    proved: bool = False
    disproved: bool = False


def outcome_of(atlas: Atlas, scan: AnyScan, answer: Answer, truth: AnyPose) -> Outcome:
    """Compare an answer with the true pose."""
    limits = PROTOCOL.right_3d_m, PROTOCOL.right_3d_rad
    max_m, max_rad = LocalizationSettings().decision.same_place if atlas.dimension == 2 else limits
    errors = [pose_error(estimate.pose, truth) for estimate in answer.estimates]
    is_near = [metres <= max_m and angle <= max_rad for metres, angle in errors]
    pose, rating = _at_truth(atlas, scan, truth)
    highest = max((estimate.score for estimate in answer.estimates), default=-np.inf)
    right, mahalanobis, probability = bool(is_near and is_near[0]), np.inf, 0.0
    if answer.best is not None:
        d = answer.best.pose.position[:2] - truth.position[:2]
        mahalanobis = float(d @ np.linalg.solve(answer.best.covariance[:2, :2], d))
        probability = answer.best.probability
    proof = answer.proof
    proved = proof is not None and proof.unique
    left_out = proof is not None and proof.complete and rating >= proof.floor
    return Outcome(
        answer.verdict, *(errors[0] if errors else (np.inf, np.pi)), right, any(is_near),
        any(is_near) or rating <= highest + PROTOCOL.equal_score_nats, probability, mahalanobis,
        dict(answer.timing_ms), proved,
        (proved and not right) or (left_out and proof is not None and not proof.holds(pose)),
    )  # fmt: skip


def _at_truth(atlas: Atlas, scan: AnyScan, truth: AnyPose) -> tuple[AnyPose, float]:
    """Return the better of the true pose and a fit from there, and its mean score in nats."""
    settings = LocalizationSettings()
    in_range = scan.within(atlas.diagonal)
    if in_range is None:
        return truth, -np.inf
    beams = atlas.beams(in_range, settings.fit.fine_beams, settings.scoring.group)
    sensor = np.asarray((truth @ scan.T_robot_level).vector)[None]
    fit = atlas.fit(beams, sensor, settings.fine_widths(atlas), atlas.fitted(False))
    poses = np.concatenate([sensor, fit.poses])
    scores = atlas.rate(beams, poses, settings.model)[0].mean(axis=1, dtype=np.float64)
    best = int(np.argmax(scores))
    return (atlas.lift(poses[best : best + 1]) @ scan.T_level_robot)[0], float(scores[best])


def summarise(
    outcomes: Sequence[Outcome], timings: Sequence[Mapping[str, float]] | None = None
) -> Row:
    """Compute shares and quantiles over trials; errors and coverage are those of right answers.

    `listed` is the share of trials whose answer contains the true pose.  `listed_complete` adds
    trials in which the true pose rates no higher than an estimate.  At a long straight wall
    hundreds of poses rate equally, and an answer lists ten.

    Args:
        outcomes: Results of the trials.
        timings: Times in ms of trials that ran alone; those of the answers when `None`.
    """
    timings = [o.timing_ms for o in outcomes] if timings is None else timings
    right = np.array([o.right for o in outcomes])
    unique = np.array([o.verdict is Verdict.UNIQUE for o in outcomes])
    lost = np.array([o.verdict is Verdict.LOST for o in outcomes])
    ambiguous = ~(unique | lost)
    listed = np.array([o.listed for o in outcomes])
    error = np.array([o.error_m for o in outcomes])[right]
    angle = np.degrees([o.error_rad for o in outcomes])[right]
    stages = [key for key in timings[0] if key != "total"]
    times = {k: np.array([row.get(k, 0.0) for row in timings]) for k in (*stages, "total")}
    reliability = calibration(outcomes)
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
        "median_error_deg": _quantile(angle, 0.5),
        "p95_error_m": _quantile(error, 0.95),
        "coverage95": reliability["ellipses"]["0.95"],
        **{f"{k}_ms": float(np.median(times[k])) for k in stages},
        "median_ms": float(np.median(times["total"])),
        "p95_ms": float(np.quantile(times["total"], 0.95)),
        "calibration": reliability,
    }
    if "prove" in times:
        proved = np.array([o.proved for o in outcomes])
        row["proved_unique"] = _mean(proved[unique])
        row["proof_wrong"] = int(sum(o.disproved for o in outcomes))
    return row


def calibration(outcomes: Sequence[Outcome]) -> Reliability:
    """Compare reported probabilities and error ellipses with observed frequencies.

    Returns:
        `ellipses`: for each of `LEVELS`, the share of right answers with the true position inside
        the ellipse.  `probabilities`: a row for each bin with answers, with the lower and upper
        edge, the number of answers, their mean probability and the share of right ones.
    """
    probability = np.array([o.probability for o in outcomes])
    right = np.array([o.right for o in outcomes])
    mahalanobis = np.array([o.mahalanobis for o in outcomes])[right]
    rows = []
    for low, high in itertools.pairwise(BIN_EDGES):
        in_bin = (probability >= low) & ((probability < high) | (high == BIN_EDGES[-1]))
        if in_bin.any():
            means = float(probability[in_bin].mean()), float(right[in_bin].mean())
            rows.append([low, high, float(in_bin.sum()), *means])
    ellipses = {f"{level:g}": _mean(mahalanobis <= ellipse_radius(level) ** 2) for level in LEVELS}
    return {"ellipses": ellipses, "probabilities": rows}


def _mean(values: FloatArray) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _quantile(values: FloatArray, share: float) -> float:
    return float(np.quantile(values, share)) if len(values) else float("nan")
