"""Logs out of CARMEN files and sets of scans, and the choice of scans."""

import bz2
import gzip
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from isovist import FileError, InputError, Log, OccupancyMap, Pose, SegmentMap, read_log, read_map
from isovist.apps import app
from isovist.io import compose, read_carmen, read_posed
from isovist.poses import unit_vectors

OFFSET = "PARAM robot_frontlaser_offset -0.04 1.0 host 1.0\n"


def flaser(laser, robot, time, ranges=(1.0, 2.0, 3.0)) -> str:
    words = ["FLASER", len(ranges), *ranges, *laser, *robot, time, "host", time]
    return " ".join(str(word) for word in words) + "\n"


def way(count=5):
    """Poses of a robot that drives a curve."""
    steps = np.arange(count)
    return np.stack([0.3 * steps, 0.1 * steps**2, 0.2 * steps], axis=-1)


def carmen(folder, laser, robot, head="", name="log.clf"):
    lines = [flaser(a, b, 5.0 + k) for k, (a, b) in enumerate(zip(laser, robot, strict=True))]
    (folder / name).write_text(head + "".join(lines))
    return folder / name


def scan_set(folder, prefix="", **changes):
    arrays = {
        "ranges_cm": np.array([[100, 250, 0], [0, 0, 0], [300, 8000, 400]], dtype=np.uint16),
        "pose": way(3),
        "odom": way(3) + 1.0,
        "t": np.array([5.0, 6.0, 7.0]),
        "angle_min": -0.5,
        "angle_inc": 0.5,
        "range_max": 80.0,
        "in_map_split": np.array([True, False, False]),
        **changes,
    }
    kept = {prefix + key: value for key, value in arrays.items() if value is not None}
    np.savez(folder / "scans.npz", **kept)
    return folder / "scans.npz"


def said(path, kind=FileError, **options):
    with pytest.raises(kind) as error:
        read_log(path, **options)
    assert type(error.value) is kind
    return str(error.value)


def test_a_laser_ahead_of_the_robot_keeps_its_place(tmp_path):
    laser = compose(way(), Pose(x=-0.04))
    for head in (OFFSET, ""):
        log = read_log(carmen(tmp_path, laser, way(), head))
        assert len(log) == 5
        assert np.allclose(log.odometry, way())
        assert np.allclose(log.T_robot_sensor.vector, [-0.04, 0.0, 0.0], atol=1e-9)
        assert log.truth is None
        assert log.times.tolist() == [5.0, 6.0, 7.0, 8.0, 9.0]
        assert log.scan(2).ranges.tolist() == [1.0, 2.0, 3.0]
        assert log.scan(2).T_robot_sensor == log.T_robot_sensor


def test_a_corrected_pose_is_the_truth(tmp_path):
    corrected = way() + np.arange(5)[:, None] * [0.1, -0.1, 0.02]
    log = read_log(carmen(tmp_path, corrected, way(), OFFSET))
    assert np.allclose(log.odometry, way())
    assert np.allclose(compose(log.truth, Pose(x=-0.04)), corrected)
    assert read_log(carmen(tmp_path, corrected, way())).T_robot_sensor == Pose()


def test_one_pose_said_twice_is_that_of_the_laser(tmp_path):
    log = read_log(carmen(tmp_path, way(), way(), OFFSET))
    assert log.T_robot_sensor == Pose(x=-0.04)
    assert np.allclose(compose(log.odometry, Pose(x=-0.04)), way())
    assert log.truth is None
    assert np.allclose(read_log(carmen(tmp_path, way(), way())).odometry, way())


def test_one_bad_line_does_not_make_a_truth(tmp_path):
    laser = compose(way(20), Pose(x=0.1))
    laser[7, 0] += 3.0
    log = read_log(carmen(tmp_path, laser, way(20)))
    assert log.truth is None
    assert np.allclose(log.T_robot_sensor.vector, [0.1, 0.0, 0.0])


def test_the_place_of_the_sensor_may_be_said(tmp_path):
    place = Pose(0.3, 0.1, 0.2)
    log = read_log(carmen(tmp_path, way(), way(), OFFSET), T_robot_sensor=place)
    assert log.T_robot_sensor == place
    log = read_log(scan_set(tmp_path), T_robot_sensor=place)
    assert log.scan(0).T_robot_sensor == place
    assert np.allclose(compose(log.truth, place), way(3)[[0, 2]])
    assert log.odometry.tolist() == (way(3) + 1.0)[[0, 2]].tolist()


