"""Describe the result of `check` as JSON and as words."""

import math
from typing import Any

from isovist.localization import Check
from isovist.report.answers import estimate_json, estimate_text, finite, pose_json


def check_json(check: Check) -> dict[str, Any]:
    """Return the result of a pose check as JSON data: m, rad and ms; infinity is null."""
    shift = check.moved
    return {
        "verdict": check.verdict,
        "reasons": [reason.value for reason in check.reasons],
        "advice": check.advice,
        "frame": check.frame,
        **({} if check.map is None else {"map": check.map}),
        "pose": pose_json(check.pose),
        "inliers": check.inliers,
        "score": finite(check.score),
        "fit": None if check.fit is None else estimate_json(check.fit),
        "moved": None if shift is None else {"distance": shift[0], "turn": shift[1]},
        "rivals": [estimate_json(rival) for rival in check.rivals],
        "timing_ms": {key: round(value, 3) for key, value in check.timing_ms.items()},
    }


def check_text(check: Check) -> str:
    """Return a few lines that describe the result of a pose check."""
    where = "" if check.map is None else f" on {check.map}"
    lines = [
        f"{check.verdict}{where}: {check.advice}",
        f"  as it stands: {check.inliers:.0%} of the beams fit",
    ]
    if check.fit is not None and check.moved is not None:
        away, turn = check.moved
        lines.append(f"  fit: {estimate_text(check.fit)}")
        lines.append(f"  moved by {away:.3f} m, {math.degrees(turn):.2f}°")
    lines += [f"  rival: {estimate_text(rival)}" for rival in check.rivals]
    lines.append(f"  frame: {check.frame}")
    lines.append(f"  time in ms: {check.timing_ms['total']:.1f}")
    return "\n".join(lines)
