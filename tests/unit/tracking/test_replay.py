"""A log fed to a tracker, what is said of it, and the links between maps that go with it."""

import json
import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from isovist import Belief, Estimate, Link, Log, OccupancyMap, Pose, Reason, Verdict
from isovist.io.links import read_links
from isovist.report import draw_track, track_text, update_json
from isovist.tracking import summarise, unique_poses
from isovist.tracking.replay import replay

LOST, AMBIGUOUS, UNIQUE = Verdict.LOST, Verdict.AMBIGUOUS, Verdict.UNIQUE
VERDICTS = (LOST, AMBIGUOUS, UNIQUE, UNIQUE, AMBIGUOUS, UNIQUE)
WHY = {LOST: Reason.POOR_FIT, AMBIGUOUS: Reason.LEAD_TOO_NEW, UNIQUE: Reason.ONLY_PLACE}
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
        estimate = Estimate(pose, np.diag([0.01, 0.04, 0.0009]), 0.9, 0.8, 1.5)
        verdict = self.verdicts[k]
        found = () if verdict is LOST else (estimate,)
        least = math.inf if k == 5 else 10.0 * k
        times = {"total": 100.0 if k == 0 else 4.0}
        return Belief(verdict, (WHY[verdict],), found, least, 0.5 * k, times)


def drive(truth=True, **changes):
    """Six scans every half metre; the map lies (1, 2) m off odometry."""
    odometry = np.stack([0.5 * np.arange(6), np.zeros(6), np.zeros(6)], axis=-1)
    return Log(
        times=100.0 + np.arange(6.0), odometry=odometry,
        readings=np.arange(1.0, 13.0, dtype=np.float32), starts=2 * np.arange(7),
        beams=np.tile([0.0, 0.5, 0.0, 50.0], (6, 1)), T_robot_sensor=Pose(x=0.2),
        truth=odometry + np.array([1.0, 2.0, 0.0]) if truth else None, **changes,
    )  # fmt: skip


def replayed(*verdicts, truth=True):
    return list(replay(Scripted(6 * verdicts or VERDICTS), drive(truth)))


def test_every_scan_meets_its_odometry_one_by_one():
    tracker = Scripted()
    steps = replay(tracker, drive())
    first = next(steps)
    assert len(tracker.heard) == 1
    updates = [first, *steps]
    assert [(update.index, update.time) for update in updates] == [
        (k, 100.0 + k) for k in range(6)
    ]  # fmt: skip
    for k, (odometry, scan) in enumerate(tracker.heard):
        assert odometry == Pose(0.5 * k, 0.0, 0.0) == updates[k].odometry
        assert scan.ranges.tolist() == [2.0 * k + 1.0, 2.0 * k + 2.0]
        assert scan.T_robot_sensor == Pose(x=0.2)
    assert [update.unique for update in updates] == [verdict is UNIQUE for verdict in VERDICTS]
    chosen = Scripted()
    assert [update.index for update in replay(chosen, drive(), np.array([1, 4]))] == [1, 4]
    assert [odometry.x for odometry, _ in chosen.heard] == [0.5, 2.0]


def test_errors_are_those_of_the_best_estimate():
    updates = replayed()
    assert updates[0].error is None
    assert np.allclose([update.error for update in updates[1:]], [[off, 0.1] for off in OFF[1:]])
    assert all(update.error is None for update in replayed(truth=False))


def test_a_log_is_summed_up():
    updates = replayed()
    summary = summarise(updates)
    assert summary.updates == 6
    assert summary.shares == {UNIQUE: 0.5, AMBIGUOUS: 2 / 6, LOST: 1 / 6}
    assert (summary.started, summary.relapses, summary.wrong) == (100.0, 1, 1)
    assert summary.first is updates[2]
    assert summary.last is updates[5]
    assert math.isclose(summary.per_second, 250.0)
    assert summary.median_ms == 4.0
    assert np.allclose(summary.errors[:, 0], [0.1, 0.2, 0.6])
    never = summarise(replayed(AMBIGUOUS))
    assert (never.first, never.relapses, len(never.errors)) == (None, 0, 0)
    assert summarise(updates[:1]).per_second == 10.0


