"""Logs out of CARMEN files and sets of scans, the choice of scans, and maps that they make."""

import bz2
import gzip
import math

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.small_files import ODOM, OFFSET, flaser, laid, npz, robotlaser, scan_set, way

import isovist as iv
from isovist import Log, OccupancyMap, Pose, SegmentMap, read_log, read_map
from isovist.io.settings import FileLimits


def carmen(folder, *lines, name="log.clf"):
    """A log of such lines, as it is read."""
    return read_log(laid(folder / name, "".join(lines)))


def driven(laser, robot, head=""):
    """A log of such poses."""
    pairs = enumerate(zip(laser, robot, strict=True))
    return head + "".join(flaser(laser=a, robot=b, time=5.0 + k) for k, (a, b) in pairs)


def moved(poses, x):
    return np.array((Pose.from_vector(poses) @ Pose(x)).vector)


def random_rows(count, beams, longest=20.0):
    return np.random.default_rng(2).uniform(1.0, longest, (count, beams)).round(2)


@pytest.mark.parametrize(("suffix", "pack"), [("clf", bytes), ("gz", gzip.compress),
                                              ("bz2", bz2.compress)])  # fmt: skip
def test_scans_poses_and_times_are_read(tmp_path, suffix, pack):
    rows, robot = random_rows(3, 180), way(3)
    laser = robot + np.arange(3)[:, None] * [0.1, -0.1, 0.02]
    lines = ["# a comment\n", ODOM, "\n"]
    for k, row in enumerate(rows):
        lines += [flaser(row, laser[k], robot[k], time=5.0 + k), "NEFF 0.5\n"]
    shares = []
    path = laid(tmp_path / f"log.{suffix}", pack("".join(lines).encode()))
    log = read_log(path, progress=shares.append)
    assert [log.scan(k).ranges.tolist() for k in range(len(log))] == [
        row.astype(np.float32).tolist() for row in rows
    ]
    np.testing.assert_allclose(log.truth, laser)
    np.testing.assert_allclose(log.odometry, robot)
    assert log.times.tolist() == [5.0, 6.0, 7.0]
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    ("beams", "last"), [(180, 89.0), (360, 89.5), (181, 90.0), (361, 90.0), (91, 90.0), (1, -90.0)]
)
def test_beams_point_where_the_number_of_beams_says(tmp_path, beams, last):
    degrees = np.degrees(carmen(tmp_path, flaser(random_rows(1, beams)[0])).scan(0).bearings)
    np.testing.assert_allclose(degrees, np.linspace(-90.0, last, beams), atol=1e-9)


def test_readings_that_pile_up_are_the_maximum(tmp_path):
    rows = random_rows(5, 180)
    rows[:, ::20] = 81.83
    rows[0, 3] = 81.91
    log = carmen(tmp_path, *map(flaser, rows))
    assert log.scan(0).range_max == np.float32(0.99 * 81.91)
    assert (~log.scan(0).valid).sum() == 10
    # Neither few readings nor all of them nor some just below are a maximum.
    for count, below, most in ((10, 2, 19.8), (9, 0, math.inf), (10, 3, math.inf), (90, 0, 19.8),
                               (91, 0, math.inf)):  # fmt: skip
        row = np.full(181, 3.0)
        row[:count], row[count : count + below] = 20.0, 19.7
        assert carmen(tmp_path, flaser(row)).scan(0).range_max == np.float32(most)
    assert carmen(tmp_path, flaser(random_rows(1, 180)[0])).scan(0).range_max == math.inf


def test_the_log_may_say_the_maximum(tmp_path):
    parameter = "PARAM robot_front_laser_max 15.5 1.0 host 1.0\n"
    assert carmen(tmp_path, parameter, flaser(random_rows(1, 180)[0])).scan(0).range_max == 15.5


def test_robot_and_raw_lasers_are_read_when_they_are_alone(tmp_path):
    rows = random_rows(2, 5)
    place = (Pose(1.1, 2.1, 0.6).inverse @ Pose(1.0, 2.0, 0.5)).vector
    log = carmen(tmp_path, *map(robotlaser, rows))
    np.testing.assert_allclose(log.scan(1).ranges, rows[1], rtol=1e-6)
    assert log.scan(0).bearings.tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    np.testing.assert_allclose(log.T_robot_sensor.vector, place, atol=1e-12)
    assert log.odometry.tolist() == 2 * [[1.1, 2.1, 0.6]]
    assert log.times.tolist() == [7.5, 7.5]
    assert log.scan(0).range_max == 30.0
    raw = [robotlaser(row, "RAWLASER1") for row in rows]
    other = ODOM.replace("1 2 3", "4 5 1")
    lines = [OFFSET, ODOM, raw[0], other, raw[1]]
    odometry = carmen(tmp_path, *lines).odometry
    np.testing.assert_allclose(moved(odometry, -0.04), [[1, 2, 3], [4, 5, 1]])
    # FLASER goes before ROBOTLASER1, and that before RAWLASER1.
    both = carmen(tmp_path, *lines, robotlaser([9.0]), flaser(random_rows(1, 180)[0]))
    assert len(both.scan(0).ranges) == 180
    assert len(carmen(tmp_path, *lines, robotlaser([9.0])).scan(0).ranges) == 1


