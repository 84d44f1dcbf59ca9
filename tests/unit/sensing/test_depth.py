"""Depth images as scans in space."""

import numpy as np
import pytest

import isovist as iv
from isovist import CloudScan, Pose3

CAMERA = (120.0, 120.0, 79.5, 59.5)
SIZE = (120, 160)


def depth_of(world, pose):
    """What a depth camera that looks ahead along x sees, in m along its axis."""
    fx, fy, cx, cy = CAMERA
    v, u = np.mgrid[: SIZE[0], : SIZE[1]]
    rays = np.stack([np.ones(SIZE), -(u - cx) / fx, -(v - cy) / fy], axis=-1)
    length = np.linalg.norm(rays, axis=-1)
    hits = world.cast(pose.position, (rays / length[..., None]) @ pose.rotation.T)
    return hits.ranges / length


def room():
    plan = iv.SegmentMap.room(6.0, 4.0, pillars=[(4.0, 1.0, 4.6, 1.8)])
    return iv.MeshMap.extrude(plan, 0.0, 3.0)


POSE = Pose3(1.3, 1.7, 0.4, 1.0)


def test_the_points_of_a_depth_image_lie_on_the_walls():
    world = room()
    scan = iv.Scan.from_depth(depth_of(world, POSE), CAMERA)
    assert isinstance(scan, CloudScan)
    assert len(scan.points) == SIZE[0] * SIZE[1]
    hits = world.cast(POSE.position, scan.points @ POSE.rotation.T / scan.distances[:, None])
    np.testing.assert_allclose(hits.ranges, scan.distances, atol=1e-9)
    # The first pixel looks up and to the left.
    assert scan.points[0, 1] > 0.0
    assert scan.points[0, 2] > 0.0


def test_whole_numbers_are_in_mm_and_a_matrix_will_do():
    depth = depth_of(room(), POSE)
    fx, fy, cx, cy = CAMERA
    K = [[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]]
    whole = iv.Scan.from_depth(np.round(1000.0 * depth).astype(np.uint16), K, stride=2)
    plain = iv.Scan.from_depth(depth, CAMERA, stride=2)
    np.testing.assert_allclose(whole.points, plain.points, atol=2e-3)
    assert len(whole.points) == SIZE[0] * SIZE[1] // 4


def test_missing_depths_are_left_out():
    depth = depth_of(room(), POSE)
    depth[:10], depth[10:20], depth[20:30] = 0.0, np.nan, np.inf
    assert len(iv.Scan.from_depth(depth, CAMERA).points) == 90 * SIZE[1]


@pytest.mark.slow
def test_a_depth_camera_is_located():
    """Seen through a keyhole of 67°, known to look from one corner."""
    world = room()
    atlas = iv.build(world)
    scan = iv.Scan.from_depth(depth_of(world, POSE), CAMERA, stride=2)
    near = iv.Region.circle((1.3, 1.7), 1.0)
    answer = iv.locate(atlas, scan, region=near)
    assert np.linalg.norm(answer.best.pose.position - POSE.position) < 0.1
