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


def told(verdict, *poses, map=None):
    hypotheses = [(map, pose, 0.5) for pose in poses]
    return {"verdict": verdict, "reasons": ["one_place"], "hypotheses": hypotheses}


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (0, 5, 0.0625), (10, 2, 0.03857421875), (3, 3, 1.0)],
)
def test_mcnemar_is_the_exact_binomial_tail(only_first, only_second, p):
    first = [True] * only_first + [False] * only_second + [True, False]
    second = [False] * only_first + [True] * only_second + [True, False]
    assert mcnemar(first, second) == pytest.approx(p)


@pytest.mark.parametrize(
    ("answer", "right", "listed"),
    [
        (told("unique", [1.3, 2.3, -3.1]), True, True),  # across the seam of headings
        (told("unique", [1.3, 2.5, 3.1]), False, False),
        (told("ambiguous", THERE, HERE), False, True),
        (told("lost"), False, False),
    ],
)
def test_an_answer_is_held_against_the_truth(answer, right, listed):
    one = outcome_of(answer, {"truth": HERE}, NEAR)
    assert (one.right, one.listed, one.verdict) == (right, listed, answer["verdict"])


def test_a_pose_on_another_map_is_not_right():
    query = {"truth": HERE, "map": "ground"}
    assert not outcome_of(told("unique", HERE, map="attic"), query, NEAR).listed
    assert outcome_of(told("unique", HERE, map="ground"), query, NEAR).right


@pytest.mark.parametrize(
    ("verdict", "pose", "right", "wrong"),
    [("agrees", HERE, 1, 0), ("agrees", THERE, 0, 1), ("disagrees", THERE, 1, 0),
     ("disagrees", HERE, 0, 0), ("cannot tell", HERE, 0, 0)],
)  # fmt: skip
def test_a_check_is_right_where_it_agrees_with_the_truth(verdict, pose, right, wrong):
    query = {"truth": HERE, "verb": "check", "pose": pose}
    counts = Counts.of([outcome_of(told(verdict, HERE), query, NEAR)])
    assert (counts.right, counts.wrong) == (right, wrong)


def test_counts_add_up():
    rows = [Outcome("unique", (), (), True, True), Outcome("unique", (), (), False, True),
            Outcome("lost", (), (), False, False)]  # fmt: skip
    assert Counts.of(rows) + Counts.of(rows[:1]) == Counts(4, 2, 3, 1, 3, 1)


def test_poses_are_kept_in_millimetres_and_thousandths():
    assert rounded(("a", [1.23449, -2.0006, 0.12351], 0.99951)) == ("a", 1234, -2001, 124, 1000)
    assert gap_of([0, 0, 0, 0, 0.1, 0], [3, 4, 0, 5, -0.1, 0]) == pytest.approx((5.0, 0.2))


def test_a_shard_and_a_record_come_back_as_they_were_written(tmp_path):
    origin = SimpleNamespace(x=1.0, y=2.0, yaw=0.1)
    world = SimpleNamespace(cells=np.eye(3, dtype=np.uint8), resolution=0.05, origin=origin)
    ranges = np.array([1.2346, 2.0])
    scan = SimpleNamespace(bearings=np.array([0.0, 0.1]), ranges=ranges, range_min=0.0,
                           range_max=math.inf, valid=np.array([True, False]))  # fmt: skip
    shard = Shard()
    shard.ask([shard.add_map("m", world)], [shard.add_scan(scan)], HERE)
    for name in ("a.npz", "b.npz"):
        write_shard(shard, tmp_path / name)
    again = read_shard(tmp_path / "a.npz")
    assert again.scans[0][1].tolist() == [1235, 0]
    assert again.sensors[0][2] == math.inf
    assert (again.maps, again.queries, again.near) == (shard.maps, shard.queries, shard.near)
    assert hash_of(tmp_path / "a.npz") == hash_of(tmp_path / "b.npz")
    one = outcome_of(told("unique", HERE), again.queries[0], again.near)
    write_record("set", Record(outcomes={"0": one}), tmp_path)
    assert read_outcomes("set", tmp_path) == {"0": one}
    other = Outcome("lost", (), (), False, False)
    assert differing({"0": one}, {"0": other}) == dict.fromkeys(
        ("verdict", "reasons", "hypotheses"), 1
    )
    assert changes("set", {"0": one}, {"0": other}) == [
        "set 0: unique (one_place; right) → lost (; wrong)"
    ]


@pytest.mark.parametrize("one", SETS, ids=lambda one: one.name)
def test_a_smaller_size_asks_a_part_of_a_larger_one(one):
    files = [one.files(size) for size in ("quick", "default", "full")]
    assert set(files[0]) <= set(files[1]) <= set(files[2])
    assert set(one.chosen(97, "quick")) <= set(one.chosen(97, "default")) == set(range(97))
