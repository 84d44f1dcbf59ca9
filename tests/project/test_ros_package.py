"""The ament package, which is checked on paper: ROS 2 itself is not here."""

import compileall
from xml.etree import ElementTree

import yaml
from tests.support.command_line import VERBS
from tests.support.paths import ROOT

PACKAGE = ROOT / "ros2" / "isovist_ros"
MESSAGES = {"geometry_msgs", "nav_msgs", "diagnostic_msgs", "visualization_msgs", "tf2_msgs",
            "sensor_msgs", "std_srvs"}  # fmt: skip


def test_the_package_compiles_and_its_metadata_fit():
    assert compileall.compile_dir(PACKAGE, quiet=1, force=True, legacy=False)
    root = ElementTree.parse(PACKAGE / "package.xml").getroot()
    name, setup = root.findtext("name"), (PACKAGE / "setup.py").read_text()
    assert (root.attrib["format"], name) == ("3", "isovist_ros")
    assert f'NAME = "{name}"' in setup
    assert f'version="{root.findtext("version")}"' in setup
    assert root.findtext("license") == "Apache-2.0"
    assert root.findtext("export/build_type") == "ament_python"
    assert (PACKAGE / "resource" / name).exists()
    assert {element.text for element in root.iter("exec_depend")} >= MESSAGES
    for path in ("package.xml", "launch/isovist.launch.py", "config/isovist.yaml"):
        assert path in setup
        assert (PACKAGE / path).exists()
    launch = (PACKAGE / "launch/isovist.launch.py").read_text()
    assert f'package="{name}"' in launch
    assert 'executable="isovist"' in launch
    assert "isovist = isovist_ros.node:main" in setup


def test_the_compose_file_calls_a_verb_that_is_there():
    service = yaml.safe_load((PACKAGE.parent / "compose.yaml").read_text())["services"]["isovist"]
    words = service["command"].replace('"', "").split()
    options = words[words.index("ros", words.index("&&")) + 1 :]
    known = {name for option in VERBS["ros"].params for name in option.opts}
    assert {word for word in options if word.startswith("--")} <= known
