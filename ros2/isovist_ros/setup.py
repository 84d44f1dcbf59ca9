"""The ament package: `colcon build` installs the node, its launch file and its parameters."""

from setuptools import setup

NAME = "isovist_ros"

setup(
    name=NAME,
    version="0.2.0",
    packages=[NAME],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/launch", ["launch/isovist.launch.py"]),
        (f"share/{NAME}/config", ["config/isovist.yaml"]),
    ],
    install_requires=["setuptools", "isovist[ros]"],
    zip_safe=True,
    license="Apache-2.0",
    description="Where is the robot on its map? Initial poses and a watchdog for AMCL.",
    entry_points={"console_scripts": ["isovist = isovist_ros.node:main"]},
)
