"""Logs out of bags: topics, frames, one clock, and everything that can be missing."""

import math

import numpy as np
import pytest

from isovist import FileError, InputError, Pose, read_log

pytest.importorskip("rosbags.rosbag2")
from tests.support.bag_writer import FORMATS, link, odometry, quaternion, scan, write_bag

SITS = link(0.0, "base", "laser", (0.2, 0.1, 0.5), quaternion(yaw=0.3), topic="/tf_static")
WAY = [odometry(10.0, (0.0, 0.0, 3.0)), odometry(12.0, (1.0, 2.0, -3.0))]


def said(folder, messages, kind=FileError, **options):
    with pytest.raises(kind) as error:
        read_log(write_bag(folder, messages), **options)
    assert type(error.value) is kind
    return str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_a_bag_is_read_in_every_format(tmp_path, kind):
    path = write_bag(tmp_path, [SITS, *WAY, scan(10.5), scan(11.5, (4.0, np.inf, 5.0))], kind)
    places = [path] if kind == "bag" else [path, *path.glob("*.db3"), *path.glob("*.mcap")]
    assert len(places) == (1 if kind == "bag" else 2)
    for place in places:
        log = read_log(place)
        assert len(log) == 2
        assert log.times.tolist() == [10.5, 11.5]
        assert np.allclose(log.odometry[:, :2], [[0.25, 0.5], [0.75, 1.5]])
        assert log.truth is None
        first, second = log.scan(0), log.scan(1)
        assert first.bearings.tolist() == [-0.5, 0.0, 0.5]
        assert second.ranges.tolist() == [4.0, 0.0, 5.0]
        assert (first.range_min, first.range_max) == (0.25, 8.0)
        assert np.allclose(first.T_robot_sensor.vector, [0.2, 0.1, 0.3])


@pytest.mark.slow
def test_yaw_takes_the_short_way_between_two_poses(tmp_path):
    log = read_log(write_bag(tmp_path, [SITS, *WAY, scan(11.0)]))
    assert math.isclose(abs(float(log.odometry[0, 2])), math.pi, abs_tol=1e-6)


@pytest.mark.slow
def test_scans_outside_the_odometry_and_blind_ones_are_counted(tmp_path):
    scans = [scan(9.0), scan(10.0), scan(11.0, (9.0, 0.0, np.nan)), scan(12.0, (2.0, 2.5, 3.5))]
    log = read_log(write_bag(tmp_path, [SITS, *WAY, *scans, scan(12.1), scan(13.0)]))
    assert log.times.tolist() == [10.0, 12.0]
    assert (log.blind, log.outside) == (1, 3)
    assert log.scan(1).ranges.tolist() == [2.0, 2.5, 3.5]


@pytest.mark.slow
def test_scans_may_differ_in_beams_and_angles(tmp_path):
    other = scan(11.0, (1.0, 2.0), angle_min=0.25, angle_increment=-0.25, range_max=6.0)
    log = read_log(write_bag(tmp_path, [SITS, *WAY, scan(10.5), other, scan(11.5)]))
    assert [log.scan(i).ranges.size for i in range(3)] == [3, 2, 3]
    assert log.scan(1).bearings.tolist() == [0.0, 0.25]
    assert log.scan(1).ranges.tolist() == [2.0, 1.0]
    assert log.scan(1).range_max == 6.0


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"odometry_topic": "/tf"}])
def test_without_an_odometry_topic_the_link_below_odom_is_taken(tmp_path, options):
    """Frames are chained, through a link of /tf that stays and with the slashes of ROS 1."""
    moving = [
        link(t, "/odom", "/base_footprint", (t, 0.0, 0.0), quaternion(yaw=0.1 * t))
        for t in (3.0, 1.0, 2.0, 2.0)
    ]
    chain = [
        link(1.0, "map", "odom"),
        link(1.0, "base_footprint", "base_link", (0.0, 0.0, 0.3), quaternion(yaw=math.pi / 2)),
        link(2.0, "base_footprint", "base_link", (0.0, 0.0, 0.3), quaternion(yaw=math.pi / 2)),
        link(0.0, "base_link", "laser", (1.0, 0.0, 0.0), topic="/tf_static"),
    ]
    extra = [odometry(1.0, (9.0, 9.0, 0.0))] if options else []
    log = read_log(write_bag(tmp_path, [*moving, *chain, *extra, scan(1.5), scan(2.5)]), **options)
    assert np.allclose(log.odometry, [[1.5, 0.0, 0.15], [2.5, 0.0, 0.25]])
    assert np.allclose(log.T_robot_sensor.vector, [0.0, 1.0, math.pi / 2])