def test_the_way_is_that_of_the_unique_updates():
    times, poses = unique_poses(replayed())
    assert times.tolist() == [102.0, 103.0, 105.0]
    assert np.allclose(poses, [[2.1, 2.0, 0.1], [2.7, 2.0, 0.1], [4.1, 2.0, 0.1]])
    times, poses = unique_poses(replayed(LOST))
    assert (times.shape, poses.shape) == ((0,), (0, 3))


def test_an_update_is_plain_data():
    reports = [update_json(update) for update in replayed()]
    assert json.loads(json.dumps(reports, allow_nan=False)) == reports
    assert reports[0]["estimates"] == []
    assert reports[0]["error_m"] is reports[0]["error_deg"] is None
    third = reports[2]
    (estimate,) = third.pop("estimates")
    assert third.pop("advice")
    assert third == {
        "time": 102.0, "verdict": "unique", "frame": "robot", "lambda_min": 20.0,
        "travelled_m": 1.0, "reasons": ["only_place"], "update_ms": 4.0,
        "error_m": pytest.approx(0.1), "error_deg": pytest.approx(math.degrees(0.1)),
    }  # fmt: skip
    assert np.allclose([estimate["x"], estimate["y"], estimate["yaw"]], [2.1, 2.0, 0.1])
    assert estimate["covariance"][1] == [0.0, 0.04, 0.0]
    assert estimate["covariance_ros"][7] == 0.04
    assert (estimate["probability"], estimate["inliers"], estimate["refuted"]) == (0.9, 0.8, False)
    assert reports[5]["lambda_min"] is None
    assert "error_m" not in update_json(replayed(truth=False)[0])


def test_a_log_in_words():
    log, updates = drive(blind=2, outside=3), replayed()
    first, place, *rest = track_text(log, summarise(updates)).splitlines()
    assert first.endswith(updates[-1].belief.advice)
    assert " 4.100 m " in place
    told = "\n".join(rest)
    for number in ("6 updates", "250.0 per s", "1.0 m, 2.0 s", "33.3%", "0.600 m; 1 of 3",
                   "x 0.200 m", "2 scans", "3 before"):  # fmt: skip
        assert number in told
    lost = track_text(drive(truth=False), summarise(replayed(LOST, truth=False)))
    assert len(lost.splitlines()) == 5
    assert "lost 100.0%" in lost


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "truth", "verdicts"),
    [((60, 200), True, ()), ((200, 100), False, ()), ((80, 80), True, (LOST,))],
)
def test_the_picture_shows_the_way_and_two_panels(size, truth, verdicts):
    pytest.importorskip("matplotlib")
    world = OccupancyMap(np.zeros(size, dtype=np.uint8), 0.05, Pose())
    figure = draw_track(world, replayed(*verdicts, truth=truth))
    figure.draw_without_rendering()
    plan, least, panel = figure.axes
    assert [axes.get_xlabel() for axes in (least, panel)] == 2 * ["distance driven (m)"]
    assert ("error" in panel.get_title()) == (truth and not verdicts)
    if verdicts:
        return
    assert least.get_yscale() == "log"
    odometry = plan.lines[0].get_xydata()
    # Laid onto the first unique pose, (2.1 m, 2 m, 0.1 rad), where odometry says x = 1 m.
    assert np.allclose(odometry[2], [2.1, 2.0])
    assert np.allclose(odometry[3], [2.1 + 0.5 * math.cos(0.1), 2.0 + 0.5 * math.sin(0.1)])


def test_an_entry_joins_all_its_maps_two_by_two(tmp_path):
    path = tmp_path / "links.yaml"
    path.write_text(
        "- {a: [1, 2, 0.5], b: [3.0, 4.0, 0.0], c: [5, 6, 0]}\n- {a: [7, 8, 0], d: [9, 9, 1]}"
    )
    links = read_links(path)
    pairs = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "d")]
    assert [(link.first, link.second) for link in links] == pairs
    assert links[0] == Link("a", Pose(1, 2, 0.5), "b", Pose(3, 4, 0))
    path.write_text('[{"a": [1, 2, 0.5], "b": [3, 4, 0]}]')
    assert read_links(path) == links[:1]
