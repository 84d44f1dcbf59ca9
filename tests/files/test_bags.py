"""Scans, clouds and logs out of bags: topics, frames, one clock, and the layouts of vendors."""

import json
import math
import sys

import numpy as np
import pytest
from tests.support.bag_writer import FORMATS, cloud, link, odometry, quaternion, scan, write_bag
from tests.support.cloud_writer import VENDORS, laid_out
from tests.support.errors import refused
from tests.support.sites import PLANE, SPACE, gap

import isovist as iv
from isovist import Pose, Pose3, read_log, read_scan

SITS = link(0.0, "base", "laser", (0.2, 0.1, 0.5), quaternion(yaw=0.3), topic="/tf_static")
WAY = [odometry(10.0, (0.0, 0.0, 3.0)), odometry(12.0, (1.0, 2.0, -3.0))]
TURNS = [{"roll": math.pi}, {"pitch": math.pi}, {"roll": -3.12}]
STAMP, COUNT = 1700000000.25, 96
POINTS = np.random.default_rng(4).uniform(-20.0, 20.0, (COUNT, 3)).astype("<f4")
AFTER = np.linspace(0.0, 0.1, COUNT)
COLUMNS = {
    **dict(zip("xyz", POINTS.T, strict=True)),
    "intensity": np.arange(COUNT),
    "ring": np.arange(COUNT) % 16,
    "time": AFTER,
    "t": np.round(1e9 * AFTER),
    "timestamp": np.round(1e9 * (STAMP + AFTER)),
}
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", FORMATS)
def test_a_bag_is_read_in_every_format_with_the_sensor_at_one_place(tmp_path, kind):
    path = write_bag(tmp_path, [SITS, *WAY, scan(10.5), scan(11.5, (4.0, np.inf, 5.0))], kind)
    places = [path] if kind == "bag" else [path, *path.glob("*.db3"), *path.glob("*.mcap")]
    assert len(places) == (1 if kind == "bag" else 2)
    for place in places:
        log, one = read_log(place), read_scan(place)
        assert log.times.tolist() == [10.5, 11.5]
        np.testing.assert_allclose(log.odometry[:, :2], [[0.25, 0.5], [0.75, 1.5]])
        assert log.truth is None
        first, second = log.scan(0), log.scan(1)
        assert first.bearings.tolist() == one.bearings.tolist() == [-0.5, 0.0, 0.5]
        assert second.ranges.tolist() == [4.0, 0.0, 5.0]
        assert (first.range_min, first.range_max) == (one.range_min, one.range_max) == (0.25, 8.0)
        assert one.T_robot_sensor == log.T_robot_sensor == first.T_robot_sensor
        np.testing.assert_allclose(one.T_robot_sensor.vector, [0.2, 0.1, 0.3])
        assert one.frame == log.frame == first.frame == "base"
        assert one.intensities is None
        for wanted, found in (({}, 3.0), ({"at": 0.6, "scan_topic": "/scan"}, 5.0)):
            chosen = read_scan(place, T_robot_sensor=Pose(0.3), **wanted)
            assert (chosen.ranges[2], chosen.T_robot_sensor) == (found, Pose(0.3))
            assert chosen.frame == "robot"


@pytest.mark.parametrize("turn", TURNS)
def test_a_sensor_that_hangs_upside_down_sees_the_same(tmp_path, turn):
    """Ends of the beams on the robot are those of the rotation in space."""
    ranges = (1.0, 2.0, 3.0)
    sits = link(0.0, "base", "laser", (0.2, 0.1, 0.5), quaternion(**turn, yaw=0.3), "/tf_static")
    path = write_bag(tmp_path, [sits, *WAY, scan(11.0, ranges)])
    bearings = np.array([-0.5, 0.0, 0.5])
    ends = np.stack([np.cos(bearings), np.sin(bearings), 0.0 * bearings], -1)
    ends *= np.array(ranges)[:, None]
    T = Pose3.from_quaternion(quaternion(**turn, yaw=0.3), [0.2, 0.1, 0.5])
    for seen in (read_scan(path), read_log(path).scan(0)):
        assert seen.ranges.tolist() == [3.0, 2.0, 1.0]
        on_robot = seen.T_robot_sensor.apply(seen.endpoints)
        np.testing.assert_allclose(on_robot[::-1], T.apply(ends)[:, :2], atol=0.01)
    assert read_scan(path, T_robot_sensor=Pose(0.2)).ranges.tolist() == [1.0, 2.0, 3.0]


