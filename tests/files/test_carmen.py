"""CARMEN logs: angles, poses, the maximum of the sensor, and broken lines."""

import bz2
import gzip
import math

import numpy as np
import pytest

from isovist import FileError, InputError
from isovist.io import read_carmen


def flaser(ranges, pose=(1.0, 2.0, 0.5), odometry=(1.1, 2.1, 0.6), time=7.5) -> str:
    words = ["FLASER", len(ranges), *ranges, *pose, *odometry, time, "nohost", time]
    return " ".join(str(word) for word in words) + "\n"


def robotlaser(ranges, kind="ROBOTLASER1", maximum=30.0) -> str:
    head = [kind, 0, -1.0, 2.0, 0.5, maximum, 0.01, 0, len(ranges), *ranges, 2, 9, 9]
    poses = [1.0, 2.0, 0.5, 1.1, 2.1, 0.6, 0.3, 0.1, 0.5, 0.5, 0.0]
    tail = [7.5, "nohost", 7.5]
    words = head + (poses if kind == "ROBOTLASER1" else []) + tail
    return " ".join(str(word) for word in words) + "\n"


def write(folder, *lines: str, name="log.clf"):
    path = folder / name
    path.write_text("".join(lines))
    return path


def said(path) -> str:
    with pytest.raises(FileError) as error:
        read_carmen(path)
    return str(error.value)


def random_rows(count: int, beams: int, longest=20.0):
    return np.random.default_rng(2).uniform(1.0, longest, (count, beams)).round(2)


@pytest.mark.parametrize("pack", [None, gzip, bz2])
def test_scans_poses_and_times_are_read(tmp_path, pack):
    rows = random_rows(3, 180)
    lines = ["# a comment\n", "ODOM 1 2 3 0 0 0 1.0 host 1.0\n", "\n"]
    for k, row in enumerate(rows):
        lines += [flaser(row, (k, 2 * k, 0.1 * k), (k + 1, 0, 0), time=5.0 + k), "NEFF 0.5\n"]
    path = write(tmp_path, *lines)
    if pack:
        data = path.read_bytes()
        path = tmp_path / ("log.gz" if pack is gzip else "log.bz2")
        path.write_bytes(pack.compress(data))
    log = read_carmen(path)
    assert len(log) == 3
    assert log.ranges.tolist() == rows.tolist()
    assert log.poses.tolist() == [[0, 0, 0], [1, 2, 0.1], [2, 4, 0.2]]
    assert log.odometry.tolist() == [[1, 0, 0], [2, 0, 0], [3, 0, 0]]
    assert log.times.tolist() == [5.0, 6.0, 7.0]
    assert not log.ranges.flags.writeable
    scans = [log.scan(k) for k in range(len(log))]
    assert len(scans) == 3
    assert scans[2].ranges.tolist() == rows[2].tolist()


@pytest.mark.parametrize(
    ("beams", "last"), [(180, 89.0), (360, 89.5), (181, 90.0), (361, 90.0), (91, 90.0)]
)
def test_beams_point_where_the_number_of_beams_says(tmp_path, beams, last):
    log = read_carmen(write(tmp_path, flaser(random_rows(1, beams)[0])))
    degrees = np.degrees(log.bearings)
    assert degrees[0] == -90.0
    assert math.isclose(degrees[-1], last)
    assert np.allclose(np.diff(degrees), (last + 90.0) / (beams - 1))


def test_readings_that_pile_up_are_the_maximum(tmp_path):
    rows = random_rows(5, 180)
    rows[:, ::20] = 81.83
    rows[0, 3] = 81.91
    log = read_carmen(write(tmp_path, *map(flaser, rows)))
    assert math.isclose(log.range_max, 0.99 * 81.91)
    assert (~log.scan(0).valid).sum() == 10
    assert log.usable.all()


def test_readings_that_do_not_pile_up_are_all_returns(tmp_path):
    assert read_carmen(write(tmp_path, flaser(random_rows(1, 180)[0]))).range_max == math.inf
    round_room = np.full(180, 3.0)
    assert read_carmen(write(tmp_path, flaser(round_room))).range_max == math.inf


