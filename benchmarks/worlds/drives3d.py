"""Drives in space with a spinning lidar, through a generated building above all.

The robot knows the plan of the building as voxels; its lidar sees the same building with furniture
up to the ceiling.  It wanders: turns on the spot, drives on as far as there is room, a stride
between two updates.  Odometry drifts and knows up from down; the robot leans a little.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.maps.surfaces.segment_map import SegmentMap
from isovist.poses import Pose, Pose3, unit_vectors, way_of, wrap_angle
from isovist.sensing.models.spinning import SpinningLidar
from isovist.sensing.motion.drift import Drift
from isovist.simulation.demo import CEILING, HEIGHT, random_pose
from isovist.simulation.worlds import office_floor
from isovist.tracking.replay import Follower, Update

STRIDE = 0.3, 0.5
"""Between two updates, in m and in rad on the spot."""
SHORT = 0.1, 0.15
"""The same at 10 Hz and 1 m/s, for a robot that has no odometry."""
ROOM = 0.35
"""Between the robot and whatever stands beside its way, in m."""
LEAN = float(np.radians(1.0))
"""Standard deviation of roll and pitch, in rad."""
TRIES = 100
"""Directions that are tried before a robot is taken to be stuck."""


@dataclass(frozen=True, slots=True, eq=False)
class Building:
    """A building, as it is and as it is known.

    Attributes:
        plan: What the robot knows.
        reality: What its lidar sees.
        ground: Walls and furniture in the plane, between which it drives.
    """

    plan: VoxelMap
    reality: MeshMap
    ground: SegmentMap


def building(seed: int, *, length: float = 30.0, rows: int = 4, cell: float = 0.1) -> Building:
    """The office floor of a seed, with floor and ceiling."""
    floor = office_floor(seed, length=length, rows=rows)
    plan = VoxelMap.from_mesh(MeshMap.extrude(floor.plan, 0.0, CEILING), cell)
    return Building(plan, MeshMap.extrude(floor.reality, 0.0, CEILING), floor.reality)


def wander(
    ground: SegmentMap, reach: float, rng: np.random.Generator, stride: tuple[float, float] = STRIDE
) -> list[Pose3]:
    """Poses of a robot that begins anywhere and drives `reach` m, a stride (m, rad) apart."""
    poses, way = [random_pose(ground, rng)], 0.0
    while way < reach:
        leg = _leg(ground, poses[-1], rng, stride)
        if not leg:  # stuck: begin elsewhere
            poses, way = [random_pose(ground, rng)], 0.0
            continue
        poses += leg
        way += way_of(leg[0].inverse @ leg[-1])[0]
    lean = rng.normal(0.0, LEAN, (len(poses), 2))
    return [Pose3(p.x, p.y, p.yaw, HEIGHT, *tilt) for p, tilt in zip(poses, lean, strict=True)]


def _leg(
    ground: SegmentMap, pose: Pose, rng: np.random.Generator, stride: tuple[float, float]
) -> list[Pose]:
    """A turn on the spot and a straight way with room on both sides; empty where there is none."""
    metres, radians = stride
    for k in range(TRIES):
        heading = float(wrap_angle(pose.yaw + rng.normal(0.0, 0.3 + 3.0 * k / TRIES)))
        ahead = unit_vectors(heading)
        length = min(float(ground.cast(pose.position, ahead).ranges) - 2.0 * ROOM, 4.0)
        steps = np.arange(1, int(length / metres) + 1)[:, None] * metres * ahead
        places = pose.position + steps
        if length < 2.0 * STRIDE[0] or min(ground.clearance(place) for place in places) < ROOM:
            continue
        swing = float(wrap_angle(heading - pose.yaw))
        count = int(np.ceil(abs(swing) / radians))
        turns = pose.yaw + swing * np.arange(1, count + 1) / max(count, 1)
        spot = [Pose(pose.x, pose.y, float(yaw)) for yaw in turns]
        return [*spot, *(Pose(place[0], place[1], heading) for place in places)]
    return []


def drive(
    tracker: Follower,
    reality: MeshMap,
    lidar: SpinningLidar,
    poses: Sequence[Pose3],
    rng: np.random.Generator,
    *,
    aided: bool = True,
    carried: Sequence[int] = (),
    pause: float = 0.3,
) -> list[Update]:
    """Updates along poses.

    Args:
        tracker: From an unknown start.
        reality: What is there.
        lidar: What it is seen with.
        poses: T_world_robot at each.
        rng: Noise of lidar and odometry.
        aided: Whether there is odometry.
        carried: Numbers of poses that the robot is carried to, which odometry does not notice.
        pause: Between two updates, in s.
    """
    usual, updates = Drift(), []
    odometry = Pose(7.0, -3.0, 1.0)
    height = 0.0
    for k, pose in enumerate(poses):
        if k and k not in carried:
            step = poses[k - 1].flat.inverse @ pose.flat
            odometry = odometry @ usual.simulate(step, rng)
            height += pose.z - poses[k - 1].z
            height += float(rng.normal(0.0, 0.2 * usual.along * np.sqrt(way_of(step)[0])))
        told = Pose3(odometry.x, odometry.y, odometry.yaw, height, pose.roll, pose.pitch)
        scan = lidar.scan(reality, pose, rng)
        belief = tracker.update(told if aided else None, scan, time=pause * k)
        updates.append(Update(k, pause * k, told if aided else None, belief, pose))
    return updates
