"""The arithmetic of `benchmarks.reference`: outcomes, McNemar's test, shards and records."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.reference.outcomes import Counts, Outcome, gap_of, mcnemar, outcome_of, rounded
from benchmarks.reference.report import changes, differing
from benchmarks.reference.sets import SETS
from benchmarks.reference.shards import Shard, hash_of, read_shard, write_shard
from benchmarks.reference.store import Record, read_outcomes, write_record

NEAR = 0.5, math.radians(10.0)
HERE, THERE = [1.0, 2.0, 3.1], [9.0, 2.0, 3.1]
LOST = Outcome("lost", (), (), False, False)


def held(verdict, *poses, name=None, **query):
    found = [(name, pose, 0.5) for pose in poses]
    answer = {"verdict": verdict, "reasons": ["one_place"], "hypotheses": found}
    return outcome_of(answer, {"truth": HERE, **query}, NEAR)


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (0, 5, 1 / 16), (10, 2, 79 / 2048)],
)
def test_mcnemar_is_the_exact_binomial_tail(only_first, only_second, p):
    first = [True] * only_first + [False] * only_second + [True, False]
    second = [False] * only_first + [True] * only_second + [True, False]
    assert mcnemar(first, second) == pytest.approx(p)


@pytest.mark.parametrize(
    ("outcome", "right", "listed"),
    [
        (held("unique", [1.3, 2.3, -3.1]), True, True),  # across the seam of headings
        (held("unique", [1.3, 2.5, 3.1]), False, False),
        (held("ambiguous", THERE, HERE), False, True),
        (held("lost"), False, False),
        (held("unique", HERE, name="attic", map="ground"), False, False),
        (held("unique", HERE, name="ground", map="ground"), True, True),
        (held("agrees", HERE, verb="check", pose=HERE), True, True),
        (held("agrees", THERE, verb="check", pose=THERE), False, False),
        (held("disagrees", HERE, verb="check", pose=THERE), True, True),
        (held("cannot tell", HERE, verb="check", pose=HERE), False, True),
    ],
)
def test_an_answer_is_held_against_the_truth(outcome, right, listed):
    assert (outcome.right, outcome.listed) == (right, listed)


def test_counts_add_up_and_poses_are_kept_in_millimetres_and_thousandths():
    rows = [held("unique", HERE), held("unique", THERE, HERE), LOST]
    assert Counts.of(rows) + Counts.of(rows[:1]) == Counts(4, 2, 3, 1, 3, 1)
    assert rounded(("a", [1.23449, -2.0006, 0.12351], 0.99951)) == ("a", 1234, -2001, 124, 1000)
    assert gap_of([0, 0, 0, 0, 0.1, 0], [3, 4, 0, 5, -0.1, 0]) == pytest.approx((5.0, 0.2))


def test_a_shard_and_a_record_come_back_as_they_were_written(tmp_path):
    pose = SimpleNamespace(x=1.0, y=2.0, yaw=0.1)
    world = SimpleNamespace(cells=np.eye(3, dtype=np.uint8), resolution=0.05, origin=pose)
    beams = {"bearings": np.array([0.0, 0.1]), "ranges": np.array([1.2346, 2.0])}
    valid = np.array([True, False])
    scan = SimpleNamespace(**beams, range_min=0.0, range_max=math.inf, valid=valid)
    shard = Shard()
    shard.ask([shard.add_map("m", world)], [shard.add_scan(scan)], HERE)
    for name in ("a.npz", "b.npz"):
        write_shard(shard, tmp_path / name)
    again = read_shard(tmp_path / "a.npz")
    assert (again.scans[0][1].tolist(), again.sensors[0][2]) == ([1235, 0], math.inf)
    assert (again.maps, again.queries, again.near) == (shard.maps, shard.queries, shard.near)
    assert hash_of(tmp_path / "a.npz") == hash_of(tmp_path / "b.npz")
    one = held("unique", HERE)
    write_record("set", Record(outcomes={"0": one}), tmp_path)
    assert read_outcomes("set", tmp_path) == {"0": one}
    assert set(differing({"0": one}, {"0": LOST}).values()) == {1}
    assert len(changes("set", {"0": one, "1": LOST}, {"0": LOST, "1": LOST})) == 1


@pytest.mark.parametrize("one", SETS, ids=lambda one: one.name)
def test_a_smaller_size_asks_a_part_of_a_larger_one(one):
    files = [one.files(size) for size in ("quick", "default", "full")]
    assert set(files[0]) <= set(files[1]) <= set(files[2])
    assert set(one.chosen(97, "quick")) <= set(one.chosen(97, "default")) == set(range(97))
