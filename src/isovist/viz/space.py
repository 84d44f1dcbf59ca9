"""Drawing answers in space: the map from above at the height of the sensor, and at an angle."""

from typing import Any

import numpy as np

from isovist.atlas.base import AnyScan, Atlas
from isovist.atlas.plane import PlaneAtlas
from isovist.atlas.space import SpaceAtlas
from isovist.errors import InputError
from isovist.localization.answer import Answer
from isovist.maps.cells import Cell, OccupancyMap
from isovist.maps.voxels import VoxelMap
from isovist.poses import AnyPose, Pose, Pose3
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.scan import Scan
from isovist.types import FloatArray
from isovist.viz.answers import draw_answer, draw_places, known_size
from isovist.viz.figures import ACCENT, SECOND, new_figure

SLAB = 0.3  # m above and below the sensor that the view from above shows
NEAR = 7.0  # m around the estimate that the oblique view shows
CUT = 1.0  # m above the sensor at which walls are cut off in the oblique view
LOOK = np.radians(50.0), np.radians(-60.0)  # down and around, of the oblique view


def figure_of(atlas: Atlas, scan: AnyScan, answer: Answer, truth: AnyPose | None = None) -> Any:
    """The picture of an answer, in the plane or in space."""
    if isinstance(atlas, PlaneAtlas) and isinstance(scan, Scan):
        return draw_answer(atlas.world, scan, answer, truth)
    if isinstance(atlas, SpaceAtlas) and isinstance(scan, CloudScan):
        return draw_answer_in_space(atlas, scan, answer, truth)
    raise InputError("The atlas and the scan must both be of the plane, or both in space.")


def slice_of(world: VoxelMap, z: float) -> OccupancyMap:
    """The map of the plane at a height: walls within `SLAB`, and what is known at z itself."""
    level = int(np.clip((z - world.corner[2]) / world.resolution, 0, world.shape[0] - 1))
    reach = max(1, round(SLAB / world.resolution))
    around = world.cells[max(level - reach, 0) : level + reach + 1]
    cells = world.cells[level].copy()
    cells[(around == Cell.OCCUPIED).any(axis=0)] = Cell.OCCUPIED
    if not (cells == Cell.FREE).any():
        raise InputError(f"The map has no free cell at a height of {z:g} m.")
    return OccupancyMap(cells, world.resolution, Pose(world.corner[0], world.corner[1]))


def draw_answer_in_space(
    atlas: SpaceAtlas, scan: CloudScan, answer: Answer, truth: AnyPose | None = None
) -> Any:
    """From above with the scan at the best estimate and all rivals, and at an angle nearby."""
    best = answer.best
    sensor = None if best is None else Pose3.lifted(best.pose) @ scan.T_robot_sensor
    usual = float(np.median(atlas.positions[:, 2]))
    plan = slice_of(atlas.world, usual if sensor is None else sensor.z)
    width, height = known_size(plan)
    figure = new_figure(13.0, 6.0) if width >= height else new_figure(11.0, 7.5)
    above, oblique = figure.subplots(1, 2, width_ratios=(1.5, 1.0))
    draw_places(above, plan, answer, truth)
    if sensor is None:
        oblique.set_visible(False)
        return figure
    points = sensor.apply(scan.points)
    level = np.abs(points[:, 2] - sensor.z) <= SLAB
    above.plot(*points[level, :2].T, ".", color=ACCENT, markersize=2.0, alpha=0.8, zorder=3)
    above.legend(loc="upper center", bbox_to_anchor=(0.5, -0.11), ncols=2, frameon=False)
    _draw_oblique(oblique, atlas.world, points, sensor)
    return figure


def _draw_oblique(axes: Any, world: VoxelMap, points: FloatArray, sensor: Pose3) -> None:
    """Walls around the sensor, cut off above it, and the returns among them."""
    walls = world.centres(np.flatnonzero(world.cells.ravel() == Cell.OCCUPIED))
    walls, points = (
        p[(np.hypot(*(p - sensor.position)[:, :2].T) <= NEAR) & (p[:, 2] <= sensor.z + CUT)]
        for p in (walls, points)
    )
    down, around = LOOK
    side = np.array([-np.sin(around), np.cos(around), 0.0])
    away = np.array([-np.cos(around), -np.sin(around), 0.0])
    up = np.sin(down) * away + np.cos(down) * np.array([0.0, 0.0, 1.0])
    walls = walls[np.argsort(-(walls @ away), kind="stable")]
    flat = np.stack([side, up], axis=1)
    deep = float(walls[:, 2].min()) - 1.0  # so that the floor is pale, not white
    axes.scatter(*(walls @ flat).T, c=walls[:, 2], cmap="bone_r", vmin=deep, s=3.0, linewidths=0.0)
    axes.plot(*(points @ flat).T, ".", color=ACCENT, markersize=1.6, alpha=0.7)
    tip = sensor.apply([1.0, 0.0, 0.0])
    axes.plot(*(np.stack([sensor.position, tip]) @ flat).T, color=SECOND, linewidth=2.5)
    axes.plot(*(sensor.position @ flat), "o", color=SECOND, markersize=7)
    axes.set(aspect="equal", title="returns among the walls, seen from above at an angle")
    axes.set_axis_off()
