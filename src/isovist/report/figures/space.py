"""Draw 3D maps: a slice at the height of the sensor, and an oblique view of the walls."""

from typing import TYPE_CHECKING

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.errors import InputError
from isovist.maps import Cell, OccupancyMap, VoxelMap
from isovist.poses import Pose, Pose3
from isovist.report.figures.figures import INK, THIRD
from isovist.report.figures.robots import ASTRAY, BODY, FITS
from isovist.report.settings import SLICE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def slice_of(world: VoxelMap, z: float) -> OccupancyMap:
    """Return a 2D slice of a 3D map at height z (m), with the walls just above and below."""
    level = int(np.clip((z - world.corner[2]) / world.resolution, 0, world.shape[0] - 1))
    reach = max(1, round(SLICE.half_height_m / world.resolution))
    low = max(level - reach, 0)
    slab = world.grid.array(low, level + reach + 1)
    cells = slab[level - low].copy()
    cells[(slab == Cell.OCCUPIED).any(axis=0)] = Cell.OCCUPIED
    if not (cells == Cell.FREE).any():
        raise InputError(f"The map has no free cell at a height of {z:g} m.", code="empty")
    return OccupancyMap(cells, world.resolution, Pose(world.corner[0], world.corner[1]))


def draw_oblique(
    axes: "Axes",
    world: VoxelMap,
    points: FloatArray,
    fits: BoolArray,
    robot: Pose3,
    sensor: FloatArray,
) -> None:
    """Draw the walls around the sensor, without those far above it, and the returns, obliquely.

    Args:
        axes: Axes to draw into.
        world: The map.
        points: Returns in the world, in m, shape (m, 3).
        fits: Which of them fit, shape (m,).
        robot: T_world_robot.
        sensor: Position of the sensor in the world, in m, shape (3,).
    """
    walls, top = world.centres(world.grid.walls()), sensor[2] + SLICE.above_sensor_m
    walls, good, bad = (
        p[(np.hypot(*(p - sensor)[:, :2].T) <= SLICE.reach_m) & (p[:, 2] <= top)]
        for p in (walls, points[fits], points[~fits])
    )
    down, around = SLICE.down_rad, SLICE.around_rad
    side = np.array([-np.sin(around), np.cos(around), 0.0])
    away = np.array([-np.cos(around), -np.sin(around), 0.0])
    up = np.sin(down) * away + np.cos(down) * np.array([0.0, 0.0, 1.0])
    walls = walls[np.argsort(-(walls @ away), kind="stable")]
    flat = np.stack([side, up], axis=1)
    if len(walls):
        deep = float(walls[:, 2].min()) - 1.0  # so that the floor is pale, not white
        x, y = (walls @ flat).T
        axes.scatter(x, y, s=3.0, c=walls[:, 2], cmap="bone_r", vmin=deep, linewidths=0.0)
    for ends, colour in ((bad, ASTRAY), (good, FITS)):
        axes.plot(*(ends @ flat).T, ".", color=colour, markersize=1.8, alpha=0.8)
    outline = robot.apply(np.column_stack([0.8 * BODY, np.zeros(len(BODY))]))
    axes.fill(*(outline @ flat).T, facecolor=THIRD, edgecolor=INK, linewidth=0.9, zorder=5)
    axes.set(aspect="equal", title="Walls and returns, at an angle")
    axes.set_axis_off()
    axes.margins(0.04)
    _draw_scale(axes)


def _draw_scale(axes: "Axes") -> None:
    """Draw a bar of 2 m below the view, which is true to scale from left to right."""
    (left, _), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    low = bottom - 0.04 * (top - bottom)
    axes.plot([left, left + 2.0], [low, low], color=INK, linewidth=2.0, solid_capstyle="butt")
    axes.annotate(
        "2 m", (left + 1.0, low), (0, 3), textcoords="offset points", ha="center", fontsize=8
    )
