"""Where a robot can drive: room around cells, ways from a place, and a look ahead.

A lattice of points, `STEP` apart, is laid on the free cells.  A robot of radius ρ fits at a point
whose clearance, the distance to anything that is not free, is at least ρ; two neighbouring points
are joined when it also fits half-way.  Shortest ways from the robot are a tree (Dijkstra); every
metre along each of them, and half a metre from the robot, is a *view*, a place to look from.
"""

from dataclasses import dataclass

import numpy as np

from isovist.atlas.plane import Atlas, bare_walls
from isovist.maps.cells import OccupancyMap
from isovist.poses import Pose
from isovist.sensing.scan import Scan
from isovist.types import ArrayLike, BoolArray, Float32Array, FloatArray, IntArray, readonly

STEP = 0.2
"""Of the lattice, in m."""
RADIUS = 0.25
"""ρ: of the robot, with what it keeps from walls, in m."""
HALF_WIDTH = 0.2
"""Half the width of the corridor that must be clear ahead, in m."""
VIEW = 1.0
"""Way between two views, in m."""
FIRST = 0.5
"""Way to the first view, in m."""
GOAL = 2.0
"""Distance of the places that ways lead to, in m."""
BACK = 3
"""Points of the lattice over which the heading of a way is measured."""
CLOSE = 0.5
"""So near to the robot, in m, a point needs only half the clearance: it stands there."""
FREE_CODE = 3
"""Of free cells in `Atlas.clear`, and above."""
NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Shortest ways from a robot, as a tree of views.  View 0 is where it stands.

    Attributes:
        poses: (x, y, heading) of the views in the frame of the robot, in m and rad, nearest
            first, shape (V, 3).  Read-only.
        parents: View before each view, shape (V,); of view 0 itself.  Read-only.
        distances: Way to each view in m, shape (V,).  Read-only.
        points: Points of the lattice in the frame of the robot, shape (N, 2).  Read-only.
        before: Point before each point on its way, −1 at the first, shape (N,).  Read-only.
        ends: Point of each view, shape (V,).  Read-only.
    """

    poses: FloatArray
    parents: IntArray
    distances: FloatArray
    points: FloatArray
    before: IntArray
    ends: IntArray

    def chain(self, view: int) -> FloatArray:
        """Points of the way to a view, from the robot on, shape (k, 2), in m."""
        point, way = int(self.ends[view]), []
        while point >= 0:
            way.append(self.points[point])
            point = int(self.before[point])
        way[-1] = np.zeros(2)
        return np.array(way[::-1])


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What a robot can drive on.

    Attributes:
        world: The map.
        walls: The map as a range sensor sees it: only walls end a beam.
        room: Distance of each cell to anything that is not free, in m, shape of the map.
            Read-only.
    """

    world: OccupancyMap
    walls: OccupancyMap
    room: Float32Array

    @classmethod
    def from_atlas(cls, atlas: Atlas) -> "Ground":
        """The ground of a map; gaps between the rays that it was made of are closed."""
        from scipy.ndimage import distance_transform_edt

        free = atlas.clear >= FREE_CODE
        unit = atlas.world.resolution
        room = (distance_transform_edt(free)[1:-1, 1:-1] - 0.5) * unit
        return cls(atlas.world, bare_walls(atlas.world), readonly(room.astype(np.float32)))

    def clearance(self, points: ArrayLike) -> FloatArray:
        """Of world points, shape (...), in m; negative outside free space."""
        rows, cols = self.world.index(points)
        return np.where(rows >= 0, self.room[rows, cols], -1.0)

    def fits(self, a: ArrayLike, b: ArrayLike, radius: float) -> BoolArray:
        """Whether a robot fits all along lines from `a` to `b`, world points (..., 2)."""
        a, b = np.broadcast_arrays(np.asarray(a, dtype=np.float64), b)
        longest = float(np.max(np.hypot(*np.moveaxis(b - a, -1, 0)), initial=0.0))
        share = np.linspace(0.0, 1.0, 2 + int(longest / self.world.resolution))
        points = a[..., None, :] + share[:, None] * (b - a)[..., None, :]
        return np.asarray((self.clearance(points) >= radius).all(axis=-1))

    def ways(self, pose: Pose, scan: Scan, reach: float, *, sparse: float = 1.0) -> Ways:
        """Shortest ways from a robot.

        Args:
            pose: T_world_robot.
            scan: What it sees.  Ends of beams are obstacles as well: the scan is the same whatever
                the true pose, the map around it is not.
            reach: Longest way in m.
            sparse: Views and goals are so many times farther apart than `VIEW` and `GOAL`.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        grid, free, middle = self._lattice(pose, scan, reach)
        number = np.arange(free.size).reshape(free.shape)
        starts, stops, lengths = [], [], []
        for dr, dc in NEIGHBOURS:
            here = np.s_[: len(free) - dr, max(-dc, 0) : free.shape[1] - max(dc, 0)]
            there = np.s_[dr:, max(dc, 0) : free.shape[1] + min(dc, 0)]
            half = 0.5 * (grid[here] + grid[there])
            joined = free[here] & free[there]
            joined[joined] = self.clearance(half[joined]) >= RADIUS - 0.5 * STEP
            starts.append(number[here][joined])
            stops.append(number[there][joined])
            lengths.append(np.full(len(starts[-1]), STEP * np.hypot(dr, dc)))
        size = number.size
        graph = coo_array(
            (np.concatenate(lengths), (np.concatenate(starts), np.concatenate(stops))),
            shape=(size, size),
        ).tocsr()
        far, before = dijkstra(
            graph, directed=False, indices=[middle], return_predecessors=True, limit=reach
        )
        points = pose.inverse.apply(grid.reshape(-1, 2))
        previous = np.maximum(before[0], -1).astype(np.int64)
        return _views(points, far[0], previous, middle, sparse)

    def _lattice(self, pose: Pose, scan: Scan, reach: float) -> tuple[FloatArray, BoolArray, int]:
        """Points around the robot, which of them are free, and the number of the middle one."""
        from scipy.spatial import cKDTree

        count = int(np.ceil(reach / STEP))
        offsets = STEP * np.arange(-count, count + 1)
        grid = np.stack(np.meshgrid(offsets, offsets), axis=-1) + pose.vector[:2]
        away = np.hypot(*np.moveaxis(grid - pose.vector[:2], -1, 0))
        needed = np.where(away < CLOSE, 0.5 * RADIUS, RADIUS)
        free = self.clearance(grid) >= needed
        ends = (pose @ scan.T_robot_sensor).apply(scan.endpoints)
        tree = cKDTree(ends)
        seen = free & (away <= scan.ranges.max() + 1.0)
        near, _ = tree.query(grid[seen], distance_upper_bound=RADIUS)
        free[seen] = near >= 0.8 * needed[seen]
        free[count, count] = True
        return grid, free, count * len(offsets) + count

    def straighten(self, pose: Pose, way: FloatArray) -> FloatArray:
        """The same way with as few corners as the robot has room for, shape (k, 2).

        Args:
            pose: T_world_robot, in whose frame the way is.
            way: Points in m, shape (n, 2).
        """
        corners, k = [0], 0
        world = pose.apply(way)
        while k < len(way) - 1:
            seen = self.fits(world[k], world[k + 1 :], 0.8 * RADIUS)
            k += 1 + (int(np.flatnonzero(seen)[-1]) if seen.any() else 0)
            corners.append(k)
        return np.asarray(way[corners])


def _views(
    points: FloatArray, far: FloatArray, before: IntArray, middle: int, sparse: float
) -> Ways:
    """Where ways complete a stretch of `VIEW`; they lead to one goal in every square of `GOAL`."""
    reached = np.flatnonzero(np.isfinite(far) & (before >= 0))
    way = np.where(np.isfinite(far), far, 0.0)
    stretch = np.floor(way / (sparse * VIEW) + 1e-9) + (way >= FIRST)
    complete = reached[stretch[reached] > stretch[before[reached]]]
    complete = complete[np.argsort(far[complete], kind="stable")]
    _, first = np.unique(np.round(points[complete] / (sparse * GOAL)), axis=0, return_index=True)
    parent_of: dict[int, int] = {}
    heading_of: dict[int, float] = {middle: 0.0}
    for goal in complete[np.sort(first)]:
        end = int(goal)
        while end not in heading_of:
            point, chain = end, [end]
            while point == end or (point != middle and stretch[point] <= stretch[before[point]]):
                point = int(before[point])
                chain.append(point)
            dx, dy = points[end] - points[chain[min(BACK, len(chain) - 1)]]
            parent_of[end], heading_of[end] = point, float(np.arctan2(dy, dx))
            end = point
    ends = np.array(list(heading_of))
    ends = ends[np.argsort(far[ends], kind="stable")]
    view_of = {int(end): k for k, end in enumerate(ends)}
    parents = np.array([view_of[parent_of.get(int(end), middle)] for end in ends])
    headings = [heading_of[int(end)] for end in ends]
    poses = np.column_stack([points[ends], headings])
    poses[0] = 0.0
    return Ways(*(readonly(a) for a in (poses, parents, far[ends], points, before, ends)))


def clear_ahead(scan: Scan, heading: float, reach: float = np.inf) -> float:
    """How far the robot could drive straight on before a beam ends in its way, in m.

    Args:
        scan: What it sees.
        heading: Where to, in the frame of the robot, in rad.
        reach: Longest answer, in m.
    """
    ends = Pose(0.0, 0.0, heading).inverse.apply(scan.T_robot_sensor.apply(scan.endpoints))
    ahead = ends[(np.abs(ends[:, 1]) < HALF_WIDTH) & (ends[:, 0] > 0.0)]
    if len(ahead) == 0:
        return reach
    room = ahead[:, 0] - np.sqrt(HALF_WIDTH**2 - ahead[:, 1] ** 2)
    return float(np.clip(room.min(), 0.0, reach))
