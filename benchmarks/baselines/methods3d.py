"""Methods of others that find a scan on a map in space, each as its authors use it.

    kiss-matcher   features of both clouds, matched, pruned, solved (pip kiss-matcher); it is sure
                   with five final inliers, as its example has it
    fpfh           FPFH matched and solved by RANSAC (Open3D, with the numbers of its tutorial);
                   it gives one pose and no verdict
    scan-context   heights in 20 × 60 bins around the sensor, compared with those that the map shows
                   from the nodes of our atlas; it is sure below a distance of 0.13, as its
                   authors' loops are

Each gives T_map_sensor from nothing but the points, and GICP (pip small-gicp, with its defaults)
then fits what it gave.  Scan Context has no package: these are a few lines of our own, which look
at all nodes and headings, not at a few that a tree of ring keys proposes.  KISS-Matcher describes
the map anew for every scan.  3D-BBS and TEASER++ have no wheel.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.baselines.availability import histograms, left_out
from isovist.arrays import FloatArray
from isovist.atlas.data.atlas3d import SpaceAtlas
from isovist.atlas.data.surfaces import bare_walls
from isovist.compute.infra.threads import THREADS
from isovist.localization import Verdict
from isovist.localization.locate import locate
from isovist.poses import Pose3
from isovist.sensing.cloud_scan import CloudScan

INLIERS = 5
"""Of KISS-Matcher: "likely succeeded" in its example."""
RINGS, SECTORS, ALIKE, FARTHEST = 20, 60, 0.13, 80.0
"""Of Scan Context: bins, the distance of the same place, and what is looked at, in m."""
LOOKED = 2, 16
"""Rays in each sector, and above each other, by which the map is looked at."""
CHUNK = 1 << 21
"""Rays that are followed at a time."""


class Found(NamedTuple):
    """What a method says: T_map_sensor, or `None`, and whether it is sure; `None` if it cannot say.

    Ours is sure where the verdict is unique.
    """

    pose: Pose3 | None
    sure: bool | None


Finder = Callable[[CloudScan], Found]


@dataclass(frozen=True, slots=True, eq=False)
class Arena:
    """What every method is given of a map.

    Attributes:
        atlas: The map, described.
        points: On its walls, shape (k, 3), in m: those of a cloud, or the middles of cells.
        voxel: Side of the voxels that the peers thin clouds to, in m.
        scan: One of the scans, which says where the sensor looks.
    """

    atlas: SpaceAtlas
    points: FloatArray
    voxel: float
    scan: CloudScan


@dataclass(frozen=True, slots=True)
class Peer:
    """A method beside others.

    Attributes:
        name: As rows and `--only` have it.
        title: As people call it.
        library: It comes from, as people call that.
        module: That Python imports for it; `None` where nothing else is needed.
        make: Makes it ready for a map.
        fitted: Whether GICP follows.
    """

    name: str
    title: str
    library: str
    module: str | None
    make: Callable[[Arena], Finder]
    fitted: bool = True

    def why_not(self) -> str | None:
        """Why it cannot be tried, in a sentence; `None` where it can."""
        if self.module is None:
            return None
        return left_out(self.title, self.library, self.module)


def ours(arena: Arena) -> Finder:
    """`locate`."""

    def find(scan: CloudScan) -> Found:
        answer = locate(arena.atlas, scan)
        if answer.best is None:
            return Found(None, False)
        pose = Pose3.lifted(answer.best.pose) @ scan.T_robot_sensor
        return Found(pose, answer.verdict is Verdict.UNIQUE)

    return find


def kiss_matcher(arena: Arena) -> Finder:
    """KISS-Matcher with its own settings for this size of voxels."""
    import kiss_matcher

    there = np.ascontiguousarray(arena.points.T)

    def find(scan: CloudScan) -> Found:
        matcher = kiss_matcher.KISSMatcher(kiss_matcher.KISSMatcherConfig(arena.voxel))
        source, target = matcher.match(np.ascontiguousarray(scan.points.T), there)
        pairs = (np.array(one, dtype=np.float64).reshape(-1, 3).T for one in (source, target))
        solved = matcher.solve(*pairs)
        if not solved.valid:
            return Found(None, False)
        pose = Pose3.from_matrix(np.array(solved.rotation), np.array(solved.translation).ravel())
        return Found(pose, matcher.get_num_final_inliers() >= INLIERS)

    return find


def fpfh_ransac(arena: Arena) -> Finder:
    """Open3D's global registration."""
    import open3d

    tools, side = open3d.pipelines.registration, arena.voxel
    open3d.utility.random.seed(0)

    def described(points: FloatArray) -> tuple[Any, Any]:
        cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(np.array(points)))
        cloud = cloud.voxel_down_sample(side)
        cloud.estimate_normals(open3d.geometry.KDTreeSearchParamHybrid(2.0 * side, 30))
        return cloud, histograms(cloud, 5.0 * side, 100)

    there, known = described(arena.points)

    def find(scan: CloudScan) -> Found:
        cloud, seen = described(scan.points)
        solved = tools.registration_ransac_based_on_feature_matching(
            cloud, there, seen, known, True, 1.5 * side,
            tools.TransformationEstimationPointToPoint(False), 3,
            [tools.CorrespondenceCheckerBasedOnEdgeLength(0.9),
             tools.CorrespondenceCheckerBasedOnDistance(1.5 * side)],
            tools.RANSACConvergenceCriteria(100_000, 0.999),
        )  # fmt: skip
        return Found(_from_square(solved.transformation), None)

    return find


