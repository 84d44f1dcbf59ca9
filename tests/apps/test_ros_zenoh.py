"""ROS 2 over zenoh: the wire of rmw_zenoh, on the loopback of this machine."""

import logging
import socket
import subprocess
import sys

import pytest
from tests.support.ros_robot import Robot
from tests.support.sites import PLANE, gap

import isovist as iv
from isovist import InputError, MissingExtraError, Pose
from isovist.apps import TOPICS, Router, Topic, ZenohBus, attachment
from isovist.io import LASER_SCAN, time_of
from isovist.ros import messages

CHATTER = Topic("/robot/scan", LASER_SCAN, reliable=False)
HASH = messages.hash_of(LASER_SCAN)


@pytest.fixture(scope="module")
def endpoint():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    with Router(f"tcp/localhost:{port}"):
        yield f"tcp/localhost:{port}"


def until(bus, condition, act=lambda: None):
    """Act and call back until something is so, for a minute at most."""
    for _ in range(1200):
        if condition():
            return True
        act()
        bus.run(0.05)
    return False


def scan():
    return Robot(None, mount=Pose()).scan()


def test_keys_tokens_and_attachments_are_those_of_rmw_zenoh(endpoint):
    with (
        ZenohBus(endpoint=endpoint, domain=7, node="talker") as bus,
        ZenohBus(endpoint=endpoint, domain=7) as other,
    ):
        samples = []
        key = f"7/robot/scan/sensor_msgs::msg::dds_::LaserScan_/{HASH}"
        listener = other._session.declare_subscriber(key, samples.append)
        publish = bus.advertise(CHATTER)
        assert until(other, lambda: len(samples) >= 2, lambda: publish(scan()))
        listener.undeclare()
        first, second = (bytes(sample.attachment) for sample in samples[:2])
        assert len(first) == 33
        assert first[16] == 16
        assert first[17:] == second[17:]
        number = [int.from_bytes(row[:8], "little") for row in (first, second)]
        assert number[1] == number[0] + 1
        assert bytes(samples[0].payload)[:4] == b"\0\1\0\0"
        zid = bus._session.zid()
        alive = set()
        graph = other._session.liveliness().declare_subscriber(
            f"@ros2_lv/7/{zid}/**", lambda sample: alive.add(str(sample.key_expr)), history=True
        )
        assert until(other, lambda: len(alive) == 2)
        graph.undeclare()
        assert alive == {
            f"@ros2_lv/7/{zid}/0/0/NN/%/%/talker",
            f"@ros2_lv/7/{zid}/0/1/MP/%/%/talker/%robot%scan/sensor_msgs::msg::dds_::LaserScan_/"
            f"{HASH}/2::,10:,:,:,,",
        }


def test_an_attachment_is_33_bytes():
    assert attachment(1, 2, b"0123456789abcdef") == (
        b"\1" + bytes(7) + b"\2" + bytes(7) + b"\x10" + b"0123456789abcdef"
    )


@pytest.mark.slow
def test_a_latched_map_reaches_who_comes_late_and_a_damaged_message_goes_to_the_log(
    endpoint, caplog
):
    with ZenohBus(endpoint=endpoint, domain=8) as robot:
        robot.advertise(TOPICS["map"])(messages.map_message(PLANE.world, 1.0, "map"))
        with ZenohBus(endpoint=endpoint, domain=8) as late:
            maps, scans = [], []
            late.subscribe(TOPICS["map"], maps.append)
            late.subscribe(CHATTER, scans.append)
            assert until(late, lambda: maps)
            assert messages.map_of(maps[0]).cells.shape == PLANE.world.cells.shape
            key = f"8/robot/scan/sensor_msgs::msg::dds_::LaserScan_/{HASH}"
            damaged = lambda: robot._session.put(key, b"\0\1\0\0xyz")  # noqa: E731
            with caplog.at_level(logging.WARNING, "isovist.ros"):
                assert until(late, lambda: caplog.messages, damaged)
            assert caplog.messages[0] == ("/robot/scan: 7 bytes are no sensor_msgs/msg/LaserScan.")
            publish = robot.advertise(CHATTER)
            assert until(late, lambda: scans, lambda: publish(scan()))


