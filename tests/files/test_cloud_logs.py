"""Logs in space: clouds with odometry out of bags, and folders in the layout of KITTI."""

import numpy as np
import pytest
from tests.support.bag_writer import FORMATS, cloud, link, odometry, quaternion, scan, write_bag

from isovist import FileError, InputError, Pose, Pose3, read_log
from isovist.io import holds_clouds, read_clouds
from isovist.tracking.replay import replay

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
    assert holds_clouds(path)
    log = read_clouds(path)
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
    few = log.take(log.chosen(every=2))
    np.testing.assert_array_equal(few.scan(1).points, POINTS[2])
    assert few.odometry_at(1) == log.odometry_at(2)
    with pytest.raises(InputError) as error:
        log.chosen(held_out=True)
    assert str(error.value) == "This log does not say which of its scans are in the map."


@pytest.mark.slow
def test_clouds_outside_the_odometry_are_counted(tmp_path):
    path = write_bag(tmp_path, [SITS, *WAY[1:], *CLOUDS])
    log = read_clouds(path)
    assert (len(log), log.outside) == (2, 2)
    np.testing.assert_array_equal(log.scan(0).points, POINTS[2])


@pytest.mark.slow
def test_without_odometry_a_bag_has_none(tmp_path):
    log = read_clouds(write_bag(tmp_path, [SITS, *CLOUDS]))
    assert (log.odometry, log.odometry_at(0), log.frame) == (None, None, "base")
    bare = read_clouds(write_bag(tmp_path, CLOUDS, name="bare"))
    assert (bare.odometry, bare.frame, bare.T_robot_sensor) == (None, "lidar", Pose3())
    said = read_clouds(write_bag(tmp_path, CLOUDS, name="said"), T_robot_sensor=Pose(0.3, 0.0, 1.0))
    assert (said.frame, said.T_robot_sensor) == ("robot", Pose3(0.3, 0.0, 1.0))


@pytest.mark.slow
def test_odometry_out_of_transforms_moves_in_space(tmp_path):
    moves = [
        link(10.0, "odom", "base"),
        link(12.0, "odom", "base", (4.0, 0.0, 1.0), quaternion(pitch=0.4)),
    ]
    log = read_clouds(write_bag(tmp_path, [SITS, *moves, *CLOUDS]))
    assert log.frame == "base"
    np.testing.assert_allclose(
        log.odometry_at(2).vector, [2.0, 0.0, 0.0, 0.5, 0.0, 0.2], atol=1e-12
    )


@pytest.mark.slow
def test_scans_of_the_plane_are_no_clouds(tmp_path):
    both = write_bag(tmp_path, [SITS, *WAY, *CLOUDS, scan(10.5, frame="lidar")])
    assert not holds_clouds(both)
    assert holds_clouds(both, "/points")
    assert not holds_clouds(both, "/scan")
    assert not holds_clouds(tmp_path / "drive.log")
    assert len(read_clouds(both)) == 4


JUMP = [
    odometry(10.0, (0.0, 0.0, 0.0)),
    odometry(10.5, (0.5, 0.0, 0.0)),
    odometry(10.52, (12.5, 0.0, 0.0)),
    odometry(12.0, (13.0, 0.0, 0.0)),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("read", "seen"), [(read_log, scan(10.6, frame="lidar")), (read_clouds, CLOUDS[1])]
)
def test_odometry_that_jumps_is_refused(tmp_path, read, seen):
    with pytest.raises(FileError) as error:
        read(write_bag(tmp_path, [SITS, *JUMP, seen]))
    assert str(error.value) == (
        "run.bag: the odometry jumps by 12.0 m within 0.020 s, 0.500 s after its first. It must "
        "not be set back during a log; cut the log there."
    )
    quiet = [odometry(10.0, (0.0, 0.0, 0.0)), odometry(11.0, (0.9, 0.0, 0.0)), WAY[2]]
    assert len(read(write_bag(tmp_path, [SITS, *quiet, seen], name="quiet"))) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("messages", "options", "text"),
    [
        (
            [scan(10.0), *WAY],
            {},
            "run.bag has no topic of type PointCloud2. It has: /odom (Odometry), /scan "
            "(LaserScan).",
        ),
        (
            [*CLOUDS, *WAY],
            {"scan_topic": "/velodyne"},
            "run.bag has no topic '/velodyne' of type PointCloud2. It has: /points.",
        ),
        (
            [SITS, NONE, *WAY],
            {},
            "run.bag has no cloud with 50 returns on that topic: of 1 the fullest has 0. Points "
            "that are NaN or at the origin are none.",
        ),
        ([SITS, ("/points", "cloud", 0.0, None), *WAY], {}, "run.bag has no message on /points."),
        (
            [SITS, CLOUDS[1], CLOUDS[0], *WAY],
            {},
            "run.bag: scan 1 of /points is stamped 0.500 s before the one in front of it. The "
            "stamps of a log must not go back.",
        ),
        (
            [SITS, cloud(30.0, POINTS[0]), *WAY],
            {},
            "run.bag: no scan lies within the odometry. Scans run from 30.000 to 30.000 s, "
            "odometry from 10.000 to 12.000 s. Is it one clock?",
        ),
        (
            [SITS, cloud(10.0, POINTS[0][:, :2], names="xy"), *WAY],
            {},
            "run.bag has a broken cloud: the field `z` is missing.",
        ),
    ],
)
def test_what_is_no_log_in_space_is_one_line(tmp_path, messages, options, text):
    with pytest.raises((FileError, InputError)) as error:
        read_clouds(write_bag(tmp_path, messages), **options)
    assert str(error.value) == text


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


