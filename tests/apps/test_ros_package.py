"""ROS 2 itself is not here: its parts are played, and the ament package is checked on paper."""

import compileall
import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType, SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml
from tests.support.paths import ROOT
from tests.support.ros_robot import Robot
from tests.support.sites import PLANE, gap
from typer.main import get_command

from isovist import InputError, Pose
from isovist.apps import Node, Parameters, RclpyBus, Topic, app, parameters_of
from isovist.io import LASER_SCAN
from isovist.ros import messages

PACKAGE = ROOT / "ros2" / "isovist_ros"


class PlayedNode:
    """What of a node of rclpy is used."""

    def __init__(self, given=()):
        self.given, self.declared = dict(given), {}
        self.heard, self.sent, self.profiles, self.services = {}, {}, {}, {}

    def declare_parameter(self, name, default):
        self.declared[name] = default
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
def ros(monkeypatch):
    """Modules that a sourced ROS 2 would bring."""
    qos = ModuleType("rclpy.qos")
    qos.QoSProfile = lambda **values: values
    qos.ReliabilityPolicy = SimpleNamespace(RELIABLE="reliable", BEST_EFFORT="best effort")
    qos.DurabilityPolicy = SimpleNamespace(TRANSIENT_LOCAL="latched", VOLATILE="volatile")
    rclpy = ModuleType("rclpy")
    rclpy.qos = qos
    monkeypatch.setitem(sys.modules, "rclpy", rclpy)
    monkeypatch.setitem(sys.modules, "rclpy.qos", qos)
    kinds = {"geometry_msgs", "nav_msgs", "sensor_msgs", "diagnostic_msgs", "tf2_msgs"}
    for package in (*kinds, "visualization_msgs", "std_srvs"):
        group = "srv" if package == "std_srvs" else "msg"
        module = ModuleType(f"{package}.{group}")
        module.__getattr__ = lambda name, package=package: f"{package} {name}"
        monkeypatch.setitem(sys.modules, package, ModuleType(package))
        monkeypatch.setitem(sys.modules, f"{package}.{group}", module)
    return rclpy


@pytest.mark.slow
def test_the_node_runs_on_rclpy_as_on_every_bus(ros):
    assert ros
    played = PlayedNode()
    Node(RclpyBus(played), Parameters(), PLANE.atlas)
    kinds = {
        "/scan": LASER_SCAN,
        "/tf_static": messages.TRANSFORM,
        "/odom": "nav_msgs/msg/Odometry",
    }

    def send(_, name, message):
        played.heard[name](messages.encode(kinds[name], message))

    robot = Robot(type("Out", (), {"send": send})(), mount=Pose())
    robot.link()
    for _ in range(3):
        robot.look()
    (data,) = played.sent["/initialpose"]
    pose, _ = messages.pose_of(messages.decode(messages.POSE, data))
    assert gap(pose, robot.truth)[0] < 0.1
    assert played.profiles["/scan"] == (
        "sensor_msgs LaserScan",
        {"depth": 10, "reliability": "best effort", "durability": "volatile"},
    )
    assert played.profiles["/tf_static"][1]["durability"] == "latched"
    response = played.services["/isovist/relocalize"](None, SimpleNamespace())
    assert response.success
    played.heard["/scan"](b"nonsense")


def test_maps_are_heard_latched(ros):
    assert ros
    played = PlayedNode()
    Node(RclpyBus(played), Parameters())
    assert played.profiles["/map"] == (
        "nav_msgs OccupancyGrid",
        {"depth": 1, "reliability": "reliable", "durability": "latched"},
    )
    assert Topic("/map", messages.MAP).latched is False


def test_without_ros_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "rclpy", None)
    with pytest.raises(InputError) as error:
        RclpyBus()
    assert str(error.value) == (
        "rclpy cannot be imported. Source a ROS 2 first (`source /opt/ros/DISTRO/setup.bash`), "
        "or leave out `--native` to use zenoh."
    )


