"""Logs and lost robots, update by update."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from isovist.apps.studio.session_store import Shelf
from isovist.apps.studio.view_models import estimate_scene, rounded, scan_ends
from isovist.apps.web.parameters import Ask
from isovist.errors import InputError
from isovist.exploration.propose import Rule
from isovist.poses import Pose, Pose3
from isovist.report.answers import pose_json
from isovist.report.explorations import run_json, run_text
from isovist.report.tracks import track_text, update_json
from isovist.sensing.log import Log
from isovist.sensing.models.lidar2d import Lidar
from isovist.simulation.lost_robot import Run, explore, lost_start
from isovist.tracking.replay import AnyLog, replay, summarise
from isovist.tracking.tracker import Tracker

Progress = Callable[[float], None]
MOST = 20_000
"""Updates of one answer: longer logs are thinned."""


def track_log(shelf: Shelf, ask: Ask) -> Iterator[dict[str, Any]]:
    """Track a log and yield each update as `isovist track --json` does, with drawing data.

    With `carried`, the robot is carried at an update to where another scan of the log was taken,
    and odometry knows nothing of it.
    """
    atlas = shelf.sites.get(ask.text("site")).atlas
    log: AnyLog = shelf.logs.get(ask.text("log")).thing
    every = max(ask.count("every", 1, low=1, high=1000), -(-len(log) // MOST))
    log = log.take(log.chosen(every=every))
    if ask.has("carried"):
        jump = ask.part("carried")
        log = carried(log, jump.count("at", low=0, high=MOST), jump.place())
    yield {"length": len(log), "truth": log.truth is not None, "every": every}
    updates = []
    for update in replay(Tracker(atlas), log):
        updates.append(update)
        truth = None if update.truth is None else pose_json(update.truth)
        yield {
            "update": update_json(update, log.frame),
            "truth": truth,
            "places": [estimate_scene(e) for e in update.belief.estimates],
            "ends": scan_ends(log.scan(update.index)),
        }
    yield {"done": track_text(log, summarise(updates))}


def carried(log: AnyLog, at: int, place: tuple[float, float]) -> AnyLog:
    """Return a log whose robot is moved, before scan `at`, to the scan taken nearest a place.

    Odometry, where there is one, goes on from there as if nothing had happened.
    """
    if log.truth is None:
        raise InputError(
            "The log has no truth, so nobody knows which scans were taken there.", code="missing"
        )
    if not 0 < at < len(log):
        raise InputError(f"The robot can be carried at updates 1 to {len(log) - 1}, got {at}.")
    truth = log.truth.vector if isinstance(log.truth, Pose3) else log.truth
    there = int(np.argmin(np.hypot(*(truth[:, :2] - np.array(place)).T)))
    both = log.take(np.append(np.arange(at), np.arange(there, len(log))))
    step = float(np.median(np.diff(log.times))) if len(log) > 1 else 1.0
    times = both.times.copy()
    times[at:] += times[at - 1] + step - times[at]
    if both.odometry is None:
        return replace(both, times=times)
    poses: list[Any] = [both.odometry_at(k) for k in range(len(both))]
    T_before_after = poses[at - 1] @ poses[at].inverse
    poses[at:] = [T_before_after @ pose for pose in poses[at:]]
    rows = np.array([pose.vector for pose in poses])
    moved = rows if isinstance(both, Log) else Pose3.from_vector(rows)
    return replace(both, odometry=moved, times=times)  # type: ignore[arg-type]


def explore_site(shelf: Shelf, ask: Ask, progress: Progress) -> dict[str, Any]:
    """Simulate a lost robot that drives until it is localized; paths are in the world, in m."""
    atlas = shelf.sites.get(ask.text("site")).plane
    sensor = ask.part("lidar")
    view = np.radians(sensor.number("field_of_view", 360.0, low=10.0, high=360.0))
    lidar = Lidar(float(view), range_max=sensor.number("range_max", 6.0, low=0.5, high=100.0))
    rule = Rule.from_text(ask.text("rule", "rivals"))
    limit = ask.number("limit", 40.0, low=1.0, high=500.0)
    seed = ask.count("seed", 0, low=0, high=1 << 31)
    if ask.has("robot"):
        place = ask.part("robot").pose()
        start, noise = Pose(place.x, place.y, place.yaw), seed
    else:
        start, noise = lost_start(atlas, lidar, seed)
    run = explore(atlas, start, lidar, rule, seed=noise, limit=limit, progress=progress)
    return {"run": run_json(run), "text": run_text(run), "scene": run_scene(run)}


def run_scene(run: Run) -> list[dict[str, Any]]:
    """Return the drawing data of each step of a drive; the path ahead is in the world, in m."""
    steps: list[dict[str, Any]] = []
    for k, step in enumerate(run.steps):
        after = run.steps[k + 1].proposal if k + 1 < len(run.steps) else None
        ahead, because = None, ""
        if after is not None:
            begin = next(j for j, other in enumerate(run.steps) if other.proposal is after) - 1
            ahead = rounded(run.steps[begin].truth.apply(after.path[:, :2]), 2)
            because = after.text
        steps.append(
            {
                "reasons": [reason.value for reason in step.belief.reasons],
                "advice": step.belief.advice,
                "places": [estimate_scene(e) for e in step.belief.estimates],
                "ends": scan_ends(step.scan),
                "ahead": ahead,
                "because": because,
            }
        )
    return steps
