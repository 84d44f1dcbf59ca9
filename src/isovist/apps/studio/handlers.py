"""The verbs of a page: what is asked comes checked, and what is told is that of `report`."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from isovist.apps.studio.session_store import Shelf, Site
from isovist.apps.studio.view_models import answer_scene, rounded, search_scene
from isovist.apps.web.parameters import Ask
from isovist.errors import InputError
from isovist.localization.answer import Answer
from isovist.localization.contrast import contrast
from isovist.localization.hints import hints
from isovist.localization.locate import locate, preview
from isovist.localization.maps import AnyMaps
from isovist.poses import AnyPose, Pose, Pose3, pose_error
from isovist.report.answers import answer_json, chance_text, fit_text, pose_json, proof_text
from isovist.report.comparisons import surveys_json, surveys_text
from isovist.report.contrasts import contrast_json
from isovist.report.surveys import area_words, sensor_words, share_text, survey_rows
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.scan import Scan
from isovist.surveying.survey import Survey, survey

Progress = Callable[[float], None]


def locate_scan(shelf: Shelf, ask: Ask) -> dict[str, Any]:
    """Locate an uploaded scan, or a scan simulated at the pose of a virtual robot.

    The answer is what `isovist locate --json` prints, on all maps of a library where one is named;
    `site` is the map of the best place; while a robot is dragged (`live`), what is
    seen at first sight, without hints and search.
    """
    shown = ask.text("site")
    site, library = shelf.sites.get(shown), ask.text("library")
    maps: AnyMaps = shelf.maps(library) if library else site.atlas
    truth = None
    if ask.has("scan"):
        scan = shelf.scans.get(ask.text("scan")).thing
    else:
        truth = standing(site, ask.part("robot").pose())
        scan = look(site, ask, truth)
    live = ask.flag("live")
    answer = preview(maps, scan) if live else locate(maps, scan, prove=ask.flag("prove"))
    instead = () if live else hints(maps, scan, answer)
    if answer.map is not None:
        shown = shelf.libraries.get(library).thing[answer.map]
    told: dict[str, Any] = {
        "answer": answer_json(answer, instead),
        "fit": "" if answer.best is None else fit_text(answer.best),
        "scene": answer_scene(maps, scan, answer),
        "why": None if live else contrast_json(contrast(maps, scan, answer)),
        "proof": None if answer.proof is None else proof_text(answer.proof),
        "truth": None if truth is None else pose_json(truth),
        "off": off_text(answer, truth) if shown == ask.text("site") else "",
        "none": chance_text(answer.none),
        "live": live,
        "site": shown,
    }
    if ask.flag("search") and not live:
        told["search"] = search_scene(site.atlas, scan)
    return told


def off_text(answer: Answer, truth: AnyPose | None) -> str:
    """Return how far the best estimate is from the virtual robot; empty if there is none."""
    if truth is None or answer.best is None:
        return ""
    gap, turn = pose_error(answer.best.pose, truth)
    return f"{gap:.3f} m and {math.degrees(turn):.2f}° from where the robot stands."


def standing(site: Site, pose: AnyPose) -> AnyPose:
    """Return the pose of a robot on a map; on a 3D map at the height of the nearest node."""
    if site.atlas.dimension == 2:
        return Pose(pose.x, pose.y, pose.yaw)
    if isinstance(pose, Pose3):
        return pose
    places = site.atlas.positions
    nearest = int(np.argmin(np.hypot(*(places[:, :2] - pose.position[:2]).T)))
    return Pose3(pose.x, pose.y, pose.yaw, float(places[nearest, 2]))


def look(site: Site, ask: Ask, truth: AnyPose) -> Scan | CloudScan:
    """Simulate the scan of a virtual robot; equal requests give equal scans."""
    mount = ask.part("mount")
    place = mount.pose() if mount.has("x") else Pose()
    random = np.random.default_rng(ask.count("seed", 0, low=0, high=1 << 31))
    lidar = ask.part("lidar").lidar(site.atlas.dimension)
    on_robot = Pose3.lifted(place) if isinstance(truth, Pose3) else place
    scan = lidar.scan(site.reality, truth @ on_robot, random)
    if place == Pose():
        return scan
    return replace(scan, T_robot_sensor=on_robot)  # type: ignore[arg-type]


def survey_site(shelf: Shelf, ask: Ask, progress: Progress) -> dict[str, Any]:
    """Survey where one or two sensors can be localized; layers hold a value for each node."""
    site = shelf.sites.get(ask.text("site"))
    sensors = ask.parts("lidars", 2)
    if not sensors:
        raise InputError("A survey needs one sensor, or two to compare.")
    most = ask.count("count", low=20, high=5000) if ask.has("count") else None
    seed, found = ask.count("seed", 0, low=0, high=1 << 31), []
    for k, sensor in enumerate(sensors):
        lidar = sensor.lidar(site.atlas.dimension)

        def tell(share: float, k: int = k) -> None:
            progress((k + share) / len(sensors))

        found.append(survey(site.atlas, lidar, seed=seed, most=most, progress=tell))
    return {
        "report": surveys_json(found),
        "text": surveys_text(found),
        "rows": [
            [row[0][0], *(text for _, text in row)]
            for row in zip(*map(survey_rows, found), strict=True)
        ],
        "layers": [survey_scene(one) for one in found],
    }


def survey_scene(found: Survey) -> dict[str, Any]:
    """Return the drawing data of a survey: columns with a value per node, and areas in words."""
    looks = found.looks
    columns = {
        "unique": found.unique_share,
        "sigma": looks.sigma_m,
        "alike": looks.alias_similarity,
    }
    return {
        "sensor": sensor_words(found.lidar),
        "share": share_text(found),
        "spacing": found.spacing,
        "places": rounded(found.places[:, :2]),
        "columns": {name: rounded(values) for name, values in columns.items()},
        "weakest": rounded(found.weakest, 2),
        "aliases": rounded(looks.alias_xy, 2),
        "areas": [{"x": a.x, "y": a.y, "words": area_words(a)} for a in found.areas],
    }
