"""Drawing maps of cells, scans laid on them, and answers."""

from typing import Any

import numpy as np

from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.maps.cells import Cell, OccupancyMap
from isovist.poses import AnyPose, Pose, unit_vectors
from isovist.sensing.scan import Scan
from isovist.viz.figures import ACCENT, INK, SECOND, new_figure

SHADES = {
    Cell.FREE: (1.0, 1.0, 1.0),
    Cell.OCCUPIED: (0.13, 0.19, 0.24),
    Cell.UNKNOWN: (0.86, 0.89, 0.91),
}


def draw_cells(axes: Any, world: OccupancyMap) -> Any:
    """Free white, walls dark, unknown grey, in m."""
    from matplotlib.transforms import Affine2D

    table = np.array([SHADES[cell] for cell in sorted(SHADES)])
    height, width = world.shape
    image = axes.imshow(
        table[world.cells],
        origin="lower",
        extent=(0.0, width * world.resolution, 0.0, height * world.resolution),
        interpolation="nearest" if max(world.shape) < 1500 else "antialiased",
    )
    place = Affine2D().rotate(world.origin.yaw).translate(world.origin.x, world.origin.y)
    image.set_transform(place + axes.transData)
    lo, hi = known_bounds(world)
    axes.set(
        xlim=(lo[0], hi[0]), ylim=(lo[1], hi[1]), aspect="equal", xlabel="x (m)", ylabel="y (m)"
    )
    return image


def known_bounds(world: OccupancyMap) -> tuple[Any, Any]:
    """Smallest and largest coordinates of what is free, with a margin, in m."""
    rows, cols = np.nonzero(world.cells == Cell.FREE)
    corners = world.centres(
        [rows.min(), rows.min(), rows.max(), rows.max()],
        [cols.min(), cols.max(), cols.min(), cols.max()],
    )
    return corners.min(axis=0) - 0.7, corners.max(axis=0) + 0.7


def draw_scan(axes: Any, scan: Scan, pose: Pose, colour: str = ACCENT) -> Any:
    """Ends of the valid beams of a sensor at a pose."""
    points = pose.apply(scan.endpoints)
    return axes.plot(*points.T, ".", color=colour, markersize=2.5, alpha=0.9, zorder=3)


def draw_pose(axes: Any, pose: AnyPose, colour: str, size: float, label: str | None = None) -> Any:
    """A dot with an arrow along the heading, `size` m long."""
    tip = pose.position[:2] + size * unit_vectors(pose.yaw)
    arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", tip, (pose.x, pose.y), arrowprops=arrow, zorder=5)
    return axes.plot(pose.x, pose.y, "o", color=colour, markersize=5, label=label, zorder=5)


def flat(pose: AnyPose) -> Pose:
    """What of a pose lies in the plane."""
    return pose if isinstance(pose, Pose) else pose.flat


def draw_ellipse(axes: Any, estimate: Estimate, colour: str) -> Any:
    """The 95 % ellipse of a position."""
    from matplotlib.patches import Ellipse

    values, vectors = np.linalg.eigh(estimate.covariance[:2, :2])
    width, height = 2.0 * np.sqrt(5.991 * np.maximum(values[::-1], 0.0))
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    ellipse = Ellipse(
        (estimate.pose.x, estimate.pose.y), width, height, angle=angle,
        fill=False, edgecolor=colour, linewidth=1.2, zorder=6,
    )  # fmt: skip
    return axes.add_patch(ellipse)


def draw_answer(
    world: OccupancyMap, scan: Scan, answer: Answer, truth: AnyPose | None = None
) -> Any:
    """The map with the scan at the best estimate, all rivals, and a close view."""
    lo, hi = known_bounds(world)
    wide = (hi - lo)[0] >= (hi - lo)[1]
    figure = new_figure(12.0, 6.0) if wide else new_figure(10.0, 8.0)
    whole, close = figure.subplots(1, 2, width_ratios=(1.7, 1.0))
    size = 0.035 * float((hi - lo).max())
    rivals = answer.estimates[1:] if answer.verdict is Verdict.AMBIGUOUS else ()
    for axes, length in ((whole, size), (close, 0.8)):
        draw_cells(axes, world)
        for rival in rivals:
            draw_pose(axes, rival.pose, SECOND, length)
        if answer.estimates:
            best = answer.estimates[0]
            draw_scan(axes, scan, flat(best.pose) @ scan.T_robot_sensor)
            draw_ellipse(axes, best, ACCENT)
            draw_pose(axes, best.pose, ACCENT, length, label="estimate")
        if truth is not None:
            axes.plot(truth.x, truth.y, "+", color=INK, markersize=14, label="truth", zorder=7)
    if answer.estimates:
        best = answer.estimates[0]
        reach = max(1.0, min(6.0, float(np.percentile(scan.ranges[scan.valid], 80.0))))
        close.set(
            xlim=(best.pose.x - reach, best.pose.x + reach),
            ylim=(best.pose.y - reach, best.pose.y + reach),
        )
        whole.set_title(
            f"{answer.verdict.value}, with {len(rivals)} other places"
            if rivals
            else answer.verdict.value
        )
        close.set_title("the scan at the estimate")
        close.legend(loc="upper right", framealpha=0.9)
    else:
        whole.set_title(answer.verdict.value)
        close.set_visible(False)
    return figure
