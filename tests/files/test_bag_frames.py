"""Where the sensor of a bag sits: one logic for a scan and for a log, in plane and space."""

import json
import math

import numpy as np
import pytest
from tests.support.sites import PLANE, SPACE, gap
from typer.testing import CliRunner

import isovist as iv
from isovist import FileError, InputError, Pose, Pose3, read_log, read_scan
from isovist.apps import app

pytest.importorskip("rosbags.rosbag2")
from tests.support.bag_writer import FORMATS, cloud, link, odometry, quaternion, scan, write_bag

SITS = link(0.0, "base", "laser", (0.2, 0.1, 0.5), quaternion(yaw=0.3), topic="/tf_static")
WAY = [odometry(10.0, (0.0, 0.0, 3.0)), odometry(12.0, (1.0, 2.0, -3.0))]
POINTS = np.random.default_rng(0).normal(size=(60, 3))


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_a_scan_and_a_log_of_one_bag_have_their_sensor_at_one_place(tmp_path, kind):
    path = write_bag(tmp_path, [SITS, *WAY, scan(11.0)], kind)
    one, log = read_scan(path), read_log(path)
    assert one.T_robot_sensor == log.T_robot_sensor == log.scan(0).T_robot_sensor
    np.testing.assert_allclose(one.T_robot_sensor.vector, [0.2, 0.1, 0.3])
    assert one.frame == log.frame == log.scan(0).frame == "base"


@pytest.mark.slow
@pytest.mark.parametrize("turn", [{"roll": math.pi}, {"pitch": math.pi}, {"roll": -3.12}])
def test_a_sensor_upside_down_sees_the_same_in_a_scan_as_in_a_log(tmp_path, turn):
    sits = link(0.0, "base", "laser", (0.2, 0.1, 0.5), quaternion(**turn, yaw=0.3), "/tf_static")
    path = write_bag(tmp_path, [sits, *WAY, scan(11.0, (1.0, 2.0, 3.0))])
    one, same = read_scan(path), read_log(path).scan(0)
    assert one.ranges.tolist() == [3.0, 2.0, 1.0]
    assert one.T_robot_sensor == same.T_robot_sensor
    np.testing.assert_allclose(one.endpoints, same.endpoints, atol=1e-6)
    upright = read_scan(path, T_robot_sensor=Pose(0.2))
    assert upright.ranges.tolist() == [1.0, 2.0, 3.0]
    assert (upright.T_robot_sensor, upright.frame) == (Pose(0.2), "robot")


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("messages", "text"),
    [
        (
            [*WAY, scan(11.0)],
            "run.bag does not say where `laser` sits on `base`: no link of /tf or /tf_static joins "
            "them. Say it as `T_robot_sensor`, at the command line `--sensor X Y YAW`.",
        ),
        (
            [link(1.0, "odom", "base"), scan(11.0)],
            "run.bag does not say where `laser` sits on `base`: no link of /tf or /tf_static joins "
            "them. Say it as `T_robot_sensor`, at the command line `--sensor X Y YAW`.",
        ),
        (
            [link(0.0, "base", "laser", turn=quaternion(pitch=0.5)), scan(11.0)],
            "run.bag: `laser` is tilted by 29°. A plan needs a level sensor, within 5°.",
        ),
    ],
)
def test_a_place_that_is_not_known_is_refused_as_for_a_log(tmp_path, messages, text):
    path = write_bag(tmp_path, messages)
    with pytest.raises(FileError) as error:
        read_scan(path)
    assert str(error.value) == text
    assert read_scan(path, T_robot_sensor=Pose()).frame == "robot"


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_a_cloud_of_a_bag_is_read_with_the_place_of_its_lidar(tmp_path, kind):
    turn = quaternion(roll=math.pi, yaw=0.3)
    sits = link(0.0, "base", "lidar", (0.2, 0.1, 0.5), turn, topic="/tf_static")
    rows = np.column_stack([POINTS, np.arange(60.0)])
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


@pytest.mark.slow
def test_a_topic_chooses_between_scans_and_clouds(tmp_path):
    path = write_bag(tmp_path, [scan(11.0), cloud(11.0, POINTS), cloud(11.0, POINTS, topic="/b")])
    assert isinstance(read_scan(path), iv.Scan)
    assert isinstance(read_scan(path, scan_topic="/b"), iv.CloudScan)
    two = write_bag(tmp_path, [cloud(11.0, POINTS), cloud(11.0, POINTS, topic="/b")], name="two")
    with pytest.raises(InputError) as error:
        read_scan(two)
    assert str(error.value) == (
        "two.bag has 2 topics of type PointCloud2; choose one as `scan_topic`: /b, /points."
    )


@pytest.mark.slow
def test_a_broken_cloud_is_named(tmp_path):
    flat = write_bag(tmp_path, [cloud(11.0, POINTS[:, :2], names="xy")], name="flat")
    few = write_bag(tmp_path, [cloud(11.0, POINTS[:9])], name="few")
    for path, text in (
        (flat, "flat.bag has a broken cloud: the field `z` is missing."),
        (
            few,
            "few.bag has no cloud with 50 returns on that topic: of 1 the fullest has 9. Points "
            "that are NaN or at the origin are none.",
        ),
    ):
        with pytest.raises(FileError) as error:
            read_scan(path)
        assert str(error.value) == text


@pytest.mark.slow
@pytest.mark.parametrize("site", [PLANE, SPACE], ids=["plane", "space"])
@pytest.mark.parametrize("flipped", [False, True])
def test_the_command_answers_the_pose_of_the_robot_and_names_its_frame(tmp_path, site, flipped):
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
    result = CliRunner().invoke(app, ["locate", str(tmp_path / "atlas"), str(path), "--json"])
    report = json.loads(result.output)
    assert (report["verdict"], report["frame"]) == ("unique", "base_link")
    best = report["estimates"][0]
    names = ("x", "y", "yaw", "z", "roll", "pitch") if space else ("x", "y", "yaw")
    away, turn = gap(type(truth)(*(best[name] for name in names)), truth)
    assert away < 0.1
    assert turn < 0.03
    words = CliRunner().invoke(app, ["locate", str(tmp_path / "atlas"), str(path)])
    assert "\n  frame: base_link\n" in words.output
    given = ["--sensor", "0", "0", "0", *(["--mirror"] if flipped else [])]
    own = CliRunner().invoke(app, ["locate", str(tmp_path / "atlas"), str(path), "--json", *given])
    assert json.loads(own.output)["frame"] == "robot"
    found = json.loads(own.output)["estimates"][0]
    at = (truth @ upright).position
    np.testing.assert_allclose([found["x"], found["y"]], at[:2], atol=0.1)


def test_a_scan_in_a_file_has_the_pose_of_its_sensor_unless_its_place_is_said():
    one = PLANE.look(PLANE.places[0])
    assert iv.locate(PLANE.atlas, one).frame == "sensor"
    placed = PLANE.look(PLANE.places[0], mount=PLANE.mount)
    assert iv.locate(PLANE.atlas, placed).frame == "robot"
