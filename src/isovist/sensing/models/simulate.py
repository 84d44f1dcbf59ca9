"""Simulate scans from random places of a 2D or 3D map."""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import InputError
from isovist.maps import Map, OccupancyMap, VoxelMap, standing_places
from isovist.poses import AnyPose, Pose, Pose3
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.models.spinning import SpinningLidar
from isovist.sensing.scan import Scan
from isovist.sensing.settings import SimulationSettings

SETTINGS = SimulationSettings()


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """The possible positions and attitudes of simulated sensors on a map.

    Attributes:
        clearance: Minimum distance to walls on all sides, in m.
        height: Height of the sensor above the floor, in m; for 3D maps only.
        any_attitude: In 3D, whether the sensor has a random attitude; its scans give no roll and
            pitch.
        max_tilt: In 3D, maximum of a random roll and pitch, in rad; the scans do not give it.
        positions: Possible positions, shape (k, d), in m; those of `standing_places` if `None`.
    """

    clearance: float = 0.25
    height: float = 1.0
    any_attitude: bool = False
    max_tilt: float = 0.0
    positions: FloatArray | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.max_tilt < np.pi / 2.0:
            raise InputError.about(
                "lean", f"must be from 0° to less than 90°, got {np.degrees(self.max_tilt):g}°."
            )

    def positions_on(self, world: OccupancyMap | VoxelMap) -> FloatArray:
        """Return the possible positions on a map, shape (k, d), in m."""
        if self.positions is not None:
            return self.positions
        return standing_places(world, self.clearance, self.height)


def random_scans(
    world: OccupancyMap | VoxelMap,
    reality: Map,
    lidar: Lidar | SpinningLidar,
    count: int,
    *,
    seed: int = 0,
    placement: Placement | None = None,
) -> list[tuple[AnyPose, Scan | CloudScan]]:
    """Simulate scans at random places with random headings.

    Args:
        world: The map, which determines where a sensor can stand.
        reality: World that the sensor measures, such as the walls of the map alone.
        lidar: The sensor; a spinning one in 3D.
        count: Number of scans.
        seed: Seed of the random numbers.
        placement: Possible positions and attitudes of the sensor.

    Returns:
        A list of pairs of pose and scan.

    Raises:
        InputError: If the sensor does not suit the map, or reaches a wall almost nowhere.
    """
    if count < 1:
        raise InputError.about("count", f"must be at least 1, got {count}.")
    placement = Placement() if placement is None else placement
    check_lidar(world, lidar)
    positions = placement.positions_on(world)
    random = np.random.default_rng(seed)
    scans: list[tuple[AnyPose, Scan | CloudScan]] = []
    for _ in range(SETTINGS.tries_per_scan * count):
        position = positions[int(random.integers(len(positions)))].copy()
        position[:2] += world.resolution * random.uniform(-0.5, 0.5, 2)
        try:
            scans.append(_scan_at(position, reality, lidar, random, placement))
        except InputError:  # no wall within reach
            continue
        if len(scans) == count:
            return scans
    raise InputError(
        "Almost nowhere on the map does the sensor reach a wall.", code="empty", field="lidar"
    )


def _scan_at(
    position: FloatArray,
    reality: Map,
    lidar: Lidar | SpinningLidar,
    random: np.random.Generator,
    placement: Placement,
) -> tuple[AnyPose, Scan | CloudScan]:
    """Simulate a scan at a position with a random heading, and perhaps a random attitude."""
    yaw = float(random.uniform(-np.pi, np.pi))
    x, y, *z = (float(v) for v in position)
    pose: AnyPose = Pose3(x, y, yaw, *z) if z else Pose(x, y, yaw)
    if isinstance(lidar, Lidar) or not (placement.any_attitude or placement.max_tilt):
        return pose, lidar.scan(reality, pose, random)
    pose = Pose3(x, y, yaw, *z, *random.uniform(-placement.max_tilt, placement.max_tilt, 2))
    if placement.any_attitude:
        pose = Pose3.from_quaternion(random.normal(size=4), position)
    return pose, lidar.scan(reality, pose, random, tells_tilt=False)


def check_lidar(world: Map, lidar: Lidar | SpinningLidar) -> None:
    """Check that the lidar has the dimension of the map; raise an error otherwise."""
    if isinstance(lidar, SpinningLidar) != (world.dimension == 3):
        raise InputError(
            "A 3D map needs a spinning lidar (`SpinningLidar`), a 2D map a `Lidar`.",
            code="wrong_dimension",
            field="lidar",
        )