@pytest.mark.slow
@pytest.mark.parametrize("turn", [{"roll": math.pi}, {"pitch": math.pi}, {"roll": -3.12}])
def test_a_sensor_that_hangs_upside_down_sees_the_same(tmp_path, turn):
    """Ends of the beams on the robot are those of the rotation in space."""
    ranges = (1.0, 2.0, 3.0)
    sits = link(0.0, "base", "laser", (0.2, 0.1, 0.5), quaternion(**turn, yaw=0.3), "/tf_static")
    log = read_log(write_bag(tmp_path, [sits, *WAY, scan(11.0, ranges)]))
    seen = log.scan(0)
    on_robot = seen.T_robot_sensor.apply(seen.endpoints)
    bearings = np.array([-0.5, 0.0, 0.5])
    ends = np.stack([np.cos(bearings), np.sin(bearings), 0.0 * bearings]) * np.array(ranges)
    x, y, z, w = quaternion(**turn, yaw=0.3)
    u, across = np.array([x, y, z]), np.cross([x, y, z], ends.T)
    turned = ends.T + 2.0 * (w * across + np.cross(u, across))
    expected = turned[:, :2] + [0.2, 0.1]
    assert np.allclose(on_robot[::-1], expected, atol=0.01)


@pytest.mark.slow
def test_a_sensor_on_another_branch_is_found(tmp_path):
    links = [
        link(0.0, "foot", "base", (0.0, 0.0, 0.1), quaternion(yaw=math.pi), "/tf_static"),
        link(0.0, "foot", "laser", (1.0, 0.0, 0.4), topic="/tf_static"),
    ]
    log = read_log(write_bag(tmp_path, [*links, *WAY, scan(11.0)]))
    assert np.allclose(log.T_robot_sensor.vector[:2], [-1.0, 0.0])
    assert math.isclose(abs(log.T_robot_sensor.yaw), math.pi, abs_tol=1e-9)


@pytest.mark.slow
def test_the_place_of_the_sensor_may_be_said(tmp_path):
    path = write_bag(tmp_path, [*WAY, scan(11.0)])
    place = Pose(0.5, 0.0, 1.0)
    assert read_log(path, T_robot_sensor=place).scan(0).T_robot_sensor == place
    same = [odometry(10.0, (0, 0, 0), "laser"), odometry(12.0, (1, 0, 0), "laser"), scan(11.0)]
    assert read_log(write_bag(tmp_path, same, name="same")).T_robot_sensor == Pose()


@pytest.mark.slow
def test_a_sweep_counts_from_the_stamp_of_the_first_beam(tmp_path):
    log = read_log(write_bag(tmp_path, [SITS, *WAY, scan(10.5), scan(11.95)]), sweep=0.2)
    assert np.allclose(log.times, [10.6])
    assert np.allclose(log.odometry[0, :2], [0.3, 0.6])
    assert (log.sweep, log.outside) == (0.2, 1)


