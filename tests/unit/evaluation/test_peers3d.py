"""Peers in space side by side, on a small house."""

import numpy as np
import pytest
from tests.support.sites import SPACE

from isovist import Pose3
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
)
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
