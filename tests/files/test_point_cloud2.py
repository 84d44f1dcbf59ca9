"""PointCloud2 out of bags, in the layouts of three vendors, point by point; and what is refused."""

import numpy as np
import pytest
from tests.support.bag_writer import FORMATS, cloud, odometry, scan, write_bag
from tests.support.cloud_writer import VENDORS, laid_out

from isovist import CloudScan, FileError, InputError, Pose3, read_scan

STAMP = 1700000000.25
RANDOM = np.random.default_rng(4)
COUNT = 96
POINTS = RANDOM.uniform(-20.0, 20.0, (COUNT, 3)).astype("<f4")
AFTER = np.linspace(0.0, 0.1, COUNT)
COLUMNS = {
    **dict(zip("xyz", POINTS.T, strict=True)),
    "intensity": np.arange(COUNT),
    "ring": np.arange(COUNT) % 16,
    "time": AFTER,
    "t": np.round(1e9 * AFTER),
    "timestamp": np.round(1e9 * (STAMP + AFTER)),
}


def read(folder, kind, *args, **options):
    return read_scan(write_bag(folder, [laid_out(STAMP, *args, **options)], kind))


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("rows", [1, 16])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("vendor", VENDORS)
def test_every_layout_gives_the_same_points(tmp_path, kind, vendor, rows, order):
    one = read(tmp_path, kind, COLUMNS, vendor, rows=rows, padding=11, order=order)
    np.testing.assert_array_equal(one.points, POINTS)
    if vendor == "doubles":
        assert (one.intensities, one.times) == (None, None)
        return
    np.testing.assert_array_equal(one.intensities, COLUMNS["intensity"])
    # A moment of today in ns is a double that resolves a quarter of a microsecond.
    np.testing.assert_allclose(one.times, AFTER, atol=1e-6 if vendor == "livox" else 1e-8)


@pytest.mark.slow
def test_points_that_are_missing_take_their_times_along(tmp_path):
    columns = {name: values.copy() for name, values in COLUMNS.items()}
    columns["x"][3] = np.nan
    for name in "xyz":
        columns[name][7] = 0.0
    one = read(tmp_path, "mcap", columns, "ouster", rows=16)
    np.testing.assert_array_equal(one.points, np.delete(POINTS, [3, 7], axis=0))
    np.testing.assert_allclose(one.times, np.delete(AFTER, [3, 7]), atol=1e-8)
    np.testing.assert_array_equal(one.intensities, np.delete(np.arange(COUNT), [3, 7]))


@pytest.mark.slow
def test_moments_in_seconds_are_told_from_moments_in_nanoseconds(tmp_path):
    columns = COLUMNS | {"timestamp": STAMP + AFTER}
    one = read(tmp_path, "bag", columns, "livox")
    np.testing.assert_allclose(one.times, AFTER, atol=1e-6)


@pytest.mark.slow
def test_times_in_no_known_unit_are_left_out(tmp_path):
    assert read(tmp_path, "bag", COLUMNS | {"time": 1e6 * AFTER}, "velodyne").times is None


def nothing(value):
    return {name: np.full(COUNT, value) for name in "xyz"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("messages", "options", "text"),
    [
        (
            [cloud(1.0, POINTS[:, :2], names="xz")],
            {},
            "run.bag has a broken cloud: the field `y` is missing.",
        ),
        (
            [laid_out(1.0, {name: np.empty(0) for name in "xyz"}, "ouster")],
            {},
            "run.bag has no cloud with 50 returns on that topic: of 1 the fullest has 0. Points "
            "that are NaN or at the origin are none.",
        ),
        (
            [laid_out(1.0, nothing(np.nan), "velodyne"), laid_out(1.1, nothing(0.0), "velodyne")],
            {},
            "run.bag has no cloud with 50 returns on that topic: of 2 the fullest has 0. Points "
            "that are NaN or at the origin are none.",
        ),
        (
            [cloud(1.0, POINTS), odometry(1.0, (0.0, 0.0, 0.0))],
            {"scan_topic": "/velodyne_points"},
            "run.bag has no topic '/velodyne_points' of type PointCloud2. It has: /points.",
        ),
        (
            [cloud(1.0, POINTS), scan(1.0)],
            {"scan_topic": "/odom"},
            "run.bag has no topic '/odom' of type LaserScan or PointCloud2. It has: /points, "
            "/scan.",
        ),
        (
            [odometry(1.0, (0.0, 0.0, 0.0))],
            {},
            "run.bag has no topic of type LaserScan or PointCloud2. It has: /odom (Odometry).",
        ),
    ],
)
def test_what_is_no_cloud_is_one_line(tmp_path, messages, options, text):
    with pytest.raises((FileError, InputError)) as error:
        read_scan(write_bag(tmp_path, messages), **options)
    assert str(error.value) == text


def test_data_that_end_too_soon_are_named(tmp_path):
    topic, kind, time, said = laid_out(1.0, COLUMNS, "ouster", rows=16)
    short = said | {"data": said["data"][:-20]}
    path = write_bag(tmp_path, [(topic, kind, time, short)])
    with pytest.raises(FileError) as error:
        read_scan(path)
    assert str(error.value) == "run.bag has a broken cloud: its data are shorter than it says."


@pytest.mark.parametrize(("roll", "pitch"), [(np.pi / 2, 0.0), (0.0, -np.pi / 2), (np.pi, 0.3)])
def test_a_robot_on_its_side_is_refused(roll, pitch):
    tilt = round(float(np.degrees(np.arccos(np.cos(roll) * np.cos(pitch)))))
    with pytest.raises(InputError) as error:
        CloudScan(POINTS, roll=roll, pitch=pitch)
    assert str(error.value) == (
        f"`roll` and `pitch` must tilt the robot by less than 90°, got {tilt}°. A sensor that lies "
        "on its side says so by `T_robot_sensor`."
    )
    assert CloudScan(POINTS, T_robot_sensor=Pose3(roll=roll, pitch=pitch)).roll == 0.0


def test_points_are_brought_to_where_the_sensor_was_at_time_0():
    motion = Pose3(0.3, -0.1, 0.4, 0.05, 0.02, -0.03)
    axis = motion.quaternion[:3] / np.linalg.norm(motion.quaternion[:3])
    angle = 2.0 * np.arccos(motion.quaternion[3])
    times = np.linspace(-0.05, 0.1, COUNT)
    seen = []
    for point, time in zip(POINTS.astype(float), times, strict=True):
        half = 0.5 * angle * time / 0.2
        turn = [*(np.sin(half) * axis), np.cos(half)]
        T = Pose3.from_quaternion(turn, motion.position * time / 0.2)
        seen.append(T.inverse.apply(point))
    one = CloudScan(np.array(seen), times=times, intensities=np.arange(COUNT))
    still = one.straighten(motion, 0.2)
    np.testing.assert_allclose(still.points, POINTS, atol=1e-9)
    assert still.times is None
    np.testing.assert_array_equal(still.intensities, one.intensities)
    assert still.straighten(motion, 0.2) is still
    np.testing.assert_allclose(one.straighten(Pose3(), 0.2).points, one.points)
    with pytest.raises(InputError) as error:
        one.straighten(motion, 0.0)
    assert str(error.value) == "`seconds` must be a positive time in s, got 0."
    with pytest.raises(InputError) as error:
        CloudScan(POINTS, times=[0.0])
    assert str(error.value) == f"`times` must have shape ({COUNT},), got (1,)."
