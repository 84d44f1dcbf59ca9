"""Play back logs and simulated lost robots, update by update."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import isovist as iv
from isovist.apps.studio.session_store import SessionStore
from isovist.apps.studio.view_models import estimate_scene, rounded, scan_ends
from isovist.apps.web import Fields, Progress
from isovist.exploration import Rule
from isovist.report import pose_json, run_json, run_text, track_text, update_json
from isovist.simulation import Run, explore, lost_start
from isovist.tracking import AnyLog, summarise
from isovist.tracking.replay import replay

MAX_UPDATES = 20_000


def track_log(store: SessionStore, fields: Fields) -> Iterator[dict[str, Any]]:
    """Track a log and yield each update as `isovist track --json` does, with drawing data.

    With `carried`, the robot is kidnapped: before an update it is moved to where another scan of
    the log was taken, and its odometry does not notice. Long logs are thinned.
    """
    atlas = store.sites.get(fields.text("site")).atlas
    log: AnyLog = store.logs.get(fields.text("log")).value
    step = max(fields.count("every", 1, low=1, high=1000), -(-len(log) // MAX_UPDATES))
    log = log.take(log.select(every=step))
    if fields.has("carried"):
        jump = fields.part("carried")
        log = kidnap(log, jump.count("at", low=0, high=MAX_UPDATES), jump.position())
    yield {"length": len(log), "truth": log.truth is not None, "every": step}
    updates = []
    for update in replay(iv.Tracker(atlas), log):
        updates.append(update)
        truth = None if update.truth is None else pose_json(update.truth)
        yield {
            "update": update_json(update, log.frame),
            "truth": truth,
            "places": [estimate_scene(e) for e in update.belief.estimates],
            "ends": scan_ends(log.scan(update.index)),
        }
    yield {"done": track_text(log, summarise(updates))}


def kidnap(log: AnyLog, at: int, position: tuple[float, float]) -> AnyLog:
    """Return a log in which the robot is moved just before scan `at`.

    It continues at the scan taken nearest to a given position.  The odometry does not show the
    move.
    """
    if log.truth is None:
        raise iv.InputError(
            "The log has no true poses, so its robot cannot be moved.", code="missing"
        )
    if not 0 < at < len(log):
        raise iv.InputError(f"The robot can be moved at updates 1 to {len(log) - 1}, got {at}.")
    truth = log.truth.vector if isinstance(log.truth, iv.Pose3) else log.truth
    nearest = int(np.argmin(np.hypot(*(truth[:, :2] - np.array(position)).T)))
    kidnapped = log.take(np.append(np.arange(at), np.arange(nearest, len(log))))
    step = float(np.median(np.diff(log.times))) if len(log) > 1 else 1.0
    times = kidnapped.times.copy()
    times[at:] += times[at - 1] + step - times[at]
    if kidnapped.odometry is None:
        return replace(kidnapped, times=times)
    poses: list[Any] = [kidnapped.odometry_at(k) for k in range(len(kidnapped))]
    T_before_after = poses[at - 1] @ poses[at].inverse
    poses[at:] = [T_before_after @ pose for pose in poses[at:]]
    rows = np.array([pose.vector for pose in poses])
    odometry = rows if isinstance(kidnapped, iv.Log) else iv.Pose3.from_vector(rows)
    return replace(kidnapped, odometry=odometry, times=times)  # type: ignore[arg-type]


def explore_site(store: SessionStore, fields: Fields, progress: Progress) -> dict[str, Any]:
    """Simulate a lost robot that drives until it is localized; paths are in the world, in m."""
    atlas = store.sites.get(fields.text("site")).atlas2d
    sensor = fields.part("lidar")
    field_of_view = np.radians(sensor.number("field_of_view", 360.0, low=10.0, high=360.0))
    lidar = iv.Lidar(
        float(field_of_view), range_max=sensor.number("range_max", 6.0, low=0.5, high=100.0)
    )
    rule = Rule.from_text(fields.text("rule", "rivals"))
    limit = fields.number("limit", 40.0, low=1.0, high=500.0)
    seed = fields.seed()
    if fields.has("robot"):
        pose = fields.part("robot").pose()
        start, noise_seed = iv.Pose(pose.x, pose.y, pose.yaw), seed
    else:
        start, noise_seed = lost_start(atlas, lidar, seed)
    run = explore(atlas, start, lidar, rule, seed=noise_seed, limit=limit, progress=progress)
    return {"run": run_json(run), "text": run_text(run), "scene": run_scene(run)}


def run_scene(run: Run) -> list[dict[str, Any]]:
    """Return the drawing data of each step of a drive; the path ahead is in the world, in m."""
    steps: list[dict[str, Any]] = []
    for k, step in enumerate(run.steps):
        proposal = run.steps[k + 1].proposal if k + 1 < len(run.steps) else None
        path, because = None, ""
        if proposal is not None:
            begin = next(j for j, step in enumerate(run.steps) if step.proposal is proposal) - 1
            path = rounded(run.steps[begin].truth.apply(proposal.path[:, :2]), 2)
            because = proposal.text
        steps.append(
            {
                "reasons": [reason.value for reason in step.belief.reasons],
                "advice": step.belief.advice,
                "places": [estimate_scene(e) for e in step.belief.estimates],
                "ends": scan_ends(step.scan),
                "ahead": path,
                "because": because,
            }
        )
    return steps
