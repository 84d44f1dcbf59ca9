"""Surveys as a picture, as JSON and as words."""

import math
from typing import Any

import numpy as np

from isovist.maps.cells import OccupancyMap
from isovist.surveying.regions import Area, Reason
from isovist.surveying.survey import Survey
from isovist.types import FloatArray, IntArray
from isovist.viz.answers import draw_cells
from isovist.viz.figures import ACCENT, INK, PAPER, new_figure

LISTED = 5
"""Areas named in words and in the picture."""
STROKES = 900
"""Most strokes of the weakest direction."""
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
GOOD = 0.8
"""Strokes are drawn where less than this share is unique."""


def sensor_words(survey: Survey) -> str:
    """The sensor in a few words."""
    lidar = survey.lidar
    view = math.degrees(lidar.field_of_view)
    return f"{view:.0f}°, {lidar.range_max:g} m lidar ({lidar.beams} beams, σ {lidar.noise:g} m)"


def percent(share: float) -> str:
    """A share in whole percents, but never 0 % or 100 % of what is only nearly so."""
    return f"{share:.1%}" if min(share, 1.0 - share) < 0.005 else f"{share:.0%}"


def area_words(area: Area) -> str:
    """Where an area is, how bad, and why."""
    where = (
        f"around ({area.x:.1f}, {area.y:.1f}), {area.size:.0f} m², {area.unique_share:.0%} unique"
    )
    if area.axis_deg is not None:
        return f"{where}: slides along its axis ({round(area.axis_deg) % 180}°)"
    if area.alias is not None:
        return f"{where}: looks like ({area.alias[0]:.1f}, {area.alias[1]:.1f})"
    if area.turn_deg is not None:
        return f"{where}: looks like itself turned by {area.turn_deg:.0f}°"
    return f"{where}: the sensor sees too little"


def survey_text(survey: Survey) -> str:
    """The survey in a few lines."""
    middle, most = np.quantile(survey.sigma_m, [0.5, 0.95])
    lines = [
        f"{percent(survey.share)} of the floor ({survey.area:.0f} m²) is uniquely localizable "
        f"with a {sensor_words(survey)}.",
        f"  ± {100.0 * survey.standard_error:.1f} points (standard error), from {survey.asked} "
        f"simulated scans, {survey.unique} of them unique",
        f"  a fit would hold the position to {middle:.2f} m (95 % of the floor: {most:.2f} m) and "
        f"the heading to {np.median(survey.sigma_deg):.1f}°",
    ]
    blind = float(survey.blind_share.mean())
    if blind > 0.0005:
        lines.append(f"  no wall is in reach at {blind:.1%} of places and headings")
    for k, area in enumerate(survey.areas[:LISTED]):
        lines.append(f"  {'worst' if k == 0 else 'then'}: {area_words(area)}")
    rest = len(survey.areas) - LISTED
    if rest > 0:
        lines.append(f"  and {rest} more area{'s' if rest > 1 else ''}")
    return "\n".join(lines)


def survey_json(survey: Survey) -> dict[str, Any]:
    """The summary as plain data: m and m², degrees where the key says so."""
    lidar = survey.lidar
    return {
        "unique_share": survey.share,
        "standard_error": survey.standard_error,
        "asked": survey.asked,
        "asked_unique": survey.unique,
        "area_m2": survey.area,
        "nodes": len(survey.x),
        "blind_share": float(survey.blind_share.mean()),
        "median_sigma_m": float(np.median(survey.sigma_m)),
        "p95_sigma_m": float(np.quantile(survey.sigma_m, 0.95)),
        "median_sigma_deg": float(np.median(survey.sigma_deg)),
        "median_mu": float(np.median(survey.mu)),
        "sensor": {
            "field_of_view_deg": math.degrees(lidar.field_of_view),
            "beams": lidar.beams,
            "range_max": lidar.range_max,
            "noise": lidar.noise,
        },
        "areas": [
            {
                "x": area.x,
                "y": area.y,
                "area_m2": area.size,
                "unique_share": area.unique_share,
                "reason": area.reason.value,
                "axis_deg": area.axis_deg,
                "alias": None if area.alias is None else list(area.alias),
                "turn_deg": area.turn_deg,
            }
            for area in survey.areas
        ],
    }


def draw_survey(world: OccupancyMap, survey: Survey) -> Any:
    """Three maps: share of unique answers, uncertainty, and aliases."""
    low, high = _bounds(survey)
    wide, tall = high - low
    stacked = wide > 1.5 * tall
    if stacked:
        size = min(11.0, 24.0 * wide / (3.0 * tall))
        figure = new_figure(size, 3.0 * (size * 0.9 * tall / wide + 0.5) + 0.5)
    else:
        size = min(6.5, 9.0 * wide / tall)
        figure = new_figure(3.0 * (size + 0.9), (size - 0.9) * tall / wide + 1.6)
    panels = figure.subplots(3, 1) if stacked else figure.subplots(1, 3)
    for axes in panels:
        draw_cells(axes, world)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    _draw_verdicts(figure, panels[0], world, survey)
    _draw_uncertainty(figure, panels[1], world, survey)
    _draw_aliases(figure, panels[2], world, survey)
    figure.suptitle(
        f"{percent(survey.share)} of the floor is uniquely localizable "
        f"with a {sensor_words(survey)}"
    )
    return figure


