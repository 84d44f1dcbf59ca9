"""Make drawing data of the page, besides numbers of `report`: plans, points, ellipses, beams.

Lengths are in m and angles in rad. Numbers are rounded to what is visible: 1 mm.
"""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import isovist as iv
from isovist.apps.studio.session_store import Site
from isovist.arrays import FloatArray
from isovist.atlas import AnyScan, PlaneAtlas, SpaceAtlas
from isovist.compute import EXPLAINED
from isovist.localization import (
    MIN_FAVOUR,
    AnyMaps,
    best_headings,
    rate_at,
    search_space_of,
    to_common_frame,
)
from isovist.poses import AnyPose
from isovist.report import (
    chance_text,
    estimate_text,
    known_bounds,
    pose_json,
    slice_of,
    spread_text,
)

MAX_BEAMS = {2: 720, 3: 4000}
MAX_WALL_POINTS = 500_000
MAX_COST_NODES = 60_000
MAX_SCAN_ENDS = 180
START_YAW_RAD = 0.3


def rounded(values: Any, digits: int = 3) -> list[Any]:
    """Convert an array to nested lists of rounded numbers; values that are not finite are None."""
    array = np.round(np.asarray(values, dtype=np.float64), digits)
    if np.isfinite(array).all():
        return list(array.tolist())
    return list(np.where(np.isfinite(array), array, None).tolist())  # type: ignore[call-overload]


def plan_of(atlas: iv.Atlas) -> iv.OccupancyMap:
    """Return the 2D map of an atlas; of a 3D map, the slice at the height of the nodes."""
    if isinstance(atlas, PlaneAtlas):
        return atlas.world
    assert isinstance(atlas, SpaceAtlas)  # there is no third kind
    return slice_of(atlas.world, float(np.median(atlas.positions[:, 2])))


def site_json(key: str, site: Site) -> dict[str, Any]:
    """Return the data that a page needs to draw a map."""
    atlas = site.atlas
    plan = plan_of(atlas)
    low, high = known_bounds(plan)
    rows, columns = plan.cells.shape
    return {
        "key": key,
        "name": site.name,
        "dimension": atlas.dimension,
        "bounds": rounded([low, high]),
        "rows": rows,
        "columns": columns,
        "resolution": plan.resolution,
        "origin": list(plan.origin.vector.tolist()),
        "area": round(float(atlas.area), 1),
        "nodes": len(atlas.nodes),
        "spacing": atlas.spacing,
        "start": pose_json(start_of(site)),
    }


def start_of(site: Site) -> AnyPose:
    """Return the first pose of a virtual robot: near the middle, in 2D where there is most room."""
    atlas = site.atlas
    places = np.asarray(atlas.positions)
    middle, size = np.median(places[:, :2], axis=0), np.ptp(places[:, :2], axis=0)
    central = np.flatnonzero((np.abs(places[:, :2] - middle) <= 0.3 * size).all(axis=1))
    if isinstance(atlas, PlaneAtlas):
        clearance = atlas.wall_distance.ravel()[atlas.nodes[central]]
        x, y = places[central[int(np.argmax(clearance))]].tolist()
        return iv.Pose(x, y, START_YAW_RAD)
    distance = np.hypot(*(places[central, :2] - middle).T)
    x, y, z = places[central[int(np.argmin(distance))]].tolist()
    return iv.Pose3(x, y, START_YAW_RAD, z)


def plan_png(site: Site) -> bytes:
    """Return the cells of the 2D map as a PNG image of their codes, the highest row first."""
    stream = io.BytesIO()
    cells = np.ascontiguousarray(plan_of(site.atlas).cells[::-1])
    Image.fromarray(cells).save(stream, format="PNG", compress_level=1)
    return stream.getvalue()


def wall_points(site: Site) -> bytes:
    """Return the visible wall cells of a 3D map as float32 bytes of (x, y, z) in m."""
    atlas = site.atlas
    if not isinstance(atlas, SpaceAtlas):
        return b""
    index, codes = atlas.world.grid.surface(corners=True)
    index = index[codes == iv.Cell.OCCUPIED]
    if len(index) > MAX_WALL_POINTS:
        index = index[np.linspace(0, len(index) - 1, MAX_WALL_POINTS).astype(np.int64)]
    return atlas.world.centres(index).astype("<f4").tobytes()


