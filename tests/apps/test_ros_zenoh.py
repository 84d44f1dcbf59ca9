"""`isovist ros` in a process of its own, which talks to a robot over zenoh on this machine."""

import subprocess
import sys

import pytest
from tests.support.ros_robot import Robot, pose_of
from tests.support.sites import PLANE, gap
from tests.support.zenoh_router import Peer, routed, until

import isovist as iv


@pytest.mark.slow
def test_a_node_of_its_own_finds_the_robot_dies_and_finds_it_again(tmp_path):
    """Two processes and a router, the map latched before the node begins."""
    with routed() as endpoint, Peer(endpoint, 11) as peer:
        peer.send_map(PLANE.world)
        robot = Robot(peer, mount=iv.Pose(-0.25, 0.1, 0.3))
        robot.link()
        command = [sys.executable, "-m", "isovist", "ros", "--connect", endpoint, "--domain", "11"]
        for number in (1, 2):
            peer.poses.clear()
            with (tmp_path / "log").open("wb") as log:
                node = subprocess.Popen(command, stderr=log)
            try:
                found = until(peer, lambda: peer.poses, robot.look)
                assert found, ((tmp_path / "log").read_text(), peer.verdicts[-3:])
                assert gap(pose_of(peer.poses[-1]), robot.truth)[0] < 0.1
                if number == 1:
                    assert peer.relocalize()
                    peer.poses.clear()
                    assert until(peer, lambda: peer.poses, robot.look)
                    wanted = {round(robot.time + 0.1 * k, 3) for k in range(50)}
                    for _ in range(50):
                        robot.look()
                        peer.run(0.01)
                    robot.say_odometry(1.0)
                    assert until(peer, lambda wanted=wanted: wanted <= peer.stamps)
            finally:
                node.kill()
                node.wait()
