"""A pose that somebody claims, to be checked against a scan."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isovist.arrays import BoolArray, FloatArray, as_floats
from isovist.atlas import FARTHEST, AnyScan, MultiMap, SearchSpace
from isovist.errors import InputError
from isovist.localization.answer import Estimate
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose, Pose, Pose3, wrap_angle

CHI_SQUARE_99 = 11.345
"""99 % quantile of χ² with three degrees of freedom."""
NEAR_FACTOR = 3.0
"""A fit within this many times `same_place` of the settings is near the claimed pose."""
COVARIANCE_REACH = 2.0
"""Standard deviations of the claim at which fits start."""
EIGENVALUE_TOLERANCE = -1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """A claimed pose.

    Attributes:
        pose: T_world_robot, in the frame of its map.
        covariance: Covariance of (x, y, yaw) in m and rad, shape (3, 3); 0 if not given.
        map: Name of its map; `None` if there is one map.
    """

    pose: AnyPose
    covariance: FloatArray
    map: str | None

    def in_space(self, space: SearchSpace) -> AnyPose:
        """Return the pose in the common frame of all maps."""
        if isinstance(space, MultiMap) and self.map is not None:
            return space.to_common(self.map, self.pose)
        return self.pose

    def neighbours(
        self, sensor: FloatArray, settings: LocalizationSettings, max_step: float
    ) -> FloatArray:
        """Return poses around the claim from which fits start, shape (7, D).

        Four are beside it and two are turned.  The steps are those of `same_place` of the settings,
        or longer where the covariance is large.

        Args:
            sensor: The claimed pose of the sensor in the common frame, shape (D,).
            settings: Which poses are the same place.
            max_step: Longest step in m.
        """
        distance, rotation = settings.decision.same_place
        values, axes = np.linalg.eigh(self.covariance[:2, :2])
        steps = np.zeros((7, len(sensor)))
        for k in range(2):
            reach = COVARIANCE_REACH * float(np.sqrt(max(values[k], 0.0)))
            step = min(max(distance, reach), max_step)
            steps[1 + k, :2], steps[3 + k, :2] = step * axes[:, k], -step * axes[:, k]
        reach = COVARIANCE_REACH * float(np.sqrt(max(self.covariance[2, 2], 0.0)))
        turn = min(max(rotation, reach), 0.5 * np.pi)
        steps[5, 2], steps[6, 2] = turn, -turn
        return sensor + steps

    def matches(
        self, estimates: Sequence[Estimate], settings: LocalizationSettings
    ) -> tuple[BoolArray, BoolArray]:
        """Return which estimates are the claimed pose, and which are near it, both shape (K,).

        An estimate is the pose within `same_place` of the settings, or within the 99 % ellipsoid of
        both covariances.  Estimates that explain the scan badly count as neither.
        """
        d = np.array([e.pose.vector[:3] for e in estimates]) - self.pose.vector[:3]
        d[:, 2] = wrap_angle(d[:, 2])
        distances, turns = np.hypot(d[:, 0], d[:, 1]), np.abs(d[:, 2])
        distance, turn = settings.decision.same_place
        P = np.array([e.covariance[:3, :3] for e in estimates]) + self.covariance
        squares = (d * np.linalg.solve(P, d[:, :, None])[:, :, 0]).sum(axis=1)
        is_same = (squares <= CHI_SQUARE_99) | ((distances <= distance) & (turns <= turn))
        is_near = (distances <= NEAR_FACTOR * distance) & (turns <= NEAR_FACTOR * turn)
        explains = np.array([e.score for e in estimates]) >= settings.decision.min_score_nats
        own_map = np.array([e.map == self.map for e in estimates])
        return own_map & is_same & explains, own_map & is_near & explains


def read_claim(
    space: SearchSpace,
    scan: AnyScan,
    pose: AnyPose,
    covariance: FloatArray | None,
    map_name: str | None,
) -> Claim:
    """Return a claim, or raise an error if its parts do not fit the maps and the scan."""
    map_name = _checked_map(space, map_name)
    space.check(scan)
    kind = Pose if space.dimension == 2 else Pose3
    if not isinstance(pose, kind):
        raise InputError.about(
            "pose",
            f"must be a {kind.__name__} for a {space.dimension}D map, got {type(pose).__name__}.",
        )
    if pose.shape != ():
        raise InputError.about("pose", f"must be one pose, got an array of shape {pose.shape}.")
    if not np.isfinite(pose.vector).all():
        raise InputError.about("pose", f"must be finite, got {pose}.")
    if not np.abs(pose.position).max() <= FARTHEST:
        raise InputError.about("pose", f"must lie within {FARTHEST:g} m of the origin, got {pose}.")
    if covariance is None:
        return Claim(pose, np.zeros((3, 3)), map_name)
    matrix = as_floats("covariance", covariance, (3, 3))
    is_symmetric = np.allclose(matrix, matrix.T)
    if not is_symmetric or np.linalg.eigvalsh(matrix)[0] < EIGENVALUE_TOLERANCE:
        raise InputError.about(
            "covariance", "must be symmetric and not negative, of (x, y, yaw) in m and rad."
        )
    return Claim(pose, matrix, map_name)


def _checked_map(space: SearchSpace, name: str | None) -> str | None:
    """Return the name of the map of a pose; it is needed if and only if there are several."""
    if not isinstance(space, MultiMap):
        if name is not None:
            raise InputError.about(
                "map", f"is for several maps, and there is one; got {name!r}.", code="conflict"
            )
        return None
    if name not in space.names:
        names = ", ".join(map(repr, space.names))
        raise InputError.about(
            "map", f"must name the map of the pose, one of {names}; got {name!r}."
        )
    return name
