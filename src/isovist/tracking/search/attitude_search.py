"""Candidates for robots in any attitude: each up direction is tried as that of a level robot."""

from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import AnyScan
from isovist.localization import (
    MAX_ATTITUDES,
    AttitudeHypothesis,
    Query,
    SearchRegion,
    all_up_directions,
    as_level_robot,
    attitude_hypotheses,
    coordinate_vector,
    to_robot_frame,
)
from isovist.poses import AnyPose
from isovist.sensing import CloudScan, up_directions
from isovist.tracking.motion.level_frame import tilt_of_mount
from isovist.tracking.search.candidate_search import CandidateSearch, FittedPlaces, SearchScope


@dataclass(frozen=True, slots=True, eq=False)
class AttitudeSearch:
    """Searches a 3D map for the places of a robot in any attitude.

    Attributes:
        level: Searches for the places of a nearly level robot.
    """

    level: CandidateSearch

    def find(self, scan: AnyScan, mount: AnyPose, scope: SearchScope) -> FittedPlaces:
        """Return the places of a scan.

        Args:
            scan: The scan of the level robot.
            mount: T_robot_level; poses are those of that level frame.
            scope: Where the robot may be.  While it is not settled, and the planes in the scan
                give no up direction that explains it, directions all around are tried.
        """
        robot = as_level_robot(scan, tilt_of_mount(mount).inverse)
        hypotheses = self._up_hypotheses(robot, scope)
        scope = replace(scope, tilt=True, is_repeated=False, is_thorough=True)
        parts = [self._fit(hypothesis, mount, scope) for hypothesis in hypotheses[:MAX_ATTITUDES]]
        parts += [self._unfitted(hypothesis, mount) for hypothesis in hypotheses[MAX_ATTITUDES:]]
        if not parts:
            return FittedPlaces(np.empty((0, 6)), np.empty((0, 6, 6)), np.empty(0))
        places = FittedPlaces(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        places = places.select(np.argsort(-places.scores, kind="stable"))
        return places.select(self.level.is_comparable(places.scores))

    def _fit(
        self, hypothesis: AttitudeHypothesis, mount: AnyPose, scope: SearchScope
    ) -> FittedPlaces:
        """Return the places of the scan of a level robot."""
        scan = hypothesis.scan
        assert isinstance(scan, CloudScan)
        fitted = self.level.find(scan, scope)
        T_level_level = scan.T_level_robot @ hypothesis.tilt @ mount
        poses, covariances = to_robot_frame(
            self.level.space, T_level_level, fitted.poses, fitted.covariances
        )
        return FittedPlaces(np.reshape(poses.vector, (-1, 6)), covariances, fitted.scores)

    def _unfitted(self, hypothesis: AttitudeHypothesis, mount: AnyPose) -> FittedPlaces:
        """Return the place of the coarse search."""
        limits = self.level.settings
        stds = coordinate_vector(limits.position_std_m, limits.angle_std_rad, 6)
        pose = (hypothesis.pose @ mount).vector
        return FittedPlaces(
            pose[None], np.diag(np.square(stds))[None], np.array([hypothesis.score])
        )

    def _up_hypotheses(self, scan: CloudScan, scope: SearchScope) -> list[AttitudeHypothesis]:
        """Return the scan as seen by level robots, for the likely up directions, best first."""
        hypotheses = self._rated(scan, up_directions(scan), scope.region)
        min_score = self.level.localization.decision.min_score_nats
        if not scope.is_settled and not _best_score(hypotheses) >= min_score:
            others = self._rated(scan, all_up_directions(), scope.region)
            if _best_score(others) > _best_score(hypotheses):
                return others
        return hypotheses

    def _rated(
        self, scan: CloudScan, ups: FloatArray, region: SearchRegion
    ) -> list[AttitudeHypothesis]:
        query = Query(self.level.space, scan, region, self.level.localization)
        return attitude_hypotheses(query, ups)


def _best_score(hypotheses: list[AttitudeHypothesis]) -> float:
    return hypotheses[0].score if hypotheses else -np.inf
