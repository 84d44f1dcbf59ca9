"""Answers of the paper's method as JSON and as words."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.paper.basis_fit.separation import Learnt
from isovist.paper.dynamic.dynamic_bound import Assumption
from isovist.paper.dynamic.steering import Drive
from isovist.paper.dynamic.trajectory_localizer import PaperWay
from isovist.paper.gram.metric import MapMetric
from isovist.paper.localizer import PaperAnswer
from isovist.paper.static.static_bound import PlaceBound
from isovist.poses import Pose3
from isovist.report.answers import finite, pose_json

LISTED = 4
"""Nodes that are told, as in the paper's table."""


def paper_json(answer: PaperAnswer) -> dict[str, Any]:
    """The answer as plain data, in m and rad; inf and NaN are null."""
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
        "node_bound": bound_json(answer.node_bound),
        "bound": bound_json(answer.bound),
    }


def bound_json(bound: PlaceBound) -> dict[str, Any]:
    """A bound with its assumptions, one by one."""
    return {
        "bound": finite(bound.bound),
        "holds": bound.holds,
        "lipschitz": finite(bound.lipschitz),
        "variation": finite(bound.variation),
        "assumptions": [assumption_json(assumption) for assumption in bound.assumptions],
    }


def assumption_json(assumption: Assumption) -> dict[str, Any]:
    """An assumption as plain data."""
    return {
        "name": assumption.name,
        "holds": assumption.holds,
        "value": finite(assumption.value),
        "limit": finite(assumption.limit),
        "text": assumption.text,
    }


def paper_text(answer: PaperAnswer) -> str:
    """The answer in a few lines."""
    pose = answer.pose
    height = f"z {pose.z:.3f} m   " if isinstance(pose, Pose3) else ""
    lines = [
        f"x {pose.x:.3f} m   y {pose.y:.3f} m   {height}yaw {math.degrees(pose.yaw):.2f}°",
        "  nearest nodes, and how far their descriptors are from the observed one:",
    ]
    nodes = answer.nodes
    for place, yaw, distance in zip(
        nodes.places[:LISTED], nodes.yaws, nodes.distances, strict=False
    ):
        where = ", ".join(f"{v:.3f}" for v in place)
        lines.append(f"    ({where})   yaw {math.degrees(yaw):.1f}°   {distance:.4f}")
    lines.append("  Gauss–Newton, and ‖F − F_obs‖:")
    for place, residual in zip(answer.path, answer.residuals, strict=True):
        where = ", ".join(f"{v:.3f}" for v in place)
        lines.append(f"    ({where})   {residual:.2e}")
    lines.append(f"  μ {answer.mu:.3f} per m")
    for name, bound in (("nearest node", answer.node_bound), ("estimate", answer.bound)):
        told = f"error ≤ {bound.bound:.3f} m" if bound.holds else "no bound holds"
        lines.append(f"  {name}: {told}")
    lines.append("  what the bound of the estimate rests on:")
    lines += [assumption_text(assumption) for assumption in answer.bound.assumptions]
    return "\n".join(lines)


def assumption_text(assumption: Assumption) -> str:
    """An assumption in one line."""
    numbers = ""
    if math.isfinite(assumption.value) and math.isfinite(assumption.limit):
        numbers = f" ({assumption.value:.3g} against {assumption.limit:.3g})"
    return f"    {'yes' if assumption.holds else 'no '}  {assumption.text}{numbers}"


def way_json(way: PaperWay, times: FloatArray) -> Iterator[dict[str, Any]]:
    """One row for each scan of a way, then one with the bound of its start."""
    for time, pose, least in zip(times, way.poses, way.history.least, strict=True):
        yield {"time": float(time), **pose_json(pose), "lambda_min": float(least)}
    bound = way.bound
    yield {
        "method": "paper",
        "start": pose_json(way.poses[0]),
        "lambda_min": float(way.history.least[-1]),
        "weakest": way.history.weakest[-1].tolist(),
        "converged": way.fit.converged,
        "bound": finite(bound.bound),
        "sharp": finite(bound.sharp),
        "holds": bound.holds,
        "assumptions": [assumption_json(assumption) for assumption in bound.assumptions],
    }


def way_text(way: PaperWay) -> str:
    """A way in a few lines."""
    first, last, bound = way.poses[0], way.poses[-1], way.bound
    told = f"error ≤ {bound.bound:.3f} m" if bound.holds else "no bound holds"
    lines = [f"{len(way.poses)} scans, {len(way.costs)} places carried along"]
    lines += [
        f"  {name}: x {pose.x:.3f} m   y {pose.y:.3f} m   yaw {math.degrees(pose.yaw):.2f}°"
        for name, pose in (("first", first), ("last ", last))
    ]
    least = way.history.least
    lines.append(f"  λ_min of the Gramian: {least[0]:.3g} after one, {least[-1]:.3g} after all")
    lines.append(f"  start: {told}; it rests on")
    lines += [assumption_text(assumption) for assumption in bound.assumptions]
    return "\n".join(lines)


def learnt_text(found: Learnt, path: Path) -> str:
    """What a fitted basis is worth beside the uniform one."""
    rows = (
        ("least distance of far places, fitted to", found.fitted),
        ("the same at other places", found.held_out),
        ("one in a hundred of these pairs is nearer than", found.lowest),
    )
    lines = [f"{path}: a basis of {len(found.basis)} directions"]
    lines += [f"  {name}: uniform {a:.4g}, fitted {b:.4g}" for name, (a, b) in rows]
    return "\n".join(lines)


def metric_json(found: MapMetric) -> dict[str, Any]:
    """The metric of a map as plain data; pairs of aliases as places, in m."""
    low, middle, high = np.quantile(found.resolution, [0.05, 0.5, 0.95])
    return {
        "nodes": len(found.places),
        "spacing": found.spacing,
        "resolution": {"p05": float(low), "median": float(middle), "p95": float(high)},
        "without_alias": found.alone,
        "aliases": [found.places[pair].tolist() for pair in found.aliases],
    }


def metric_text(found: MapMetric) -> str:
    """The metric of a map in a few lines."""
    low, middle, high = np.quantile(found.resolution, [0.05, 0.5, 0.95])
    worst = found.places[int(found.resolution.argmax())]
    where = ", ".join(f"{v:.2f}" for v in worst)
    return (
        f"{len(found.places)} nodes every {found.spacing:g} m\n"
        f"  resolution 1/σ_min: {middle:.3g} m per unit of d in the middle, "
        f"{low:.3g} to {high:.3g} in nine of ten, coarsest at ({where})\n"
        f"  {found.alone:.1%} have no alias; {len(found.aliases)} pairs of places look alike"
    )


def drive_json(found: Drive) -> dict[str, Any]:
    """Legs as plain data: the place after each, in m, and λ_min there."""
    rows = zip(found.places.tolist(), found.least.tolist(), strict=True)
    return {"places": [{"place": place, "lambda_min": least} for place, least in rows]}


def drive_text(found: Drive) -> str:
    """Legs in a line each."""
    rows = zip(found.places, found.least, strict=True)
    return "\n".join(
        f"{'start' if k == 0 else f'leg {k}':>6}  ({', '.join(f'{v:.2f}' for v in place)}) m   "
        f"λ_min {least:.4g}"
        for k, (place, least) in enumerate(rows)
    )