def estimate_scene(estimate: iv.Estimate) -> dict[str, Any]:
    """Return the texts of an estimate, and its ellipse: half axes in m and direction in rad."""
    return {
        "ellipse": rounded(estimate.ellipse(), 4),
        "chance": chance_text(estimate.probability),
        "spread": spread_text(estimate),
        "text": estimate_text(estimate),
    }


def answer_scene(maps: AnyMaps, scan: AnyScan, answer: iv.Answer) -> dict[str, Any]:
    """Return the ends of beams in the robot frame, and their evidence about each estimate.

    `fits` has a string per estimate with a letter per beam: "1" if the beam fits, else "0".
    `refutes` has "-" for a beam that favours the best estimate, "+" for this one, "0" for neither.
    """
    atlas = search_space_of(maps)
    places = [estimate_scene(estimate) for estimate in answer.estimates]
    scan_in_range = scan.within(atlas.diagonal)
    if scan_in_range is None or not answer.estimates:
        return {"places": places, "ends": [], "sensor": rounded(scan.T_robot_sensor.vector)}
    settings = iv.LocalizationSettings()
    beams = atlas.beams(scan_in_range, (MAX_BEAMS[atlas.dimension], 1e-3), settings.scoring.group)
    poses = [to_common_frame(atlas, estimate).pose for estimate in answer.estimates]
    ratings, kinds = rate_at(atlas, scan_in_range, beams, poses, settings)
    for place, rating, kind in zip(places, ratings, kinds, strict=True):
        favour = ratings[0] - rating
        place["fits"] = _letters(np.where(kind == EXPLAINED, b"1", b"0"))
        place["refutes"] = _letters(
            np.where(favour >= MIN_FAVOUR, b"-", np.where(favour <= -MIN_FAVOUR, b"+", b"0"))
        )
    ends = scan_in_range.T_robot_level.apply(beams.ends)
    return {
        "places": places,
        "ends": rounded(ends),
        "sensor": rounded(scan_in_range.T_robot_sensor.vector),
    }


def _letters(codes: NDArray[Any]) -> str:
    return codes.astype("S1").tobytes().decode("ascii")


def scan_ends(scan: AnyScan) -> list[Any]:
    """Return every k-th point where a beam ends, in the frame of the robot, in m."""
    points = scan.endpoints if isinstance(scan, iv.Scan) else scan.points
    ends: FloatArray = scan.T_robot_sensor.apply(points)
    step = max(1, -(-len(ends) // MAX_SCAN_ENDS))
    return rounded(ends[::step], 2)


def search_scene(atlas: iv.Atlas, scan: AnyScan) -> dict[str, Any]:
    """Rate the nodes of an atlas by the cost of a scan at the best heading, worst first.

    `places` are positions of the sensor; `worth` is 1 at the best node and 0 at the worst. In
    large maps only every k-th node is rated.
    """
    scan_in_range, settings = scan.within(atlas.diagonal), iv.LocalizationSettings()
    if scan_in_range is None:
        return {"places": [], "worth": []}
    window = atlas.window(scan_in_range, settings.search.min_seen_share(atlas.dimension))
    if window is None or not window.seen.any():
        return {"places": [], "worth": []}
    nodes = np.arange(0, len(atlas.nodes), -(-len(atlas.nodes) // MAX_COST_NODES))
    headings = best_headings(atlas.descriptors, nodes, window, 1, settings.search.max_short_cost)
    costs = headings[0][:, 0].astype(np.float64)
    order = np.argsort(-costs, kind="stable")
    relative = (costs.max() - costs) / max(float(np.ptp(costs)), 1e-9)
    places = np.asarray(atlas.positions)[nodes[order], :2]
    return {"places": rounded(places, 2), "worth": rounded(relative[order], 2)}
