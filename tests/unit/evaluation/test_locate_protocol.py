"""The protocols of locating, on maps of the plane and of space, and random scans."""

import numpy as np
import pytest
from tests.support.reference_locate import building
from tests.support.reference_space import house

from isovist import InputError, Lidar, OccupancyMap, SpinningLidar, Verdict
from isovist.bench import trials as protocol
from isovist.evaluation import Outcome, summarise
from isovist.io import ScanSet
from isovist.maps import Cell, standing_room

PLANAR = Lidar(range_max=10.0, noise=0.05)
RINGS = SpinningLidar(rings=4, azimuths=90, range_max=12.0)
NOWHERE = "Almost nowhere on the map does the sensor reach a wall."
MISFIT = "A map in space needs a spinning lidar, one of the plane a planar one."


def ends_of(scan):
    return scan.ranges if hasattr(scan, "ranges") else scan.points


@pytest.fixture(scope="module")
def log():
    """A walk along the corridor and back."""
    world = building()
    x = np.concatenate([np.linspace(1.0, 7.0, 30), np.linspace(7.0, 1.0, 30)])
    poses = np.column_stack([x, np.full(60, 4.5), np.repeat([0.1, 3.0], 30)])
    bearings = np.radians(np.arange(-120.0, 120.0, 1.0))
    ranges = []
    for px, py, yaw in poses:
        a = yaw + bearings
        ranges.append(world.cast([px, py], np.stack([np.cos(a), np.sin(a)], -1)).ranges)
    return ScanSet(np.array(ranges), bearings, poses)


def test_every_fifth_scan_is_a_query(log):
    world, trials = protocol.carmen_trials(log)
    assert len(trials) == 12
    assert trials[0].truth.x == log.poses[2, 0]
    assert world.resolution == 0.05


def test_revisit_takes_its_map_from_the_first_half_and_queries_what_was_mapped(log):
    _, trials = protocol.revisit_trials(log)
    assert 0 < len(trials) <= 30
    assert {t.truth.yaw for t in trials} == {3.0}


@pytest.mark.slow
def test_a_row_has_the_keys_of_the_design(log):
    row = protocol.measure("walk", *protocol.carmen_trials(log))
    wanted = {
        "site", "queries", "area_m2", "nodes", "success", "unique", "false_confident",
        "median_error_m", "median_error_deg", "p95_error_m", "coverage95", "median_ms", "p95_ms",
        "build_s",
    }  # fmt: skip
    assert wanted <= set(row)
    assert row["queries"] == 12
    assert row["success"] == 1.0
    assert row["false_confident"] == 0.0


@pytest.mark.parametrize(("world", "lidar"), [(building(), PLANAR), (house(), RINGS)])
def test_simulated_scans_repeat_with_their_seed_and_stand_in_free_places(world, lidar):
    first, again = (protocol.simulated_trials(world, 3, lidar, seed=5) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        assert a.truth == b.truth
        assert (ends_of(a.scan()) == ends_of(b.scan())).all()
        assert world.contains(a.truth.position)
        if world.dimension == 3:  # 1 m above the floor
            assert a.truth.z == pytest.approx(1.5, abs=0.06)


def test_clutter_only_shortens_beams():
    world = building()
    plain, cluttered = (
        protocol.simulated_trials(
            world, 1, Lidar(range_max=10.0, noise=0.0, clutter=share), seed=1
        )[0].scan()
        for share in (0.0, 0.5)
    )
    both = plain.valid & cluttered.valid
    assert (cluttered.ranges[both] <= plain.ranges[both]).all()
    assert (cluttered.ranges[both] < plain.ranges[both]).mean() > 0.3


def test_a_summary_counts_wrong_and_sure_as_false_confident():
    def outcome(verdict, right):
        times = {"search": 1.0, "refine": 2.0, "judge": 0.5, "total": 3.5}
        return Outcome(verdict, 0.1 if right else 9.0, 0.02, right, right, right, 0.9, 0.5, times)

    row = summarise(
        [
            outcome(Verdict.UNIQUE, True),
            outcome(Verdict.UNIQUE, False),
            outcome(Verdict.AMBIGUOUS, True),
            outcome(Verdict.LOST, False),
        ]
    )
    assert row["success"] == 0.5
    assert row["unique"] == 0.5
    assert row["unique_of_right"] == 0.5
    assert row["false_confident"] == 0.25
    assert row["lost"] == 0.25
    assert row["median_error_m"] == pytest.approx(0.1)
    assert row["median_ms"] == 3.5


def test_a_protocol_without_queries_is_refused():
    with pytest.raises(InputError) as caught:
        protocol.measure("walk", building(), [])
    assert str(caught.value) == "walk has no query to try."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "lidar", "options", "text"),
    [
        (building, Lidar(range_max=0.06), {}, NOWHERE),
        (house, SpinningLidar(range_max=0.06), {}, NOWHERE),
        (building, PLANAR, {"count": 0}, "`count` must be at least 1, got 0."),
        (house, RINGS, {"count": 0}, "`count` must be at least 1, got 0."),
        (
            building,
            PLANAR,
            {"clearance": 50.0},
            "No free place of the map is 50.0 m from all walls.",
        ),
        (
            house,
            RINGS,
            {"height": 7.0},
            "No free place 7 m above the floor is 0.25 m from all walls.",
        ),
        (building, RINGS, {}, MISFIT),
        (house, PLANAR, {}, MISFIT),
    ],
)
def test_bad_simulations_are_refused_in_words(world, lidar, options, text):
    with pytest.raises(InputError) as caught:
        protocol.simulated_trials(world(), **({"count": 1, "lidar": lidar} | options))
    assert str(caught.value) == text


def test_there_is_standing_room_only_in_the_largest_part():
    cells = np.full((60, 100), Cell.OCCUPIED, dtype=np.uint8)
    cells[2:58, 2:50] = Cell.FREE
    cells[2:58, 60:80] = Cell.FREE
    room = standing_room(OccupancyMap(cells, 0.05))
    assert room[30, 25]
    assert not room[30, 70]
    assert not room[3, 25]
