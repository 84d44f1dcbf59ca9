"""Start the node with config/isovist.yaml; arguments override it."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue


def generate_launch_description() -> LaunchDescription:
    """The node, its parameters, and what can be said on the command line."""
    config = Path(get_package_share_directory("isovist_ros")) / "config" / "isovist.yaml"
    kinds = {"atlas": str, "watch": str, "use_sim_time": bool}
    usual = {"use_sim_time": "false"}
    values = {
        name: ParameterValue(LaunchConfiguration(name), value_type=kind)
        for name, kind in kinds.items()
    }
    return LaunchDescription([
        *[DeclareLaunchArgument(name, default_value=usual.get(name, "")) for name in kinds],
        Node(
            package="isovist_ros",
            executable="isovist",
            name="isovist",
            output="screen",
            parameters=[str(config), values],
        ),
    ])  # fmt: skip
