"""Describe answers, proofs and hints as JSON and as words."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from isovist.localization import Answer, Estimate, Hint, LocalizationSettings, Proof, Verdict
from isovist.poses import COORDINATES, AnyPose, Pose3
from isovist.report.settings import TEXT


def answer_json(answer: Answer, hints: Sequence[Hint] = ()) -> dict[str, Any]:
    """Return an answer with its hints as JSON data: m, rad and ms; infinity is null."""
    certificate = answer.certificate
    return {
        "verdict": answer.verdict.value,
        "reasons": [reason.value for reason in answer.reasons],
        "advice": answer.advice,
        "frame": answer.frame,
        **({} if answer.map is None else {"map": answer.map}),
        "estimates": [estimate_json(e) for e in answer.estimates],
        "none": answer.none,
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
        "proof": None if answer.proof is None else proof_json(answer.proof),
        "timing_ms": {key: round(value, 3) for key, value in answer.timing_ms.items()},
    }


def trace_json(answer: Answer) -> list[dict[str, Any]]:
    """Return the batches of the search for an answer as JSON data; infinity is null."""
    return [
        asdict(step) | {"cost_ratio": finite(step.cost_ratio), "reasons": [*map(str, step.reasons)]}
        for step in answer.trace
    ]


def proof_json(proof: Proof) -> dict[str, Any]:
    """Return a proof as JSON data; its regions are discs of robot poses, limited in number."""
    names = ("x", "y", "yaw", "radius", "turn")
    rows = proof.regions[: TEXT.max_regions].tolist()
    regions = [dict(zip(names, row, strict=True)) for row in rows]
    return {
        "complete": proof.complete,
        "unique": proof.unique,
        "premise": proof.premise,
        "regions": regions,
        "count": len(proof.regions),
        "lookups": proof.lookups,
    }


def proof_text(proof: Proof) -> str:
    """Return the result of a proof in one line."""
    if not proof.complete:
        return "not complete: the search was given up, and nothing is claimed. Try --budget."
    if proof.unique:
        return f"no other place can explain the scan ({proof.lookups / 1e6:.0f} million look-ups)"
    count = len(proof.regions)
    return f"not unique: {count} region{'s' if count != 1 else ''} may explain the scan as well"


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate as JSON data, in m and rad."""
    return {
        **({} if estimate.map is None else {"map": estimate.map}),
        **pose_json(estimate.pose),
        "probability": estimate.probability,
        "covariance": estimate.covariance.tolist(),
        "covariance_ros": estimate.covariance_ros.tolist(),
        "inliers": estimate.inliers,
        "refuted": estimate.refuted,
    }


def hint_json(hint: Hint) -> dict[str, Any]:
    """Return a hint as JSON data."""
    head: dict[str, Any] = {"cause": hint.cause, "factor": hint.factor}
    if hint.map is not None:
        head["map"] = hint.map
    return {**head, **pose_json(hint.pose), "text": hint.text}


def pose_json(pose: AnyPose) -> dict[str, float]:
    """Return a pose as JSON data, in m and rad; a 3D pose has its height and tilt too."""
    return dict(zip(COORDINATES, pose.vector.tolist(), strict=False))


def answer_text(answer: Answer, hints: Sequence[Hint] = ()) -> str:
    """Return a few lines that describe an answer and its hints."""
    lines = [f"{answer.verdict.value}: {answer.advice}"]
    estimates = answer.estimates[:1] if answer.verdict is Verdict.UNIQUE else answer.estimates
    lines += [f"  {k + 1}. {estimate_text(e)}" for k, e in enumerate(estimates)]
    if estimates and answer.verdict is not Verdict.UNIQUE:
        lines.append(f"  none of these: probability {answer.none:.3f}")
    if estimates:
        lines.append(f"  frame: {answer.frame}")
    lines += [f"  hint: {hint.text}" for hint in hints]
    certificate = answer.certificate
    if certificate is not None:
        bound = f"error ≤ {certificate.bound:.3f} m" if certificate.holds else "no bound holds here"
        lines.append(f"  certificate: μ {certificate.mu:.3f} per m, {bound}")
    if answer.proof is not None:
        lines.append(f"  proof: {proof_text(answer.proof)}")
    times = ", ".join(f"{key} {value:.1f}" for key, value in answer.timing_ms.items())
    lines.append(f"  time in ms: {times}")
    return "\n".join(lines)


def headline(answer: Answer) -> str:
    """Return the verdict, the uncertainty of the best estimate and its share of fitting beams."""
    best, rivals = answer.best, len(answer.rivals)
    if best is None:
        return answer.verdict.value
    rivals_text = ""
    if answer.verdict is Verdict.AMBIGUOUS and rivals:
        open_end = (
            " or more"
            if len(answer.estimates) >= LocalizationSettings().decision.max_estimates
            else ""
        )
        rivals_text = f", {rivals}{open_end} rival{'s' if rivals > 1 else ''}"
    at_best = "" if answer.verdict is Verdict.UNIQUE else ", at best"
    where = f"{at_best} on {best.map}" if best.map else ""
    return f"{answer.verdict.value}{where}{rivals_text}:  {fit_text(best)}"


def fit_text(best: Estimate) -> str:
    """Return the uncertainty of an estimate and its share of fitting beams as text."""
    return f"{spread_text(best)},  {best.inliers:.0%} of the beams fit"


def chance_text(probability: float) -> str:
    """Format a probability in whole percent, as "<1%" or ">99%" near the ends."""
    if probability < 0.005:
        return "<1%"
    return ">99%" if probability > 0.995 else f"{probability:.0%}"


def spread_text(estimate: Estimate) -> str:
    """Format the standard deviations of the position along its worst axis and of the heading."""
    spread, turn = _spread(estimate)
    return f"± {100.0 * spread:.1f} cm, {math.degrees(turn):.2f}°"


def _spread(e: Estimate) -> tuple[float, float]:
    """Return the standard deviations along the worst level axis and of the heading, in m, rad."""
    spread = np.sqrt(np.maximum(np.linalg.eigvalsh(e.covariance[:2, :2]), 0.0)).max()
    return float(spread), math.sqrt(max(float(e.covariance[2, 2]), 0.0))


def estimate_text(e: Estimate) -> str:
    """Return one line that describes an estimate."""
    spread, turn = _spread(e)
    where = f"{e.map}:  " if e.map else ""
    height = f"z {e.pose.z:7.3f} m   " if isinstance(e.pose, Pose3) else ""
    lean = ""
    if isinstance(e.pose, Pose3) and len(e.covariance) == len(COORDINATES):
        roll, pitch = math.degrees(e.pose.roll), math.degrees(e.pose.pitch)
        lean = f"roll {roll:7.2f}°   pitch {pitch:6.2f}°   "
    return (
        f"{where}x {e.pose.x:8.3f} m   y {e.pose.y:8.3f} m   {height}"
        f"yaw {math.degrees(e.pose.yaw):7.2f}°   {lean}"
        f"± {spread:.3f} m, {math.degrees(turn):.2f}°   "
        f"probability {e.probability:.3f}   {e.inliers:.0%} of the beams fit"
        f"{'   refuted' if e.refuted else ''}"
    )


def finite(value: float) -> float | None:
    """Return a number, or `None` (null in JSON) if it is infinite or NaN."""
    return value if math.isfinite(value) else None
