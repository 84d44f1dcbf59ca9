"""Find where a robot can drive: clearance, shortest paths from a place, and room ahead.

A lattice of points is laid on the free cells.  A robot of radius ρ fits at a point whose clearance,
the distance to anything that is not free, is at least ρ.  Two neighbouring points are joined when
it also fits half-way.  The shortest paths from the robot are a tree (Dijkstra).  Every metre along
each of them, and half a metre from the robot, is a *view*, a place to look from.
"""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import ArrayLike, BoolArray, Float32Array, FloatArray, IntArray, readonly
from isovist.atlas import AnyScan, Atlas, PlaneAtlas, SpaceAtlas, bare_walls, bridge_gaps
from isovist.errors import InputError
from isovist.exploration.level import Level
from isovist.exploration.settings import ExplorationSettings
from isovist.maps import Cell, OccupancyMap
from isovist.poses import Pose
from isovist.sensing import Scan
from isovist.settings import checked_settings

NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Steps in rows and columns to the neighbours of a lattice point, one for each pair."""


@dataclass(frozen=True, slots=True, eq=False)
class PathTree:
    """The shortest paths from a robot, as a tree of views; view 0 is at the robot.

    Attributes:
        poses: (x, y, heading) of the views in the frame of the robot, in m and rad, nearest
            first, shape (V, 3).  Read-only.
        parents: View before each view, shape (V,); of view 0 itself.  Read-only.
        distances: Length of the path to each view in m, shape (V,).  Read-only.
        points: Points of the lattice in the frame of the robot, shape (N, 2).  Read-only.
        before: Point before each point on its path, −1 at the first, shape (N,).  Read-only.
        ends: Point of each view, shape (V,).  Read-only.
    """

    poses: FloatArray
    parents: IntArray
    distances: FloatArray
    points: FloatArray
    before: IntArray
    ends: IntArray

    def path_to(self, view: int) -> FloatArray:
        """Return the points of the path to a view, from the robot on, shape (k, 2), in m."""
        point, path = int(self.ends[view]), []
        while point >= 0:
            path.append(self.points[point])
            point = int(self.before[point])
        path[-1] = np.zeros(2)
        return np.array(path[::-1])


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """The area that a robot can drive on.

    Attributes:
        world: The map.
        walls: The map for a range sensor, where only walls end a beam.
        room: Distance from each cell to the nearest cell that is not free, in m, shape of the map.
            Read-only.
        settings: Settings, including the size of the robot.
        plane: The 2D atlas for rating predicted scans.
        level: The plane of motion of a 3D map; `None` in 2D.
    """

    world: OccupancyMap
    walls: OccupancyMap
    room: Float32Array
    settings: ExplorationSettings
    plane: PlaneAtlas
    level: Level | None = None

    @classmethod
    def from_atlas(cls, atlas: Atlas, settings: ExplorationSettings | None = None) -> "Ground":
        """Make the ground of the map of an atlas.

        Gaps between the rays of the map maker count as free.  In 3D the ground is the floor, for a
        robot whose sensor is at the height of the atlas.
        """
        from scipy.ndimage import distance_transform_edt

        settings = checked_settings(ExplorationSettings, settings)
        level = None
        if isinstance(atlas, SpaceAtlas):
            level = Level.from_atlas(atlas, settings)
            world, plane = level.plans(atlas.world)
        else:
            assert isinstance(atlas, PlaneAtlas)
            world, plane = atlas.world, atlas
        free = bridge_gaps(world, atlas.settings.gap).cells == Cell.FREE
        far = distance_transform_edt(np.pad(free, 1))[1:-1, 1:-1]
        room = readonly(((far - 0.5) * world.resolution).astype(np.float32))
        return cls(world, bare_walls(plane.world), room, settings, plane, level)

    def flatten(self, scan: AnyScan) -> Scan:
        """Return a scan reduced to the plane of motion of the robot; a 2D scan is unchanged."""
        if isinstance(scan, Scan):
            return scan
        if self.level is None:
            raise InputError(
                "The scan is 3D, and the ground is that of a 2D map. Give a 2D scan.",
                code="wrong_dimension",
            )
        return self.level.flatten(scan)

    def clearance(self, points: ArrayLike) -> FloatArray:
        """Return the distance from world points to anything that is not free, shape (...), in m.

        It is negative outside free space.
        """
        rows, cols = self.world.index(points)
        return np.where(rows >= 0, self.room[rows, cols], -1.0)

    def fits(self, a: ArrayLike, b: ArrayLike, radius: float) -> BoolArray:
        """Return whether a robot fits along the lines from `a` to `b`, world points (..., 2)."""
        a, b = np.broadcast_arrays(np.asarray(a, dtype=np.float64), b)
        longest = float(np.max(np.hypot(*np.moveaxis(b - a, -1, 0)), initial=0.0))
        share = np.linspace(0.0, 1.0, 2 + int(longest / self.world.resolution))
        points = a[..., None, :] + share[:, None] * (b - a)[..., None, :]
        return np.asarray((self.clearance(points) >= radius).all(axis=-1))

    def paths(self, pose: Pose, scan: Scan, reach: float, *, sparsity: float = 1.0) -> PathTree:
        """Find the shortest paths from a robot to the views around it.

        Args:
            pose: T_world_robot.
            scan: The current scan.  Ends of its beams are obstacles too, since they hold at any
                pose, unlike the map.
            reach: Maximum length of a path, in m.
            sparsity: Factor on the distances between views and between goals.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        step, radius = self.settings.paths.step_m, self.settings.robot.radius_m
        grid, free, middle = self._lattice(pose, scan, reach)
        number = np.arange(free.size).reshape(free.shape)
        joints = []
        for dr, dc in NEIGHBOURS:
            a = np.s_[: len(free) - dr, max(-dc, 0) : free.shape[1] - max(dc, 0)]
            b = np.s_[dr:, max(dc, 0) : free.shape[1] + min(dc, 0)]
            half = 0.5 * (grid[a] + grid[b])
            fits = free[a] & free[b]
            fits[fits] = self.clearance(half[fits]) >= radius - 0.5 * step
            length = np.full(np.count_nonzero(fits), step * np.hypot(dr, dc))
            joints.append((number[a][fits], number[b][fits], length))
        starts, stops, lengths = (np.concatenate(part) for part in zip(*joints, strict=True))
        graph = coo_array((lengths, (starts, stops)), shape=(free.size, free.size)).tocsr()
        far, before = dijkstra(
            graph, directed=False, indices=[middle], return_predecessors=True, limit=reach
        )
        points = pose.inverse.apply(grid.reshape(-1, 2))
        previous = np.maximum(before[0], -1).astype(np.int64)
        return self._views(points, far[0], previous, middle, sparsity)

    def _lattice(self, pose: Pose, scan: Scan, reach: float) -> tuple[FloatArray, BoolArray, int]:
        """Return points around the robot, which are free, and the number of the middle one."""
        from scipy.spatial import cKDTree

        robot, step = self.settings.robot, self.settings.paths.step_m
        radius = robot.radius_m
        count = int(np.ceil(reach / step))
        offsets = step * np.arange(-count, count + 1)
        grid = np.stack(np.meshgrid(offsets, offsets), axis=-1) + pose.position
        distance = np.hypot(*np.moveaxis(grid - pose.position, -1, 0))
        # A point close to the robot needs less clearance: the robot stands there.
        clearance = np.where(distance < 2.0 * radius, robot.standing_clearance_m, radius)
        free = self.clearance(grid) >= clearance
        ends = (pose @ scan.T_robot_sensor).apply(scan.endpoints)
        farthest = float(np.hypot(*(ends - pose.position).T).max())
        is_in_reach = free & (distance <= farthest + radius)
        gaps, _ = cKDTree(ends).query(grid[is_in_reach], distance_upper_bound=radius)
        free[is_in_reach] = gaps >= robot.driving_share * clearance[is_in_reach]
        free[count, count] = True
        return grid, free, count * len(offsets) + count

    def _views(
        self, points: FloatArray, far: FloatArray, before: IntArray, middle: int, sparsity: float
    ) -> PathTree:
        """Return views where paths complete a stretch, or the first half of one.

        One path leads to each square of two stretches.
        """
        step, view = self.settings.paths.step_m, self.settings.paths.view_spacing_m
        back = int(np.ceil(0.5 * view / step))
        reached = np.flatnonzero(np.isfinite(far) & (before >= 0))
        length = np.where(np.isfinite(far), far, 0.0)
        stretch = np.floor(length / (sparsity * view) + 1e-9) + (length >= 0.5 * view)
        complete = reached[stretch[reached] > stretch[before[reached]]]
        complete = complete[np.argsort(far[complete], kind="stable")]
        squares = np.round(points[complete] / (sparsity * 2.0 * view))
        _, first = np.unique(squares, axis=0, return_index=True)
        parent_of: dict[int, int] = {}
        heading_of: dict[int, float] = {middle: 0.0}
        for goal in complete[np.sort(first)]:
            end = int(goal)
            while end not in heading_of:
                chain = [end, point := int(before[end])]
                while point != middle and stretch[point] <= stretch[before[point]]:
                    chain.append(point := int(before[point]))
                dx, dy = points[end] - points[chain[min(back, len(chain) - 1)]]
                parent_of[end], heading_of[end] = point, float(np.arctan2(dy, dx))
                end = point
        ends = np.array(list(heading_of))
        ends = ends[np.argsort(far[ends], kind="stable")]
        view_of = {int(end): k for k, end in enumerate(ends)}
        parents = np.array([view_of[parent_of.get(int(end), middle)] for end in ends])
        poses = np.column_stack([points[ends], [heading_of[int(end)] for end in ends]])
        poses[0] = 0.0
        return PathTree(*(readonly(a) for a in (poses, parents, far[ends], points, before, ends)))

    def straighten(self, pose: Pose, path: FloatArray) -> FloatArray:
        """Return a path with as few corners as the free space allows, shape (k, 2).

        Args:
            pose: T_world_robot, the frame of the path.
            path: Points of the path, shape (n, 2), in m.
        """
        corners, k = [0], 0
        world = pose.apply(path)
        while k < len(path) - 1:
            fits = self.fits(world[k], world[k + 1 :], self.settings.robot.driving_clearance_m)
            k += 1 + (int(np.flatnonzero(fits)[-1]) if fits.any() else 0)
            corners.append(k)
        return np.asarray(path[corners])


def clear_ahead(scan: Scan, heading: float, half_width: float, reach: float = np.inf) -> float:
    """Return the distance that a robot can drive straight before it meets an obstacle, in m.

    Args:
        scan: The current scan.
        heading: Direction of the drive in the frame of the robot, in rad.
        half_width: Half of the width that must be free, in m.
        reach: Maximum of the result, in m.
    """
    ends = Pose(0.0, 0.0, heading).inverse.apply(scan.T_robot_sensor.apply(scan.endpoints))
    obstacles = ends[(np.abs(ends[:, 1]) < half_width) & (ends[:, 0] > 0.0)]
    if len(obstacles) == 0:
        return reach
    room = obstacles[:, 0] - np.sqrt(half_width**2 - obstacles[:, 1] ** 2)
    return float(np.clip(room.min(), 0.0, reach))