def test_raw_lasers_take_the_odometry_before_them(tmp_path):
    raw = "RAWLASER1 0 -1.0 2.0 0.5 30.0 0.01 0 2 1.5 2.5 0 7.5 host 7.5\n"
    lines = [OFFSET, "ODOM 1 2 3 0 0 0 1.0 host 1.0\n", raw, "ODOM 4 5 1 0 0 0 2.0 host 2.0\n", raw]
    (tmp_path / "log.log").write_text("".join(lines))
    log = read_log(tmp_path / "log.log")
    assert np.allclose(compose(log.odometry, Pose(x=-0.04)), [[1, 2, 3], [4, 5, 1]])
    assert log.scan(1).bearings.tolist() == [-1.0, -0.5]


@pytest.mark.parametrize(("pack", "suffix"), [(gzip, "gz"), (bz2, "bz2")])
def test_packed_logs_are_read_and_cut_ones_named(tmp_path, pack, suffix):
    data = carmen(tmp_path, way(400), way(400)).read_bytes()
    path = tmp_path / f"log.clf.{suffix}"
    path.write_bytes(pack.compress(data))
    assert len(read_log(path)) == 400
    path.write_bytes(pack.compress(data)[:-300])
    assert said(path).startswith(f"log.clf.{suffix} is cut off after line ")
    path.write_bytes(b"no archive")
    assert said(path).startswith(f"log.clf.{suffix} cannot be unpacked: ")


def test_stamps_that_jump_back_do_not_change_the_order_of_lines(tmp_path):
    times = [5.0, 6.0, 5.5]
    lines = [flaser(p, p, t) for p, t in zip(way(3), times, strict=True)]
    (tmp_path / "log.clf").write_text("".join(lines))
    log = read_log(tmp_path / "log.clf")
    assert log.times.tolist() == times
    assert np.allclose(log.odometry, way(3))


def test_a_set_of_scans_is_read_without_its_blind_scans(tmp_path):
    log = read_log(scan_set(tmp_path))
    assert len(log) == 2
    assert (log.blind, log.outside) == (1, 0)
    assert log.times.tolist() == [5.0, 7.0]
    assert np.allclose(log.truth, way(3)[[0, 2]])
    assert log.held_out.tolist() == [False, True]
    assert log.T_robot_sensor == Pose()
    assert log.scan(0).valid.tolist() == [True, True, False]
    # A reading at the largest range is missing, also when both are rounded to 4 bytes.
    assert log.scan(1).valid.tolist() == [True, False, True]
    limit = scan_set(tmp_path, ranges_cm=np.full((3, 3), 2999) - [0, 1, 2], range_max=29.99)
    assert read_log(limit).scan(0).valid.tolist() == [False, True, True]
    assert not log.readings.flags.writeable
    assert log.readings.dtype == np.float32


def test_a_prefix_chooses_a_sensor(tmp_path):
    path = scan_set(tmp_path, "nav_", in_map_split=None)
    assert read_log(path, prefix="nav_").held_out is None
    assert said(path).startswith("scans.npz needs one array of ranges_m, ranges_cm, ranges_mm.")