def test_the_robot_is_what_odometry_names_or_moves_in_odom_or_is_topmost(tmp_path):
    foot = link(0.0, "foot", "base", (0.0, 0.0, 0.1), topic="/tf_static")
    moving = [link(t, "/odom", "/foot", (t, 0.0, 0.0)) for t in (1.0, 2.0)]
    mapped = [link(t, "map", "foot", (t, 0.0, 0.0)) for t in (1.0, 2.0)]
    cases = {
        "base": [foot, SITS, *WAY],
        "foot": [foot, SITS, *moving],
        "foot ": [foot, SITS],
        "foot  ": [foot, SITS, *mapped],
        "laser": [],
        "laser ": [odometry(11.0, (0, 0, 0), "laser")],
    }
    for name, messages in cases.items():
        one = read_scan(write_bag(tmp_path, [*messages, scan(11.0)], name=name))
        assert one.frame == name.strip()
        place = Pose() if one.frame == "laser" else Pose(0.2, 0.1, 0.3)
        np.testing.assert_allclose(one.T_robot_sensor.vector, place.vector, atol=1e-12)


def test_scans_outside_the_odometry_and_blind_ones_are_counted(tmp_path):
    scans = [scan(9.0), scan(10.0), scan(11.0, (9.0, 0.0, np.nan)), scan(12.0, (2.0, 2.5, 3.5))]
    path = write_bag(tmp_path, [SITS, *WAY, *scans, scan(12.1), scan(13.0)])
    log = read_log(path)
    assert log.times.tolist() == [10.0, 12.0]
    assert (log.blind, log.outside) == (1, 3)
    assert log.scan(1).ranges.tolist() == [2.0, 2.5, 3.5]
    # The blind scan is no choice: nearest to 2.1 s is the one at 3 s; the last is at 4 s.
    assert read_scan(path, at=2.1).ranges.tolist() == [2.0, 2.5, 3.5]
    with refused("at", kind=iv.InputError):
        read_scan(path, at=4.1)


def test_scans_may_differ_in_beams_and_angles(tmp_path):
    other = scan(11.0, (1.0, 2.0), angle_min=0.25, angle_increment=-0.25, range_max=6.0)
    log = read_log(write_bag(tmp_path, [SITS, *WAY, scan(10.5), other, scan(11.5)]))
    assert [log.scan(i).ranges.size for i in range(3)] == [3, 2, 3]
    assert log.scan(1).bearings.tolist() == [0.0, 0.25]
    assert log.scan(1).ranges.tolist() == [2.0, 1.0]
    assert log.scan(1).range_max == 6.0


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
    np.testing.assert_allclose(log.odometry, [[1.5, 0.0, 0.15], [2.5, 0.0, 0.25]])
    np.testing.assert_allclose(log.T_robot_sensor.vector, [0.0, 1.0, math.pi / 2], atol=1e-12)


def test_a_sensor_on_another_branch_or_that_is_the_robot_is_found(tmp_path):
    links = [
        link(0.0, "foot", "base", (0.0, 0.0, 0.1), quaternion(yaw=math.pi), "/tf_static"),
        link(0.0, "foot", "laser", (1.0, 0.0, 0.4), topic="/tf_static"),
    ]
    log = read_log(write_bag(tmp_path, [*links, *WAY, scan(11.0)]))
    np.testing.assert_allclose(log.T_robot_sensor.vector[:2], [-1.0, 0.0], atol=1e-12)
    assert math.isclose(abs(log.T_robot_sensor.yaw), math.pi, abs_tol=1e-9)
    # Yaw took the short way, through π.
    assert math.isclose(abs(float(log.odometry[0, 2])), math.pi, abs_tol=1e-6)
    same = [odometry(10.0, (0, 0, 0), "laser"), odometry(12.0, (1, 0, 0), "laser"), scan(11.0)]
    assert read_log(write_bag(tmp_path, same, name="same")).T_robot_sensor == Pose()