def test_a_laser_ahead_of_the_robot_keeps_its_place(tmp_path):
    for head in (OFFSET, ""):
        log = carmen(tmp_path, driven(moved(way(), -0.04), way(), head))
        np.testing.assert_allclose(log.odometry, way())
        np.testing.assert_allclose(log.T_robot_sensor.vector, [-0.04, 0.0, 0.0], atol=1e-9)
        assert log.truth is None
        assert log.times.tolist() == [5.0, 6.0, 7.0, 8.0, 9.0]
        assert log.scan(2).T_robot_sensor == log.T_robot_sensor


def test_a_corrected_pose_is_the_truth(tmp_path):
    corrected = way() + np.arange(5)[:, None] * [0.1, -0.1, 0.02]
    log = carmen(tmp_path, driven(corrected, way(), OFFSET))
    np.testing.assert_allclose(log.odometry, way())
    np.testing.assert_allclose(moved(log.truth, -0.04), corrected, atol=1e-12)
    assert carmen(tmp_path, driven(corrected, way())).T_robot_sensor == Pose()
    # One bad line makes none.
    laser = moved(way(20), 0.1)
    laser[7, 0] += 3.0
    log = carmen(tmp_path, driven(laser, way(20)))
    assert log.truth is None
    np.testing.assert_allclose(log.T_robot_sensor.vector, [0.1, 0.0, 0.0], atol=1e-12)


def test_one_pose_said_twice_is_that_of_the_laser(tmp_path):
    log = carmen(tmp_path, driven(way(), way(), OFFSET))
    assert (log.T_robot_sensor, log.truth) == (Pose(x=-0.04), None)
    np.testing.assert_allclose(moved(log.odometry, -0.04), way())
    np.testing.assert_allclose(carmen(tmp_path, driven(way(), way())).odometry, way())


def test_the_place_of_the_sensor_may_be_said(tmp_path):
    place = Pose(0.3, 0.1, 0.2)
    path = laid(tmp_path / "log.clf", driven(way(), way(), OFFSET))
    assert read_log(path, T_robot_sensor=place).T_robot_sensor == place
    log = read_log(laid(tmp_path / "log.npz", scan_set()), T_robot_sensor=place)
    assert log.scan(0).T_robot_sensor == place
    truth = Pose.from_vector(log.truth) @ place
    np.testing.assert_allclose(truth.vector, way(3)[[0, 2]], atol=1e-12)
    assert log.odometry.tolist() == (way(3) + 1.0)[[0, 2]].tolist()


def test_stamps_that_jump_back_do_not_change_the_order_of_lines(tmp_path):
    times = [5.0, 6.0, 5.5]
    log = carmen(
        tmp_path, *(flaser(laser=p, robot=p, time=t) for p, t in zip(way(3), times, strict=True))
    )
    assert log.times.tolist() == times
    np.testing.assert_allclose(log.odometry, way(3))


@pytest.mark.slow
def test_a_long_log_is_read_in_blocks_with_progress_and_counts_its_lines(tmp_path):
    lines, shares = b"x\n" * 700_000, []
    path = laid(tmp_path / "log.gz", gzip.compress(lines + 2 * flaser().encode() + lines, 1))
    assert len(read_log(path, progress=shares.append)) == 2
    assert len(shares) == 3
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    laid(path, gzip.compress(lines + flaser().encode() + lines + b"FLASER far\n", 1))
    with refused(code="invalid_file", kind=iv.FileError) as caught:
        read_log(path)
    assert " 1400002:" in str(caught.value)


