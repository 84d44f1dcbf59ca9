"""Files of an earlier version are read as before, or refused with what to do; never wrongly."""

import json
import re

import pytest
import yaml
from tests.compat.shared import FILES, STATES, said, stored, works_or_says
from tests.support.ros_robot import taken

import isovist as iv
from isovist.tracking import checksum

FOUND = {
    tuple(words.groups()): answer["said"][0]
    for line, answer in stored("lines").items()
    if (words := re.fullmatch(r"isovist locate (\S+\.atlas) (\S+) --json", line))
}
"""What was found on atlases."""
SAID = stored("states")


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    monkeypatch.chdir(FILES)


@pytest.mark.parametrize(("atlas", "scan"), FOUND)
def test_the_same_is_found_on_an_atlas(atlas, scan):
    was = FOUND[atlas, scan]
    pose = [was["estimates"][0][key] for key in ("x", "y", "yaw", "z", "roll", "pitch")
            if key in was["estimates"][0]]  # fmt: skip
    with works_or_says(atlas):
        verdict, *now = said(iv.locate(iv.read_atlas(atlas), iv.read_scan(scan)))
        assert (verdict, now) == (was["verdict"], pytest.approx(pose, rel=1e-6, abs=1e-6))


def test_a_part_of_an_atlas_is_read():
    with works_or_says("office.atlas"):
        part = iv.read_atlas("office.atlas", box=(1.0, 0.5, 4.0, 3.0))
        assert said(iv.locate(part, iv.read_scan("scan.json")))[0] == "unique"


@pytest.mark.parametrize("name", SAID)
def test_a_tracker_goes_on_from_its_state(name):
    solid = name in ("space", "tilt", "attitude")
    atlas = iv.read_atlas("solid.atlas" if solid else "office.atlas")
    maps = {key: iv.read_atlas(f"site/{key}.atlas") for key in ("ground", "first")}
    state = json.loads((STATES / f"{name}.json").read_text(encoding="utf-8"))
    moved, time, was = SAID[name].values()
    odometry = moved and (iv.Pose3 if solid else iv.Pose).from_vector(moved)
    with works_or_says(f"state {name}"):
        tracker = iv.Tracker.from_state(maps if name == "maps" else atlas, state)
        belief = tracker.update(odometry, iv.read_scan(STATES / f"{name}.npz"), time=time)
        assert (belief.verdict, belief.map) == (was["verdict"], was["map"])
        assert len(belief.estimates) == len(was["places"])
        for e, place in zip(belief.estimates, was["places"], strict=True):
            assert [*e.pose.vector, e.probability] == pytest.approx(place, rel=1e-6, abs=1e-6)
        numbers = [was["least"], was["travelled"]]
        assert [belief.least, belief.travelled] == pytest.approx(numbers, rel=1e-6)


def test_a_tracker_keeps_the_settings_of_its_state():
    state = json.loads((STATES / "plane.json").read_text(encoding="utf-8"))
    state["settings"] |= {"gone": [20.0, 50], "lasting": 2.0}
    state["crc32"] = checksum(state)
    tracker = iv.Tracker.from_state(iv.read_atlas("office.atlas"), state)
    changes = {"max_gap_nats": 20.0, "max_hypotheses": 50, "min_distance_m": 2.0}
    changes = {f"competitors.{name}": value for name, value in changes.items()}
    assert tracker.settings == iv.TrackingSettings().with_values(changes)


def test_the_node_takes_its_file_of_parameters():
    given = yaml.safe_load((FILES / "isovist.yaml").read_text())["isovist"]["ros__parameters"]
    given |= {
        "atlas": "office.atlas", "scan": "/front", "odom": "tf", "watch": "/amcl_pose",
        "publish": ["pose", "tf"], "sensor": ["0.1", "0.0", "0.2"], "links": "lifts.yaml",
    }  # fmt: skip
    declared, parameters, atlas = taken(given)
    assert declared.keys() >= given.keys()
    read = {name: getattr(parameters, name) for name in given if name != "atlas"}
    read |= {"atlas": atlas, "publish": [*read["publish"]]}
    assert read.pop("sensor").vector.tolist() == [*map(float, given.pop("sensor"))]
    assert read == given
