"""Describe updates of a tracker as JSON and CSV, and a tracked log in words."""

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from isovist.poses import Pose3
from isovist.report.answers import estimate_json, estimate_text, finite
from isovist.sensing import CloudLog, Log
from isovist.storage import PathLike, replace_file
from isovist.tracking import Summary, Update

COLUMNS = ("time", "verdict", "map", "x", "y", "yaw", "probability", "travelled_m")
"""Columns of updates as CSV."""


def update_json(update: Update, frame: str = "robot") -> dict[str, Any]:
    """Return an update of a tracker as JSON data: m, rad, s and ms, and errors if truth is known.

    Args:
        update: The update.
        frame: Name of the body that the poses describe, such as "robot".
    """
    belief = update.belief
    report: dict[str, Any] = {
        "time": update.time,
        "verdict": belief.verdict.value,
        "frame": frame,
        **({} if belief.map is None else {"map": belief.map}),
        "estimates": [estimate_json(e) for e in belief.estimates],
        "lambda_min": finite(belief.least),
        "travelled_m": belief.travelled,
        "reasons": [reason.value for reason in belief.reasons],
        "advice": belief.advice,
        "update_ms": round(belief.timing_ms["total"], 3),
    }
    if update.truth is not None:
        error = update.error
        report["error_m"] = None if error is None else error[0]
        report["error_deg"] = None if error is None else math.degrees(error[1])
    return report


def write_updates(path: PathLike, updates: Sequence[Update]) -> None:
    """Write a CSV row for each update, in s, m and rad.

    The pose is empty if there is none.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for update in updates:
        belief, best = update.belief, update.belief.best
        row = [f"{update.time:.6f}", belief.verdict.value, belief.map or ""]
        if best is None:
            row += [""] * 4
        else:
            place = best.pose.x, best.pose.y, best.pose.yaw, best.probability
            row += [f"{value:.6f}" for value in place]
        rows.writerow([*row, f"{belief.travelled:.3f}"])
    replace_file(path, text.getvalue().encode(), parents=True)


def track_text(log: Log | CloudLog, summary: Summary) -> str:
    """Describe the result of tracking a log in a few lines."""
    last, first, place = summary.last.belief, summary.first, log.T_robot_sensor
    shares = ", ".join(f"{verdict.value} {share:.1%}" for verdict, share in summary.shares.items())
    lines = [f"{last.verdict.value} at the end: {last.advice}"]
    if last.best is not None:
        lines += [f"  {estimate_text(last.best)}", f"  frame: {log.frame}"]
    lines.append(
        f"  {summary.updates} updates over {last.travelled:.1f} m, median {summary.median_ms:.1f} "
        f"ms, {summary.per_second:.1f} per s after the first"
    )
    if first is None:
        lines.append("  never unique")
    else:
        since = first.time - summary.started
        relapse_texts = {0: "and stayed so", 1: "and lost that once"}
        relapses = relapse_texts.get(summary.relapses, f"and lost that {summary.relapses} times")
        lines.append(f"  unique after {first.belief.travelled:.1f} m, {since:.1f} s, {relapses}")
    lines.append(f"  verdicts: {shares}")
    if len(summary.errors):
        gap, turn = np.median(summary.errors, axis=0)
        lines.append(
            f"  error when unique: median {gap:.3f} m, {math.degrees(turn):.2f}°, worst "
            f"{summary.errors[:, 0].max():.3f} m; {summary.wrong} of {len(summary.errors)} off by "
            "more than 0.5 m or 10°"
        )
    height = f"z {place.z:.3f} m, " if isinstance(place, Pose3) else ""
    lines.append(
        f"  sensor on the robot: x {place.x:.3f} m, y {place.y:.3f} m, {height}"
        f"yaw {math.degrees(place.yaw):.2f}°"
    )
    if log.blind or log.outside:
        lines.append(
            f"  left out: {log.blind} scans without a valid beam, {log.outside} before or after "
            "the odometry"
        )
    return "\n".join(lines)