@pytest.mark.parametrize(
    ("limit", "most", "code"),
    [("carmen_numbers", 100, "invalid_file"), ("carmen_bytes", 1000, "too_large")],
)  # fmt: skip
def test_what_a_log_may_hold_is_bounded(tmp_path, monkeypatch, limit, most, code):
    line = flaser()
    count = 11 if limit == "carmen_numbers" else 1000 // len(line)
    path = laid(tmp_path / "log.gz", gzip.compress(count * line.encode()))
    monkeypatch.setattr("isovist.io.logs.carmen.LIMITS", FileLimits(**{limit: most}))
    assert len(read_log(path)) == count
    laid(path, gzip.compress((count + 1) * line.encode()))
    with refused(code=code, kind=iv.FileError):
        read_log(path)


def test_a_set_of_scans_is_read_without_its_blind_scans(tmp_path):
    path = tmp_path / "scans.npz"
    log = read_log(laid(path, scan_set()))
    assert (len(log), log.blind, log.outside) == (2, 1, 0)
    assert log.times.tolist() == [5.0, 7.0]
    np.testing.assert_allclose(log.truth, way(3)[[0, 2]])
    assert log.held_out.tolist() == [False, True]
    assert log.T_robot_sensor == Pose()
    assert log.scan(0).bearings.tolist() == [-0.5, 0.0, 0.5]
    assert log.scan(0).ranges.tolist() == [1.0, 2.5, 0.0]
    assert log.scan(0).valid.tolist() == [True, True, False]
    # A reading at the largest range is missing, also when both are rounded to 4 bytes.
    assert log.scan(1).valid.tolist() == [True, False, True]
    limit = scan_set(ranges_cm=np.full((3, 3), 2999) - [0, 1, 2], range_max=29.99)
    assert read_log(laid(path, limit)).scan(0).valid.tolist() == [False, True, True]
    assert not log.readings.flags.writeable
    assert log.readings.dtype == np.float32


@pytest.mark.parametrize(("unit", "scale"), [("m", 1), ("cm", 100), ("mm", 1000)])
def test_every_unit_is_turned_into_metres_and_a_prefix_chooses_a_sensor(tmp_path, unit, scale):
    metres = np.array([[1.23, 4.56], [7.89, 0.5], [1.0, 2.0]])
    stored = metres if unit == "m" else (metres * scale).round().astype(np.uint16)
    left_out = {"ranges_cm": None, "range_max": None, "in_map_split": None}
    path = laid(tmp_path / "scans.npz", scan_set("nav_", **left_out | {f"ranges_{unit}": stored}))
    log = read_log(path, prefix="nav_")
    np.testing.assert_array_equal(log.readings.reshape(3, 2), metres.astype(np.float32))
    assert log.held_out is None
    assert log.scan(0).range_max == math.inf
    with refused(code="invalid_file", kind=iv.FileError):
        read_log(path, prefix="sec_")
    with refused(code="invalid_file", kind=iv.FileError):
        read_log(path)


def straight(count, held_out=None):
    return Log(
        times=np.arange(float(count)), odometry=np.zeros((count, 3)),
        readings=np.ones(count, dtype=np.float32), starts=np.arange(count + 1),
        beams=np.tile([0.0, 0.0, 0.0, math.inf], (count, 1)), held_out=held_out,
    )  # fmt: skip


def test_scans_are_chosen_by_number():
    log = straight(10, np.arange(10) % 2 == 1)
    assert log.select().tolist() == list(range(10))
    assert log.select(every=4, start=1).tolist() == [1, 5, 9]
    assert log.select(start=2, stop=7, held_out=True).tolist() == [3, 5]
    assert log.select(every=2, held_out=True).tolist() == [1, 5, 9]
    assert log.select(start=9, stop=10).tolist() == [9]


@pytest.mark.parametrize(
    ("options", "held_out", "field", "code"),
    [
        ({"every": 0}, None, "every", "invalid_value"),
        *[(bounds, None, "start", "invalid_value") for bounds in
          ({"start": 10}, {"start": -1}, {"start": 3, "stop": 3}, {"stop": 11})],
        ({"held_out": True}, None, None, "missing"),
        ({"held_out": True}, np.zeros(10, dtype=np.bool_), None, "empty"),
    ],
)  # fmt: skip
def test_a_choice_that_cannot_be_made_is_said(options, held_out, field, code):
    with refused(field, code):
        straight(10, held_out).select(**options)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"odometry": np.zeros((2, 3))}, "odometry"),
        ({"truth": np.zeros((3, 2))}, "truth"),
        ({"times": np.full(3, np.nan)}, "times"),
        ({"starts": np.arange(5)}, "starts"),
        ({"starts": np.arange(4) // 2}, "starts"),
        *[({"sweep": sweep}, "sweep") for sweep in (-0.1, 1.0, math.nan)],
    ],
)
def test_a_log_that_does_not_fit_together_is_said(changes, field):
    good = straight(3)
    parts = {name: getattr(good, name) for name in ("times", "odometry", "readings", "starts")}
    with refused(field):
        Log(**{**parts, "beams": good.beams, **changes})


