import numpy as np
import pytest

from isovist.bench import trials as protocol
from isovist.bench.trials import Outcome
from isovist.errors import InputError
from isovist.io.scans.sets import ScanSet
from isovist.localization.answer import Verdict
from reference_locate import building


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


def test_simulated_scans_repeat_with_their_seed():
    world = building()
    first, again = (protocol.simulated_trials(world, 3, seed=5) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        assert a.truth == b.truth
        assert (a.scan().ranges == b.scan().ranges).all()
        assert world.contains([a.truth.x, a.truth.y])


def test_clutter_only_shortens_beams():
    world = building()
    plain = protocol.simulated_trials(world, 1, seed=1, noise=0.0)[0].scan()
    cluttered = protocol.simulated_trials(world, 1, seed=1, noise=0.0, clutter=0.5)[0].scan()
    both = plain.valid & cluttered.valid
    assert (cluttered.ranges[both] <= plain.ranges[both]).all()
    assert (cluttered.ranges[both] < plain.ranges[both]).mean() > 0.3


def test_a_summary_counts_wrong_and_sure_as_false_confident():
    def outcome(verdict, right):
        times = {"search": 1.0, "refine": 2.0, "judge": 0.5, "total": 3.5}
        return Outcome(verdict, 0.1 if right else 9.0, 0.02, right, right, right, times)

    row = protocol.summarise(
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


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"clutter": 1.0},
            "`clutter` must lie in [0, 1) and `noise` must not be negative, got 1.0 and 0.05.",
        ),
        ({"beams": 0}, "A lidar needs at least 1 beam, got 0."),
        ({"range_max": 0.06}, "Almost nowhere on the map does the sensor reach a wall."),
        ({"clearance": 50.0}, "No free place of the map is 50.0 m from all walls."),
    ],
)
def test_bad_simulations_are_refused_in_words(options, text):
    with pytest.raises(InputError) as caught:
        protocol.simulated_trials(building(), 1, **options)
    assert str(caught.value) == text
