"""Peers in space side by side, on a small house."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from tests.support.sites import PLANE, SPACE
from typer.testing import CliRunner

from isovist import FileError, InputError, Pose3, SegmentMap, write_map
from isovist.apps import app
from isovist.bench import space_contest
from isovist.bench.peers import left_out
from isovist.evaluation import (
    NEAR,
    PEERS,
    RINGS,
    SECTORS,
    Arena,
    Found,
    Peer,
    Trial,
    absences,
    arena_of,
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
KEYS = [
    "site", "method", "queries", "right", "unique", "unique_wrong", "median_s", "cpu_s",
    "prepare_s", "note",
]  # fmt: skip


@pytest.fixture(scope="module")
def arena():
    return Arena(SPACE.atlas, POINTS, 0.2, TRIALS[0].scan())


def fake(name="fake", *, off=None, sure=None, module=None, fitted=False):
    """A method that says the first place, off by some motion, or finds nothing."""

    def make(_ground):
        def find(scan):
            if off is None:
                return Found(None, sure)
            return Found(SPACE.places[0] @ scan.T_robot_sensor @ off, sure)

        return find

    return Peer(name, name.title(), name, module, make, fitted)


ONE = [Trial(lambda: SPACE.look(SPACE.places[0], mount=SPACE.mount), SPACE.places[0])]


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
    (row,) = peer_rows("house", arena, ONE, [fake(off=off, sure=sure)])
    assert list(row) == KEYS
    assert (row["queries"], row["note"]) == (1, "")
    got = row["right"], row["unique"], row["unique_wrong"]
    np.testing.assert_equal(got, (right, unique, wrong))
    assert min(row["median_s"], row["cpu_s"], row["prepare_s"]) >= 0.0


@pytest.mark.slow
def test_ours_and_scan_context_find_the_house(arena):
    told = []
    one, two = peer_rows(
        "house", arena, TRIALS, chosen_peers(["isovist", "scan-context"]), told.append
    )
    assert (one["method"], one["right"], one["unique_wrong"]) == ("isovist", 1.0, 0.0)
    assert two["method"] == "scan-context"
    assert two["queries"] == 3
    assert told[-1] == 1.0


@pytest.mark.slow
def test_scan_context_gives_place_and_heading_of_what_the_map_shows():
    place = Pose3(*SPACE.atlas.positions[40, :2], 0.9, SPACE.atlas.positions[40, 2])
    scan = SPACE.look(place)
    arena = Arena(SPACE.atlas, POINTS, 0.2, scan)
    found = PEERS[3].make(arena)(scan)
    away, turn = way_of(place.inverse @ found.pose)
    assert away <= 0.6
    assert turn <= np.radians(9.0)


def test_a_context_has_the_greatest_height_of_each_bin():
    table = context(np.array([[1.0, 0.1, 0.5], [1.0, 0.1, 0.2], [0.0, -3.9, -1.0]]), 1.0, 4.0)
    assert table.shape == (RINGS, SECTORS)
    assert table[5, 0] == 1.5
    assert np.count_nonzero(table) == 1  # what lies on the floor has no height


def test_one_that_is_not_there_says_so_in_its_row(arena):
    absent = fake("absent", module="no_such_module")
    rows = list(peer_rows("house", arena, ONE, [absent, fake(off=Pose3(), sure=True)]))
    assert [row["note"] for row in rows] == ["not installed", ""]
    assert list(rows[0]) == KEYS
    assert rows[0]["queries"] == 0
    assert np.isnan(rows[0]["right"])
    assert absences([absent]) == [
        "Absent is left out: it needs absent. Try `pip install 'isovist[peers]'`."
    ]


def test_a_library_that_does_not_load_is_told_from_one_that_is_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_peer.py").write_text("raise ImportError('libusb is not there')\n")
    (tmp_path / "poor_peer.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert left_out("FPFH", "Open3D", "broken_peer") == (
        "FPFH is left out: Open3D does not load (libusb is not there)."
    )
    assert left_out("FPFH", "Open3D", "poor_peer") == (
        "FPFH is left out: Open3D does not load (No module named 'no_such_module')."
    )
    assert left_out("FPFH", "Open3D", "json") is None


def test_gicp_follows_each_peer_where_it_is_there(arena, monkeypatch):
    truth = np.eye(4)
    T = SPACE.places[0] @ SPACE.mount
    truth[:3, :3], truth[:3, 3] = T.rotation, T.position
    starts = []

    def align(*_clouds, init_T_target_source, **_threads):
        starts.append(init_T_target_source)
        return SimpleNamespace(T_target_source=truth)

    small = SimpleNamespace(preprocess_points=lambda p, **_threads: (p, None), align=align)
    peer = fake(off=Pose3(x=0.7), sure=True, fitted=True)
    monkeypatch.setitem(sys.modules, "small_gicp", small)
    (row,) = peer_rows("house", arena, ONE, [peer])
    assert (row["right"], row["note"]) == (1.0, "then GICP")
    np.testing.assert_allclose(starts[0][:3, 3], (T @ Pose3(x=0.7)).position)
    monkeypatch.setitem(sys.modules, "small_gicp", None)
    (row,) = peer_rows("house", arena, ONE, [peer])
    assert (row["right"], row["note"]) == (0.0, "without GICP")
    assert absences([peer])[-1] == (
        "GICP is left out: it needs small-gicp. Try `pip install 'isovist[peers]'`."
    )


@pytest.mark.parametrize("peer", PEERS[1:3], ids=lambda peer: peer.name)
def test_the_real_ones_find_the_map_itself_when_it_is_moved(arena, peer):
    if (why := peer.why_not()) is not None:
        pytest.skip(why)
    move = Pose3(1.0, -0.5, 0.6, 0.1)
    scan = type(arena.scan)(move.inverse.apply(POINTS))
    found = peer.make(arena)(scan)
    away, turn = way_of(move.inverse @ found.pose)
    assert away <= NEAR[0]
    assert turn <= NEAR[1]


def cloud(path, points):
    path.write_bytes(np.c_[points, np.zeros(len(points))].astype("<f4").tobytes())
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A cloud as the map, scans in a folder, and their poses in both formats."""
    folder = tmp_path_factory.mktemp("house")
    cloud(folder / "house.bin", POINTS)
    (folder / "scans").mkdir()
    for k, place in enumerate(SPACE.places[:2]):
        cloud(folder / "scans" / f"{k}.bin", SPACE.look(place).points)
    rows = np.array([place.vector for place in SPACE.places[:2]])
    write_tum(folder / "poses.tum", [0.0, 1.0], rows)
    matrices = [np.c_[p.rotation, p.position].ravel() for p in SPACE.places[:2]]
    np.savetxt(folder / "poses.txt", matrices)
    return folder


