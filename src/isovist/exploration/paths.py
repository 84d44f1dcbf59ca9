"""Where a robot can drive: room around cells, ways from a place, and a look ahead.

A lattice of points is laid on the free cells.  A robot of radius ρ fits at a point whose clearance,
the distance to anything that is not free, is at least ρ; two neighbouring points are joined when it
also fits half-way.  Shortest ways from the robot are a tree (Dijkstra); every metre along each of
them, and half a metre from the robot, is a *view*, a place to look from.
"""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import ArrayLike, BoolArray, Float32Array, FloatArray, IntArray, readonly
from isovist.atlas.base import AnyScan, Atlas
from isovist.atlas.data.atlas2d import PlaneAtlas
from isovist.atlas.data.atlas3d import SpaceAtlas
from isovist.atlas.data.surfaces import bare_walls, bridge_gaps
from isovist.errors import InputError
from isovist.exploration.level import Level
from isovist.exploration.settings import ExplorationSettings
from isovist.maps.grid2d.occupancy_map import Cell, OccupancyMap
from isovist.poses import Pose
from isovist.sensing.scan import Scan
from isovist.settings import checked_settings

NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Of a point of the lattice, one for each pair; rows and columns."""


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """The shortest paths from a robot, as a tree of views.  View 0 is where it stands.

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

    def chain(self, view: int) -> FloatArray:
        """Return the points of the path to a view, from the robot on, shape (k, 2), in m."""
        point, way = int(self.ends[view]), []
        while point >= 0:
            way.append(self.points[point])
            point = int(self.before[point])
        way[-1] = np.zeros(2)
        return np.array(way[::-1])


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """The area that a robot can drive on.

    Attributes:
        world: The map.
        walls: The map as a range sensor sees it: only walls end a beam.
        room: Distance of each cell to anything that is not free, in m, shape of the map.
            Read-only.
        settings: What the robot needs.
        plane: What foreseen scans are rated on.
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
        """Build the ground of the map of an atlas, with gaps between scan rays closed.

        In 3D it is the floor, as a robot with the sensor at the height of the atlas drives.
        """
        from scipy.ndimage import distance_transform_edt

        chosen = checked_settings(ExplorationSettings, settings)
        level = None
        if isinstance(atlas, SpaceAtlas):
            level = Level.from_atlas(atlas)
            world, plane = level.plans(atlas.world)
        else:
            assert isinstance(atlas, PlaneAtlas)
            world, plane = atlas.world, atlas
        free = bridge_gaps(world, atlas.settings.gap).cells == Cell.FREE
        far = distance_transform_edt(np.pad(free, 1))[1:-1, 1:-1]
        room = readonly(((far - 0.5) * world.resolution).astype(np.float32))
        return cls(world, bare_walls(plane.world), room, chosen, plane, level)

    def seen(self, scan: AnyScan) -> Scan:
        """Return what a scan shows of the plane of motion; a 2D scan is returned as it is."""
        if isinstance(scan, Scan):
            return scan
        if self.level is None:
            raise InputError(
                "The scan is in space, and the ground is of a map of the plane.",
                code="wrong_dimension",
            )
        return self.level.seen(scan)

    def clearance(self, points: ArrayLike) -> FloatArray:
        """Return the clearance at world points, shape (...), in m; negative outside free space."""
        rows, cols = self.world.index(points)
        return np.where(rows >= 0, self.room[rows, cols], -1.0)

    def fits(self, a: ArrayLike, b: ArrayLike, radius: float) -> BoolArray:
        """Return whether a robot fits all along lines from `a` to `b`, world points (..., 2)."""
        a, b = np.broadcast_arrays(np.asarray(a, dtype=np.float64), b)
        longest = float(np.max(np.hypot(*np.moveaxis(b - a, -1, 0)), initial=0.0))
        share = np.linspace(0.0, 1.0, 2 + int(longest / self.world.resolution))
        points = a[..., None, :] + share[:, None] * (b - a)[..., None, :]
        return np.asarray((self.clearance(points) >= radius).all(axis=-1))

    def ways(self, pose: Pose, scan: Scan, reach: float, *, sparse: float = 1.0) -> Ways:
        """Find the shortest paths from a robot to the views around it.

        Args:
            pose: T_world_robot.
            scan: What it sees.  Ends of beams are obstacles as well: the scan is the same whatever
                the true pose, the map around it is not.
            reach: Longest path in m.
            sparse: Views and goals are so many times farther apart than usual.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        step, radius = self.settings.ways[0], self.settings.radius
        grid, free, middle = self._lattice(pose, scan, reach)
        number = np.arange(free.size).reshape(free.shape)
        joints = []
        for dr, dc in NEIGHBOURS:
            here = np.s_[: len(free) - dr, max(-dc, 0) : free.shape[1] - max(dc, 0)]
            there = np.s_[dr:, max(dc, 0) : free.shape[1] + min(dc, 0)]
            half = 0.5 * (grid[here] + grid[there])
            joined = free[here] & free[there]
            joined[joined] = self.clearance(half[joined]) >= radius - 0.5 * step
            length = np.full(np.count_nonzero(joined), step * np.hypot(dr, dc))
            joints.append((number[here][joined], number[there][joined], length))
        starts, stops, lengths = (np.concatenate(part) for part in zip(*joints, strict=True))
        graph = coo_array((lengths, (starts, stops)), shape=(free.size, free.size)).tocsr()
        far, before = dijkstra(
            graph, directed=False, indices=[middle], return_predecessors=True, limit=reach
        )
        points = pose.inverse.apply(grid.reshape(-1, 2))
        previous = np.maximum(before[0], -1).astype(np.int64)
        return self._views(points, far[0], previous, middle, sparse)

    def _lattice(self, pose: Pose, scan: Scan, reach: float) -> tuple[FloatArray, BoolArray, int]:
        """Points around the robot, which of them are free, and the number of the middle one."""
        from scipy.spatial import cKDTree

        step, radius = self.settings.ways[0], self.settings.radius
        count = int(np.ceil(reach / step))
        offsets = step * np.arange(-count, count + 1)
        grid = np.stack(np.meshgrid(offsets, offsets), axis=-1) + pose.position
        away = np.hypot(*np.moveaxis(grid - pose.position, -1, 0))
        # So near to the robot a point needs less: it stands there.
        needed = np.where(away < 2.0 * radius, self.settings.least, radius)
        free = self.clearance(grid) >= needed
        ends = (pose @ scan.T_robot_sensor).apply(scan.endpoints)
        farthest = float(np.hypot(*(ends - pose.position).T).max())
        seen = free & (away <= farthest + radius)
        near, _ = cKDTree(ends).query(grid[seen], distance_upper_bound=radius)
        free[seen] = near >= self.settings.body[1] * needed[seen]
        free[count, count] = True
        return grid, free, count * len(offsets) + count

    def _views(
        self, points: FloatArray, far: FloatArray, before: IntArray, middle: int, sparse: float
    ) -> Ways:
        """Where ways complete a stretch, or half a one; to one goal in each square of two."""
        step, view, *_ = self.settings.ways
        back = int(np.ceil(0.5 * view / step))
        reached = np.flatnonzero(np.isfinite(far) & (before >= 0))
        way = np.where(np.isfinite(far), far, 0.0)
        stretch = np.floor(way / (sparse * view) + 1e-9) + (way >= 0.5 * view)
        complete = reached[stretch[reached] > stretch[before[reached]]]
        complete = complete[np.argsort(far[complete], kind="stable")]
        squares = np.round(points[complete] / (sparse * 2.0 * view))
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
        return Ways(*(readonly(a) for a in (poses, parents, far[ends], points, before, ends)))

    def straighten(self, pose: Pose, way: FloatArray) -> FloatArray:
        """Return a path with as few corners as the robot has room for, shape (k, 2).

        Args:
            pose: T_world_robot, in whose frame the path is.
            way: Points of the path in m, shape (n, 2).
        """
        corners, k = [0], 0
        world = pose.apply(way)
        while k < len(way) - 1:
            seen = self.fits(world[k], world[k + 1 :], self.settings.tight)
            k += 1 + (int(np.flatnonzero(seen)[-1]) if seen.any() else 0)
            corners.append(k)
        return np.asarray(way[corners])


def clear_ahead(scan: Scan, heading: float, half_width: float, reach: float = np.inf) -> float:
    """Return how far the robot could drive straight on before an obstacle, in m.

    Args:
        scan: What the robot sees.
        heading: Direction of the drive in the frame of the robot, in rad.
        half_width: Half the width that the robot needs clear, in m.
        reach: Longest answer, in m.
    """
    ends = Pose(0.0, 0.0, heading).inverse.apply(scan.T_robot_sensor.apply(scan.endpoints))
    ahead = ends[(np.abs(ends[:, 1]) < half_width) & (ends[:, 0] > 0.0)]
    if len(ahead) == 0:
        return reach
    room = ahead[:, 0] - np.sqrt(half_width**2 - ahead[:, 1] ** 2)
    return float(np.clip(room.min(), 0.0, reach))
