"""A log fed to a tracker, and what is said of it in JSON, in words and in a picture."""

import json
import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from isovist import Belief, Estimate, Log, OccupancyMap, Pose, Verdict
from isovist.maps import Cell
from isovist.report import draw_track, track_text, update_json
from isovist.tracking.replay import replay, summarise, unique_way

LOST, AMBIGUOUS, UNIQUE = Verdict.LOST, Verdict.AMBIGUOUS, Verdict.UNIQUE
VERDICTS = (LOST, AMBIGUOUS, UNIQUE, UNIQUE, AMBIGUOUS, UNIQUE)
OFF = (math.nan, 5.0, 0.1, 0.2, 0.3, 0.6)
"""How far the estimate of each update is off, in m along x."""


@dataclass
class Scripted:
    """Says what was written down for it, at the odometry moved by (1, 2) m."""

    verdicts: tuple = VERDICTS
    heard: list = field(default_factory=list)

    def update(self, odometry, scan, *, time):
        k = len(self.heard)
        assert time == 100.0 + 2.0 * odometry.x  # a second for every half metre
        self.heard.append((odometry, scan))
        pose = Pose(odometry.x + 1.0 + OFF[k], odometry.y + 2.0, odometry.yaw + 0.1)
        covariance = np.diag([0.01, 0.04, 0.0009])
        estimate = Estimate(pose, covariance, 0.9, 0.8, 1.5)
        found = () if self.verdicts[k] is LOST else (estimate,)
        least = math.inf if k == 5 else 10.0 * k
        times = {"total": 100.0 if k == 0 else 4.0}
        return Belief(self.verdicts[k], f"Advice {k}.", found, least, 0.5 * k, times)


def drive(truth=True, **changes):
    """Six scans every half metre; the map lies (1, 2) m off odometry."""
    odometry = np.stack([0.5 * np.arange(6), np.zeros(6), np.zeros(6)], axis=-1)
    return Log(
        times=100.0 + np.arange(6.0), odometry=odometry,
        readings=np.arange(1.0, 13.0, dtype=np.float32), starts=2 * np.arange(7),
        beams=np.tile([0.0, 0.5, 0.0, 50.0], (6, 1)), T_robot_sensor=Pose(x=0.2),
        truth=odometry + np.array([1.0, 2.0, 0.0]) if truth else None, **changes,
    )  # fmt: skip


def test_every_scan_meets_its_odometry():
    tracker = Scripted()
    updates = list(replay(tracker, drive()))
    assert [update.index for update in updates] == list(range(6))
    assert [update.time for update in updates] == [100.0, 101.0, 102.0, 103.0, 104.0, 105.0]
    for k, (odometry, scan) in enumerate(tracker.heard):
        assert odometry == Pose(0.5 * k, 0.0, 0.0) == updates[k].odometry
        assert scan.ranges.tolist() == [2.0 * k + 1.0, 2.0 * k + 2.0]
        assert scan.T_robot_sensor == Pose(x=0.2)
    assert [update.unique for update in updates] == [False, False, True, True, False, True]


def test_only_chosen_scans_are_fed_and_odometry_goes_on():
    tracker = Scripted()
    updates = list(replay(tracker, drive(), np.array([1, 4])))
    assert [odometry.x for odometry, _ in tracker.heard] == [0.5, 2.0]
    assert [update.index for update in updates] == [1, 4]


def test_updates_come_one_by_one():
    tracker = Scripted()
    steps = replay(tracker, drive())
    next(steps)
    assert len(tracker.heard) == 1


def test_errors_are_those_of_the_best_estimate():
    updates = list(replay(Scripted(), drive()))
    assert updates[0].error is None
    assert np.allclose([update.error for update in updates[1:]], [[off, 0.1] for off in OFF[1:]])
    assert all(update.error is None for update in replay(Scripted(), drive(truth=False)))


def test_a_log_is_summed_up():
    updates = list(replay(Scripted(), drive()))
    summary = summarise(updates)
    assert summary.updates == 6
    assert summary.shares == {UNIQUE: 0.5, AMBIGUOUS: 2 / 6, LOST: 1 / 6}
    assert summary.started == 100.0
    assert summary.first is updates[2]
    assert summary.last is updates[5]
    assert summary.relapses == 1
    assert math.isclose(summary.per_second, 250.0)
    assert summary.median_ms == 4.0
    assert np.allclose(summary.errors[:, 0], [0.1, 0.2, 0.6])
    assert summary.wrong == 1
    never = summarise(list(replay(Scripted(6 * (AMBIGUOUS,)), drive())))
    assert (never.first, never.relapses, len(never.errors)) == (None, 0, 0)
    assert summarise(updates[:1]).per_second == 10.0