def asked(*arguments):
    return CliRunner().invoke(app, ["bench", "space", *map(str, arguments)])


@pytest.mark.slow
def test_the_command_reads_a_map_scans_and_poses(files):
    result = asked(
        files / "house.bin", files / "scans", "--poses", files / "poses.tum", "--only", "isovist",
        "--only", "kiss-matcher", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    ours, kiss = json.loads(result.stdout)
    assert list(ours) == KEYS
    assert (ours["site"], ours["queries"], ours["right"]) == ("house", 2, 1.0)
    if PEERS[1].why_not() is not None:
        assert result.stderr.splitlines()[0] == PEERS[1].why_not()
        assert (kiss["right"], kiss["note"]) == (None, "not installed")


@pytest.mark.slow
def test_simulated_scans_are_those_of_simulate3d(files, monkeypatch):
    seen = []

    def rows(_site, _ground, trials, *_rest):
        seen.extend(trials)
        return [{"queries": len(trials), "right": float("nan")}]

    monkeypatch.setattr(space_contest, "peer_rows", rows)
    result = asked(files / "house.bin", "--simulate", 2, "--seed", 3, "--only", "isovist")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == ["| queries | right |", "|---|---|", "| 2 | — |"]
    from isovist import SpinningLidar
    from isovist.apps import simulated

    lidar = SpinningLidar(16, noise=0.03, clutter=0.1)
    ((_, _, expected),) = simulated([files / "house.bin"], lidar, 2, 3, 1.0)
    for one, two in zip(seen, expected, strict=True):
        assert one.truth == two.truth
        np.testing.assert_array_equal(one.scan().points, two.scan().points)


def test_poses_of_both_formats_are_the_same(files):
    tum, kitti = read_poses(files / "poses.tum"), read_poses(files / "poses.txt")
    np.testing.assert_allclose(tum.vector, kitti.vector, atol=1e-5)
    one, two = posed_trials([files / "scans" / "0.bin", files / "scans" / "1.bin"],
                            files / "poses.txt")  # fmt: skip
    assert way_of(one.truth.inverse @ SPACE.places[0])[0] < 1e-5
    assert len(two.scan().points) > 100
    np.testing.assert_allclose(
        wall_points(files / "house.bin", SPACE.world), POINTS.astype(np.float32)
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 2 3\n", "bad.txt must have 8 numbers a line (TUM: time, x, y, z and a quaternion) or "
         "12 (KITTI: a matrix), got 3."),
        ("# only\n", "bad.txt must have 8 numbers a line (TUM: time, x, y, z and a quaternion) or "
         "12 (KITTI: a matrix), got 0."),
        ("0 0 0 0 0 0 0 2\n", "bad.txt has a quaternion that is no rotation."),
        ("0 0 0 0 0 0 0 1\n1 2\n", "bad.txt: line 2 must have 8 numbers, got '1 2'."),
        ("2 0 0 0 0 1 0 0 0 0 1 0\n", "bad.txt has a matrix that is no rotation."),
    ],
)  # fmt: skip
def test_poses_that_are_none_are_told(tmp_path, text, told):
    (tmp_path / "bad.txt").write_text(text)
    with pytest.raises(FileError) as caught:
        read_poses(tmp_path / "bad.txt")
    assert str(caught.value) == told


