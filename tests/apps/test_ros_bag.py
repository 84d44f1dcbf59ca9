"""A bag of a generated drive, and `isovist ros` that replays it."""

import numpy as np
import pytest
from tests.support.command_line import one_line, run
from tests.support.ros_robot import pose_of, read_bag, time_of
from tests.support.sites import PLANE, gap

import isovist as iv

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    path = tmp_path_factory.mktemp("bag") / "drive.mcap"
    line = run("demo", "--bag", path, "--seconds", 4, "--seed", 1)
    assert (line.code, line.out.split()[0]) == (0, "40")
    assert iv.read_map(path.with_suffix(".yaml")).resolution == 0.05
    return path


def test_the_bag_has_what_a_robot_records(bag, tmp_path):
    topics = {topic for topic, _ in read_bag(bag)}
    assert topics == {"/map", "/scan", "/odom", "/tf", "/tf_static", "/amcl_pose", "/truth"}
    log = iv.read_log(bag)
    assert (len(log), log.frame) == (40, "base_footprint")
    np.testing.assert_allclose(log.T_robot_sensor.vector, [0.2, 0.0, 0.0], atol=1e-9)
    run("demo", "--bag", tmp_path / "again.mcap", "--seconds", 4, "--seed", 1)
    assert (tmp_path / "again.mcap").read_bytes() == bag.read_bytes()
    assert one_line("demo", "--bag", tmp_path / "again.MCAP").reason == "file_exists"


def test_a_bag_drives_the_node_to_the_same_bytes_twice_and_no_pose_is_wrong(bag, tmp_path):
    one, two = tmp_path / "one.mcap", tmp_path / "two.mcap"
    outputs = [word for name in ("initialpose", "pose", "tf") for word in ("--publish", name)]
    words = ("ros", "--replay", bag, "--watch", "/amcl_pose", *outputs, "-o")
    line = run(*words, one)
    assert line.code == 0, line
    first, second = line.out.splitlines()
    assert first.startswith("40 scans, ")
    run(*words, two)
    assert one.read_bytes() == two.read_bytes()
    truth = {time_of(m.header): pose_of(m) for topic, m in read_bag(bag) if topic == "/truth"}
    said = read_bag(one)
    poses = [message for topic, message in said if topic == "/isovist/pose"]
    assert len(poses) > 30
    for message in poses:
        away, turn = gap(pose_of(message), truth[time_of(message.header)])
        assert away < 0.5
        assert turn < np.radians(10.0)
    rows = [message.status[0] for topic, message in said if topic == "/isovist/verdict"]
    levels = [row.level for row in rows if row.name == "isovist: /amcl_pose"]
    assert 2 not in levels[:4]
    assert levels[-1] == 2
    counts = [(levels.count(0), "agrees"), (levels.count(1), "cannot tell")]
    told = [f"{count} {verdict}" for count, verdict in [*counts, (levels.count(2), "disagrees")]]
    assert second == f"/amcl_pose: {', '.join(told)}."
    assert sum(row.name == "isovist" for row in rows) == 40
    assert sum(topic == "/initialpose" for topic, _ in said) >= 1


def test_a_bag_is_replayed_on_several_maps_and_the_one_on_its_topic_is_loaded(bag, tmp_path):
    iv.write_map(PLANE.world, tmp_path / "elsewhere.yaml")
    maps = ("--map", tmp_path / "elsewhere.yaml", "--map", bag.with_suffix(".yaml"))
    line = run("ros", *maps, "--replay", bag, "-o", tmp_path / "said.mcap")
    assert line.code == 0, line
    assert " unique on drive: x " in line.out
    said = read_bag(tmp_path / "said.mcap")
    frames = {message.header.frame_id for topic, message in said if topic == "/initialpose"}
    assert frames == {"map"}
    rows = [message.status[0].values for topic, message in said if topic == "/isovist/verdict"]
    last = {pair.key: pair.value for pair in rows[-1]}
    assert (last["map"], last["loaded"]) == ("drive", "drive")


def test_what_cannot_be_replayed_is_one_line(bag):
    line = one_line("ros", "--replay", bag, "--scan", "/nothing")
    assert line.reason == "invalid_value"
    assert "/scan" in line.err
    silent = run("ros", "--replay", bag, "--map-topic", "/nothing")
    assert (silent.code, silent.out.split()[0]) == (1, "0")
    assert "/nothing" in silent.out
