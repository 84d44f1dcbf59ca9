"""What a simulated sensor sees from random places of a map, in the plane and in space."""

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import InputError
from isovist.maps.base import Map
from isovist.maps.floor import standing_places
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.poses import AnyPose, Pose, Pose3
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.models.spinning import SpinningLidar
from isovist.sensing.scan import Scan

TRIES = 100
"""Places that are tried for each one wanted: from some the sensor reaches no wall."""


def random_scans(
    world: OccupancyMap | VoxelMap,
    reality: Map,
    lidar: Lidar | SpinningLidar,
    count: int,
    *,
    seed: int = 0,
    clearance: float = 0.25,
    height: float = 1.0,
    any_attitude: bool = False,
    lean: float = 0.0,
    places: FloatArray | None = None,
) -> list[tuple[AnyPose, Scan | CloudScan]]:
    """Simulate scans at random places with random headings; return pairs of pose and scan.

    Args:
        world: The map, which says where a sensor can stand (`maps.floor.standing_places`).
        reality: What the sensor sees, e.g. the walls of the map alone.
        lidar: The sensor: a spinning one in 3D.
        count: Number of scans.
        seed: Seed of the random numbers.
        clearance: Least room of the sensor on all sides, in m.
        height: Height of the sensor above the floor, in m; for 3D maps only.
        any_attitude: In 3D, turn the sensor at random; its scans do not tell the attitude.
        lean: In 3D, most roll and pitch of the sensor, in rad; its scans do not tell them.
        places: The result of `standing_places`, to save time in repeated calls.
    """
    if count < 1:
        raise InputError.about("count", f"must be at least 1, got {count}.")
    if not 0.0 <= lean < np.pi / 2.0:
        raise InputError.about(
            "lean", f"must be an angle from 0° to less than 90°, got {np.degrees(lean):g}°."
        )
    check_lidar(world, lidar)
    if places is None:
        places = standing_places(world, clearance, height)
    random = np.random.default_rng(seed)
    found: list[tuple[AnyPose, Scan | CloudScan]] = []
    for _ in range(TRIES * count):
        place = places[int(random.integers(len(places)))].copy()
        place[:2] += world.resolution * random.uniform(-0.5, 0.5, 2)
        yaw = float(random.uniform(-np.pi, np.pi))
        x, y, *z = (float(v) for v in place)
        pose = Pose3(x, y, yaw, *z) if z else Pose(x, y, yaw)
        try:
            if (any_attitude or lean) and isinstance(lidar, SpinningLidar):
                pose = Pose3(x, y, yaw, *z, *random.uniform(-lean, lean, 2))
                if any_attitude:
                    pose = Pose3.from_quaternion(random.normal(size=4), place)
                scan: Scan | CloudScan = lidar.scan(reality, pose, random, tells_tilt=False)
            else:
                scan = lidar.scan(reality, pose, random)
            found.append((pose, scan))
        except InputError:  # no wall within reach
            continue
        if len(found) == count:
            return found
    raise InputError(
        "Almost nowhere on the map does the sensor reach a wall.", code="empty", field="lidar"
    )


def check_lidar(world: Map, lidar: Lidar | SpinningLidar) -> None:
    """Check that the lidar is 3D for a 3D map and 2D for a 2D map."""
    if isinstance(lidar, SpinningLidar) != (world.dimension == 3):
        raise InputError(
            "A map in space needs a spinning lidar, one of the plane a planar one.",
            code="wrong_dimension",
            field="lidar",
        )