@pytest.mark.slow
def test_topics_that_are_missing_or_ambiguous_are_named(tmp_path):
    two = [SITS, *WAY, scan(11.0, topic="/front"), scan(11.0, topic="/back")]
    more = [SITS, *WAY, odometry(10.0, (0, 0, 0), topic="/ekf"), scan(11.0)]
    cases = [
        (
            (two, InputError, {}),
            "run.bag has 2 topics of type LaserScan; choose one as `scan_topic`: /back, /front.",
        ),
        (
            (two, InputError, {"scan_topic": "/odom"}),
            "run.bag has no topic '/odom' of type LaserScan. It has: /back, /front.",
        ),
        (
            (more, InputError, {}),
            "run.bag has 2 topics of type Odometry; choose one as `odometry_topic`: /ekf, /odom.",
        ),
        (
            (more, InputError, {"odometry_topic": "/wheels"}),
            "run.bag has no topic '/wheels' of type Odometry. It has: /ekf, /odom.",
        ),
        (
            ([SITS, *WAY], FileError, {}),
            "run.bag has no topic of type LaserScan. It has: /odom (Odometry), /tf_static "
            "(TFMessage).",
        ),
        (
            ([scan(11.0)], FileError, {}),
            "run.bag has no topic of type Odometry and no /tf, so nothing says how the robot "
            "moved. Record one of them beside the scans.",
        ),
        (
            ([SITS, scan(11.0)], FileError, {}),
            "run.bag: /tf has no frame `odom` above `laser`, so it does not say how the robot "
            "moved; it has laser < base. Use a topic of type Odometry.",
        ),
        (
            ([SITS, ("/odom", "odometry", 0.0, None), scan(11.0)], FileError, {}),
            "run.bag has no message on /odom.",
        ),
        (
            ([SITS, *WAY, scan(11.0, (9.0, 9.0, 9.0))], FileError, {}),
            "run.bag has no scan with a valid beam on that topic.",
        ),
    ]
    for k, ((messages, kind, options), text) in enumerate(cases):
        folder = tmp_path / str(k)
        folder.mkdir()
        assert said(folder, messages, kind, **options) == text


@pytest.mark.slow
def test_frames_that_do_not_fit_are_named(tmp_path):
    tilted = link(0.0, "base", "laser", turn=quaternion(pitch=0.5), topic="/tf_static")
    nods = [link(t, "base", "laser", turn=quaternion(pitch=0.05 * t)) for t in (0.0, 1.0)]
    slides = [link(t, "base", "laser", (t, 0.0, 0.0)) for t in (0.0, 1.0)]
    still = (
        "so the sensor has no fixed place on the robot. If it hardly matters, name a place. Say it "
        "as `T_robot_sensor`, at the command line `--sensor X Y YAW`."
    )
    cases = [
        (
            [*WAY, scan(11.0)],
            "run.bag does not say where `laser` sits on `base`: no link of /tf or /tf_static joins "
            "them. Say it as `T_robot_sensor`, at the command line `--sensor X Y YAW`.",
        ),
        (
            [SITS, odometry(10.0, (0, 0, 0), ""), scan(10.0)],
            "run.bag: the odometry has no `child_frame_id`, so nothing says where the sensor sits "
            "on the robot. Say it as `T_robot_sensor`, at the command line `--sensor X Y YAW`.",
        ),
        (
            [tilted, *WAY, scan(11.0)],
            "run.bag: `laser` is tilted by 29°. A plan needs a level sensor, within 5°.",
        ),
        ([*nods, *WAY, scan(11.0)], f"run.bag: `laser` moves on `base`, {still}"),
        ([*slides, *WAY, scan(11.0)], f"run.bag: `laser` moves on `base`, {still}"),
        (
            [SITS, link(0.0, "mast", "laser"), *WAY, scan(11.0)],
            "run.bag: the frame `laser` has 2 parents in /tf: base, mast.",
        ),
        (
            [link(0.0, "base", "laser", turn=(0.0, 0.0, 0.0, 0.0)), *WAY, scan(11.0)],
            "run.bag: the link from `base` to `laser` has a quaternion that is no rotation.",
        ),
        (
            [link(0.0, "base", "laser", (math.nan, 0.0, 0.0)), *WAY, scan(11.0)],
            "run.bag: the link from `base` to `laser` is not finite.",
        ),
        (
            [SITS, *WAY, odometry(11.0, (0, 0, 0), "cart"), scan(11.0)],
            "run.bag: the odometry must come from one frame, got `child_frame_id` base, cart.",
        ),
        (
            [SITS, *WAY, scan(10.5), scan(11.0, frame="other")],
            "run.bag: the scans must come from one frame, got `frame_id` laser, other.",
        ),
        (
            [SITS, odometry(10.0, (0, 0, 0), turn=(0, 0, 0, 0)), scan(10.0)],
            "run.bag: /odom has a quaternion that is no rotation.",
        ),
        (
            [SITS, odometry(10.0, (math.inf, 0, 0)), scan(10.0)],
            "run.bag: the odometry is not finite.",
        ),
    ]
    for k, (messages, text) in enumerate(cases):
        folder = tmp_path / str(k)
        folder.mkdir()
        assert said(folder, messages) == text