def test_a_sweep_counts_from_the_stamp_of_the_first_beam(tmp_path):
    log = read_log(write_bag(tmp_path, [SITS, *WAY, scan(10.5), scan(11.95)]), sweep=0.2)
    np.testing.assert_allclose(log.times, [10.6])
    np.testing.assert_allclose(log.odometry[0, :2], [0.3, 0.6])
    assert (log.sweep, log.outside) == (0.2, 1)


def test_what_is_just_within_a_limit_is_read(tmp_path):
    links = [link(0.0, "map", "odom"), link(0.0, "world", "odom"), link(0.0, "odom", "base")]
    moving = [link(t, "odom", "base", (t, 0.0, 0.0)) for t in (1.0, 2.0)]
    quiet = [odometry(10.0, (0.0, 0.0, 0.0)), odometry(10.001, (0.99, 0.0, 0.0)), WAY[1]]
    nods = [link(t, "base", "laser", (0.01 * t, 0, 0), quaternion(pitch=0.01 * t)) for t in (0, 1)]
    level = link(0.0, "base", "laser", turn=quaternion(pitch=0.08), topic="/tf_static")
    fast = [odometry(10.0, (0.0, 0.0, 0.0)), odometry(11.0, (49.0, 0.0, 0.0))]
    cases = {
        "frames above the odometry in disorder": [SITS, *links, *WAY],
        "frames above odom in disorder": [SITS, *links[:2], *moving],
        "short hops": [SITS, *quiet],
        "nods": [*nods, *WAY],
        "nearly level": [level, *WAY],
        "fast": [SITS, *fast],
    }
    for name, messages in cases.items():
        time = 1.5 if "odom in" in name else 10.5
        assert len(read_log(write_bag(tmp_path, [*messages, scan(time)], name=name))) == 1


@pytest.mark.parametrize("kind", FORMATS)
def test_a_cloud_of_a_bag_is_read_with_the_place_of_its_lidar(tmp_path, kind):
    turn = quaternion(roll=math.pi, yaw=0.3)
    sits = link(0.0, "base", "lidar", (0.2, 0.1, 0.5), turn, topic="/tf_static")
    rows = np.column_stack([POINTS, np.arange(float(COUNT))])
    rows[3, 0], rows[7, :3] = np.nan, 0.0
    seen = cloud(11.0, rows, names=("x", "y", "z", "intensity"))
    one = read_scan(write_bag(tmp_path, [sits, *WAY, seen], kind))
    kept = np.delete(rows, [3, 7], axis=0)
    np.testing.assert_allclose(one.points, kept[:, :3], rtol=1e-6)
    np.testing.assert_array_equal(one.intensities, kept[:, 3])
    np.testing.assert_allclose(one.T_robot_sensor.position, [0.2, 0.1, 0.5])
    np.testing.assert_allclose(np.abs(one.T_robot_sensor.quaternion @ turn), 1.0)
    assert one.frame == "base"
    flat = read_scan(write_bag(tmp_path, [seen], kind, "bare"), T_robot_sensor=Pose(0.1))
    assert (flat.T_robot_sensor, flat.frame) == (Pose3(0.1), "robot")


def test_a_topic_chooses_between_scans_and_clouds(tmp_path):
    clouds = [cloud(11.0, POINTS[:10]), cloud(11.5, POINTS), cloud(11.0, POINTS, topic="/b")]
    path = write_bag(tmp_path, [scan(11.0), *clouds])
    assert isinstance(read_scan(path), iv.Scan)
    assert isinstance(read_scan(path, scan_topic="/b"), iv.CloudScan)
    assert len(read_scan(path, scan_topic="/points").points) == COUNT
    few = write_bag(tmp_path, [cloud(1.0, POINTS[:50])], name="few")
    assert len(read_scan(few).points) == 50
    with refused("T_robot_sensor", "wrong_dimension"):
        read_scan(path, T_robot_sensor=Pose3())


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("rows", [1, 16])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("vendor", VENDORS)
def test_every_layout_gives_the_same_points(tmp_path, kind, vendor, rows, order):
    message = laid_out(STAMP, COLUMNS, vendor, rows=rows, padding=11, order=order)
    one = read_scan(write_bag(tmp_path, [message], kind))
    np.testing.assert_array_equal(one.points, POINTS)
    if vendor == "doubles":
        assert (one.intensities, one.times) == (None, None)
        return
    np.testing.assert_array_equal(one.intensities, COLUMNS["intensity"])
    # A moment of today in ns is a double that resolves a quarter of a microsecond.
    np.testing.assert_allclose(one.times, AFTER, atol=1e-6 if vendor == "livox" else 1e-8)


