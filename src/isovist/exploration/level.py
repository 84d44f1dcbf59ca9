"""Reduce a 3D map to the 2D plane of motion of a robot on its floor.

A robot that drives on the floor of a 3D map moves in x, y and yaw.  It is blocked by what rises
higher than a curb above the floor, up to the height of its sensor.  A level beam of the sensor ends
at what stands at that height.  Paths are planned and scans are predicted on these two plans, by the
same rules as in 2D; the tracker stays in 3D.
"""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import PlaneAtlas, SpaceAtlas, bare_walls
from isovist.atlas.build import build
from isovist.errors import InputError
from isovist.exploration.settings import ExplorationSettings
from isovist.maps import Cell, OccupancyMap, VoxelMap, floor_levels
from isovist.poses import Pose, Pose3
from isovist.sensing import CloudScan, Scan


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The plane of motion of a robot in a 3D map.

    Attributes:
        walls: The map as a sensor sees it: unknown cells are free.
        floor: z of the floor in each column of cells, shape (rows, columns), in m.
        height: Height of the sensor above the floor, in m.
        curb: Height that the robot drives over, in m: a floor of cells is no smoother than a cell.
        beams: Number of beams of a scan of the plane.
    """

    walls: VoxelMap
    floor: FloatArray
    height: float
    curb: float
    beams: int

    @classmethod
    def from_atlas(cls, atlas: SpaceAtlas, settings: ExplorationSettings) -> "Level":
        """Build the plane of motion for the sensor that the atlas was built for."""
        low, high = atlas.heights
        if high > low:
            raise InputError(
                f"Drives are planned for one height of the sensor, got {low:g} to {high:g} m. "
                "Build the atlas with one `height`.",
                code="conflict",
            )
        curb = max(settings.robot.curb_m, atlas.world.resolution)
        beams = settings.foresight.level_beams
        return cls(bare_walls(atlas.world), floor_levels(atlas.world), low, curb, beams)

    def plans(self, world: VoxelMap) -> tuple[OccupancyMap, PlaneAtlas]:
        """Return a 2D map of the obstacles, and a 2D atlas at the height of the sensor."""
        side, base = world.resolution, world.corner[2]
        middles = base + (np.arange(world.shape[0])[:, None, None] + 0.5) * side - self.floor
        body = (middles > self.curb) & (middles <= self.height + 0.5 * side)
        eye = np.abs(middles - self.height) <= 0.5 * side
        plans = [
            _plan(world, (band & (world.cells == Cell.OCCUPIED)).any(axis=0), eye)
            for band in (body, eye)
        ]
        atlas = build(plans[1])
        assert isinstance(atlas, PlaneAtlas)
        return plans[0], atlas

    def stand(self, pose: Pose) -> Pose3:
        """Return the sensor pose T_world_sensor of a robot on the floor."""
        x, y = ((pose.position - self.walls.corner[:2]) / self.walls.resolution).astype(np.int64)
        rows, columns = self.floor.shape
        at = np.clip(y, 0, rows - 1), np.clip(x, 0, columns - 1)
        return Pose3(pose.x, pose.y, pose.yaw, float(self.floor[at]) + self.height)

    def flatten(self, cloud: CloudScan) -> Scan:
        """Reduce a 3D scan to the nearest return in each horizontal direction.

        Only what stands between a curb and the sensor counts.
        """
        p, count = cloud.level_points, self.beams
        is_obstacle = p[:, 2] > self.curb - self.height
        p = p[is_obstacle & (p[:, 2] <= 0.5 * self.walls.resolution)]
        turn = np.arctan2(p[:, 1], p[:, 0]) / (2.0 * np.pi) % 1.0
        nearest = np.full(count, np.inf)
        np.minimum.at(nearest, (turn * count).astype(np.int64) % count, np.hypot(p[:, 0], p[:, 1]))
        nearest = np.roll(nearest, count // 2)
        bearings = 2.0 * np.pi * ((np.arange(count) + 0.5) / count - 0.5)
        mount = cloud.T_level_robot.flat.inverse
        return Scan(bearings, nearest, 0.0, cloud.range_max, T_robot_sensor=mount)


def _plan(world: VoxelMap, walls: FloatArray, eye: FloatArray) -> OccupancyMap:
    """Return a plan: walls, free where the sensor is in free space, unknown elsewhere."""
    free = (eye & (world.cells == Cell.FREE)).any(axis=0)
    cells = np.where(walls, Cell.OCCUPIED, np.where(free, Cell.FREE, Cell.UNKNOWN))
    origin = Pose(float(world.corner[0]), float(world.corner[1]), 0.0)
    return OccupancyMap(cells.astype(np.uint8), world.resolution, origin)
