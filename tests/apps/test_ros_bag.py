"""A bag of a generated drive, and the node that is driven by it."""

import json

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from tests.support.sites import PLANE, gap
from typer.testing import CliRunner

import isovist as iv
from isovist import FileError, InputError
from isovist.apps import BagBus, BagWriter, Node, Parameters, app, write_demonstration
from isovist.io import time_of
from isovist.ros import messages

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    path = tmp_path_factory.mktemp("bag") / "drive.mcap"
    assert write_demonstration(path, seed=1, seconds=4.0) == 40
    return path


def read(path):
    with AnyReader([path]) as reader:
        return [
            (connection.topic, time, reader.deserialize(data, connection.msgtype))
            for connection, time, data in reader.messages()
        ]


def test_the_bag_has_what_a_robot_records(bag):
    topics = {topic for topic, _, _ in read(bag)}
    assert topics == {"/map", "/scan", "/odom", "/tf", "/tf_static", "/amcl_pose", "/truth"}
    log = iv.read_log(bag)
    assert len(log) == 40
    assert log.frame == "base_footprint"
    np.testing.assert_allclose(log.T_robot_sensor.vector, [0.2, 0.0, 0.0], atol=1e-9)


def test_the_same_seed_is_the_same_bag(bag, tmp_path):
    write_demonstration(tmp_path / "again.mcap", seed=1, seconds=4.0)
    assert (tmp_path / "again.mcap").read_bytes() == bag.read_bytes()


def test_a_bag_drives_the_node_to_the_same_bytes_twice_and_no_pose_is_wrong(bag, tmp_path):
    for name in ("one.mcap", "two.mcap"):
        bus = BagBus(bag, tmp_path / name)
        node = Node(bus, Parameters(publish=("initialpose", "pose", "tf"), watch="/amcl_pose"))
        bus.run()
        assert node.scans == 40
    one, two = ((tmp_path / name).read_bytes() for name in ("one.mcap", "two.mcap"))
    assert one == two
    said = read(tmp_path / "one.mcap")
    truth = {time_of(m.header): messages.pose_of(m)[0] for t, _, m in read(bag) if t == "/truth"}
    poses = [message for topic, _, message in said if topic == "/isovist/pose"]
    assert len(poses) > 30
    for message in poses:
        away, turn = gap(messages.pose_of(message)[0], truth[time_of(message.header)])
        assert away < 0.5
        assert turn < np.radians(10.0)
    other = [m.status[0] for t, _, m in said if t == "/isovist/verdict"]
    other = [row.level for row in other if row.name == "isovist: /amcl_pose"]
    assert 2 not in other[:4]
    assert other[-1] == 2
    assert sum(topic == "/initialpose" for topic, _, _ in said) >= 1


def test_a_bag_is_replayed_on_several_maps_and_the_one_on_its_topic_is_loaded(bag, tmp_path):
    iv.write_map(PLANE.world, tmp_path / "elsewhere.yaml")
    maps = ["--map", str(tmp_path / "elsewhere.yaml"), "--map", str(bag.with_suffix(".yaml"))]
    said = tmp_path / "said.mcap"
    result = CliRunner().invoke(app, ["ros", *maps, "--replay", str(bag), "-o", str(said)])
    assert result.exit_code == 0, result.output
    assert "published on /initialpose; at the end unique on drive: x " in result.output
    poses = [message for topic, _, message in read(said) if topic == "/initialpose"]
    assert {message.header.frame_id for message in poses} == {"map"}
    rows = [message.status[0].values for topic, _, message in read(said) if "verdict" in topic]
    last = {pair.key: pair.value for pair in rows[-1]}
    assert (last["map"], last["loaded"]) == ("drive", "drive")


def test_the_commands_write_and_replay_a_bag(tmp_path):
    path, out = str(tmp_path / "drive.mcap"), str(tmp_path / "out.mcap")
    made = CliRunner().invoke(app, ["demo", "--bag", path, "--seconds", "2", "--seed", "1"])
    assert made.exit_code == 0
    plan = tmp_path / "drive.yaml"
    assert made.output == f"20 scans of a drive of 2 s in {path}, the map in {plan}\n"
    assert iv.read_map(plan).resolution == 0.05
    again = CliRunner().invoke(app, ["demo", "--bag", str(tmp_path / "drive.MCAP")])
    assert str(again.exception) == (f"{plan} is there already. Take another name, or remove it.")
    told = CliRunner().invoke(app, ["ros", "--replay", path, "-o", out])
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("20 scans, 1 pose published on /initialpose; at the end unique: ")
    assert {topic for topic, _, _ in read(tmp_path / "out.mcap")} >= {"/initialpose"}
    told = CliRunner().invoke(app, ["ros", "--replay", path, "--watch", "/amcl_pose"])
    assert told.stdout.splitlines()[1] == "/amcl_pose: 2 agrees, 2 disagrees."
    alone = CliRunner().invoke(app, ["ros", "-o", out])
    assert str(alone.exception) == (
        "`--output` is for a bag that is replayed; give it as `--replay`."
    )
    track = CliRunner().invoke(app, ["ros", "--replay", path, "--map-topic", "/nothing"])
    assert track.exit_code == 1
    assert track.stdout == ("0 scans answered. There is no map yet; one is awaited on /nothing.\n")


def test_bad_bags_are_one_line(bag, tmp_path):
    with pytest.raises(InputError) as error:
        replayed(bag, Parameters(scan="/nothing"))
    assert str(error.value) == (
        "drive.mcap has no topic '/nothing' of type LaserScan. It has: /scan."
    )
    with pytest.raises(InputError) as error:
        BagWriter(tmp_path / "out.bag")
    assert str(error.value) == "out.bag: a bag is written as .mcap."
    (tmp_path / "there.mcap").write_bytes(b"x")
    with pytest.raises(FileError) as error:
        BagWriter(tmp_path / "there.mcap")
    assert str(error.value) == (
        f"{tmp_path / 'there.mcap'} is there already. Take another name, or remove it."
    )
    with pytest.raises(FileError, match=r"is no folder, so no bag can be written there\.$"):
        BagWriter(tmp_path / "none" / "out.mcap")
    with pytest.raises(InputError) as error:
        write_demonstration(tmp_path / "long.mcap", seconds=1e6)
    assert str(error.value) == "A drive takes from 1 to 3600 s, got 1e+06."


def replayed(path, parameters):
    bus = BagBus(path)
    Node(bus, parameters)
    bus.run()
    return bus


def test_a_bag_kept_in_memory_is_json_ready(bag):
    bus = replayed(bag, Parameters())
    words = [m.status[0].message for topic, _, m in bus.said if topic.name == "/isovist/verdict"]
    assert json.dumps(words)
    assert len(words) == 40