def test_parameters_are_ours_by_name():
    assert parameters_of(PlayedNode()) == (Parameters(), "")
    given = {"watch": "/amcl_pose", "publish": ["pose", "tf"], "sensor": ["0.2", "0", "0.5"]}
    parameters, atlas = parameters_of(PlayedNode({**given, "atlas": "office.atlas"}))
    assert parameters.publish == ("pose", "tf")
    assert parameters.sensor == Pose(0.2, 0.0, 0.5)
    assert atlas == "office.atlas"


def test_the_parameter_file_has_the_defaults():
    text = (PACKAGE / "config" / "isovist.yaml").read_text()
    told = yaml.safe_load(text)["isovist"]["ros__parameters"]
    assert set(told) == {field.name for field in fields(Parameters)} | {"atlas"}
    assert parameters_of(PlayedNode(told)) == (Parameters(), "")


def test_the_package_compiles_and_its_metadata_fit():
    assert compileall.compile_dir(PACKAGE, quiet=1, force=True, legacy=False)
    root = ElementTree.parse(PACKAGE / "package.xml").getroot()
    assert root.attrib["format"] == "3"
    name, setup = root.findtext("name"), (PACKAGE / "setup.py").read_text()
    assert name == "isovist_ros"
    assert f'NAME = "{name}"' in setup
    assert f'version="{root.findtext("version")}"' in setup
    assert root.findtext("license") == "Apache-2.0"
    assert root.findtext("export/build_type") == "ament_python"
    assert (PACKAGE / "resource" / name).exists()
    depends = {element.text for element in root.iter("exec_depend")}
    used = {messages.POSE, messages.MAP, messages.VERDICT, messages.MARKERS, messages.TRANSFORM}
    used |= {LASER_SCAN, messages.TRIGGER}
    assert {kind.split("/")[0] for kind in used} <= depends
    for path in ("package.xml", "launch/isovist.launch.py", "config/isovist.yaml"):
        assert path in setup
        assert (PACKAGE / path).exists()


def test_the_compose_file_calls_a_verb_that_is_there():
    service = yaml.safe_load((PACKAGE.parent / "compose.yaml").read_text())["services"]["isovist"]
    words = service["command"].replace('"', "").split()
    options = words[words.index("ros", words.index("&&")) + 1 :]
    command = get_command(app).commands["ros"]
    known = {name for option in command.params for name in option.opts}
    assert {word for word in options if word.startswith("--")} <= known


def test_the_launch_file_starts_the_node_with_its_parameters(monkeypatch):
    made = []
    launch = {
        "ament_index_python.packages": {"get_package_share_directory": lambda _: "share"},
        "launch": {"LaunchDescription": list},
        "launch.actions": {"DeclareLaunchArgument": lambda name, **_: name},
        "launch.substitutions": {"LaunchConfiguration": lambda name: f"${name}"},
        "launch_ros.parameter_descriptions": {
            "ParameterValue": lambda name, value_type: (name, value_type)
        },
        "launch_ros.actions": {"Node": lambda **values: made.append(values)},
    }
    for name, values in launch.items():
        module = ModuleType(name)
        module.__dict__.update(values)
        parent = name.rsplit(".", 1)[0]
        monkeypatch.setitem(sys.modules, parent, sys.modules.get(parent) or ModuleType(parent))
        monkeypatch.setitem(sys.modules, name, module)
    path = PACKAGE / "launch" / "isovist.launch.py"
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    described = scope["generate_launch_description"]()
    assert described[:3] == ["atlas", "watch", "use_sim_time"]
    assert made[0]["package"] == "isovist_ros"
    assert made[0]["executable"] in (PACKAGE / "setup.py").read_text()
    config, values = made[0]["parameters"]
    assert config == str(Path("share") / "config" / "isovist.yaml")
    assert values == {
        "atlas": ("$atlas", str), "watch": ("$watch", str), "use_sim_time": ("$use_sim_time", bool),
    }  # fmt: skip
