"""Answers as JSON and as words."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.hints import Hint
from isovist.poses import COORDINATES, AnyPose, Pose3


def answer_json(answer: Answer, hints: Sequence[Hint] = ()) -> dict[str, Any]:
    """The answer, and what would fit instead, as plain data: m, rad and ms; inf is null."""
    certificate = answer.certificate
    return {
        "verdict": answer.verdict.value,
        "advice": answer.advice,
        "frame": answer.frame,
        "estimates": [estimate_json(e) for e in answer.estimates],
        "hints": [hint_json(hint) for hint in hints],
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
        "covariance_ros": estimate.covariance_ros.tolist(),
        "inliers": estimate.inliers,
        "refuted": estimate.refuted,
    }


def hint_json(hint: Hint) -> dict[str, Any]:
    """A hint as plain data."""
    head = {"cause": hint.cause, "factor": hint.factor}
    return {**head, **pose_json(hint.pose), "text": hint.text}


def pose_json(pose: AnyPose) -> dict[str, float]:
    """A pose as plain data; in space with its height and tilt."""
    return dict(zip(COORDINATES, pose.vector.tolist(), strict=False))


def answer_text(answer: Answer, hints: Sequence[Hint] = ()) -> str:
    """The answer, and what would fit instead, in a few lines."""
    lines = [f"{answer.verdict.value}: {answer.advice}"]
    shown = answer.estimates[:1] if answer.verdict is Verdict.UNIQUE else answer.estimates
    lines += [f"  {k + 1}. {estimate_text(e)}" for k, e in enumerate(shown)]
    if shown:
        lines.append(f"  frame: {answer.frame}")
    lines += [f"  hint: {hint.text}" for hint in hints]
    certificate = answer.certificate
    if certificate is not None:
        bound = f"error ≤ {certificate.bound:.3f} m" if certificate.holds else "no bound holds here"
        lines.append(f"  certificate: μ {certificate.mu:.3f} per m, {bound}")
    times = ", ".join(f"{key} {value:.1f}" for key, value in answer.timing_ms.items())
    lines.append(f"  time in ms: {times}")
    return "\n".join(lines)


def estimate_text(e: Estimate) -> str:
    """An estimate in one line."""
    spread = np.sqrt(np.maximum(np.linalg.eigvalsh(e.covariance[:2, :2]), 0.0)).max()
    turn = math.sqrt(max(float(e.covariance[2, 2]), 0.0))
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
