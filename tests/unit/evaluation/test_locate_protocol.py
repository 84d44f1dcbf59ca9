"""The protocols of locating: which scans are asked, and answers held against the truth."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.reference_locate import building
from tests.support.reference_space import house
from tests.support.sites import PLANE, SITES
from typer.testing import CliRunner

import isovist as iv
from isovist import Lidar, OccupancyMap, SpinningLidar, Verdict
from isovist.apps import app
from isovist.evaluation import (
    Outcome,
    calibration,
    carmen_trials,
    measure,
    outcome_of,
    simulated_trials,
    summarise,
)
from isovist.io import ScanSet
from isovist.maps import Cell, standing_room
from isovist.poses import unit_vectors
from isovist.simulation import office_floor, shared, storeys

pytestmark = pytest.mark.slow

PLANAR = Lidar(range_max=10.0, noise=0.05)
RINGS = SpinningLidar(rings=4, azimuths=90, range_max=12.0)


def ends_of(scan):
    return scan.ranges if isinstance(scan, iv.Scan) else scan.points


def seen_from(world, poses, bearings):
    return np.array([world.cast(p[:2], unit_vectors(bearings + p[2])).ranges for p in poses])


@pytest.fixture(scope="module")
def log():
    """A walk along the corridor and back."""
    x = np.concatenate([np.linspace(1.0, 7.0, 30), np.linspace(7.0, 1.0, 30)])
    poses = np.column_stack([x, np.full(60, 4.5), np.repeat([0.1, 3.0], 30)])
    bearings = np.radians(np.arange(-120.0, 120.0, 1.0))
    return ScanSet(seen_from(building(), poses, bearings), bearings, poses)


def test_every_fifth_scan_is_a_query_and_the_map_is_of_the_others(log):
    world, trials = carmen_trials(log)
    assert [trial.truth.x for trial in trials] == log.poses[2::5, 0].tolist()
    assert world.resolution == 0.05
    row = measure("walk", world, trials)
    assert (row["queries"], row["success"], row["false_confident"]) == (12, 1.0, 0.0)
    with refused(code="empty"):
        measure("walk", world, [])


@pytest.mark.parametrize(("world", "lidar"), [(building(), PLANAR), (house(), RINGS)])
def test_simulated_scans_repeat_with_their_seed_and_stand_in_free_places(world, lidar):
    first, again = (simulated_trials(world, 3, lidar, seed=5) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        assert a.truth == b.truth
        assert (ends_of(a.scan()) == ends_of(b.scan())).all()
        assert world.contains(a.truth.position)
        if world.dimension == 3:  # 1 m above the floor
            assert a.truth.z == pytest.approx(1.5, abs=0.06)


@pytest.mark.parametrize(
    ("world", "lidar", "options", "field", "code"),
    [
        (building, Lidar(range_max=0.06), {}, "lidar", "empty"),
        (house, SpinningLidar(range_max=0.06), {}, "lidar", "empty"),
        (building, PLANAR, {"count": 0}, "count", "invalid_value"),
        (house, RINGS, {"count": 0}, "count", "invalid_value"),
        (building, PLANAR, {"clearance": 50.0}, None, "empty"),
        (house, RINGS, {"height": 7.0}, None, "empty"),
        (building, RINGS, {}, "lidar", "wrong_dimension"),
        (house, PLANAR, {}, "lidar", "wrong_dimension"),
    ],
)
def test_bad_simulations_are_refused(world, lidar, options, field, code):
    with refused(field, code):
        simulated_trials(world(), **({"count": 1, "lidar": lidar} | options))


def test_there_is_standing_room_only_in_the_largest_part():
    cells = np.full((60, 100), Cell.OCCUPIED, dtype=np.uint8)
    cells[2:58, 2:50] = cells[2:58, 60:80] = Cell.FREE
    room = standing_room(OccupancyMap(cells, 0.05))
    assert (room[30, 25], room[30, 70], room[3, 25]) == (True, False, False)


def test_storeys_share_most_of_their_walls():
    floors, again = (storeys(1, 3, length=30.0) for _ in range(2))
    common = [shared(a, b) for a, b in zip(floors, [*floors[1:], floors[0]], strict=True)]
    assert 0.75 < min(common) <= max(common) < 0.85
    assert all(shared(a, b) == 1.0 for a, b in zip(floors, again, strict=True))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """CARMEN logs of a robot that turns and creeps along in two offices, a map, and its scans."""
    folder = tmp_path_factory.mktemp("office")
    bearings = np.deg2rad(-90.0 + np.arange(180))
    floors = [office_floor(k, length=m, rows=2).plan for k, m in ((2, 15.0), (5, 16.0))]
    poses = np.array([[3.0 + 0.02 * k, 2.0, 0.35 * k] for k in range(40)])
    for name, floor, count in (("a", floors[0], 40), ("b", floors[1], 40), ("c", floors[0], 2)):
        lines = []
        for k, pose in enumerate(poses[:count]):
            numbers = " ".join(f"{r:.3f}" for r in seen_from(floor, [pose], bearings)[0])
            x = "{:.4f} {:.4f} {:.5f}".format(*pose)
            lines.append(f"FLASER 180 {numbers} {x} {x} {k}.0 host {k}.0\n")
        (folder / f"{name}.log").write_text("".join(lines))
    world = OccupancyMap.from_segments(floors[0].walls.reshape(-1, 2, 2), 0.05)
    iv.write_map(world, folder / "office.yaml")
    three = np.array([[3.0, 2.0, 0.3], [3.4, 2.2, -2.0], [2.8, 1.7, 1.2]])
    np.savez(
        folder / "scans.npz", ranges_m=seen_from(world, three, np.deg2rad(np.arange(360.0))),
        pose=three, angle_min=0.0, angle_inc=np.deg2rad(1.0), range_max=30.0,
        in_map_split=np.array([True, False, False]),
    )  # fmt: skip
    np.savez(folder / "some.npz", index=np.array([1]))
    return folder


@pytest.mark.parametrize(
    ("words", "queries"),
    [
        ("carmen a.log --prove --every 2", 4),
        ("carmen a.log --split revisit", 20),
        ("carmen a.log c.log", 8),  # the second is too short, and left out
        ("scans office.yaml scans.npz", 3),
        ("scans office.yaml scans.npz --held-out", 2),
        ("scans office.yaml scans.npz --index some.npz", 1),
        ("simulate office.yaml --count 6 --prove", 6),
    ],
)
def test_the_commands_ask_what_they_should_and_are_right(files, monkeypatch, words, queries):
    monkeypatch.chdir(files)
    result = CliRunner().invoke(app, ["bench", *words.split(), "--json"])
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)
    assert row["queries"] == queries
    assert row["success"] >= 0.75
    assert row["false_confident"] == 0.0
    if "prove" in words:
        assert row["proved_unique"] > 0.0
        assert (row["proof_wrong"], row["listed_complete"]) == (0, 1.0)


def test_scans_of_each_site_are_asked_on_the_map_of_the_other(files, monkeypatch):
    monkeypatch.chdir(files)
    words = ["bench", "cross", "a.log", "b.log", "--count", "3", "--json"]
    assert json.loads(CliRunner().invoke(app, words).stdout)["asked"] == 6


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_list_is_complete_when_nothing_in_it_is_missed(site):
    place, other, *_ = site.places
    scan = site.look(place, mount=site.mount)
    answer = iv.locate(site.atlas, scan)

    def told(truth, *estimates):
        came = outcome_of(site.atlas, scan, replace(answer, estimates=estimates), truth)
        return came, (came.right, came.listed, came.complete)

    whole, shares = told(place, *answer.estimates)
    assert shares == (True, True, True)
    assert whole.off < 9.0
    # The scan fits nowhere near the other place, so nothing is missed there.
    assert told(other, answer.estimates[0])[1] == (False, False, True)
    assert not told(place, replace(answer.estimates[0], pose=other, score=1.0))[0].complete
    nothing, shares = told(place)
    assert shares == (False, False, False)
    assert nothing.probability == 0.0


def test_a_proof_is_wrong_when_it_leaves_out_the_truth_or_proves_another_place():
    place, other, *_ = PLANE.places
    scan = PLANE.look(place)
    answer = iv.locate(PLANE.atlas, scan, prove=True)

    def told(truth, **proof):
        changed = replace(answer, proof=replace(answer.proof, **proof))
        came = outcome_of(PLANE.atlas, scan, changed, truth)
        return came.proved, came.disproved

    assert told(place) == (True, False)
    assert told(other)[1]
    empty = {"unique": False, "regions": np.empty((0, 5))}
    assert told(place, **empty)[1]
    assert not told(place, **empty, complete=False)[1]


def outcome(probability, right, off=0.1, **more):
    times = {"search": 1.0, "prove": 8.0, "total": 9.0}
    error = 0.1 if right else 9.0
    return Outcome(Verdict.UNIQUE, error, 0.0, right, right, right, probability, off, times, **more)


def test_calibration_counts_the_right_ones_in_bins_and_ellipses():
    given = [(0.4, False, 0.1), (0.95, True, 1.0), (0.91, False, 0.1), (1, True, 2), (1, True, 7)]
    told = calibration([outcome(*each) for each in given])
    assert told["probabilities"] == [
        [0.0, 0.5, 1.0, 0.4, 0.0],
        [0.9, 0.99, 2.0, pytest.approx(0.93), 0.5],
        [0.999, 1.0, 2.0, 1.0, 1.0],
    ]
    # The ellipses reach to 0.76, 1.53 and 10.2 squared standard deviations.
    third = pytest.approx(1 / 3)
    assert told["ellipses"] == {"0.5": 0.0, "0.68": third, "0.95": 1.0}


def test_a_summary_counts_the_proved_and_what_is_wrong_and_sure():
    """Ambiguous is said and lost is not; neither asks whether the truth is listed."""
    unique, ambiguous, lost = Verdict
    given = [(True, unique, True), (False, ambiguous, False), (False, lost, True),
             (True, lost, True), (False, unique, True)]  # fmt: skip
    row = summarise([
        replace(outcome(0.9, right), verdict=verdict, listed=listed, proved=k == 0,
                disproved=k == 4)
        for k, (right, verdict, listed) in enumerate(given)
    ])  # fmt: skip
    shares = {"success": 0.4, "unique": 0.4, "unique_of_right": 0.5, "lost": 0.4, "listed": 0.8,
              "listed_complete": 0.4, "right_or_ambiguous": 0.6, "false_confident": 0.2,
              "proved_unique": 0.5, "proof_wrong": 1, "prove_ms": 8.0, "median_ms": 9.0,
              "median_error_m": pytest.approx(0.1)}  # fmt: skip
    assert {key: row[key] for key in shares} == shares