@pytest.mark.parametrize("step", [0.02, -0.02])
def test_a_sweep_straightens_the_wall_that_a_moving_sensor_bent(tmp_path, step):
    """Beams end at the wall x = 5 m, each as seen from where the sensor was at its moment."""
    sweep, place, beams = 0.1, Pose(0.3, 0.1, 0.2), 51
    speed, rate = 1.5, 0.8

    def robot(time):
        """Drives a circle at an even pace."""
        turn = rate * time
        return Pose(speed / rate * math.sin(turn), speed / rate * (1.0 - math.cos(turn)), turn)

    times = np.array([0.0, 0.1, 0.2])
    bearings = -25 * step + step * np.arange(beams)
    rows = []
    for middle in times:
        moments = middle + sweep * (np.arange(beams) / (beams - 1) - 0.5)
        sensors = [robot(moment) @ place for moment in moments]
        rows.append(
            [(5.0 - T.x) / math.cos(T.yaw + b) for T, b in zip(sensors, bearings, strict=True)]
        )
    told = {"angle_min": bearings[0], "angle_inc": step, "t": times, "pose": np.zeros((3, 3))}
    odometry = np.array([robot(time).vector for time in times])
    path = laid(tmp_path / "set.npz", npz(ranges_m=np.array(rows), odom=odometry, **told))
    bent, still = (read_log(path, T_robot_sensor=place, sweep=some) for some in (0.0, sweep))
    for index in range(3):
        T = robot(times[index]) @ place
        walls = [T.apply(log.scan(index).endpoints)[:, 0] for log in (bent, still)]
        off = [float(np.abs(wall - 5.0).max()) for wall in walls]
        assert off[0] > 0.1
        assert off[1] < 0.003
        assert still.scan(index).T_robot_sensor == place
    jumps = laid(path, scan_set(t=np.array([5.0, 6.0, 5.0])))
    with refused(code="conflict"):
        read_log(jumps, sweep=0.1)


BEARINGS = -np.pi / 2 + np.arange(180) * np.pi / 180


def seen(pose):
    """Ranges of a lidar in a room, in cm as a log has them."""
    angles = BEARINGS + pose[2]
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return SegmentMap.room(6.0, 4.0).cast(pose[:2], directions).ranges.round(2)


def scan_lines(truths, odometry):
    """FLASER lines of what is seen from true poses, beside their odometry."""
    pairs = enumerate(zip(truths, odometry, strict=True))
    return "".join(flaser(seen(truth), truth, odom, float(k)) for k, (truth, odom) in pairs)


def test_a_corrected_log_or_a_set_of_scans_becomes_a_ros_map(tmp_path, typed):
    truths = [(1.0 + 0.2 * k, 2.0, 0.3 * k) for k in range(20)]
    drifted = [(x, y + 0.05 * k, yaw) for k, (x, y, yaw) in enumerate(truths)]
    log, out = tmp_path / "room.log", tmp_path / "map.yaml"
    laid(log, scan_lines(truths, drifted))
    code, told, _ = typed("map", "make", log, "-o", out)
    assert not code
    world = read_map(out)
    for number in (*world.shape, f"{world.free_area:.0f}", 20):
        assert str(number) in told
    assert abs(world.free_area - 24.0) < 2.0
    np.testing.assert_allclose(world.bounds, [[0.0, 0.0], [6.0, 4.0]], atol=0.25)
    scans = [iv.Scan(BEARINGS, seen(truth)) for truth in truths]
    laid(tmp_path / "room.npz", npz(ranges_m=[scan.ranges for scan in scans], pose=truths,
         angle_min=-np.pi / 2, angle_inc=np.pi / 180))  # fmt: skip
    coarse = tmp_path / "coarse.yaml"
    assert typed("map", "make", tmp_path / "room.npz", "-o", coarse, "--resolution", 0.1)[0] is None
    assert read_map(coarse).resolution == 0.1
    made = OccupancyMap.from_scans(scans, np.array(truths))
    np.testing.assert_array_equal(made.cells, world.cells)
    laid(tmp_path / "raw.log", scan_lines(truths, truths))
    (tmp_path / "drive").mkdir()
    for name in ("raw.log", "run.bag", "drive", "scan.json"):
        assert typed("map", "make", tmp_path / name, "-o", tmp_path / "none.yaml")[0] == 2
    assert typed("map", "make", log, "-o", tmp_path / "none.png")[0] == 2