def test_of_too_many_messages_that_wait_the_oldest_goes_and_is_counted(endpoint, monkeypatch):
    monkeypatch.setattr("isovist.ros.zenoh_bus.WAITING", 10)
    with ZenohBus(endpoint=endpoint, domain=9) as bus:
        seen = []
        bus.subscribe(CHATTER, seen.append)
        for k in range(25):
            message = scan()
            message.range_max = 100.0 + k
            bus._put(CHATTER, messages.encode(LASER_SCAN, message), seen.append)
        bus.run(0.01)
        assert [round(message.range_max) for message in seen] == list(range(115, 125))
        assert bus.lost == {"/robot/scan": 15}


@pytest.mark.slow
def test_a_node_of_its_own_finds_the_robot_dies_and_finds_it_again(endpoint, tmp_path):
    """Two processes and a router, the map latched before the node begins."""
    with ZenohBus(endpoint=endpoint, domain=11, node="robot") as bus:
        bus.advertise(TOPICS["map"])(messages.map_message(PLANE.world, 1.0, "map"))
        mount = Pose(-0.25, 0.1, 0.3)
        static = messages.transforms_message(mount, 1.0, "base", "laser")
        bus.advertise(TOPICS["tf_static"])(static)
        poses, verdicts = [], []
        bus.subscribe(Topic("/initialpose", messages.POSE), poses.append)
        bus.subscribe(Topic("/isovist/verdict", messages.VERDICT), verdicts.append)
        publish = {name: bus.advertise(TOPICS[name]) for name in ("scan", "odom")}
        robot = Robot(None, mount=mount)
        robot.wire = type("Out", (), {"send": lambda _, name, m: publish[name[1:]](m)})()
        command = [sys.executable, "-m", "isovist", "ros", "--connect", endpoint, "--domain", "11"]
        for number in (1, 2):
            with (tmp_path / f"log{number}").open("wb") as log:
                node = subprocess.Popen(command, stderr=log)
            try:
                found = until(bus, lambda n=number: len(poses) >= n, robot.look)
                said = (tmp_path / f"log{number}").read_text()
                assert found, (said, [v.status[0].message for v in verdicts[-3:]])
                assert "isovist: the map is ready: " in said
                assert gap(messages.pose_of(poses[-1])[0], robot.truth)[0] < 0.1
                if number == 1:
                    assert answer_of(bus) == (
                        True, "Everything is forgotten; the next scan is searched everywhere.",
                    )  # fmt: skip
                    poses.clear()
                    assert until(bus, lambda: len(poses) >= 1, robot.look)
                    begin = robot.time
                    for _ in range(50):
                        robot.look()
                        bus.run(0.01)
                    robot.say_odometry(1.0)
                    wanted = {round(begin + 0.1 * k, 3) for k in range(50)}
                    assert until(bus, lambda b=wanted: b <= stamps_of(verdicts))
            finally:
                node.kill()
                node.wait()


def stamps_of(verdicts):
    """Of the scans that were answered, in s."""
    return {round(time_of(verdict.header), 3) for verdict in verdicts}


def answer_of(bus):
    """Of the service, asked as rmw_zenoh asks."""
    key = f"11/isovist/relocalize/std_srvs::srv::dds_::Trigger_/{messages.TRIGGER_HASH}"
    ask = attachment(1, 5, b"x" * 16)
    (reply,) = bus._session.get(key, payload=b"\0\1\0\0\0", attachment=ask)
    assert bytes(reply.ok.attachment) == ask
    told = messages.decode(f"{messages.TRIGGER}_Response", bytes(reply.ok.payload))
    return told.success, told.message


def test_no_router_and_two_routers_are_one_line(endpoint):
    with pytest.raises(InputError) as error:
        ZenohBus(endpoint="tcp/localhost:9")
    assert str(error.value) == (
        "No zenoh router answers at tcp/localhost:9. Start one, or give `--router`."
    )
    with pytest.raises(InputError) as error:
        Router(endpoint)
    assert str(error.value) == (
        f"No router can listen at {endpoint}. Does one run already? Then leave out `--router`."
    )


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "zenoh", None)
    with pytest.raises(MissingExtraError) as error:
        ZenohBus()
    assert str(error.value) == (
        "ROS 2 without a ROS installation needs an optional part: pip install 'isovist[ros]'."
    )
    assert issubclass(MissingExtraError, iv.IsovistError)
