"""Logs in space: clouds with odometry out of bags, and folders in the layout of KITTI."""

import numpy as np
import pytest
from tests.support.bag_writer import FORMATS, cloud, link, odometry, quaternion, scan, write_bag
from tests.support.errors import refused
from tests.support.readers import has_point_clouds, read_cloud_log

from isovist import FileError, InputError, Pose, Pose3

RANDOM = np.random.default_rng(2)
POINTS = RANDOM.uniform(-9.0, 9.0, (4, 80, 3)).astype("<f4")
SITS = link(0.0, "base", "lidar", (0.2, 0.1, 0.5), quaternion(yaw=0.3), topic="/tf_static")
WAY = [
    odometry(10.0, (0.0, 0.0, 0.0)),
    odometry(11.0, (2.0, 1.0, 0.0), turn=quaternion(0.2, -0.1, 3.0)),
    odometry(12.0, (2.0, 3.0, 0.0), turn=quaternion(0.0, 0.0, -3.0)),
]
CLOUDS = [cloud(10.0 + 0.5 * k, points) for k, points in enumerate(POINTS)]
NONE = cloud(10.2, np.full((80, 3), np.nan))


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_clouds_have_the_odometry_of_their_moments(tmp_path, kind):
    path = write_bag(tmp_path, [SITS, *WAY, CLOUDS[0], NONE, *CLOUDS[1:]], kind)
    assert has_point_clouds(path)
    log = read_cloud_log(path)
    assert (len(log), log.blind, log.outside, log.frame) == (4, 1, 0, "base")
    np.testing.assert_allclose(log.times, [10.0, 10.5, 11.0, 11.5])
    for index in (2, 0, 1, 3, 3):  # in any order
        one = log.scan(index)
        np.testing.assert_array_equal(one.points, POINTS[index])
        np.testing.assert_allclose(one.T_robot_sensor.position, [0.2, 0.1, 0.5])
        assert one.frame == "base"
    np.testing.assert_allclose(log.odometry_at(1).position, [1.0, 0.5, 0.0])
    turn = Pose3.from_quaternion(quaternion(0.2, -0.1, 3.0), np.zeros(3))
    half = log.odometry_at(1)
    np.testing.assert_allclose((half @ half).rotation, turn.rotation, atol=1e-9)
    np.testing.assert_allclose(log.odometry_at(2).rotation, turn.rotation, atol=1e-9)
    few = log.take(log.select(every=2))
    np.testing.assert_array_equal(few.scan(1).points, POINTS[2])
    assert few.odometry_at(1) == log.odometry_at(2)
    with refused(code="missing"):
        log.select(held_out=True)


@pytest.mark.slow
def test_clouds_outside_the_odometry_are_counted(tmp_path):
    path = write_bag(tmp_path, [SITS, *WAY[1:], *CLOUDS])
    log = read_cloud_log(path)
    assert (len(log), log.outside) == (2, 2)
    np.testing.assert_array_equal(log.scan(0).points, POINTS[2])
    alone = read_cloud_log(write_bag(tmp_path, [SITS, WAY[1], *CLOUDS], name="alone"))
    assert (len(alone), alone.outside) == (1, 3)
    np.testing.assert_allclose(alone.odometry_at(0).position, [2.0, 1.0, 0.0])


@pytest.mark.slow
def test_without_odometry_a_bag_has_none(tmp_path):
    log = read_cloud_log(write_bag(tmp_path, [SITS, *CLOUDS]))
    assert (log.odometry, log.odometry_at(0), log.frame) == (None, None, "base")
    bare = read_cloud_log(write_bag(tmp_path, CLOUDS, name="bare"))
    assert (bare.odometry, bare.frame, bare.T_robot_sensor) == (None, "lidar", Pose3())
    said = read_cloud_log(
        write_bag(tmp_path, CLOUDS, name="said"), T_robot_sensor=Pose(0.3, 0.0, 1.0)
    )
    assert (said.frame, said.T_robot_sensor) == ("robot", Pose3(0.3, 0.0, 1.0))


@pytest.mark.slow
def test_odometry_out_of_transforms_moves_in_space(tmp_path):
    moves = [
        link(10.0, "odom", "base"),
        link(12.0, "odom", "base", (4.0, 0.0, 1.0), quaternion(pitch=0.4)),
    ]
    log = read_cloud_log(write_bag(tmp_path, [SITS, *moves, *CLOUDS]))
    assert log.frame == "base"
    np.testing.assert_allclose(
        log.odometry_at(2).vector, [2.0, 0.0, 0.0, 0.5, 0.0, 0.2], atol=1e-12
    )


@pytest.mark.slow
def test_scans_of_the_plane_are_no_clouds(tmp_path):
    both = write_bag(tmp_path, [SITS, *WAY, *CLOUDS, scan(10.5, frame="lidar")])
    assert not has_point_clouds(both)
    assert has_point_clouds(both, "/points")
    assert not has_point_clouds(both, "/scan")
    assert not has_point_clouds(tmp_path / "drive.log")
    assert len(read_cloud_log(both)) == 4


