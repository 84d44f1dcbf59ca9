"""Peers in space side by side, on a small house."""

import json

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.sites import SPACE
from typer.testing import CliRunner

from isovist import FileError, Pose3, SegmentMap, write_map
from isovist.apps import app
from isovist.evaluation import (
    NEAR,
    PEERS,
    RINGS,
    SECTORS,
    Arena,
    Found,
    Peer,
    Trial,
    chosen_peers,
    context,
    peer_rows,
    posed_trials,
    wall_points,
)
from isovist.io import read_poses, write_tum
from isovist.poses import way_of

TRIALS = [Trial(lambda p=p: SPACE.look(p, mount=SPACE.mount), p) for p in SPACE.places]
POINTS = SPACE.world.centres(np.flatnonzero(SPACE.world.cells.ravel() == 1))


@pytest.fixture(scope="module")
def arena():
    return Arena(SPACE.atlas, POINTS, 0.2, TRIALS[0].scan())


def fake(off=None, sure=None, module=None):
    """A method that says the first place, off by some motion, or finds nothing."""

    def find(scan):
        there = None if off is None else SPACE.places[0] @ scan.T_robot_sensor @ off
        return Found(there, sure)

    return Peer("fake", "Fake", "fake", module, lambda _ground: find, False)


@pytest.mark.parametrize(
    ("off", "sure", "right", "unique", "wrong"),
    [
        (Pose3(), True, 1.0, 1.0, 0.0),
        (Pose3(x=0.9 * NEAR[0]), True, 1.0, 1.0, 0.0),
        (Pose3(z=1.1 * NEAR[0]), True, 0.0, 1.0, 1.0),
        (Pose3(pitch=1.1 * NEAR[1]), True, 0.0, 1.0, 1.0),
        (Pose3(x=5.0), False, 0.0, 0.0, 0.0),
        (None, False, 0.0, 0.0, 0.0),
        (Pose3(), None, 1.0, np.nan, np.nan),
    ],
)
def test_right_is_near_in_space_and_unique_is_what_a_method_says(
    arena, off, sure, right, unique, wrong
):
    (row,) = peer_rows("house", arena, TRIALS[:1], [fake(off, sure)])
    assert (row["queries"], row["note"]) == (1, "")
    got = row["right"], row["unique"], row["unique_wrong"]
    np.testing.assert_equal(got, (right, unique, wrong))


@pytest.mark.slow
def test_ours_and_scan_context_find_the_house(arena):
    one, two = peer_rows("house", arena, TRIALS, chosen_peers(["isovist", "scan-context"]))
    assert (one["method"], one["right"], one["unique_wrong"]) == ("isovist", 1.0, 0.0)
    assert (two["method"], two["queries"]) == ("scan-context", 3)
    place = Pose3(*SPACE.atlas.positions[40, :2], 0.9, SPACE.atlas.positions[40, 2])
    scan = SPACE.look(place)
    found = PEERS[3].make(Arena(SPACE.atlas, POINTS, 0.2, scan))(scan)
    away, turn = way_of(place.inverse @ found.pose)
    assert away <= 0.6
    assert turn <= np.radians(9.0)


def test_a_context_has_the_greatest_height_of_each_bin():
    table = context(np.array([[1.0, 0.1, 0.5], [1.0, 0.1, 0.2], [0.0, -3.9, -1.0]]), 1.0, 4.0)
    assert table.shape == (RINGS, SECTORS)
    assert table[5, 0] == 1.5
    assert np.count_nonzero(table) == 1  # what lies on the floor has no height


def cloud(path, points):
    path.write_bytes(np.c_[points, np.zeros(len(points))].astype("<f4").tobytes())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A cloud as the map, scans in a folder, and their poses in both formats."""
    folder, places = tmp_path_factory.mktemp("house"), SPACE.places[:2]
    cloud(folder / "house.bin", POINTS)
    for name in ("scans", "empty"):
        (folder / name).mkdir()
    for k, place in enumerate(places):
        cloud(folder / "scans" / f"{k}.bin", SPACE.look(place).points)
    write_tum(folder / "poses.tum", [0.0, 1.0], np.array([place.vector for place in places]))
    np.savetxt(folder / "poses.txt", [np.c_[p.rotation, p.position].ravel() for p in places])
    (folder / "one.txt").write_text("0 0 0 0 0 0 0 1\n")
    write_map(SegmentMap.room(4, 3), folder / "plan.geojson")
    return folder


@pytest.mark.slow
def test_the_command_reads_a_map_scans_and_poses_or_simulates(files, monkeypatch):
    monkeypatch.chdir(files)
    for words in ("house.bin scans --poses poses.tum", "house.bin --simulate 2 --seed 3"):
        told = ["bench", "space", *words.split(), "--only", "isovist", "--json"]
        result = CliRunner().invoke(app, told)
        assert result.exit_code == 0, result.output
        (row,) = json.loads(result.stdout)
        assert (row["site"], row["queries"], row["right"]) == ("house", 2, 1.0)


def test_poses_of_both_formats_are_the_same(files):
    tum, kitti = read_poses(files / "poses.tum"), read_poses(files / "poses.txt")
    np.testing.assert_allclose(tum.vector, kitti.vector, atol=1e-5)
    scans = [files / "scans" / f"{k}.bin" for k in range(2)]
    one, two = posed_trials(scans, files / "poses.txt")
    assert way_of(one.truth.inverse @ SPACE.places[0])[0] < 1e-5
    assert len(two.scan().points) > 100
    walls = wall_points(files / "house.bin", SPACE.world)
    np.testing.assert_allclose(walls, POINTS.astype(np.float32))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("unknown_format", "1 2 3\n"),
        ("unknown_format", "# only\n"),
        ("invalid_file", "0 0 0 0 0 0 0 2\n"),
        ("invalid_file", "0 0 0 0 0 0 0 1\n1 2\n"),
        ("invalid_file", "2 0 0 0 0 1 0 0 0 0 1 0\n"),
    ],
)
def test_poses_that_are_none_are_refused(tmp_path, code, text):
    (tmp_path / "bad.txt").write_text(text)
    with refused(code=code, kind=FileError):
        read_poses(tmp_path / "bad.txt")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("wrong_dimension", "plan.geojson --simulate 2"),
        ("conflict", "house.bin scans --simulate 2"),
        ("missing", "house.bin scans"),
        ("invalid_file", "house.bin scans --poses one.txt"),
        ("invalid_file", "house.bin empty --poses one.txt"),
        ("invalid_value", "house.bin --only teaser"),
    ],
)
def test_what_cannot_be_asked_is_refused(files, monkeypatch, code, words):
    monkeypatch.chdir(files)
    assert CliRunner().invoke(app, ["bench", "space", *words.split()]).exception.code == code
