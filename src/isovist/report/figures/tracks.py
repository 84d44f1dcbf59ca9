"""Draw the path of a tracked robot on the plan, and its verdicts over the distance driven."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.localization import Verdict
from isovist.maps import OccupancyMap, VoxelMap
from isovist.poses import Pose3
from isovist.report.figures.cells import draw_cells, known_size
from isovist.report.figures.figures import ACCENT, INK, SECOND, THIRD, explain_below, new_figure
from isovist.report.figures.robots import draw_ellipse, draw_robot
from isovist.report.figures.space import slice_of
from isovist.tracking import Update

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {Verdict.UNIQUE: SECOND, Verdict.AMBIGUOUS: "#e2a13a", Verdict.LOST: ACCENT}
ODOMETRY = "#7b8994"


def draw_track(site: OccupancyMap | VoxelMap, updates: Sequence[Update]) -> "Figure":
    """Draw the path on the map, and λ_min and the error or verdict over the distance driven.

    A 3D map is shown as a slice at the height of the robot at the end of its path.
    """
    world = site if isinstance(site, OccupancyMap) else _slice_at_end(site, updates)
    rows: list[Any]
    width, height = known_size(world)
    if width > 1.4 * height:
        plan, panels = 10.2 * height / width, 2.6
        figure = new_figure(11.0, plan + panels + 1.2)
        rows = [["plan", "plan"], ["lambda_min", "error"]]
        axes = figure.subplot_mosaic(rows, height_ratios=(plan, panels))
    else:
        figure = new_figure(12.0, 7.4)
        rows = [["plan", "lambda_min"], ["plan", "error"]]
        axes = figure.subplot_mosaic(rows, width_ratios=(1.9, 1.0))
    draw_cells(axes["plan"], world)
    draw_path(axes["plan"], updates, 0.03 * float(max(width, height)))
    explain_below(figure, axes["plan"].get_legend_handles_labels()[0])
    draw_lambda_min(axes["lambda_min"], updates)
    if any(update.error is not None for update in updates):
        draw_errors(axes["error"], updates)
    else:
        draw_verdicts(axes["error"], updates)
    return figure


def _slice_at_end(world: VoxelMap, updates: Sequence[Update]) -> OccupancyMap:
    """Return the slice of a 3D map at the last height of the robot."""
    best = (update.belief.best for update in reversed(updates))
    pose = next((Pose3.lifted(e.pose) for e in best if e is not None), None)
    return slice_of(world, float(world.bounds[:, 2].mean()) if pose is None else pose.z)


def draw_path(axes: "Axes", updates: Sequence[Update], size: float) -> None:
    """Draw the best estimates coloured by verdict, where they became unique, and raw odometry.

    Odometry is laid onto the first unique estimate.  Estimates that are not unique are dots: they
    may jump from one update to the next.

    Args:
        axes: Axes with the map.
        updates: The updates of the tracker, in order.
        size: Length of the robot drawn at the end, in m.
    """
    from matplotlib.collections import LineCollection

    first = next((u for u in updates if u.unique and u.belief.best is not None), None)
    if first is not None and first.belief.best is not None:
        poses = [u.odometry for u in updates if u.odometry is not None]
        if first.odometry is not None:
            T_map_odom = first.belief.best.pose @ first.odometry.inverse
            path = T_map_odom.apply([pose.position for pose in poses])
            axes.plot(*path.T[:2], color=ODOMETRY, linewidth=0.8, label="odometry alone", zorder=2)
    for verdict, colour in COLOURS.items():
        dots = _places([u for u in updates if u.belief.verdict is verdict])
        if len(dots):
            axes.plot(*dots.T, ".", color=colour, markersize=4, label=verdict.value, zorder=3)
    lines = [_places([a, b]) for a, b in pairwise(updates) if a.unique and b.unique]
    axes.add_collection(
        LineCollection(lines, colors=COLOURS[Verdict.UNIQUE], linewidths=1.8, zorder=4)
    )
    if first is not None and first.belief.best is not None:
        pose = first.belief.best.pose
        axes.plot(
            pose.x, pose.y, "*", color=INK, markersize=13, markeredgecolor="white", zorder=7,
            label=f"unique after {first.belief.travelled:.1f} m",
        )  # fmt: skip
    last = updates[-1].belief
    if last.best is not None:
        draw_ellipse(axes, last.best, INK)
        body = draw_robot(axes, last.best.pose, THIRD, size, zorder=7.0)
        body.set_label(f"the end: {last.verdict.value}")


def draw_lambda_min(axes: "Axes", updates: Sequence[Update]) -> None:
    """Draw λ_min of the Gramian over the distance driven."""
    values = np.array([u.belief.least for u in updates])
    # A logarithmic axis leaves out zero, where the path has no information yet.
    if (values > 0.0).any():
        axes.set_yscale("log", nonpositive="mask")
    axes.plot(_travelled(updates), values, color=INK, linewidth=1.2)
    _finish(axes, updates, "λ_min of the Gramian (1/m²)")


def draw_errors(axes: "Axes", updates: Sequence[Update]) -> None:
    """Draw the distance of the best estimate from the truth, coloured by verdict."""
    for verdict, colour in COLOURS.items():
        compared = [u for u in updates if u.belief.verdict is verdict and u.error is not None]
        # An error of zero has no place on a logarithmic axis.
        errors = [max(u.error[0], 1e-3) for u in compared if u.error is not None]
        axes.plot(_travelled(compared), errors, ".", color=colour, markersize=3)
    axes.set_yscale("log")
    _finish(axes, updates, "error of the best estimate (m)")


def draw_verdicts(axes: "Axes", updates: Sequence[Update]) -> None:
    """Draw the verdicts over the distance driven, one row each."""
    order = (Verdict.LOST, Verdict.AMBIGUOUS, Verdict.UNIQUE)
    for row, verdict in enumerate(order):
        x = _travelled([u for u in updates if u.belief.verdict is verdict])
        axes.plot(x, np.full(len(x), row), "|", color=COLOURS[verdict], markersize=14)
    axes.set_yticks(range(len(order)), [verdict.value for verdict in order])
    axes.set_ylim(-0.6, len(order) - 0.4)
    _finish(axes, updates, "verdict")


def _finish(axes: "Axes", updates: Sequence[Update], title: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlim(0.0, max(updates[-1].belief.travelled, 1e-3))
    axes.set_xlabel("distance driven (m)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)


def _places(updates: Sequence[Update]) -> FloatArray:
    """Return the best positions, in m, shape (k, 2)."""
    best = [u.belief.best for u in updates]
    return np.array([[e.pose.x, e.pose.y] for e in best if e is not None]).reshape(-1, 2)


def _travelled(updates: Sequence[Update]) -> FloatArray:
    return np.array([u.belief.travelled for u in updates])
