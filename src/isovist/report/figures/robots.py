"""Draw robots, beams and places onto a plan."""

from typing import TYPE_CHECKING, Any

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.localization import Estimate, Proof
from isovist.poses import AnyPose, Pose
from isovist.report.figures.figures import ACCENT, INK, PAPER, SECOND

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BODY = np.array([[0.65, 0.0], [0.2, 0.36], [-0.45, 0.36], [-0.45, -0.36], [0.2, -0.36]])
"""Outline of a robot of length 1.1 that looks along x: a box with a nose."""
FITS, ASTRAY, NEUTRAL = SECOND, ACCENT, "#9aa7b0"
"""Colours of beams that fit, that do not, and that favour neither place."""


def draw_robot(
    axes: "Axes",
    pose: AnyPose,
    colour: str,
    size: float,
    *,
    alpha: float = 1.0,
    zorder: float = 5.0,
) -> Any:
    """Draw a robot of `size` m with a nose along its heading."""
    from matplotlib.patches import Polygon

    outline = Pose(pose.x, pose.y, pose.yaw).apply(size / 1.1 * BODY)
    body = Polygon(outline, facecolor=colour, edgecolor=INK, linewidth=0.9)
    body.set(alpha=alpha, zorder=zorder)
    return axes.add_patch(body)


def mark(axes: "Axes", pose: AnyPose, text: str, zorder: float = 8.0) -> Any:
    """Write a short text beside a robot."""
    style = {"boxstyle": "round,pad=0.15", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.8}
    return axes.annotate(
        text, (pose.x, pose.y), (7, 7), textcoords="offset points", color=INK, fontsize=8,
        bbox=style, zorder=zorder, annotation_clip=True,
    )  # fmt: skip


def draw_ellipse(axes: "Axes", estimate: Estimate, colour: str) -> Any:
    """Draw the 95 % confidence ellipse of a position."""
    from matplotlib.patches import Ellipse

    longer, shorter, angle = estimate.ellipse(0.95)
    ellipse = Ellipse(
        (estimate.pose.x, estimate.pose.y), 2.0 * longer, 2.0 * shorter, angle=np.degrees(angle),
        fill=False, edgecolor=colour, linewidth=1.2, zorder=6,
    )  # fmt: skip
    return axes.add_patch(ellipse)


def draw_regions(axes: "Axes", proof: Proof, colour: str) -> Any:
    """Draw the discs that a proof cannot exclude as places of the robot."""
    from matplotlib.collections import EllipseCollection

    x, y, _, radius, _ = proof.regions.T
    discs = EllipseCollection(
        2.0 * radius, 2.0 * radius, 0.0 * radius, units="xy", offsets=np.column_stack([x, y]),
        transOffset=axes.transData, facecolors=colour, edgecolors=colour, linewidths=0.8,
        alpha=0.25, zorder=3.5, label="not excluded by the proof",
    )  # fmt: skip
    return axes.add_collection(discs, autolim=False)


def draw_truth(axes: "Axes", truth: AnyPose) -> Any:
    """Draw a cross at the true pose, open in the middle so that it hides no estimate."""
    return axes.plot(
        truth.x, truth.y, marker=open_cross(), color=INK, markersize=28, markeredgewidth=1.8,
        linestyle="", zorder=4.5, label="truth",
    )  # fmt: skip


def open_cross() -> Any:
    """Return a marker of four strokes around a free middle."""
    from matplotlib.path import Path

    directions = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)])
    strokes = [r * direction for direction in directions for r in (0.6, 1.0)]
    return Path(np.array(strokes), [Path.MOVETO, Path.LINETO] * 4)


def draw_ends(axes: "Axes", points: FloatArray, colours: dict[str, BoolArray]) -> None:
    """Draw ends of beams in the world, in m, shape (m, d), in the colours of their masks."""
    for colour, mask in colours.items():
        if mask.any():
            axes.plot(*points[mask, :2].T, ".", color=colour, markersize=3.2, zorder=3)


def draw_beams(axes: "Axes", origin: FloatArray, points: FloatArray, colours: Any) -> None:
    """Draw beams from the sensor to their ends, as thin lines with dots."""
    from matplotlib.collections import LineCollection

    for colour, mask in colours.items():
        lines = [(origin[:2], point) for point in points[mask, :2]]
        opacity = min(0.3, 40.0 / len(points))
        axes.add_collection(
            LineCollection(lines, colors=colour, linewidths=0.6, alpha=opacity, zorder=2)
        )
    draw_ends(axes, points, colours)
