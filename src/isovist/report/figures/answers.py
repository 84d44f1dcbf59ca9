"""Draw answers in 2D and 3D: where the robot is, and which beams support it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.atlas import AnyScan, Atlas, PlaneAtlas, SpaceAtlas
from isovist.compute import EXPLAINED
from isovist.localization import (
    MIN_FAVOUR,
    Answer,
    AnyMaps,
    Contrast,
    Estimate,
    LocalizationSettings,
    Verdict,
    rate_at,
)
from isovist.maps import OccupancyMap
from isovist.poses import AnyPose, Pose3
from isovist.report.answers import chance_text, headline, spread_text
from isovist.report.contrasts import contrast_text
from isovist.report.figures.cells import draw_cell_isovist, draw_cells, known_size
from isovist.report.figures.figures import INK, THIRD, explain_below, new_figure
from isovist.report.figures.robots import (
    ASTRAY,
    FITS,
    NEUTRAL,
    draw_beams,
    draw_ellipse,
    draw_ends,
    draw_regions,
    draw_robot,
    draw_truth,
    mark,
    open_cross,
)
from isovist.report.figures.space import draw_oblique, slice_of
from isovist.report.settings import FIGURE, SLICE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BEST, RIVAL = THIRD, "#8e6bb0"


def draw_answer(
    maps: AnyMaps,
    scan: AnyScan,
    answer: Answer,
    truth: AnyPose | None = None,
    contrast: Contrast | None = None,
) -> "Figure":
    """Draw the map with all estimates, and the scan at the best one.

    With several maps, the map of the best estimate is shown. A contrast adds views of its two
    places, with the beams that favour each, in place of the close view.

    Args:
        maps: The atlas, or several atlases by name.
        scan: The scan.
        answer: Result of `locate`.
        truth: T_world_robot, if it is known.
        contrast: Result of `localization.scoring.contrast`.
    """
    atlas = _atlas_of(maps, answer.best)
    atlas.check(scan)
    plan = plan_of(atlas, scan, answer.best)
    figure, panels = _panels(plan, answer.best is not None, contrast is not None)
    handles = draw_places(panels["plan"], plan, answer, truth)
    if answer.proof is not None and answer.proof.complete and len(answer.proof.regions):
        draw_regions(panels["plan"], answer.proof, BEST)
        handles.append(_symbol(BEST, "not excluded by the proof"))
    heading = headline(answer)
    if answer.best is not None:
        pose, scan_in_reach = answer.best.pose, scan.within(atlas.diagonal) or scan
        sensor = (pose @ scan_in_reach.T_robot_level).position
        handles += _draw_view(panels["plan"], atlas, plan, sensor)
        if contrast is not None:
            heading += f"\n{contrast_text(contrast)}"
            handles += _draw_contrast(panels, maps, scan_in_reach, answer, contrast)
        else:
            ends, fits = _classify(atlas, scan_in_reach, pose)
            points = pose.apply(ends)
            is_level = _is_level(points, sensor)
            colours = {ASTRAY: ~fits & is_level, FITS: fits & is_level}
            draw_ends(panels["plan"], points, colours)
            handles += [_symbol(FITS, "beam that fits"), _symbol(ASTRAY, "beam that does not")]
            if isinstance(atlas, SpaceAtlas):
                robot = Pose3.lifted(pose)
                draw_oblique(panels["close"], atlas.world, points, fits, robot, sensor)
            else:
                low, high = _close_view(pose, ends)
                size = FIGURE.robot_in_close_view * float(np.max(high - low))
                draw_cells(panels["close"], plan, low, high)
                _draw_view(panels["close"], atlas, plan, sensor)
                draw_beams(panels["close"], sensor, points, colours)
                draw_robots(panels["close"], answer, truth, size)
                panels["close"].set_title("The scan at the best place")
    figure.suptitle(heading)
    for axes in panels.values():
        axes.set_anchor("N")  # panels of other shapes begin at the same height
    explain_below(figure, handles)
    return figure


def _atlas_of(maps: AnyMaps, estimate: Estimate | None) -> Atlas:
    """Return the atlas that an estimate is on; the first one if there is no estimate."""
    if isinstance(maps, Atlas):
        return maps
    name = None if estimate is None else estimate.map
    return maps[next(iter(maps)) if name is None else name]


def plan_of(atlas: Atlas, scan: AnyScan, estimate: Estimate | None) -> OccupancyMap:
    """Return the 2D map of an atlas; of a 3D map, the slice at the height of the sensor."""
    if isinstance(atlas, PlaneAtlas):
        return atlas.world
    assert isinstance(atlas, SpaceAtlas)
    if estimate is None:
        return slice_of(atlas.world, float(np.median(atlas.positions[:, 2])))
    place = Pose3.lifted(estimate.pose) @ Pose3.lifted(scan.T_robot_sensor)
    return slice_of(atlas.world, float(place.z))


def draw_places(
    axes: "Axes", plan: OccupancyMap, answer: Answer, truth: AnyPose | None
) -> list[Any]:
    """Draw the map with the places of an answer, and return the entries of a legend."""
    draw_cells(axes, plan)
    title = "The places that may be right" if answer.rivals else "The place on the map"
    axes.set_title(title if answer.map is None else f"{title}: {answer.map}")
    return draw_robots(axes, answer, truth, FIGURE.robot_in_plan * float(known_size(plan).max()))


def draw_robots(axes: "Axes", answer: Answer, truth: AnyPose | None, size: float) -> list[Any]:
    """Draw each place as a robot of `size` m with number and probability; return legend entries."""
    rivals = answer.rivals if answer.verdict is not Verdict.UNIQUE else ()
    handles = []
    for number, estimate in reversed(list(enumerate(answer.estimates, start=1))):
        if estimate in rivals and estimate.map == answer.map:
            draw_robot(axes, estimate.pose, RIVAL, size, zorder=4.0)
            mark(axes, estimate.pose, f"{number}: {chance_text(estimate.probability)}")
    if answer.best is not None:
        draw_ellipse(axes, answer.best, INK)
        draw_robot(axes, answer.best.pose, BEST, size)
        handles.append(_symbol(BEST, "best place", "p"))
        if rivals:
            mark(axes, answer.best.pose, f"1: {chance_text(answer.best.probability)}")
            handles.append(_symbol(RIVAL, "rival with its probability", "p"))
    if truth is not None:
        draw_truth(axes, truth)
        handles.append(_symbol(INK, "truth", open_cross()))
    return handles


def _panels(plan: OccupancyMap, has_best: bool, has_contrast: bool) -> tuple[Any, Any]:
    """Make a figure with axes for the plan and for the close views."""
    rows: list[Any]
    width, height = known_size(plan)
    shape = float(height / width)
    if not has_best:
        figure = new_figure(9.0, min(9.0, 8.4 * shape + 1.3))
        return figure, {"plan": figure.subplots()}
    if shape < 0.45:
        tall = 10.4 * shape
        figure = new_figure(11.0, tall + 6.2)
        rows = [["plan", "plan"], ["first", "second"]] if has_contrast else [["plan"], ["close"]]
        return figure, figure.subplot_mosaic(rows, height_ratios=(tall, 4.6))
    if has_contrast:
        figure = new_figure(12.0, 8.6)
        rows, ratios = [["plan", "first"], ["plan", "second"]], (1.7, 1.0)
    else:
        figure = new_figure(12.0, float(np.clip(6.6 * shape, 4.4, 7.2)) + 1.2)
        rows, ratios = [["plan", "close"]], (1.55, 1.0)
    return figure, figure.subplot_mosaic(rows, width_ratios=ratios)


def _draw_contrast(
    panels: Any, maps: AnyMaps, scan: AnyScan, answer: Answer, contrast: Contrast
) -> list[Any]:
    """Draw two places side by side, with the beams that favour each; return legend entries."""
    first, second = contrast.numbers
    colours = {
        NEUTRAL: ~contrast.telling,
        FITS: contrast.favour >= MIN_FAVOUR,
        ASTRAY: contrast.favour <= -MIN_FAVOUR,
    }
    sides = zip(("first", "second"), contrast.numbers, contrast.poses, strict=True)
    for name, number, pose in sides:
        axes, estimate = panels[name], answer.estimates[number - 1]
        atlas = _atlas_of(maps, estimate)
        plan = plan_of(atlas, scan, estimate)
        sensor = (pose @ scan.T_robot_level).position
        low, high = _close_view(pose, contrast.ends)
        size = FIGURE.robot_in_close_view * float(np.max(high - low))
        draw_cells(axes, plan, low, high)
        _draw_view(axes, atlas, plan, sensor)
        draw_beams(axes, sensor, pose.apply(contrast.ends), colours)
        draw_robot(axes, pose, BEST if number == first else RIVAL, size)
        where = f" on {estimate.map}" if estimate.map else ""
        axes.set_title(
            f"Place {number}{where}: {chance_text(estimate.probability)}, {spread_text(estimate)}"
        )
    return [
        _symbol(FITS, f"beam for place {first}"),
        _symbol(ASTRAY, f"beam for place {second}"),
        _symbol(NEUTRAL, "beam that cannot tell"),
    ]


def _classify(atlas: Atlas, scan: AnyScan, pose: AnyPose) -> tuple[FloatArray, BoolArray]:
    """Return the ends of all beams in the frame of the robot, and which beams fit at a pose."""
    settings = LocalizationSettings()
    beams = atlas.beams(scan, (1 << 30, 1e-3), settings.scoring.group)
    _, kinds = rate_at(atlas, scan, beams, [pose], settings)
    return scan.T_robot_level.apply(beams.ends), np.asarray(kinds[0] == EXPLAINED)


def _is_level(points: FloatArray, sensor: FloatArray) -> BoolArray:
    """Return which points are about as high as the sensor, so that a plan shows them."""
    return np.asarray((np.abs((points - sensor)[:, 2:]) <= SLICE.half_height_m).all(axis=1))


def _close_view(pose: AnyPose, ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two corners of a square around a pose, in m, that holds most ends of the beams."""
    limits = FIGURE.min_close_view_m, FIGURE.max_close_view_m
    reach = float(np.clip(1.15 * np.percentile(np.hypot(*ends[:, :2].T), 85.0), *limits))
    centre = pose.position[:2]
    return centre - reach, centre + reach


def _draw_view(axes: "Axes", atlas: Atlas, plan: OccupancyMap, sensor: FloatArray) -> list[Any]:
    """Shade what the sensor can see; return its legend entry."""
    (patch,) = draw_cell_isovist(axes, plan, sensor[:2], atlas.settings.reach)
    patch.set_label("isovist")
    return [patch]


def _symbol(colour: str, label: str, marker: Any = "o") -> Any:
    """Make a symbol of a legend."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": "", "label": label}
    edge = {"markeredgecolor": INK} if isinstance(marker, str) and marker == "p" else {}
    style |= {"markersize": 7 if isinstance(marker, str) else 14} | edge
    return Line2D([], [], **style)
