"""Drawing maps of cells, scans laid on them, and answers."""

from typing import Any

import numpy as np

from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.maps.cells import Cell, OccupancyMap
from isovist.poses import AnyPose, Pose, unit_vectors
from isovist.sensing.scan import Scan
from isovist.viz.figures import ACCENT, INK, SECOND, new_figure, show_between

SHADES = {
    Cell.FREE: (1.0, 1.0, 1.0),
    Cell.OCCUPIED: (0.13, 0.19, 0.24),
    Cell.UNKNOWN: (0.86, 0.89, 0.91),
}


def draw_cells(axes: Any, world: OccupancyMap) -> Any:
    """Free white, walls dark, unknown grey, in m."""
    table = np.array([SHADES[cell] for cell in sorted(SHADES)])
    smooth = "nearest" if max(world.shape) < 1500 else "antialiased"
    image = draw_raster(axes, world, table[world.cells], world.resolution, interpolation=smooth)
    show_between(axes, *known_bounds(world))
    return image


def draw_raster(axes: Any, world: OccupancyMap, table: Any, side: float, **style: Any) -> Any:
    """Values or colours of squares with a side in m, where the cells of a map begin."""
    from matplotlib.transforms import Affine2D

    height, width = table.shape[:2]
    extent = (0.0, width * side, 0.0, height * side)
    image = axes.imshow(table, origin="lower", extent=extent, **style)
    place = Affine2D().rotate(world.origin.yaw).translate(world.origin.x, world.origin.y)
    image.set_transform(place + axes.transData)
    return image


def known_bounds(world: OccupancyMap) -> tuple[Any, Any]:
    """Smallest and largest coordinates of what is free, with a margin, in m."""
    rows, cols = np.nonzero(world.cells == Cell.FREE)
    corners = world.centres(
        [rows.min(), rows.min(), rows.max(), rows.max()],
        [cols.min(), cols.max(), cols.min(), cols.max()],
    )
    return corners.min(axis=0) - 0.7, corners.max(axis=0) + 0.7


def known_size(world: OccupancyMap) -> Any:
    """Width and height of what is free, with a margin, in m."""
    low, high = known_bounds(world)
    return high - low


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


def draw_places(
    axes: Any, world: OccupancyMap, answer: Answer, truth: AnyPose | None, size: float | None = None
) -> None:
    """The map with the places of an answer as arrows of a size in m, the truth, and the verdict."""
    draw_cells(axes, world)
    size = 0.035 * float(known_size(world).max()) if size is None else size
    rivals = answer.rivals if answer.verdict is Verdict.AMBIGUOUS else ()
    for rival in rivals:
        draw_pose(axes, rival.pose, SECOND, size)
    if answer.best is not None:
        draw_ellipse(axes, answer.best, ACCENT)
        draw_pose(axes, answer.best.pose, ACCENT, size, label="estimate")
    if truth is not None:
        axes.plot(truth.x, truth.y, "+", color=INK, markersize=14, label="truth", zorder=7)
    others = f", with {len(rivals)} other place{'s' * (len(rivals) > 1)}" if rivals else ""
    axes.set_title(f"{answer.verdict.value}{others}")


def draw_answer(
    world: OccupancyMap, scan: Scan, answer: Answer, truth: AnyPose | None = None
) -> Any:
    """The map with the scan at the best estimate, all rivals, and a close view."""
    width, height = known_size(world)
    figure = new_figure(12.0, 6.0) if width >= height else new_figure(10.0, 8.0)
    whole, close = figure.subplots(1, 2, width_ratios=(1.7, 1.0))
    draw_places(whole, world, answer, truth)
    draw_places(close, world, answer, truth, 0.8)
    if answer.best is None:
        close.set_visible(False)
        return figure
    pose = Pose.from_vector(answer.best.pose.vector[:3])
    for axes in (whole, close):
        draw_scan(axes, scan, pose @ scan.T_robot_sensor)
    reach = max(1.0, min(6.0, float(np.percentile(scan.ranges[scan.valid], 80.0))))
    show_between(close, pose.position - reach, pose.position + reach)
    close.set_title("the scan at the estimate")
    close.legend(loc="upper right", framealpha=0.9)
    return figure
