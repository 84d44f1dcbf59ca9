"""A real bag drives the node from its first message to its last: how many poses are wrong?

    python -m benchmarks.ros_bag DATA/jarvis

The bag has a 360° laser and odometry in /tf, the map is an architect's plan, and the truth comes
from reflectors.  Wrong is a pose on `/isovist/pose` that is off by more than 0.5 m or 10°.  The bag
is replayed twice, and what is said must be the same bytes.  Exits with 1 otherwise.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from isovist.apps.ros.buses.bag_bus import BagBus
from isovist.apps.ros.messages import pose_of
from isovist.apps.ros.node import Node
from isovist.apps.ros.parameters import Parameters
from isovist.atlas.build import build
from isovist.io.bags import read_messages, time_of
from isovist.io.maps.read import read_map
from isovist.localization import is_same_place
from isovist.localization.settings import LocalizationSettings
from isovist.poses import Pose, pose_error

SCAN, MOUNT = "/driver_laser_navigation/laser_scan", Pose(0.194, 0.0, 0.0)
NAME = "jarvis_circular_path_fast"
LATE = 0.05  # s: a truth of another time is none


def main() -> None:
    """Print the row."""
    folder = Path(sys.argv[1])
    atlas = build(read_map(folder / "map.yaml"))
    parameters = Parameters(scan=SCAN, odom="tf", publish=("initialpose", "pose", "tf"))
    with tempfile.TemporaryDirectory() as out:
        said = []
        for name in ("one.mcap", "two.mcap"):
            bus = BagBus(folder / f"{NAME}.bag", Path(out) / name)
            node = Node(bus, parameters, atlas)
            bus.run()
            said.append((Path(out) / name).read_bytes())
        poses = [
            message
            for _, message in read_messages(
                Path(out) / "one.mcap", lambda all_: [c for c in all_ if c.topic == "/isovist/pose"]
            )
        ]
    truth = np.load(folder / f"{NAME}.npz")
    errors, wrong = [], 0
    for message in poses:
        k = int(np.argmin(np.abs(truth["nav_t"] - time_of(message.header))))
        if abs(truth["nav_t"][k] - time_of(message.header)) > LATE:
            continue
        pose, there = pose_of(message)[0], Pose.from_vector(truth["nav_pose"][k]) @ MOUNT.inverse
        wrong += not is_same_place(pose, there, LocalizationSettings())
        errors.append(pose_error(pose, there))
    metres, turns = np.median(errors, axis=0)
    print(
        f"{node.scans} scans, {node.published} on /initialpose, {len(poses)} unique, {wrong} of "
        f"{len(errors)} wrong; median {metres:.3f} m, {np.degrees(turns):.2f}°; "
        f"{'the same bytes twice' if said[0] == said[1] else 'other bytes the second time'}"
    )
    if wrong or said[0] != said[1] or not errors:
        sys.exit("missed: a pose is wrong, or the second replay differs")


if __name__ == "__main__":
    main()