def test_what_is_no_log_is_said(tmp_path):
    tail = "is missing. A log needs the odometry and the time of each scan."
    assert said(scan_set(tmp_path, odom=None)) == f"scans.npz: `odom` {tail}"
    assert said(scan_set(tmp_path, "a_", t=None), prefix="a_") == f"scans.npz: `a_t` {tail}"
    blind = scan_set(tmp_path, ranges_cm=np.zeros((3, 3)))
    assert said(blind) == "scans.npz has no scan with a valid beam."
    whole = scan_set(tmp_path).read_bytes()
    (tmp_path / "scans.npz").write_bytes(whole[: len(whole) // 2])
    assert said(tmp_path / "scans.npz") == (
        "scans.npz is not a sound .npz file: File is not a zip file."
    )
    (tmp_path / "log.log").write_text("")
    assert said(tmp_path / "log.log") == "log.log is empty; a log was expected."
    (tmp_path / "log.log").write_text("# nothing\n")
    assert said(tmp_path / "log.log") == ("log.log has no FLASER, ROBOTLASER1 or RAWLASER1 line.")
    (tmp_path / "log.log").write_text("PARAM robot_frontlaser_offset nan 1.0 host 1.0\n")
    assert said(tmp_path / "log.log") == (
        "log.log, line 1: PARAM cannot be read: the offset of the laser must be finite, got nan."
    )
    assert said(tmp_path / "gone.clf") == f"{tmp_path / 'gone.clf'}: there is no such file."
    (tmp_path / "log.txt").write_text("?")
    assert said(tmp_path / "log.txt") == (
        "log.txt has no suffix of a log. Logs are read from .bag, .db3, .mcap or a folder with a "
        "ROS 2 bag, .log, .clf, .gz or .bz2 with a CARMEN log, and .npz with a set of scans."
    )
    assert said(tmp_path / "run.clf", InputError, scan_topic="/scan") == (
        "`scan_topic` and `odometry_topic` choose topics of a bag, and run.clf is none."
    )
    assert said(tmp_path / "run.bag", InputError, prefix="nav_") == (
        "`prefix` chooses a sensor of an .npz file, and run.bag is none."
    )


def straight(count, held_out=None):
    return Log(
        times=np.arange(float(count)), odometry=np.zeros((count, 3)),
        readings=np.ones(count, dtype=np.float32), starts=np.arange(count + 1),
        beams=np.tile([0.0, 0.0, 0.0, math.inf], (count, 1)), held_out=held_out,
    )  # fmt: skip


def test_scans_are_chosen_by_number():
    log = straight(10, np.arange(10) % 2 == 1)
    assert log.chosen().tolist() == list(range(10))
    assert log.chosen(every=4, start=1).tolist() == [1, 5, 9]
    assert log.chosen(start=2, stop=7, held_out=True).tolist() == [3, 5]
    assert log.chosen(every=2, held_out=True).tolist() == [1, 5, 9]


def test_a_choice_that_cannot_be_made_is_said():
    bounds = "`start` and `stop` must satisfy 0 ≤ start < stop ≤ 10, the number of scans, got"
    none = np.zeros(10, dtype=np.bool_)
    cases = [
        ({"every": 0}, None, "`every` must be 1 or more, got 0."),
        ({"start": 10}, None, f"{bounds} 10 and 10."),
        ({"start": -1}, None, f"{bounds} -1 and 10."),
        ({"start": 3, "stop": 3}, None, f"{bounds} 3 and 3."),
        ({"stop": 11}, None, f"{bounds} 0 and 11."),
        ({"held_out": True}, None, "This log does not say which of its scans are in the map."),
        ({"held_out": True}, none, "None of the scans asked for is held out: all are in the map."),
    ]
    for options, held_out, text in cases:
        with pytest.raises(InputError) as error:
            straight(10, held_out).chosen(**options)
        assert str(error.value) == text


def test_a_log_that_does_not_fit_together_is_said():
    good = straight(3)
    parts = {"times": good.times, "odometry": good.odometry, "readings": good.readings}
    parts |= {"starts": good.starts, "beams": good.beams}
    cases = [
        ({"odometry": np.zeros((2, 3))}, "`odometry` must have shape (3, 3), got (2, 3)."),
        ({"truth": np.zeros((3, 2))}, "`truth` must have shape (3, 3), got (3, 2)."),
        ({"times": np.full(3, np.nan)}, "`times` must be finite, got NaN or infinity."),
        (
            {"starts": np.arange(5)},
            "`starts` must have shape (4,) and end at 3, the number of readings, got (5,) and [4].",
        ),
    ]
    for changes, text in cases:
        with pytest.raises(InputError) as error:
            Log(**{**parts, **changes})
        assert str(error.value) == text


@pytest.mark.parametrize("step", [0.02, -0.02])
def test_a_sweep_straightens_the_wall_that_a_moving_sensor_bent(step):
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
        rows += [(5.0 - T.x) / math.cos(T.yaw + b) for T, b in zip(sensors, bearings, strict=True)]
    parts = {
        "times": times,
        "odometry": np.array([robot(time).vector for time in times]),
        "readings": np.array(rows, dtype=np.float32),
        "starts": beams * np.arange(4),
        "beams": np.tile([bearings[0], step, 0.0, 50.0], (3, 1)),
        "T_robot_sensor": place,
    }
    bent, straight_log = Log(**parts), Log(**parts, sweep=sweep)
    for index in range(3):
        T = robot(times[index]) @ place
        walls = [T.apply(log.scan(index).endpoints)[:, 0] for log in (bent, straight_log)]
        off = [float(np.abs(wall - 5.0).max()) for wall in walls]
        assert off[0] > 0.1
        assert off[1] < 0.003
        assert straight_log.scan(index).T_robot_sensor == place


def test_a_sweep_that_cannot_be_used_is_said(tmp_path):
    for sweep in (-0.1, 1.0, math.nan):
        assert said(scan_set(tmp_path), InputError, sweep=sweep) == (
            f"`sweep` must be from 0 to 1 s, got {sweep:g}."
        )
    assert said(scan_set(tmp_path, t=np.array([5.0, 6.0, 5.0])), InputError, sweep=0.1) == (
        "Straightening needs scans whose stamps go on. Leave out `sweep`."
    )


def scan_lines(truths, odometry):
    """FLASER lines of what a lidar sees in a room from true poses, beside their odometry."""
    room = SegmentMap.room(6.0, 4.0)
    bearings = -np.pi / 2 + np.arange(180) * np.pi / 180
    for k, (truth, odom) in enumerate(zip(truths, odometry, strict=True)):
        hits = room.cast(truth[:2], unit_vectors(bearings + truth[2]))
        ranges = " ".join(f"{r:.2f}" for r in hits.ranges)
        poses = " ".join(f"{v:.4f}" for v in (*truth, *odom))
        yield f"FLASER 180 {ranges} {poses} {k}.0 host {k}.0\n"


def test_a_corrected_log_or_a_set_of_scans_becomes_a_ros_map(tmp_path):
    truths = [(1.0 + 0.2 * k, 2.0, 0.3 * k) for k in range(20)]
    drifted = [(x, y + 0.05 * k, yaw) for k, (x, y, yaw) in enumerate(truths)]
    log, out = tmp_path / "room.log", tmp_path / "map.yaml"
    log.write_text("".join(scan_lines(truths, drifted)))
    result = CliRunner().invoke(app, ["map", str(log), "-o", str(out)])
    assert result.exit_code == 0, result.exception
    world = read_map(out)
    columns, rows = world.shape[1], world.shape[0]
    free = f"{world.free_area:.0f} m² free"
    assert result.output == f"{out}: {columns} × {rows} cells of 0.05 m, {free}, from 20 scans.\n"
    assert abs(world.free_area - 24.0) < 2.0
    np.testing.assert_allclose(world.bounds, [[0.0, 0.0], [6.0, 4.0]], atol=0.25)
    set_ = tmp_path / "room.npz"
    scans = read_carmen(log)
    np.savez(set_, ranges_m=scans.ranges, pose=scans.poses, angle_min=scans.bearings[0],
             angle_inc=np.diff(scans.bearings)[0])  # fmt: skip
    again = tmp_path / "again.yaml"
    options = ["-o", str(again), "--resolution", "0.1"]
    assert CliRunner().invoke(app, ["map", str(set_), *options]).exit_code == 0
    assert read_map(again).resolution == 0.1
    np.testing.assert_array_equal(
        OccupancyMap.from_scans([scans.scan(k) for k in range(20)], scans.poses).cells, world.cells
    )


def test_what_is_no_log_makes_no_map(tmp_path):
    with pytest.raises(FileError) as error:
        read_posed(tmp_path / "scan.json")
    assert str(error.value) == (
        "scan.json has no suffix of a log with poses. These are .log, .clf, .gz, .bz2 of CARMEN, "
        "and .npz with a set of scans."
    )


def test_a_log_without_poses_makes_no_map(tmp_path):
    log = tmp_path / "raw.log"
    truths = [(1.0 + 0.2 * k, 2.0, 0.3 * k) for k in range(20)]
    log.write_text("".join(scan_lines(truths, truths)))
    for name in ("raw.log", "run.bag"):
        with pytest.raises(FileError) as error:
            read_posed(tmp_path / name)
        assert str(error.value) == (
            f"{name} has odometry and no poses, and odometry alone makes a bent map. Give a CARMEN "
            "log that a mapper has corrected, or a set of scans (.npz) with `pose`."
        )