def scan_context(arena: Arena) -> Finder:
    """Heights around the sensor, compared with those around every node, at every heading."""
    atlas = arena.atlas
    away = arena.scan.level_points
    reach = min(float(arena.scan.distances.max()), FARTHEST)
    up = np.arctan2(away[:, 2], np.hypot(away[:, 0], away[:, 1]))
    azimuth = 2.0 * np.pi * (np.arange(LOOKED[0] * SECTORS) + 0.5) / (LOOKED[0] * SECTORS)
    u, v = (g.ravel() for g in np.meshgrid(azimuth, np.linspace(up.min(), up.max(), LOOKED[1])))
    rays = np.stack([np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)], axis=1)
    walls, height = bare_walls(atlas.world), 0.5 * sum(atlas.heights)
    places = atlas.positions
    rows = []
    step = max(1, CHUNK // len(rays))
    for first in range(0, len(places), step):
        ranges = walls.cast(places[first : first + step, None], rays, maximum=reach).ranges
        rows += [context(r[r < reach, None] * rays[r < reach], height, reach) for r in ranges]
    nodes = _columns(np.array(rows))

    def find(scan: CloudScan) -> Found:
        own, seen = _columns(context(scan.level_points, height, reach)[None])
        turn = (np.arange(SECTORS) - np.arange(SECTORS)[:, None]) % SECTORS
        turned = own[0][:, turn].transpose(1, 0, 2).reshape(SECTORS, -1)
        alike = nodes[0].reshape(len(places), -1) @ turned.T
        common = nodes[1] @ seen[0][turn].T
        far = 1.0 - alike / np.maximum(common, 1.0)
        node, k = np.unravel_index(int(far.argmin()), far.shape)
        x, y, z = places[node]
        level = Pose3(x, y, 2.0 * np.pi * k / SECTORS, z)
        return Found(level @ scan.T_level_sensor, bool(far[node, k] <= ALIKE))

    return find


def context(points: FloatArray, height: float, reach: float) -> FloatArray:
    """Greatest height in each bin of distance and azimuth, shape (RINGS, SECTORS); 0 for none.

    Args:
        points: In the level frame of the sensor, shape (k, 3), in m.
        height: Of the sensor above the floor, in m.
        reach: That the last ring ends at, in m.
    """
    flat = np.hypot(points[:, 0], points[:, 1])
    ring = np.floor(flat / reach * RINGS).astype(np.int64)
    turn = np.arctan2(points[:, 1], points[:, 0]) / (2.0 * np.pi) % 1.0
    sector = np.minimum((turn * SECTORS).astype(np.int64), SECTORS - 1)
    table = np.zeros((RINGS, SECTORS))
    kept = ring < RINGS
    np.maximum.at(table, (ring[kept], sector[kept]), points[kept, 2] + height)
    return table


def _columns(tables: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Contexts with columns of length one, and which columns hold anything, shape (N, SECTORS)."""
    length = np.linalg.norm(tables, axis=1)
    return tables / np.maximum(length, 1e-9)[:, None], (length > 0.0).astype(np.float64)


def gicp(arena: Arena) -> Callable[[CloudScan, Pose3], Pose3]:
    """A fit of the points of a scan to those of the map, from a first pose T_map_sensor."""
    import small_gicp

    there, tree = small_gicp.preprocess_points(arena.points, num_threads=THREADS)

    def fit(scan: CloudScan, pose: Pose3) -> Pose3:
        cloud, _ = small_gicp.preprocess_points(scan.points, num_threads=THREADS)
        start = np.eye(4)
        start[:3, :3], start[:3, 3] = pose.rotation, pose.position
        solved = small_gicp.align(
            there, cloud, tree, init_T_target_source=start, num_threads=THREADS
        )  # fmt: skip
        return _from_square(solved.T_target_source)

    return fit


def _from_square(matrix: FloatArray) -> Pose3:
    """From a matrix of shape (4, 4)."""
    return Pose3.from_matrix(matrix[:3, :3], matrix[:3, 3])


OURS = Peer("isovist", "isovist", "isovist", None, ours, fitted=False)
PEERS = (
    OURS,
    Peer("kiss-matcher", "KISS-Matcher", "kiss-matcher", "kiss_matcher", kiss_matcher),
    Peer("fpfh", "FPFH", "Open3D", "open3d", fpfh_ransac),
    Peer("scan-context", "Scan Context", "nothing else", None, scan_context),
)
