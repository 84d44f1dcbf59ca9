"""Peers in space side by side, on a small house."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.baselines.contest3d import NEAR, absences, arena_of, chosen_peers, peer_rows
from benchmarks.baselines.methods3d import PEERS, RINGS, SECTORS, Arena, Found, Peer, context
from tests.support.errors import refused
from tests.support.sites import PLANE, SPACE

from isovist import Pose3
from isovist.evaluation import Trial
from isovist.poses import way_of

TRIALS = [Trial(lambda p=p: SPACE.look(p, mount=SPACE.mount), p) for p in SPACE.places]
POINTS = SPACE.world.centres(np.flatnonzero(SPACE.world.cells.ravel() == 1))


@pytest.fixture(scope="module")
def arena():
    return Arena(SPACE.atlas, POINTS, 0.2, TRIALS[0].scan())


def fake(off=None, sure=None, module=None, fitted=False):
    """A method that says the first place, off by some motion, or finds nothing."""

    def find(scan):
        there = None if off is None else SPACE.places[0] @ scan.T_robot_sensor @ off
        return Found(there, sure)

    return Peer("fake", "Fake", "fake", module, lambda _ground: find, fitted)


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


def test_one_that_is_not_there_says_so_in_its_row(arena, tmp_path, monkeypatch):
    (tmp_path / "broken_peer.py").write_text("raise ImportError('libusb is not there')\n")
    (tmp_path / "poor_peer.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("no_such_module", "broken_peer", "poor_peer"):
        absent = fake(module=module)
        rows = list(peer_rows("house", arena, TRIALS[:1], [absent, fake(Pose3(), True)]))
        assert [row["queries"] for row in rows] == [0, 1]
        assert list(rows[0]) == list(rows[1])
        assert np.isnan(rows[0]["right"])
        assert len(absences([absent])) == 1
    assert absences([fake()]) == []


def test_gicp_follows_each_peer_where_it_is_there(arena, monkeypatch):
    truth, T = np.eye(4), SPACE.places[0] @ SPACE.mount
    truth[:3, :3], truth[:3, 3] = T.rotation, T.position
    starts = []

    def align(*_clouds, init_T_target_source, **_threads):
        starts.append(init_T_target_source)
        return SimpleNamespace(T_target_source=truth)

    small = SimpleNamespace(preprocess_points=lambda p, **_threads: (p, None), align=align)
    peer = fake(Pose3(x=0.7), True, fitted=True)
    monkeypatch.setitem(sys.modules, "small_gicp", small)
    (row,) = peer_rows("house", arena, TRIALS[:1], [peer])
    assert row["right"] == 1.0
    np.testing.assert_allclose(starts[0][:3, 3], (T @ Pose3(x=0.7)).position)
    monkeypatch.setitem(sys.modules, "small_gicp", None)
    (row,) = peer_rows("house", arena, TRIALS[:1], [peer])
    assert row["right"] == 0.0
    assert len(absences([peer])) == 1


def test_peers_in_space_take_clouds_and_an_atlas_of_space(arena, tmp_path):
    flat = Trial(lambda: PLANE.look(PLANE.places[0]), PLANE.places[0])
    with refused(None, "wrong_dimension"):
        list(peer_rows("house", arena, [flat], [fake()]))
    with refused(None, "wrong_dimension"):
        arena_of(tmp_path / "plan.yaml", PLANE.atlas, TRIALS, 0.2)
