"""Answers as JSON and as words."""

import math
from typing import Any

import numpy as np

from isovist.locate.answer import Answer, Verdict
from isovist.poses import Pose, Pose3


def answer_json(answer: Answer) -> dict[str, Any]:
    """The answer as plain data: m, rad and ms; an infinite bound is null."""
    certificate = answer.certificate
    return {
        "verdict": answer.verdict.value,
        "advice": answer.advice,
        "estimates": [
            {
                **pose_json(e.pose),
                "probability": e.probability,
                "covariance": e.covariance.tolist(),
                "inliers": e.inliers,
            }
            for e in answer.estimates
        ],
        "certificate": None
        if certificate is None
        else {
            "mu": certificate.mu,
            "bound": _finite(certificate.bound),
            "holds": certificate.holds,
            "separation": _finite(certificate.separation),
            "assumptions": list(certificate.assumptions),
        },
        "timing_ms": {key: round(value, 3) for key, value in answer.timing_ms.items()},
    }


def pose_json(pose: Pose) -> dict[str, float]:
    """A pose as plain data; in space with its height and tilt."""
    plane = {"x": pose.x, "y": pose.y, "yaw": pose.yaw}
    if not isinstance(pose, Pose3):
        return plane
    return {**plane, "z": pose.z, "roll": pose.roll, "pitch": pose.pitch}


def answer_text(answer: Answer) -> str:
    """The answer in a few lines."""
    lines = [f"{answer.verdict.value}: {answer.advice}"]
    shown = answer.estimates[:1] if answer.verdict is Verdict.UNIQUE else answer.estimates
    for k, e in enumerate(shown):
        spread = np.sqrt(np.maximum(np.linalg.eigvalsh(e.covariance[:2, :2]), 0.0)).max()
        turn = math.sqrt(max(float(e.covariance[2, 2]), 0.0))
        height = f"z {e.pose.z:7.3f} m   " if isinstance(e.pose, Pose3) else ""
        lines.append(
            f"  {k + 1}. x {e.pose.x:8.3f} m   y {e.pose.y:8.3f} m   {height}"
            f"yaw {math.degrees(e.pose.yaw):7.2f}°   ± {spread:.3f} m, {math.degrees(turn):.2f}°   "
            f"probability {e.probability:.3f}   {e.inliers:.0%} of the beams fit"
        )
    certificate = answer.certificate
    if certificate is not None:
        bound = f"error ≤ {certificate.bound:.3f} m" if certificate.holds else "no bound holds here"
        lines.append(f"  certificate: μ {certificate.mu:.3f} per m, {bound}")
    times = ", ".join(f"{key} {value:.1f}" for key, value in answer.timing_ms.items())
    lines.append(f"  time in ms: {times}")
    return "\n".join(lines)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