def test_the_log_may_say_the_maximum(tmp_path):
    parameter = "PARAM robot_front_laser_max 15.5 1.0 host 1.0\n"
    log = read_carmen(write(tmp_path, parameter, flaser(random_rows(1, 180)[0])))
    assert log.range_max == 15.5


def test_robot_and_raw_lasers_are_read_when_they_are_alone(tmp_path):
    rows = random_rows(2, 5)
    log = read_carmen(write(tmp_path, *map(robotlaser, rows)))
    assert log.ranges.tolist() == rows.tolist()
    assert log.bearings.tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert log.poses.tolist() == 2 * [[1.0, 2.0, 0.5]]
    assert log.odometry.tolist() == 2 * [[1.1, 2.1, 0.6]]
    assert log.times.tolist() == [7.5, 7.5]
    assert log.range_max == 30.0
    raw = [robotlaser(row, "RAWLASER1") for row in rows]
    odom = ["ODOM 1 2 3 0 0 0 1.0 host 1.0\n", "ODOM 4 5 6 0 0 0 2.0 host 2.0\n"]
    log = read_carmen(write(tmp_path, odom[0], raw[0], odom[1], raw[1]))
    assert log.poses.tolist() == [[1, 2, 3], [4, 5, 6]]
    both = write(tmp_path, odom[0], raw[0], robotlaser(rows[0]), flaser(random_rows(1, 180)[0]))
    assert read_carmen(both).ranges.shape == (1, 180)


def test_a_scan_without_a_return_is_named(tmp_path):
    rows = random_rows(2, 180)
    rows[1] = 0.0
    log = read_carmen(write(tmp_path, *map(flaser, rows)))
    assert log.usable.tolist() == [True, False]
    assert log.scan(0).valid.all()
    with pytest.raises(InputError, match=r"^Scan 1: The scan has no valid beam among 180"):
        log.scan(1)


def test_broken_lines_are_named(tmp_path):
    good = flaser([1.0, 2.0, 3.0])
    cases = [
        ("FLASER 180 1.0 2.0\n", "it announces 180 readings and has 2 values"),
        ("FLASER -3 1.0 2.0\n", "it announces -3 readings and has 2 values"),
        (flaser([1.0, 2.0]), "it has 2 beams where the lines before have 3"),
        ("FLASER 3 1.0 2.0 3.0 0 0 0\n", "after the readings it has 3 values of at least 7"),
        ("FLASER 3 1.0 far 3.0 0 0 0 0 0 0 1 h 1\n", "it is cut off or garbled"),
        ("FLASER\n", "it is cut off or garbled"),
        ("FLASER many\n", "it is cut off or garbled"),
        (good.replace("0.5", "nan"), "its poses are not three finite numbers each"),
    ]
    for line, reason in cases:
        path = write(tmp_path, good, line)
        assert said(path) == f"log.clf, line 2: FLASER cannot be read: {reason}."
    path = write(tmp_path, robotlaser([1.0, 2.0], "RAWLASER1"))
    assert said(path) == (
        "log.clf, line 1: RAWLASER1 cannot be read: it has no pose and no ODOM line stands "
        "before it."
    )


def test_what_is_no_log_is_said(tmp_path):
    assert said(write(tmp_path, "ODOM 1 2 3 0 0 0 1.0 host 1.0\n")) == (
        "log.clf has no FLASER, ROBOTLASER1 or RAWLASER1 line."
    )
    assert said(write(tmp_path, (1 << 20) * "x")) == ("log.clf, line 1: too long for a CARMEN log.")
    assert said(write(tmp_path, "")) == "log.clf is empty; a CARMEN log was expected."
    path = write(tmp_path, "no archive", name="log.gz")
    assert said(path).startswith("log.gz cannot be unpacked: ")
    lines = "".join(map(flaser, random_rows(40, 180))).encode()
    path.write_bytes(gzip.compress(lines)[:-2000])
    assert said(path).startswith("log.gz is cut off after line ")
    (tmp_path / "log.bz2").write_bytes(bz2.compress(lines)[:-2000])
    assert said(tmp_path / "log.bz2").startswith("log.bz2 is cut off after line ")
