"""Files of an earlier version are read as before, or refused with what to do; never wrongly."""

import json
import shutil

import pytest
import yaml
from tests.compat.shared import FILES, FIXTURES, STATES, digest, works_or_says
from tests.support.program import taken

import isovist as iv

READ = json.loads((FIXTURES / "files.json").read_text(encoding="utf-8"))
SAID = json.loads((STATES / "said.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    monkeypatch.chdir(FILES)


def same(now, was):
    """Compare lists of words, numbers and such lists."""
    assert len(now) == len(was)
    for a, b in zip(now, was, strict=True):
        if isinstance(b, list):
            same(a, b)
        else:
            assert a == (b if isinstance(b, str | None) else pytest.approx(b, rel=1e-6, abs=1e-6))


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_as_it_was(name):
    with works_or_says(name):
        same(digest(name), READ[name])


def test_a_part_of_an_atlas_is_read():
    part = iv.read_atlas("office.atlas", box=(1.0, 0.5, 4.0, 3.0))
    best = iv.locate(part, iv.read_scan("scan.json")).best
    assert best.pose.vector.tolist() == pytest.approx(READ["office"][-3:], abs=1e-3)


@pytest.mark.parametrize("name", SAID)
def test_a_tracker_goes_on_from_its_state(name):
    if name == "maps":
        atlas = {key: iv.read_atlas(f"site/{key}.atlas") for key in ("ground", "first")}
    else:
        in_space = name in ("space", "tilt", "attitude")
        atlas = iv.read_atlas("solid.atlas" if in_space else "office.atlas")
    state = json.loads((STATES / f"{name}.json").read_text(encoding="utf-8"))
    with works_or_says(f"state {name}"):
        tracker = iv.Tracker.from_state(atlas, state)
        told = SAID[name]
        moved = told["odometry"]
        kind = iv.Pose if moved is None or len(moved) == 3 else iv.Pose3
        odometry = None if moved is None else kind.from_vector(moved)
        scan = iv.read_scan(STATES / f"{name}.npz")
        belief = tracker.update(odometry, scan, time=told["time"])
        was = told["belief"]
        assert (belief.verdict, belief.map) == (was["verdict"], was["map"])
        places = [[*e.pose.vector, e.probability] for e in belief.estimates]
        same(places, was["places"])
        same([belief.least, belief.travelled], [was["least"], was["travelled"]])


def test_the_node_takes_its_file_of_parameters():
    given = yaml.safe_load((FILES / "isovist.yaml").read_text())["isovist"]["ros__parameters"]
    given |= {
        "atlas": "office.atlas", "scan": "/front", "odom": "tf", "watch": "/amcl_pose",
        "publish": ["pose", "tf"], "sensor": ["0.1", "0.0", "0.2"], "links": "lifts.yaml",
    }  # fmt: skip
    declared, parameters, atlas = taken(given)
    assert declared.keys() >= given.keys()
    assert atlas == "office.atlas"
    read = {name: getattr(parameters, name) for name in given if name != "atlas"}
    publish, sensor = read.pop("publish"), read.pop("sensor")
    assert (publish, sensor.vector.tolist()) == (("pose", "tf"), [0.1, 0.0, 0.2])
    assert read == {name: given[name] for name in read}


def test_settings_that_were_written_are_taken(tmp_path):
    for name in ("office", "solid"):
        settings = iv.read_atlas(f"{name}.atlas").settings
        assert iv.AtlasSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings
    shutil.copytree(FILES / "site", tmp_path / "site")
    assert set(iv.read_library(tmp_path / "site")) == {"ground", "first"}
