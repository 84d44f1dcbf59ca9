"""Bags that real robots recorded; they are no part of this repository.

DATA=FOLDER pytest tests/test_real_bags.py
"""

import os
from pathlib import Path

import pytest
from benchmarks import ros_bag

from isovist.io import LASER_SCAN, read_messages, scan_of
from isovist.ros import messages

JARVIS = Path(os.environ.get("DATA", "")) / "jarvis"
pytestmark = pytest.mark.skipif(
    not JARVIS.joinpath("map.yaml").exists(), reason="DATA says no folder with real bags"
)


def test_messages_of_a_real_bag_are_decoded_and_come_back():
    bag = JARVIS / f"{ros_bag.NAME}.bag"
    wanted = {ros_bag.SCAN: LASER_SCAN, "/tf": messages.TRANSFORM}
    seen = dict.fromkeys(wanted, 0)
    for found, message in read_messages(bag, lambda all_: [c for c in all_ if c.topic in wanted]):
        topic = found.topic
        data = messages.encode(wanted[topic], message)
        assert messages.encode(wanted[topic], messages.decode(wanted[topic], data)) == data
        if topic == ros_bag.SCAN:
            assert scan_of(bag, message).valid.any()
        seen[topic] += 1
    assert min(seen.values()) > 100


def test_a_real_bag_drives_the_node_and_no_pose_is_wrong(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["ros_bag", str(JARVIS)])
    ros_bag.main()
    told = capsys.readouterr().out
    assert " 0 of 203 wrong; " in told
    assert told.endswith("the same bytes twice\n")
