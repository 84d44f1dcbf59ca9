"""Streams of candidates on one map: batches of poses, with a lower bound on the remaining cost."""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas import AnyScan, Atlas, SpaceAtlas
from isovist.localization.candidates.height_slices import height_slice_candidates, no_candidates
from isovist.localization.candidates.node_search import Candidates, NodeSearch, distinct_indices
from isovist.localization.query.region import Region
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose, Pose3
from isovist.sensing import CloudScan, ScanInput, ScanSequence


@dataclass(frozen=True, slots=True, eq=False)
class ViewCandidates:
    """The candidates of one scan of several, or of one search of two.

    Attributes:
        candidates: The candidates.
        T_last_view: Pose of the scan in the frame of the last one; `None` if they are the same.
    """

    candidates: Candidates
    T_last_view: AnyPose | None


@dataclass(frozen=True, slots=True, eq=False)
class JoinedCandidates:
    """The candidates of several scans, or in 3D of two searches for one scan.

    Attributes:
        poses: Poses of the sensor at the last scan, the best of every scan first, shape (K, D).
        views: The candidates of each scan or search.
        atlas: The map.
    """

    poses: FloatArray
    views: tuple[ViewCandidates, ...]
    atlas: Atlas

    @property
    def is_exhaustive(self) -> bool:
        """True if every pose was returned."""
        return all(view.candidates.is_exhaustive for view in self.views)

    def cost_ratio(self, pose: FloatArray, radius: float, turn: float) -> float:
        """Return the largest cost ratio of all scans: a pose that one excludes is excluded."""
        last = self.atlas.lift(pose)
        ratios = []
        for view in self.views:
            assert view.T_last_view is not None
            vector = (last @ view.T_last_view).vector
            ratios.append(view.candidates.cost_ratio(vector, radius, turn))
        return max(ratios)


class ScanStream:
    """Batches of candidates of one scan on one map: by descriptors, and in 3D by height slices.

    Args:
        atlas: The map.
        scan: One scan.
        region: Where the robot may be.
        settings: Costs, counts and distances of candidates.
        subset: Indices of the nodes to search if there is no region; all if `None`.
    """

    def __init__(
        self,
        atlas: Atlas,
        scan: AnyScan,
        region: Region | None,
        settings: LocalizationSettings,
        subset: IntArray | None = None,
    ) -> None:
        self._nodes = NodeSearch(atlas, scan, region, settings, subset=subset)
        self._slices: Candidates | None = None

    def coarse(self, count: int) -> Candidates:
        """Return poses at the nodes that are best by every other channel."""
        return self._nodes.coarse(count)

    def full(self, count: int, max_cost: float = np.inf) -> Candidates | JoinedCandidates:
        """Return the cheapest poses of all nodes, and in 3D those of height slices."""
        nodes = self._nodes
        candidates = nodes.full(count, max_cost)
        if not isinstance(nodes.scan, CloudScan):
            return candidates
        atlas = nodes.atlas
        assert isinstance(atlas, SpaceAtlas)
        if self._slices is None:
            self._slices = no_candidates(np.inf)  # the region or the scan is empty
            if len(candidates.poses):
                self._slices = height_slice_candidates(
                    atlas, nodes.scan, nodes.region, nodes.settings, thorough=True
                )
        poses = np.concatenate([self._slices.poses, candidates.poses])
        views = (ViewCandidates(candidates, Pose3()), ViewCandidates(self._slices, Pose3()))
        return JoinedCandidates(poses, views, atlas)


class SequenceStream:
    """Batches of candidates of several scans on one map, as poses of the last.

    Args:
        atlas: The map.
        scan: Several scans.
        region: Where the robot may be at the last scan.
        settings: Costs, counts and distances of candidates.
    """

    def __init__(
        self,
        atlas: Atlas,
        scan: ScanSequence,
        region: Region | None,
        settings: LocalizationSettings,
    ) -> None:
        self._atlas, self._scan, self._region, self._settings = atlas, scan, region, settings
        self._searches = []
        for single, robot in zip(scan.scans, scan.robot_poses, strict=True):
            reach = None
            if region is not None:
                reach = region.grown(float(np.linalg.norm(robot.position[:2])), robot.yaw)
            self._searches.append(NodeSearch(atlas, single, reach, settings))

    def coarse(self, count: int) -> JoinedCandidates:
        """Return poses at the nodes that are best by every other channel, for each scan."""
        return self._join([search.coarse(count) for search in self._searches])

    def full(self, count: int, max_cost: float = np.inf) -> JoinedCandidates:
        """Return the cheapest poses of each scan; costs of several scans have no common limit."""
        del max_cost
        return self._join([search.full(count) for search in self._searches])

    def _join(self, parts: list[Candidates]) -> JoinedCandidates:
        """Return the candidates of each scan as poses of the last, the best of each scan first."""
        atlas, scan, region = self._atlas, self._scan, self._region
        views, rows, ranks = [], [], []
        for candidates, view_pose in zip(parts, scan.view_poses, strict=True):
            views.append(ViewCandidates(candidates, view_pose))
            rows.append((atlas.lift(candidates.poses) @ view_pose.inverse).vector)
            ranks.append(np.arange(len(candidates.poses)))
        poses = np.concatenate(rows)[np.argsort(np.concatenate(ranks), kind="stable")]
        if region is not None:
            robots = (atlas.lift(poses) @ scan.T_level_robot).vector
            poses = poses[region.holds(robots, atlas.spacing, np.pi / atlas.settings.channels)]
        poses = poses[distinct_indices(poses, *self._settings.candidates_apart(atlas))]
        return JoinedCandidates(poses, tuple(views), atlas)


MapStream = ScanStream | SequenceStream


def stream_on(
    atlas: Atlas,
    scan: ScanInput,
    region: Region | None,
    settings: LocalizationSettings,
    subset: IntArray | None = None,
) -> MapStream:
    """Return the stream of candidates of one scan or of several on one map."""
    if isinstance(scan, ScanSequence):
        return SequenceStream(atlas, scan, region, settings)
    return ScanStream(atlas, scan, region, settings, subset)