JUMP = [
    odometry(10.0, (0.0, 0.0, 0.0)),
    odometry(10.5, (0.5, 0.0, 0.0)),
    odometry(10.52, (12.5, 0.0, 0.0)),
    odometry(12.0, (13.0, 0.0, 0.0)),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("messages", "topic", "code", "field"),
    [
        ([SITS, *JUMP, CLOUDS[1]], None, "invalid_file", None),
        ([scan(10.0), *WAY], None, "invalid_file", None),
        ([*CLOUDS, *WAY], "/velodyne", "invalid_value", None),
        ([SITS, NONE, *WAY], None, "empty", None),
        ([SITS, ("/points", "cloud", 0.0, None), *WAY], None, "empty", None),
        ([SITS, CLOUDS[1], CLOUDS[0], *WAY], None, "invalid_file", None),
        ([SITS, cloud(30.0, POINTS[0]), *WAY], None, "invalid_file", None),
        ([SITS, *WAY, CLOUDS[0], cloud(10.5, POINTS[1], "roof")], None, "invalid_file", None),
        ([SITS, cloud(10.0, POINTS[0][:, :2], names="xy"), *WAY], None, "invalid_file", "z"),
    ],
)
def test_what_is_no_log_in_space_is_refused(tmp_path, messages, topic, code, field):
    path = write_bag(tmp_path, messages)
    with refused(field, code, InputError if topic else FileError):
        read_cloud_log(path, scan_topic=topic)


@pytest.mark.slow
def test_a_bag_that_became_shorter_is_said_and_one_in_memory_may_go(tmp_path):
    path = write_bag(tmp_path, [SITS, *WAY, *CLOUDS])
    log = read_cloud_log(path)
    held = log.in_memory()
    write_bag(tmp_path, [SITS, *WAY, CLOUDS[0]], name="other").replace(path)
    np.testing.assert_array_equal(log.scan(0).points, POINTS[0])
    with refused(code="invalid_file", kind=FileError):
        log.scan(3)
    np.testing.assert_array_equal(held.scan(3).points, POINTS[3])


def kitti(folder, *, poses=None, calibration=None, clouds=3, times="0.0\n0.1\n0.2\n"):
    """A folder in that layout."""
    (folder / "velodyne").mkdir(parents=True)
    for k in range(clouds):
        rows = np.column_stack([POINTS[k], np.full(80, 0.5)]).astype("<f4")
        (folder / "velodyne" / f"{k:06}.bin").write_bytes(rows.tobytes())
    if times is not None:
        (folder / "times.txt").write_text(times)
    if poses is not None:
        rows = [np.column_stack([p.rotation, p.position]).ravel() for p in poses]
        (folder / "poses.txt").write_text("\n".join(" ".join(map(str, r)) for r in rows) + "\n")
    if calibration is not None:
        row = np.column_stack([calibration.rotation, calibration.position]).ravel()
        text = "P0: 1 0 0 0 0 1 0 0 0 0 1 0\nTr: " + " ".join(map(str, row)) + "\n"
        (folder / "calib.txt").write_text(text)
    return folder


TWOS = " ".join(["2"] * 12)
CAMERA = Pose3.from_matrix([[0, -1, 0], [0, 0, -1], [1, 0, 0]], [0.0, -0.1, -0.3])


def test_a_folder_of_kitti_is_read_with_its_truth(tmp_path):
    lidar = [Pose3(), Pose3(1.0, 0.2, 0.1, 0.05), Pose3(2.0, 0.5, 0.2, 0.1, 0.02, 0.01)]
    cameras = [CAMERA @ pose @ CAMERA.inverse for pose in lidar]
    folder = kitti(tmp_path / "00", poses=cameras, calibration=CAMERA)
    assert has_point_clouds(folder)
    log = read_cloud_log(folder)
    assert (len(log), log.odometry) == (3, None)
    np.testing.assert_array_equal(log.scan(1).points, POINTS[1])
    np.testing.assert_array_equal(log.scan(1).intensities, 0.5)
    for k, pose in enumerate(lidar):
        np.testing.assert_allclose(log.truth_at(k).vector, pose.vector, atol=1e-9)
    on = read_cloud_log(folder, T_robot_sensor=Pose(0.5, 0.0, 0.0))
    np.testing.assert_allclose((on.truth_at(1) @ Pose3(0.5)).vector, lidar[1].vector, atol=1e-9)
    plain = read_cloud_log(kitti(tmp_path / "01", poses=lidar))
    np.testing.assert_allclose(plain.truth_at(2).vector, lidar[2].vector, atol=1e-9)
    assert read_cloud_log(kitti(tmp_path / "02")).truth is None


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"clouds": 0}, "empty"),
        ({"times": None}, "not_found"),
        ({"times": "0.0\n0.1\n"}, "invalid_file"),
        ({"times": "0.0\nsoon\n0.2\n"}, "invalid_file"),
        ({"times": "0.0\n0.1 0.1\n0.2\n"}, "invalid_file"),
        ({"times": "0.0\nnan\n0.2\n"}, "invalid_file"),
        ({"times": "0.0\n0.2\n0.1\n"}, "invalid_file"),
        ({"poses": [Pose3()]}, "invalid_file"),
        ({"calib.txt": "P0: 1 2 3\n"}, "invalid_file"),
        ({"calib.txt": "Tr: 1 2 3\n"}, "invalid_file"),
        ({"calib.txt": f"Tr: {TWOS}\n"}, "invalid_file"),
        ({"poses.txt": 3 * f"{TWOS}\n"}, "invalid_file"),
    ],
)
def test_a_folder_that_is_not_whole_is_refused(tmp_path, options, code):
    texts = {name: text for name, text in options.items() if name.endswith(".txt")}
    whole = {"poses": [Pose3()] * 3} if texts else options
    folder = kitti(tmp_path / "00", **whole)
    for name, text in texts.items():
        (folder / name).write_text(text)
    with refused(code=code, kind=FileError):
        read_cloud_log(folder)


def test_a_broken_cloud_is_refused_when_it_is_read(tmp_path):
    folder = kitti(tmp_path / "00")
    log = read_cloud_log(folder)
    for data in (b"123", bytes(16)):
        (folder / "velodyne" / "000001.bin").write_bytes(data)
        with refused(code="invalid_file", kind=FileError):
            log.scan(1)
    with refused("scan_topic", "conflict"):
        read_cloud_log(folder, scan_topic="/points")