@pytest.mark.slow
def test_frames_that_are_not_needed_may_be_in_disorder(tmp_path):
    links = [link(0.0, "map", "odom"), link(0.0, "world", "odom"), link(0.0, "odom", "base")]
    log = read_log(write_bag(tmp_path, [SITS, *links, *WAY, scan(11.0)]))
    assert np.allclose(log.T_robot_sensor.vector, [0.2, 0.1, 0.3])
    moving = [link(t, "odom", "base", (t, 0.0, 0.0)) for t in (1.0, 2.0)]
    path = write_bag(tmp_path, [SITS, *links[:2], *moving, scan(1.5)], name="bare")
    assert read_log(path).odometry.tolist() == [[1.5, 0.0, 0.0]]


def test_a_loop_of_frames_ends(tmp_path):
    loop = [link(0.0, "base", "laser"), link(0.0, "laser", "base"), scan(11.0)]
    assert said(tmp_path, loop) == (
        "run.bag: /tf has no frame `odom` above `laser`, so it does not say how the robot moved; "
        "it has laser < base. Use a topic of type Odometry."
    )


@pytest.mark.slow
def test_clocks_that_do_not_fit_are_named(tmp_path):
    assert said(tmp_path, [SITS, *WAY, scan(11.0), scan(11.5), scan(11.25)]) == (
        "run.bag: scan 2 of /scan is stamped 0.250 s before the one in front of it. The stamps of "
        "a log must not go back."
    )
    folder = tmp_path / "other"
    folder.mkdir()
    assert said(folder, [SITS, *WAY, scan(100.0), scan(101.0)]) == (
        "run.bag: no scan lies within the odometry. Scans run from 100.000 to 101.000 s, odometry "
        "from 10.000 to 12.000 s. Is it one clock?"
    )


@pytest.mark.slow
def test_a_broken_scan_is_named(tmp_path):
    assert said(tmp_path, [SITS, *WAY, scan(11.0, angle_min=math.nan)]) == (
        "run.bag has a broken scan: `bearings` must be finite, got NaN or infinity."
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_a_damaged_bag_is_one_line(tmp_path, kind):
    path = write_bag(tmp_path, [SITS, *WAY, scan(11.0)], kind)
    if kind != "bag":
        (path,) = [*path.glob("*.db3"), *path.glob("*.mcap")]
    data = path.read_bytes()
    for size in (7, len(data) // 3):
        path.write_bytes(data[:size])
        with pytest.raises(FileError) as error:
            read_log(path)
        assert str(error.value).startswith(f"{path.name} is no sound bag: ")
        assert "\n" not in str(error.value)
    path.write_bytes(b"")
    with pytest.raises(FileError) as error:
        read_log(path)
    assert str(error.value) == f"{path.name} is empty; a bag was expected."