CAMERA = Pose3.from_matrix([[0, -1, 0], [0, 0, -1], [1, 0, 0]], [0.0, -0.1, -0.3])


def test_a_folder_of_kitti_is_read_with_its_truth(tmp_path):
    lidar = [Pose3(), Pose3(1.0, 0.2, 0.1, 0.05), Pose3(2.0, 0.5, 0.2, 0.1, 0.02, 0.01)]
    cameras = [CAMERA @ pose @ CAMERA.inverse for pose in lidar]
    folder = kitti(tmp_path / "00", poses=cameras, calibration=CAMERA)
    assert holds_clouds(folder)
    log = read_clouds(folder)
    assert (len(log), log.odometry) == (3, None)
    np.testing.assert_array_equal(log.scan(1).points, POINTS[1])
    np.testing.assert_array_equal(log.scan(1).intensities, 0.5)
    for k, pose in enumerate(lidar):
        np.testing.assert_allclose(log.truth_at(k).vector, pose.vector, atol=1e-9)
    on = read_clouds(folder, T_robot_sensor=Pose(0.5, 0.0, 0.0))
    np.testing.assert_allclose((on.truth_at(1) @ Pose3(0.5)).vector, lidar[1].vector, atol=1e-9)
    plain = read_clouds(kitti(tmp_path / "01", poses=lidar))
    np.testing.assert_allclose(plain.truth_at(2).vector, lidar[2].vector, atol=1e-9)
    assert read_clouds(kitti(tmp_path / "02")).truth is None


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"clouds": 0}, "00/velodyne has no .bin file with a cloud."),
        (
            {"times": "0.0\n0.1\n"},
            "00: times.txt has 2 lines for 3 clouds. It needs one time in s for each.",
        ),
        ({"times": "0.0\nsoon\n0.2\n"}, "times.txt: line 2 must have 1 number, got 'soon'."),
        ({"times": "0.0\n0.2\n0.1\n"}, "00: times.txt goes back. The stamps of a log must not."),
        (
            {"poses": [Pose3()]},
            "00: poses.txt has 1 lines for 3 clouds. It needs one pose for each.",
        ),
    ],
)
def test_a_folder_that_is_not_whole_is_one_line(tmp_path, options, text):
    folder = kitti(tmp_path / "00", **options)
    with pytest.raises(FileError) as error:
        read_clouds(folder)
    assert str(error.value) == text


def test_a_broken_cloud_or_calibration_is_named(tmp_path):
    folder = kitti(tmp_path / "00", poses=[Pose3()] * 3)
    (folder / "calib.txt").write_text("P0: 1 2 3\n")
    with pytest.raises(FileError) as error:
        read_clouds(folder)
    assert str(error.value) == ("calib.txt has no line `Tr:` with twelve numbers, T_camera_lidar.")
    (folder / "calib.txt").unlink()
    (folder / "poses.txt").write_text((" ".join(["2"] * 12) + "\n") * 3)
    with pytest.raises(FileError) as error:
        read_clouds(folder)
    assert str(error.value) == "poses.txt has a matrix that is no rotation."
    (folder / "poses.txt").unlink()
    log = read_clouds(folder)
    (folder / "velodyne" / "000001.bin").write_bytes(b"123")
    with pytest.raises(FileError) as error:
        log.scan(1)
    assert str(error.value) == (
        "000001.bin has 3 bytes, and a point of KITTI has 16: x, y, z and reflectance, four each."
    )
    with pytest.raises(InputError) as error:
        read_clouds(folder, scan_topic="/points")
    assert str(error.value) == (
        "`scan_topic` and `odometry_topic` choose topics of a bag, and 00 is none."
    )


@pytest.mark.slow
def test_a_log_in_space_is_fed_to_a_tracker(tmp_path):
    log = read_clouds(write_bag(tmp_path, [SITS, *WAY, *CLOUDS]))
    told = []

    class Follower:
        def update(self, odometry, seen, *, time):
            told.append((odometry, len(seen.points), time))

    updates = list(replay(Follower(), log, [0, 2]))
    assert [u.index for u in updates] == [0, 2]
    assert told == [(log.odometry_at(0), 80, 10.0), (log.odometry_at(2), 80, 11.0)]
