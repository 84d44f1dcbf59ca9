"""Depth images as scans in space."""

import json

import numpy as np
import pytest
from PIL import Image

import isovist as iv
from isovist import CloudScan, FileError, InputError, Pose3

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
    answer = iv.locate(atlas, scan, prior=near)
    assert np.linalg.norm(answer.best.pose.position - POSE.position) < 0.1


def test_files_of_depths_are_scans(tmp_path):
    depth = np.round(1000.0 * depth_of(room(), POSE)).astype(np.uint16)
    plain = iv.Scan.from_depth(depth, CAMERA)
    Image.fromarray(depth).save(tmp_path / "view.png")
    names = dict(zip(("fx", "fy", "cx", "cy"), CAMERA, strict=True))
    (tmp_path / "view.json").write_text(json.dumps(names))
    np.savez(tmp_path / "view.npz", depth=depth, intrinsics=CAMERA)
    for name in ("view.png", "view.npz"):
        np.testing.assert_array_equal(iv.read_scan(tmp_path / name).points, plain.points)


@pytest.mark.parametrize(
    ("image", "camera", "text"),
    [
        (
            np.full(SIZE, 2500.0),
            CAMERA,
            "The middle depth of the image would be 2500 m; numbers with a point are in m. "
            "Convert them.",
        ),
        (
            np.full(SIZE, 3, np.uint16),
            CAMERA,
            "The middle depth of the image would be 0.003 m; whole numbers are in mm. "
            "Convert them.",
        ),
        (np.zeros(SIZE), CAMERA, "The depth image has no depth above 0: every pixel is missing."),
        (
            np.ones(SIZE),
            (0.6, 0.6, 0.5, 0.5),
            "`intrinsics` 0.6, 0.6, 0.5, 0.5 do not fit an image of 160 × 120 pixels: focal "
            "lengths and centre are in pixels.",
        ),
        (
            np.ones(SIZE),
            None,
            "A depth image needs `intrinsics`: fx, fy, cx and cy in pixels, got None.",
        ),
        (
            np.ones(SIZE),
            (100.0, 100.0),
            "`intrinsics` must be fx, fy, cx and cy in pixels, or the matrix of the camera, shape "
            "(3, 3), got shape (2,).",
        ),
        (
            np.ones(5),
            CAMERA,
            "A depth image must be a table of rows and columns of numbers, got float64 of shape "
            "(5,).",
        ),
    ],
)
def test_odd_depths_are_refused(image, camera, text):
    with pytest.raises(InputError) as caught:
        iv.Scan.from_depth(image, camera)
    assert str(caught.value) == text


def test_files_without_intrinsics_are_one_line(tmp_path):
    depth = np.full(SIZE, 2000, np.uint16)
    Image.fromarray(depth).save(tmp_path / "view.png")
    np.savez(tmp_path / "bare.npz", depth=depth)
    for name, text in (
        (
            "view.png",
            "view.png: a depth image needs intrinsics. Put `fx`, `fy`, `cx` and `cy` in pixels "
            "into view.json beside it.",
        ),
        (
            "bare.npz",
            "bare.npz: `intrinsics` is missing. A depth image needs fx, fy, cx, cy in pixels.",
        ),
    ):
        with pytest.raises(FileError) as caught:
            iv.read_scan(tmp_path / name)
        assert str(caught.value) == text
    Image.fromarray(np.full(SIZE, 90, np.uint8)).save(tmp_path / "grey.png")
    (tmp_path / "grey.json").write_text('{"fx": 1}')
    with pytest.raises(FileError, match=r"^grey.png: a depth image has 16 bits per pixel, in mm"):
        iv.read_scan(tmp_path / "grey.png")
