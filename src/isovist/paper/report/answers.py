"""Show answers of the paper's method as JSON and as text."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isovist import Pose3
from isovist.arrays import FloatArray
from isovist.paper.basis_fit.separation import FittedBasis
from isovist.paper.dynamic.steering import Drive
from isovist.paper.dynamic.trajectory_localizer import PaperTrack
from isovist.paper.localizer import PaperAnswer
from isovist.paper.metric import MapMetric
from isovist.paper.static.assumptions import Assumption
from isovist.paper.static.static_bound import StaticBound
from isovist.report import finite, pose_json

LISTED = 4
"""Nodes that are shown, as in the paper's table."""


def paper_json(answer: PaperAnswer) -> dict[str, Any]:
    """Return an answer as JSON data, in m and rad; infinity and NaN are null."""
    nodes = answer.nodes
    return {
        "method": "paper",
        **pose_json(answer.pose),
        "nearest": [
            {"node": place.tolist(), "yaw": float(yaw), "distance": float(distance)}
            for place, yaw, distance in zip(
                nodes.places[:LISTED], nodes.yaws, nodes.distances, strict=False
            )
        ],
        "gauss_newton": [
            {"position": place.tolist(), "residual": float(residual)}
            for place, residual in zip(answer.path, answer.residuals, strict=True)
        ],
        "converged": answer.converged,
        "mu": answer.mu,
        "node_bound": _bound_json(answer.node_bound),
        "bound": _bound_json(answer.bound),
    }


def _bound_json(bound: StaticBound) -> dict[str, Any]:
    return {
        "bound": finite(bound.bound),
        "holds": bound.holds,
        "lipschitz": finite(bound.lipschitz),
        "variation": finite(bound.variation),
        "assumptions": _assumptions_json(bound.assumptions),
    }


def _assumptions_json(assumptions: Sequence[Assumption]) -> list[dict[str, Any]]:
    return [
        {"name": a.name, "holds": a.holds, "value": finite(a.value), "limit": finite(a.limit),
         "text": a.text}
        for a in assumptions
    ]  # fmt: skip


def paper_text(answer: PaperAnswer) -> str:
    """Describe an answer in a few lines."""
    pose, nodes = answer.pose, answer.nodes
    height = f"z {pose.z:.3f} m   " if isinstance(pose, Pose3) else ""
    lines = [
        f"x {pose.x:.3f} m   y {pose.y:.3f} m   {height}yaw {math.degrees(pose.yaw):.2f}°",
        "  nearest nodes, and the distances of their descriptors to the observed one:",
    ]
    for place, yaw, distance in zip(
        nodes.places[:LISTED], nodes.yaws, nodes.distances, strict=False
    ):
        lines.append(f"    {_place(place)}   yaw {math.degrees(yaw):.1f}°   {distance:.4f}")
    lines.append("  Gauss–Newton, and ‖F − F_obs‖:")
    for place, residual in zip(answer.path, answer.residuals, strict=True):
        lines.append(f"    {_place(place)}   {residual:.2e}")
    lines.append(f"  μ {answer.mu:.3f} per m")
    for name, bound in (("nearest node", answer.node_bound), ("estimate", answer.bound)):
        lines.append(f"  {name}: {_bound_text(bound.bound, bound.holds)}")
    lines.append("  assumptions of the bound of the estimate:")
    return "\n".join([*lines, *_assumption_lines(answer.bound.assumptions)])


def _place(place: FloatArray, digits: int = 3) -> str:
    return f"({', '.join(f'{v:.{digits}f}' for v in place)})"


def _bound_text(bound: float, holds: bool) -> str:
    return f"error ≤ {bound:.3f} m" if holds else "no bound holds"


def _assumption_lines(assumptions: Sequence[Assumption]) -> Iterator[str]:
    for a in assumptions:
        is_finite = math.isfinite(a.value) and math.isfinite(a.limit)
        numbers = f" ({a.value:.3g} against {a.limit:.3g})" if is_finite else ""
        yield f"    {'yes' if a.holds else 'no '}  {a.text}{numbers}"