@pytest.mark.slow
def test_what_cannot_be_asked_is_told_in_a_line(files, tmp_path):
    house, scans = files / "house.bin", files / "scans"
    (tmp_path / "empty").mkdir()
    (tmp_path / "one.txt").write_text("0 0 0 0 0 0 0 1\n")
    both = "Give scans with `--poses`, or `--simulate N`: one of the two."
    names = "isovist, kiss-matcher, fpfh, scan-context"
    plan = tmp_path / "plan.geojson"
    write_map(SegmentMap.room(4, 3), plan)
    flat = "plan.geojson is of the plane, and peers in space need a map in space."
    cases = {
        (plan, "--simulate", 2): flat,
        (plan, scans, "--poses", tmp_path / "one.txt"): flat,
        (house,): both,
        (house, scans, "--simulate", 2): both,
        (house, scans): "Scans need their poses. Give `--poses`, a file of TUM or KITTI.",
        (house, scans, "--poses", tmp_path / "one.txt"):
            "one.txt has 1 poses for 2 scans. It needs one for each.",
        (house, tmp_path / "empty", "--poses", tmp_path / "one.txt"):
            "empty has no scan in space: .ply, .pcd, .bin or .npz.",
        (house, "--only", "teaser"): f"`--only` must be one of {names}, got teaser.",
    }  # fmt: skip
    for arguments, told in cases.items():
        result = asked(*arguments)
        assert str(result.exception) == told, arguments
    with pytest.raises(InputError) as caught:
        arena_of(house, PLANE.atlas, TRIALS, 0.2)
    assert str(caught.value) == (
        "Peers in space need an atlas of a map in space, got one of the plane."
    )
    with pytest.raises(InputError) as caught:
        arena_of(house, SPACE.atlas, [Trial(lambda: PLANE.look(PLANE.places[0]), None)], 0.2)
    assert str(caught.value) == ("Peers in space need clouds of points, got a scan of the plane.")