def test_the_way_is_that_of_the_unique_updates():
    times, poses = unique_way(list(replay(Scripted(), drive())))
    assert times.tolist() == [102.0, 103.0, 105.0]
    assert np.allclose(poses, [[2.1, 2.0, 0.1], [2.7, 2.0, 0.1], [4.1, 2.0, 0.1]])
    times, poses = unique_way(list(replay(Scripted(6 * (LOST,)), drive())))
    assert (times.shape, poses.shape) == ((0,), (0, 3))


def test_an_update_is_plain_data():
    reports = [update_json(update) for update in replay(Scripted(), drive())]
    assert json.loads(json.dumps(reports, allow_nan=False)) == reports
    keys = "time verdict frame estimates lambda_min travelled_m advice update_ms error_m error_deg"
    assert all(list(report) == keys.split() for report in reports)
    assert reports[0]["estimates"] == []
    assert reports[0]["error_m"] is reports[0]["error_deg"] is None
    third = reports[2]
    assert (third["time"], third["verdict"], third["advice"]) == (102.0, "unique", "Advice 2.")
    assert (third["lambda_min"], third["travelled_m"], third["update_ms"]) == (20.0, 1.0, 4.0)
    assert math.isclose(third["error_m"], 0.1)
    assert math.isclose(third["error_deg"], math.degrees(0.1))
    (estimate,) = third["estimates"]
    assert list(estimate) == (
        ["x", "y", "yaw", "probability", "covariance", "covariance_ros", "inliers", "refuted"]
    )
    assert np.allclose([estimate["x"], estimate["y"], estimate["yaw"]], [2.1, 2.0, 0.1])
    assert estimate["covariance"][1] == [0.0, 0.04, 0.0]
    assert reports[5]["lambda_min"] is None
    blind = update_json(next(replay(Scripted(), drive(truth=False))))
    assert list(blind) == keys.split()[:-2]


def test_a_log_in_words():
    log = drive(blind=2, outside=3)
    assert track_text(log, summarise(list(replay(Scripted(), log)))).splitlines() == [
        "unique at the end: Advice 5.",
        "  x    4.100 m   y    2.000 m   yaw    5.73°   ± 0.200 m, 1.72°   probability 0.900   "
        "80% of the beams fit",
        "  frame: robot",
        "  6 updates over 2.5 m, median 4.0 ms, 250.0 per s after the first",
        "  unique after 1.0 m, 2.0 s, and lost that once",
        "  verdicts: unique 50.0%, ambiguous 33.3%, lost 16.7%",
        "  error when unique: median 0.200 m, 5.73°, worst 0.600 m; 1 of 3 off by more than 0.5 m "
        "or 10°",
        "  sensor on the robot: x 0.200 m, y 0.000 m, yaw 0.00°",
        "  left out: 2 scans without a valid beam, 3 before or after the odometry",
    ]
    lost = drive(truth=False)
    assert track_text(lost, summarise(list(replay(Scripted(6 * (LOST,)), lost)))).splitlines() == [
        "lost at the end: Advice 5.",
        "  6 updates over 2.5 m, median 4.0 ms, 250.0 per s after the first",
        "  never unique",
        "  verdicts: unique 0.0%, ambiguous 0.0%, lost 100.0%",
        "  sensor on the robot: x 0.200 m, y 0.000 m, yaw 0.00°",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 200), (200, 100)])
@pytest.mark.parametrize("truth", [True, False])
def test_the_picture_shows_the_way_and_two_panels(size, truth):
    pytest.importorskip("matplotlib")
    world = OccupancyMap(np.full(size, Cell.FREE, dtype=np.uint8), 0.05, Pose())
    figure = draw_track(world, list(replay(Scripted(), drive(truth))))
    plan, least, panel = figure.axes
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [
        "odometry alone", "unique", "ambiguous", "unique after 1.0 m", "the end: unique"
    ]  # fmt: skip
    odometry = plan.lines[0].get_xydata()
    # Laid onto the first unique pose, (2.1 m, 2 m, 0.1 rad), where odometry says x = 1 m.
    assert np.allclose(odometry[2], [2.1, 2.0])
    assert np.allclose(odometry[3], [2.1 + 0.5 * math.cos(0.1), 2.0 + 0.5 * math.sin(0.1)])
    assert least.get_yscale() == "log"
    titles = [axes.get_title() for axes in (least, panel)]
    assert titles == [
        "λ_min of the Gramian (1/m²)",
        "error of the best estimate (m)" if truth else "verdict",
    ]
    assert [axes.get_xlabel() for axes in (least, panel)] == 2 * ["way driven (m)"]
    figure.draw_without_rendering()


@pytest.mark.slow
def test_a_lost_robot_has_a_picture_too():
    pytest.importorskip("matplotlib")
    world = OccupancyMap(np.full((80, 80), Cell.FREE, dtype=np.uint8), 0.05, Pose())
    figure = draw_track(world, list(replay(Scripted(6 * (LOST,)), drive())))
    assert figure.axes[2].get_title() == "verdict"
    figure.draw_without_rendering()