def track_json(track: PaperTrack, times: FloatArray) -> Iterator[dict[str, Any]]:
    """Yield one row for each scan of a trajectory, then one with the bound of its start."""
    history, bound = track.history, track.bound
    for time, pose, eigenvalue in zip(times, track.poses, history.min_eigenvalues, strict=True):
        yield {"time": float(time), **pose_json(pose), "lambda_min": float(eigenvalue)}
    yield {
        "method": "paper",
        "start": pose_json(track.poses[0]),
        "lambda_min": float(history.min_eigenvalues[-1]),
        "weakest": history.weakest[-1].tolist(),
        "converged": track.fit.converged,
        "bound": finite(bound.bound),
        "sharp": finite(bound.sharp),
        "holds": bound.holds,
        "assumptions": _assumptions_json(bound.assumptions),
    }


def track_text(track: PaperTrack) -> str:
    """Describe a trajectory in a few lines."""
    bound, eigenvalues = track.bound, track.history.min_eigenvalues
    ends = (("first", track.poses[0]), ("last ", track.poses[-1]))
    lines = [
        f"{len(track.poses)} scans, {len(track.costs)} candidates for the start",
        *(
            f"  {name}: x {pose.x:.3f} m   y {pose.y:.3f} m   yaw {math.degrees(pose.yaw):.2f}°"
            for name, pose in ends
        ),
        f"  λ_min of the Gramian: {eigenvalues[0]:.3g} after one, {eigenvalues[-1]:.3g} after all",
        f"  start: {_bound_text(bound.bound, bound.holds)}; its assumptions:",
    ]
    return "\n".join([*lines, *_assumption_lines(bound.assumptions)])


def fitted_basis_text(result: FittedBasis, path: Path) -> str:
    """Describe a comparison of a fitted basis with the uniform basis."""
    rows = (
        ("smallest distance of far places, fitted to", result.fitted),
        ("smallest distance of far places, others", result.held_out),
        ("one in a hundred of the other pairs is nearer than", result.lowest),
    )
    lines = [f"{path}: a basis of {len(result.basis)} directions"]
    lines += [f"  {name}: uniform {a:.4g}, fitted {b:.4g}" for name, (a, b) in rows]
    return "\n".join(lines)


def metric_json(metric: MapMetric) -> dict[str, Any]:
    """Return the metric of a map as JSON data; pairs of aliases are places in m."""
    low, middle, high = np.quantile(metric.resolution, [0.05, 0.5, 0.95])
    return {
        "nodes": len(metric.places),
        "spacing": metric.spacing,
        "resolution": {"p05": float(low), "median": float(middle), "p95": float(high)},
        "without_alias": metric.unique_share,
        "aliases": [metric.places[pair].tolist() for pair in metric.aliases],
    }


def metric_text(metric: MapMetric) -> str:
    """Describe the metric of a map in a few lines."""
    low, middle, high = np.quantile(metric.resolution, [0.05, 0.5, 0.95])
    coarsest = _place(metric.places[int(metric.resolution.argmax())], 2)
    aliases = len(metric.aliases)
    return (
        f"{len(metric.places)} nodes every {metric.spacing:g} m\n"
        f"  resolution 1/σ_min: median {middle:.3g} m per unit of d, "
        f"90 % between {low:.3g} and {high:.3g}, coarsest at {coarsest}\n"
        f"  {metric.unique_share:.1%} have no alias; {aliases} pairs of places look alike"
    )


def drive_json(drive: Drive) -> dict[str, Any]:
    """Return the legs of a drive as JSON data: the place after each leg, in m, and λ_min there."""
    rows = zip(drive.places.tolist(), drive.min_eigenvalues.tolist(), strict=True)
    return {"places": [{"place": place, "lambda_min": value} for place, value in rows]}


def drive_text(drive: Drive) -> str:
    """Describe the legs of a drive, one line each."""
    rows = zip(drive.places, drive.min_eigenvalues, strict=True)
    return "\n".join(
        f"{'start' if k == 0 else f'leg {k}':>6}  {_place(place, 2)} m   λ_min {value:.4g}"
        for k, (place, value) in enumerate(rows)
    )