@pytest.mark.parametrize(
    ("vendor", "name", "values", "times"),
    [
        ("livox", "timestamp", STAMP + AFTER, AFTER),
        ("velodyne", "time", 9.9 * AFTER, 9.9 * AFTER),
        ("velodyne", "time", 10.1 * AFTER, None),
        ("velodyne", "time", -10.1 * AFTER, None),
    ],
)
def test_moments_are_in_s_or_in_ns_or_in_no_known_unit(tmp_path, vendor, name, values, times):
    columns = {key: column.copy() for key, column in COLUMNS.items()} | {name: values.copy()}
    columns["x"][3] = np.nan
    for axis in "xyz":
        columns[axis][7] = 0.0
    one = read_scan(write_bag(tmp_path, [laid_out(STAMP, columns, vendor, rows=16)]))
    np.testing.assert_array_equal(one.points, np.delete(POINTS, [3, 7], axis=0))
    np.testing.assert_array_equal(one.intensities, np.delete(np.arange(COUNT), [3, 7]))
    if times is None:
        assert one.times is None
    else:
        np.testing.assert_allclose(one.times, np.delete(times, [3, 7]), atol=1e-6)


@pytest.mark.parametrize("site", [PLANE, SPACE], ids=["plane", "space"])
@pytest.mark.parametrize("flipped", [False, True])
def test_the_command_answers_the_pose_of_the_robot_and_names_its_frame(
    tmp_path, typed, site, flipped
):
    truth, space = site.places[0], site is SPACE
    mount = Pose3(0.2, -0.1, 0.4, 0.1, math.pi if flipped else 0.0)
    # What a sensor upside down sees is what an upright one at its place does, turned over.
    upright = Pose3(0.2, -0.1, 0.4, 0.1) if space else Pose(0.2, -0.1, 0.4)
    seen = site.look(truth, mount=upright)
    raw = seen.mirrored() if flipped else seen
    message = (
        cloud(1.0, raw.points, "lidar")
        if space
        else scan(1.0, np.where(raw.valid, raw.ranges, np.inf), "lidar", range_max=20.0,
                  angle_min=raw.bearings[0], angle_increment=np.diff(raw.bearings)[0])
    )  # fmt: skip
    sits = link(0.0, "base_link", "lidar", mount.position, mount.quaternion, "/tf_static")
    path = write_bag(tmp_path, [sits, message])
    iv.write_atlas(site.atlas, tmp_path / "atlas")

    def located(*options):
        report = json.loads(typed("locate", tmp_path / "atlas", path, "--json", *options)[1])
        return report["verdict"], report["frame"], report["estimates"][0]

    verdict, frame, best = located()
    assert (verdict, frame) == ("unique", "base_link")
    names = ("x", "y", "yaw", "z", "roll", "pitch") if space else ("x", "y", "yaw")
    away, turn = gap(type(truth)(*(best[name] for name in names)), truth)
    assert away < 0.1
    assert turn < 0.03
    assert "base_link" in typed("locate", tmp_path / "atlas", path)[1]
    _, frame, found = located("--sensor", 0, 0, 0, *(["--mirror"] if flipped else []))
    assert frame == "robot"
    at = (truth @ upright).position
    np.testing.assert_allclose([found["x"], found["y"]], at[:2], atol=0.1)


def test_without_rosbags_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rosbags.highlevel", None)
    with refused("bags", "missing_extra", iv.MissingExtraError):
        read_scan(tmp_path / "run.bag")
