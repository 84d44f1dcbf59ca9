"""Answer the page: locate a scan, and survey a map, with the numbers of `report`."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

import isovist as iv
from isovist.apps.studio.session_store import SessionStore, Site
from isovist.apps.studio.view_models import answer_scene, rounded, search_scene
from isovist.apps.web import Fields, Progress
from isovist.localization import AnyMaps, contrast, preview
from isovist.poses import AnyPose, pose_error
from isovist.report import (
    answer_json,
    area_words,
    chance_text,
    contrast_json,
    fit_text,
    pose_json,
    proof_text,
    sensor_words,
    share_text,
    survey_rows,
    surveys_json,
    surveys_text,
)


def locate_scan(store: SessionStore, fields: Fields) -> dict[str, Any]:
    """Locate an uploaded scan, or a scan simulated at the pose of a virtual robot.

    The answer is what `isovist locate --json` prints, on all maps of a `library` if one is named;
    `site` is the map of the best estimate. While a robot is dragged (`live`), only the coarse
    search runs, without hints.
    """
    site_key, library, live = fields.text("site"), fields.text("library"), fields.switch("live")
    site = store.sites.get(site_key)
    maps: AnyMaps = store.maps(library) if library else site.atlas
    truth = None
    if fields.has("scan"):
        scan = store.scans.get(fields.text("scan")).value
    else:
        truth = standing_pose(site, fields.part("robot").pose())
        scan = simulate_scan(site, fields, truth)
    answer = preview(maps, scan) if live else iv.locate(maps, scan, prove=fields.switch("prove"))
    answer_key = site_key
    if answer.map is not None:
        answer_key = store.libraries.get(library).value[answer.map]
    result: dict[str, Any] = {
        "answer": answer_json(answer, () if live else iv.hints(maps, scan, answer)),
        "fit": "" if answer.best is None else fit_text(answer.best),
        "scene": answer_scene(maps, scan, answer),
        "why": None if live else contrast_json(contrast(maps, scan, answer)),
        "proof": None if answer.proof is None else proof_text(answer.proof),
        "truth": None if truth is None else pose_json(truth),
        "off": error_text(answer, truth) if answer_key == site_key else "",
        "none": chance_text(answer.none),
        "live": live,
        "site": answer_key,
    }
    if fields.switch("search") and not live:
        result["search"] = search_scene(site.atlas, scan)
    return result


def error_text(answer: iv.Answer, truth: AnyPose | None) -> str:
    """Return how far the best estimate is from the virtual robot; empty if there is none."""
    if truth is None or answer.best is None:
        return ""
    distance_m, angle_rad = pose_error(answer.best.pose, truth)
    return f"{distance_m:.3f} m and {math.degrees(angle_rad):.2f}° from the true pose."


def standing_pose(site: Site, pose: AnyPose) -> AnyPose:
    """Return the pose of a robot on a map; on a 3D map at the height of the nearest node."""
    if site.atlas.dimension == 2:
        return iv.Pose(pose.x, pose.y, pose.yaw)
    if isinstance(pose, iv.Pose3):
        return pose
    nodes = site.atlas.positions
    nearest = int(np.argmin(np.hypot(*(nodes[:, :2] - pose.position[:2]).T)))
    return iv.Pose3(pose.x, pose.y, pose.yaw, float(nodes[nearest, 2]))


def simulate_scan(site: Site, fields: Fields, truth: AnyPose) -> iv.Scan | iv.CloudScan:
    """Simulate the scan of a virtual robot; equal requests give equal scans."""
    part = fields.part("mount")
    mount = part.pose() if part.has("x") else iv.Pose()
    random = np.random.default_rng(fields.seed())
    lidar = fields.part("lidar").lidar(site.atlas.dimension)
    T_robot_sensor = iv.Pose3.lifted(mount) if isinstance(truth, iv.Pose3) else mount
    scan = lidar.scan(site.reality, truth @ T_robot_sensor, random)
    if mount == iv.Pose():
        return scan
    return replace(scan, T_robot_sensor=T_robot_sensor)  # type: ignore[arg-type]


def survey_site(store: SessionStore, fields: Fields, progress: Progress) -> dict[str, Any]:
    """Survey where one or two sensors can be localized; layers hold a value for each node."""
    site = store.sites.get(fields.text("site"))
    sensors = fields.parts("lidars", 2)
    if not sensors:
        raise iv.InputError("A survey needs one sensor, or two to compare.")
    max_scans = fields.count("count", low=20, high=5000) if fields.has("count") else None
    seed, surveys = fields.seed(), []
    for k, sensor in enumerate(sensors):
        lidar = sensor.lidar(site.atlas.dimension)

        def advance(share: float, k: int = k) -> None:
            progress((k + share) / len(sensors))

        surveys.append(
            iv.survey(site.atlas, lidar, seed=seed, max_scans=max_scans, progress=advance)
        )
    return {
        "report": surveys_json(surveys),
        "text": surveys_text(surveys),
        "rows": [
            [row[0][0], *(text for _, text in row)]
            for row in zip(*map(survey_rows, surveys), strict=True)
        ],
        "layers": [survey_scene(result) for result in surveys],
    }


def survey_scene(result: iv.Survey) -> dict[str, Any]:
    """Return the drawing data of a survey: columns with a value per node, and areas in words."""
    looks = result.summary
    columns = {
        "unique": result.unique_share,
        "sigma": looks.sigma_m,
        "alike": looks.alias_similarity,
    }
    return {
        "sensor": sensor_words(result.lidar),
        "share": share_text(result),
        "spacing": result.spacing,
        "places": rounded(result.places[:, :2]),
        "columns": {name: rounded(values) for name, values in columns.items()},
        "weakest": rounded(result.weakest, 2),
        "aliases": rounded(looks.alias_xy, 2),
        "areas": [{"x": a.x, "y": a.y, "words": area_words(a)} for a in result.areas],
    }
