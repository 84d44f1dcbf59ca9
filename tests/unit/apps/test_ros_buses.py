"""The buses that carry messages: zenoh as rmw_zenoh speaks it, rclpy as it is played here, bags."""

import logging
import sys
from dataclasses import fields
from types import ModuleType, SimpleNamespace

import pytest
import yaml
from tests.support.errors import refused
from tests.support.paths import ROOT
from tests.support.ros_robot import Robot
from tests.support.sites import PLANE, gap
from tests.support.zenoh_router import routed, until

import isovist as iv
from isovist.apps import (
    TOPICS,
    BagBus,
    BagWriter,
    Node,
    Parameters,
    RclpyBus,
    Router,
    Topic,
    ZenohBus,
    parameters_of,
    write_demonstration,
)
from isovist.apps.ros import messages
from isovist.io import LASER_SCAN

CHATTER = Topic("/robot/scan", LASER_SCAN, reliable=False)
KEY = f"robot/scan/sensor_msgs::msg::dds_::LaserScan_/{messages.hash_of(LASER_SCAN)}"


@pytest.fixture(scope="module")
def endpoint():
    with routed() as endpoint:
        yield endpoint


def scan(**changes):
    return Robot(None).scan(**changes)


def test_keys_tokens_and_attachments_are_those_of_rmw_zenoh(endpoint):
    with (
        ZenohBus(endpoint=endpoint, domain=7, node="talker") as bus,
        ZenohBus(endpoint=endpoint, domain=7) as other,
    ):
        samples = []
        listener = other._session.declare_subscriber(f"7/{KEY}", samples.append)
        publish = bus.advertise(CHATTER)
        assert until(other, lambda: len(samples) >= 2, lambda: publish(scan()))
        listener.undeclare()
        first, second = (bytes(sample.attachment) for sample in samples[:2])
        assert (len(first), first[16], first[17:]) == (33, 16, second[17:])
        number = [int.from_bytes(row[:8], "little") for row in (first, second)]
        assert number[1] == number[0] + 1
        assert bytes(samples[0].payload)[:4] == b"\0\1\0\0"
        zid, alive = bus._session.zid(), set()
        graph = other._session.liveliness().declare_subscriber(
            f"@ros2_lv/7/{zid}/**", lambda sample: alive.add(str(sample.key_expr)), history=True
        )
        assert until(other, lambda: len(alive) == 2)
        graph.undeclare()
        kind = KEY.removeprefix("robot/scan/")
        assert alive == {
            f"@ros2_lv/7/{zid}/0/0/NN/%/%/talker",
            f"@ros2_lv/7/{zid}/0/1/MP/%/%/talker/%robot%scan/{kind}/2::,10:,:,:,,",
        }


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
            damaged = lambda: robot._session.put(f"8/{KEY}", b"\0\1\0\0xyz")  # noqa: E731
            with caplog.at_level(logging.WARNING, "isovist.ros"):
                assert until(late, lambda: caplog.messages, damaged)
            assert caplog.messages[0].startswith("/robot/scan: ")
            assert scans == []
            publish = robot.advertise(CHATTER)
            assert until(late, lambda: scans, lambda: publish(scan()))


def test_of_too_many_messages_that_wait_the_oldest_goes_and_is_counted(endpoint):
    with ZenohBus(endpoint=endpoint, domain=9) as bus:
        seen, message = [], scan()
        bus.subscribe(CHATTER, seen.append)
        for k in range(1015):
            message.range_max = 100.0 + k
            bus._enqueue(CHATTER, messages.encode(LASER_SCAN, message), seen.append)
        bus.run(0.01)
        assert [round(message.range_max) for message in seen] == list(range(115, 1115))
        assert bus.lost == {"/robot/scan": 15}


def test_no_router_and_two_routers_are_refused(endpoint):
    with refused(None, "unavailable"):
        ZenohBus(endpoint="tcp/localhost:9")
    with refused(None, "unavailable"):
        Router(endpoint)


@pytest.mark.parametrize(
    ("module", "make", "field", "code", "kind"),
    [("zenoh", ZenohBus, "ros", "missing_extra", iv.MissingExtraError),
     ("rclpy", RclpyBus, None, "unavailable", iv.InputError)],
)  # fmt: skip
def test_without_its_library_a_bus_says_so(monkeypatch, module, make, field, code, kind):
    monkeypatch.setitem(sys.modules, module, None)
    with refused(field, code, kind):
        make()


class PlayedNode:
    """What of a node of rclpy is used."""

    def __init__(self, given=()):
        self.given, self.heard, self.sent = dict(given), {}, {}
        self.profiles, self.services = {}, {}

    def declare_parameter(self, name, default):
        return SimpleNamespace(value=self.given.get(name, default))

    def create_subscription(self, kind, topic, callback, profile, *, raw):
        assert raw
        self.heard[topic], self.profiles[topic] = callback, (kind, profile)

    def create_publisher(self, _kind, topic, _profile):
        sent = self.sent.setdefault(topic, [])
        return SimpleNamespace(publish=lambda data: sent.append(bytes(data)))

    def create_service(self, _kind, name, callback):
        self.services[name] = callback