def _draw_verdicts(figure: Any, axes: Any, world: OccupancyMap, survey: Survey) -> None:
    image = _draw_nodes(axes, world, survey, survey.unique_share, cmap="RdYlBu", vmin=0, vmax=1)
    figure.colorbar(image, ax=axes, shrink=0.8, label="share of headings answered “unique”")
    axes.set_title("Where one scan is enough")
    for k, area in enumerate(survey.areas[:LISTED]):
        _mark(axes, area, str(k + 1))


def _draw_uncertainty(figure: Any, axes: Any, world: OccupancyMap, survey: Survey) -> None:
    from matplotlib.colors import LogNorm

    # From 2 cm up, so that noise in a well held place is not shown as a difference.
    most = max(0.5, float(survey.sigma_m.max()))
    norm = LogNorm(TICKS[0], most)
    image = _draw_nodes(
        axes, world, survey, np.maximum(survey.sigma_m, TICKS[0]), cmap="YlOrRd", norm=norm
    )
    ticks = [tick for tick in TICKS if tick <= most]
    scale = figure.colorbar(image, ax=axes, shrink=0.8, label="σ along the worst axis (m)")
    scale.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks], minor=False)
    scale.minorticks_off()
    axes.set_title("How firmly a fit holds, and the weakest direction")
    bad = survey.unique_share < GOOD
    step = max(1, math.ceil(math.sqrt(np.count_nonzero(bad) / STROKES)))
    bad &= (np.stack(_lattice(world, survey)) % step == 0).all(axis=0)
    axes.quiver(
        survey.x[bad], survey.y[bad], survey.weakest[bad, 0], survey.weakest[bad, 1],
        color=INK, pivot="mid", angles="xy", scale_units="xy", scale=1.0 / _stroke(survey),
        width=0.0022, headwidth=0, headlength=0, headaxislength=0,
    )  # fmt: skip


def _draw_aliases(figure: Any, axes: Any, world: OccupancyMap, survey: Survey) -> None:
    image = _draw_nodes(axes, world, survey, survey.alias_similarity, cmap="PuBuGn", vmin=0, vmax=1)
    figure.colorbar(image, ax=axes, shrink=0.8, label="similarity of the best distant alias")
    axes.set_title("What it can be mistaken for")
    for k, area in enumerate(survey.areas[:LISTED]):
        if area.reason is Reason.ALIASED and area.alias is not None:
            arrow = {"arrowstyle": "-|>", "color": ACCENT, "linewidth": 1.4, "shrinkA": 7}
            arrow |= {"connectionstyle": "arc3,rad=0.15"}
            axes.annotate("", area.alias, (area.x, area.y), arrowprops=arrow, zorder=4)
        _mark(axes, area, str(k + 1))


def _draw_nodes(
    axes: Any, world: OccupancyMap, survey: Survey, values: FloatArray, **colours: Any
) -> Any:
    """Values as coloured squares around the nodes, under the walls."""
    from matplotlib.transforms import Affine2D

    rows, cols = _lattice(world, survey)
    table = np.full((rows.max() + 1, cols.max() + 1), np.nan)
    table[rows, cols] = values
    height, width = table.shape
    image = axes.imshow(
        table, origin="lower", interpolation="nearest",
        extent=(0.0, width * survey.spacing, 0.0, height * survey.spacing), **colours,
    )  # fmt: skip
    place = Affine2D().rotate(world.origin.yaw).translate(world.origin.x, world.origin.y)
    image.set_transform(place + axes.transData)
    low, high = _bounds(survey)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return image


def _lattice(world: OccupancyMap, survey: Survey) -> tuple[IntArray, IntArray]:
    """Row and column of each node in the lattice of nodes, both of shape (N,)."""
    stride = round(survey.spacing / world.resolution)
    rows, cols = world.index(np.column_stack([survey.x, survey.y]))
    return rows // stride, cols // stride


def _mark(axes: Any, area: Area, text: str) -> None:
    """The number of an area in a circle."""
    circle = {"boxstyle": "circle,pad=0.25", "facecolor": PAPER, "edgecolor": INK}
    axes.text(
        area.x, area.y, text, color=INK, fontsize=9, ha="center", va="center", bbox=circle, zorder=6
    )


def _stroke(survey: Survey) -> float:
    """Length of a stroke, in m: readable, whatever the size of the site."""
    low, high = _bounds(survey)
    return max(0.8 * survey.spacing, 0.012 * float((high - low).max()))


def _bounds(survey: Survey) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest coordinates of the floor, with a margin, in m."""
    places = np.column_stack([survey.x, survey.y])
    return places.min(axis=0) - 0.7, places.max(axis=0) + 0.7
