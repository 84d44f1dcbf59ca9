"""Answers as JSON and as words."""

import math
from typing import Any

import numpy as np

from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose, Pose3


def answer_json(answer: Answer) -> dict[str, Any]:
    """The answer as plain data: m, rad and ms; an infinite bound is null."""
    certificate = answer.certificate
    return {
        "verdict": answer.verdict.value,
        "advice": answer.advice,
        "estimates": [estimate_json(e) for e in answer.estimates],
        "certificate": None
        if certificate is None
        else {
            "mu": certificate.mu,
            "bound": finite(certificate.bound),
            "holds": certificate.holds,
            "separation": finite(certificate.separation),
            "assumptions": list(certificate.assumptions),
        },
        "timing_ms": {key: round(value, 3) for key, value in answer.timing_ms.items()},
    }


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """An estimate as plain data."""
    return {
        **pose_json(estimate.pose),
        "probability": estimate.probability,
        "covariance": estimate.covariance.tolist(),
        "inliers": estimate.inliers,
        "refuted": estimate.refuted,
    }


def pose_json(pose: AnyPose) -> dict[str, float]:
    """A pose as plain data; in space with its height and tilt."""
    names = ("x", "y", "yaw", "z", "roll", "pitch")
    return dict(zip(names, pose.vector.tolist(), strict=False))


def answer_text(answer: Answer) -> str:
    """The answer in a few lines."""
    lines = [f"{answer.verdict.value}: {answer.advice}"]
    shown = answer.estimates[:1] if answer.verdict is Verdict.UNIQUE else answer.estimates
    lines += [f"  {k + 1}. {estimate_text(e)}" for k, e in enumerate(shown)]
    certificate = answer.certificate
    if certificate is not None:
        bound = f"error ≤ {certificate.bound:.3f} m" if certificate.holds else "no bound holds here"
        lines.append(f"  certificate: μ {certificate.mu:.3f} per m, {bound}")
    times = ", ".join(f"{key} {value:.1f}" for key, value in answer.timing_ms.items())
    lines.append(f"  time in ms: {times}")
    return "\n".join(lines)


def headline(answer: Answer) -> str:
    """The verdict, how firmly the best place holds and how many beams it explains."""
    best, rivals = answer.best, len(answer.rivals)
    if best is None:
        return answer.verdict.value
    others = ""
    if answer.verdict is Verdict.AMBIGUOUS and rivals:
        more = " or more" if len(answer.estimates) >= LocalizationSettings().listed else ""
        others = f", {rivals}{more} rival{'s' if rivals > 1 else ''}"
    fit = f"{best.inliers:.0%} of the beams fit"
    return f"{answer.verdict.value}{others}:  {spread_text(best)},  {fit}"


def chance_text(probability: float) -> str:
    """A probability in whole percents, but never 0 % or 100 % of what is only nearly so."""
    if probability < 0.005:
        return "<1%"
    return ">99%" if probability > 0.995 else f"{probability:.0%}"


def spread_text(estimate: Estimate) -> str:
    """Standard deviations of the position along its worst axis and of the heading."""
    spread, turn = _spread(estimate)
    return f"± {100.0 * spread:.1f} cm, {math.degrees(turn):.2f}°"


def _spread(e: Estimate) -> tuple[float, float]:
    """Standard deviations along the worst level axis and of the heading, in m and rad."""
    spread = np.sqrt(np.maximum(np.linalg.eigvalsh(e.covariance[:2, :2]), 0.0)).max()
    return float(spread), math.sqrt(max(float(e.covariance[2, 2]), 0.0))


def estimate_text(e: Estimate) -> str:
    """An estimate in one line."""
    spread, turn = _spread(e)
    height = f"z {e.pose.z:7.3f} m   " if isinstance(e.pose, Pose3) else ""
    return (
        f"x {e.pose.x:8.3f} m   y {e.pose.y:8.3f} m   {height}"
        f"yaw {math.degrees(e.pose.yaw):7.2f}°   ± {spread:.3f} m, {math.degrees(turn):.2f}°   "
        f"probability {e.probability:.3f}   {e.inliers:.0%} of the beams fit"
        f"{'   refuted' if e.refuted else ''}"
    )


def finite(value: float) -> float | None:
    """JSON has no infinity and no NaN; null stands for both."""
    return value if math.isfinite(value) else None