@pytest.fixture
def played(monkeypatch):
    """A node in a process with the modules that a sourced ROS 2 would bring."""
    qos = ModuleType("rclpy.qos")
    qos.QoSProfile = lambda **values: values
    qos.ReliabilityPolicy = SimpleNamespace(RELIABLE="reliable", BEST_EFFORT="best effort")
    qos.DurabilityPolicy = SimpleNamespace(TRANSIENT_LOCAL="latched", VOLATILE="volatile")
    monkeypatch.setitem(sys.modules, "rclpy", ModuleType("rclpy"))
    monkeypatch.setitem(sys.modules, "rclpy.qos", qos)
    kinds = ("geometry_msgs", "nav_msgs", "sensor_msgs", "diagnostic_msgs", "tf2_msgs")
    for package in (*kinds, "visualization_msgs", "std_srvs"):
        group = "srv" if package == "std_srvs" else "msg"
        module = ModuleType(f"{package}.{group}")
        module.__getattr__ = lambda name, package=package: f"{package} {name}"
        monkeypatch.setitem(sys.modules, package, ModuleType(package))
        monkeypatch.setitem(sys.modules, f"{package}.{group}", module)
    return PlayedNode()


@pytest.mark.slow
def test_the_node_runs_on_rclpy_as_on_every_bus(played):
    Node(RclpyBus(played), Parameters(), PLANE.atlas)
    kinds = {"/scan": LASER_SCAN, "/odom": "nav_msgs/msg/Odometry"}

    def send(name, message):
        kind = kinds.get(name, messages.TRANSFORM)
        played.heard[name](messages.encode(kind, message))

    robot = Robot(SimpleNamespace(send=send))
    robot.link()
    robot.look(3)
    (data,) = played.sent["/initialpose"]
    pose, _ = messages.pose_of(messages.decode(messages.POSE, data))
    assert gap(pose, robot.truth)[0] < 0.1
    volatile = {"depth": 10, "reliability": "best effort", "durability": "volatile"}
    assert played.profiles["/scan"] == ("sensor_msgs LaserScan", volatile)
    assert played.profiles["/tf_static"][1]["durability"] == "latched"
    assert played.services["/isovist/relocalize"](None, SimpleNamespace()).success
    played.heard["/scan"](b"nonsense")


def test_maps_are_heard_latched(played):
    Node(RclpyBus(played), Parameters())
    latched = {"depth": 1, "reliability": "reliable", "durability": "latched"}
    assert played.profiles["/map"] == ("nav_msgs OccupancyGrid", latched)
    assert Topic("/map", messages.MAP).latched is False


def test_nothing_that_a_message_does_ends_the_bus(played, caplog):
    heard = []

    def fail(message):
        heard.append(message)
        raise (KeyError, iv.InputError)[len(heard) - 1]("oh")

    RclpyBus(played).subscribe(CHATTER, fail)
    for _ in range(2):
        played.heard["/robot/scan"](messages.encode(LASER_SCAN, scan()))
    assert len(heard) == 2
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.WARNING]


def test_parameters_are_ours_by_name_and_their_file_has_the_defaults():
    assert parameters_of(PlayedNode()) == (Parameters(), "")
    given = {"watch": "/amcl_pose", "publish": ["pose", "tf"], "sensor": ["0.2", "0", "0.5"]}
    parameters, atlas = parameters_of(PlayedNode({**given, "atlas": "office.atlas"}))
    assert (parameters.publish, parameters.watch) == (("pose", "tf"), "/amcl_pose")
    assert (parameters.sensor, atlas) == (iv.Pose(0.2, 0.0, 0.5), "office.atlas")
    text = (ROOT / "ros2/isovist_ros/config/isovist.yaml").read_text()
    told = yaml.safe_load(text)["isovist"]["ros__parameters"]
    assert set(told) == {field.name for field in fields(Parameters)} | {"atlas"}
    assert parameters_of(PlayedNode(told)) == (Parameters(), "")


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [("publish", ("poses",), "invalid_value"), ("scan", "scan", "invalid_value"),
     ("map", "", "invalid_value"), ("odom", "/", "invalid_value"), ("watch", "a", "invalid_value")],
)  # fmt: skip
def test_bad_parameters_are_refused(field, value, code):
    with refused(field, code):
        Parameters(**{field: value})
    assert Parameters(odom="tf", watch="").odom == "tf"


@pytest.mark.slow
def test_all_who_subscribe_to_a_topic_of_a_bag_hear_it(tmp_path):
    assert write_demonstration(tmp_path / "drive.mcap", seed=1, seconds=1.0) == 10
    bus, first, second = BagBus(tmp_path / "drive.mcap"), [], []
    bus.subscribe(Topic("/scan", LASER_SCAN), first.append)
    bus.subscribe(Topic("/scan", LASER_SCAN), second.append)
    assert bus.run() == len(first) == len(second) == 10


def test_a_bag_is_not_written_over_another_nor_by_another_name(tmp_path):
    (tmp_path / "there.mcap").write_bytes(b"x")
    (tmp_path / "begun.mcap.partial").mkdir()
    for name, code, kind in (("out.bag", "unknown_format", iv.InputError),
                             ("there.mcap", "file_exists", iv.FileError),
                             ("begun.mcap", "file_exists", iv.FileError),
                             ("none/out.mcap", "not_found", iv.FileError)):  # fmt: skip
        with refused(None, code, kind):
            BagWriter(tmp_path / name)
