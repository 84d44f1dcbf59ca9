"""Streams of candidates on one map: ever more poses that may be right, with a bound on the rest.

Candidates of several scans are those of every scan, moved to the last.
"""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas import AnyScan, Atlas, SpaceAtlas
from isovist.localization.candidates.height_slices import height_slice_candidates, nothing
from isovist.localization.candidates.node_search import Candidates, NodeSearch, distinct_indices
from isovist.localization.query.region import Region
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose, Pose3
from isovist.sensing import CloudScan, ScanInput, ScanSequence


@dataclass(frozen=True, slots=True, eq=False)
class JoinedCandidates:
    """The candidates of several scans, as poses of the last, or of both doors in space.

    Attributes:
        poses: Of all of them, the best of every scan first, shape (K, D).
        each: Those of each scan or door, with the place of its frame in that of the last.
    """

    poses: FloatArray
    each: tuple[tuple[Candidates, AnyPose], ...]
    atlas: Atlas

    def cost_ratio(self, pose: FloatArray, radius: float, turn: float) -> float:
        """As for one scan: the best of all, since what one scan excludes is excluded."""
        here = self.atlas.lift(pose)
        return max(
            found.cost_ratio((here @ place).vector, radius, turn) for found, place in self.each
        )


class ScanStream:
    """Ever more candidates of one scan on one map, by descriptors and, of clouds, by slices.

    Args:
        atlas: The map.
        scan: One scan.
        region: Where the robot may be.
        settings: How to search.
        only: Indices of the nodes to search, where there is no region; all when `None`.
    """

    def __init__(
        self,
        atlas: Atlas,
        scan: AnyScan,
        region: Region | None,
        settings: LocalizationSettings,
        only: IntArray | None = None,
    ) -> None:
        self.nodes = NodeSearch(atlas, scan, region, settings, only=only)
        self._slices: Candidates | None = None

    def coarse(self, count: int) -> Candidates:
        """Return poses at the best nodes by every other channel."""
        return self.nodes.coarse(count)

    def full(self, count: int, limit: float = np.inf) -> "Candidates | JoinedCandidates":
        """Return the cheapest poses of all nodes, and in 3D those that height slices give."""
        nodes = self.nodes
        found = nodes.full(count, limit)
        if not isinstance(nodes.scan, CloudScan):
            return found
        atlas = nodes.atlas
        assert isinstance(atlas, SpaceAtlas)
        if self._slices is None:
            self._slices = nothing(np.inf)  # the region leaves nothing, or nothing is seen
            if len(found.poses):
                self._slices = height_slice_candidates(
                    atlas, nodes.scan, nodes.region, nodes.settings, thorough=True
                )
        poses = np.concatenate([self._slices.poses, found.poses])
        return JoinedCandidates(poses, ((found, Pose3()), (self._slices, Pose3())), atlas)


class SequenceStream:
    """Ever more candidates of several scans on one map, as poses of the last.

    Args:
        atlas: The map.
        scan: Several scans.
        region: Where the robot may be at the last.
        settings: How to search.
    """

    def __init__(
        self,
        atlas: Atlas,
        scan: ScanSequence,
        region: Region | None,
        settings: LocalizationSettings,
    ) -> None:
        self.atlas, self.scan, self.region, self.settings = atlas, scan, region, settings
        self._streams = []
        for one, robot in zip(scan.scans, scan.robot_poses, strict=True):
            reach = None
            if region is not None:
                reach = region.grown(float(np.linalg.norm(robot.position[:2])), robot.yaw)
            self._streams.append(NodeSearch(atlas, one, reach, settings))

    def coarse(self, count: int) -> JoinedCandidates:
        """Return poses at the best nodes of each scan by every other channel."""
        return self._moved([one.coarse(count) for one in self._streams])

    def full(self, count: int, limit: float = np.inf) -> JoinedCandidates:
        """Return the cheapest poses of each scan.  Several scans have no one cost to limit."""
        del limit
        return self._moved([one.full(count) for one in self._streams])

    def _moved(self, found: list[Candidates]) -> JoinedCandidates:
        """Return candidates of each scan as poses of the last, the best of each scan first."""
        atlas, scan, region = self.atlas, self.scan, self.region
        each, poses, ranks = [], [], []
        for one, place in zip(found, scan.view_poses, strict=True):
            each.append((one, place))
            poses.append((atlas.lift(one.poses) @ place.inverse).vector)
            ranks.append(np.arange(len(one.poses)))
        moved = np.concatenate(poses)[np.argsort(np.concatenate(ranks), kind="stable")]
        if region is not None:
            robots = (atlas.lift(moved) @ scan.T_level_robot).vector
            moved = moved[region.holds(robots, atlas.spacing, np.pi / atlas.settings.channels)]
        moved = moved[distinct_indices(moved, *self.settings.candidates_apart(atlas))]
        return JoinedCandidates(moved, tuple(each), atlas)


def stream_on(
    atlas: Atlas,
    scan: ScanInput,
    region: Region | None,
    settings: LocalizationSettings,
    only: IntArray | None = None,
) -> ScanStream | SequenceStream:
    """Return the stream of candidates of one scan or of several on one map."""
    if isinstance(scan, ScanSequence):
        return SequenceStream(atlas, scan, region, settings)
    return ScanStream(atlas, scan, region, settings, only)
