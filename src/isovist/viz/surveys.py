"""Surveys as pictures."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from isovist.atlas.base import Atlas
from isovist.atlas.plane import PlaneAtlas
from isovist.maps.cells import OccupancyMap
from isovist.report.comparisons import difference_text
from isovist.report.surveys import LISTED, percent, sensor_words
from isovist.surveying.regions import Reason
from isovist.surveying.survey import Looks, Survey
from isovist.types import FloatArray, IntArray
from isovist.viz.cells import draw_cells, draw_raster
from isovist.viz.figures import ACCENT, INK, PAPER, new_figure, show_between

STROKES = 900
"""Most strokes of the weakest direction."""
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
DOTS = {"s": 14, "marker": "s", "linewidths": 0}
"""Nodes in space, from above."""
GOOD = 0.8
"""Strokes are drawn where less than this share is unique."""


def draw_surveys(atlas: Atlas, surveys: Sequence[Survey]) -> Any:
    """The picture of one survey, or where one scan is enough with each of two sensors."""
    if len(surveys) == 1:
        return draw_survey(atlas, surveys[0])
    low, high = _bounds(surveys[0])
    wide, tall = high - low
    stacked = wide > 1.5 * tall
    size = 9.0 * tall / wide + 1.0
    figure = new_figure(11.0, 2.0 * size) if stacked else new_figure(13.0, 5.2 * tall / wide + 1.2)
    panels = figure.subplots(2, 1) if stacked else figure.subplots(1, 2)
    for axes, survey in zip(panels, surveys, strict=True):
        if isinstance(atlas, PlaneAtlas):
            draw_cells(axes, atlas.world, low, high)
            _draw_verdicts(axes, atlas.world, survey)
        else:
            _draw_shares(axes, survey)
        axes.set_title(f"{percent(survey.share)} with a {sensor_words(survey.lidar)}", fontsize=10)
    figure.suptitle(difference_text(surveys))
    return figure


def draw_survey(atlas: Atlas, survey: Survey) -> Any:
    """As a picture: three maps in the plane, two from above in space."""
    if isinstance(atlas, PlaneAtlas) and survey.looks is not None:
        return _draw_plane(atlas.world, survey, survey.looks)
    return _draw_from_above(survey)


def _draw_plane(world: OccupancyMap, survey: Survey, looks: Looks) -> Any:
    """Share of unique answers, uncertainty, and aliases."""
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
    _draw_verdicts(panels[0], world, survey)
    _draw_uncertainty(panels[1], world, survey, looks)
    _draw_aliases(panels[2], world, survey, looks)
    figure.suptitle(
        f"{percent(survey.share)} of the floor is uniquely localizable "
        f"with a {sensor_words(survey.lidar)}"
    )
    return figure


def _draw_verdicts(axes: Any, world: OccupancyMap, survey: Survey) -> None:
    label = "share of headings answered “unique”"
    _draw_nodes(axes, world, survey, survey.unique_share, label, cmap="RdYlBu", vmin=0, vmax=1)
    axes.set_title("Where one scan is enough")
    _mark_areas(axes, survey)


def _draw_uncertainty(axes: Any, world: OccupancyMap, survey: Survey, looks: Looks) -> None:
    from matplotlib.colors import LogNorm

    # From 2 cm up, so that noise in a well held place is not shown as a difference.
    most = max(0.5, float(looks.sigma_m.max()))
    values, label = np.maximum(looks.sigma_m, TICKS[0]), "σ along the worst axis (m)"
    norm = LogNorm(TICKS[0], most)
    scale = _draw_nodes(axes, world, survey, values, label, cmap="YlOrRd", norm=norm)
    ticks = [tick for tick in TICKS if tick <= most]
    scale.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks], minor=False)
    scale.minorticks_off()
    axes.set_title("How firmly a fit holds, and the weakest direction")
    bad = survey.unique_share < GOOD
    step = max(1, math.ceil(math.sqrt(np.count_nonzero(bad) / STROKES)))
    bad &= (np.stack(_lattice(world, survey)) % step == 0).all(axis=0)
    low, high = _bounds(survey)
    # Readable, whatever the size of the site.
    length = max(0.8 * survey.spacing, 0.012 * float((high - low).max()))
    axes.quiver(
        *survey.places[bad].T, survey.weakest[bad, 0], survey.weakest[bad, 1],
        color=INK, pivot="mid", angles="xy", scale_units="xy", scale=1.0 / length,
        width=0.0022, headwidth=0, headlength=0, headaxislength=0,
    )  # fmt: skip


def _draw_aliases(axes: Any, world: OccupancyMap, survey: Survey, looks: Looks) -> None:
    values, label = looks.alias_similarity, "similarity of the best distant alias"
    _draw_nodes(axes, world, survey, values, label, cmap="PuBuGn", vmin=0, vmax=1)
    axes.set_title("What it can be mistaken for")
    for area in survey.areas[:LISTED]:
        if area.reason is Reason.ALIASED and area.alias is not None:
            arrow = {"arrowstyle": "-|>", "color": ACCENT, "linewidth": 1.4, "shrinkA": 7}
            arrow |= {"connectionstyle": "arc3,rad=0.15"}
            axes.annotate("", area.alias, (area.x, area.y), arrowprops=arrow, zorder=4)
    _mark_areas(axes, survey)


def _draw_nodes(
    axes: Any, world: OccupancyMap, survey: Survey, values: FloatArray, label: str, **colours: Any
) -> Any:
    """Values as coloured squares around the nodes, under the walls; gives the bar of colours."""
    rows, cols = _lattice(world, survey)
    table = np.full((rows.max() + 1, cols.max() + 1), np.nan)
    table[rows, cols] = values
    colours |= {"interpolation": "nearest", "zorder": 1.0}
    image = draw_raster(axes, world, table, survey.spacing, **colours)
    draw_cells(axes, world, *_bounds(survey), walls=True)
    show_between(axes, *_bounds(survey))
    return axes.figure.colorbar(image, ax=axes, shrink=0.8, label=label)


def _lattice(world: OccupancyMap, survey: Survey) -> tuple[IntArray, IntArray]:
    """Row and column of each node in the lattice of nodes, both of shape (N,)."""
    stride = round(survey.spacing / world.resolution)
    rows, cols = world.index(survey.places)
    return rows // stride, cols // stride


def _mark_areas(axes: Any, survey: Survey) -> None:
    """The number of each area in a circle."""
    style = {"color": INK, "fontsize": 9, "ha": "center", "va": "center", "zorder": 6}
    circle = {"boxstyle": "circle,pad=0.25", "facecolor": PAPER, "edgecolor": INK}
    for k, area in enumerate(survey.areas[:LISTED]):
        axes.text(area.x, area.y, str(k + 1), bbox=circle, **style)


def _bounds(survey: Survey) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest coordinates of the floor, with a margin, in m."""
    flat = survey.places[:, :2]
    return flat.min(axis=0) - 0.7, flat.max(axis=0) + 0.7


def _draw_from_above(survey: Survey) -> Any:
    """Share of unique answers with aliases, and μ."""
    asked = survey.asked
    x, y = survey.places[:, 0], survey.places[:, 1]
    wide, tall = np.ptp(x) + 1.0, np.ptp(y) + 1.0
    stacked = wide > 1.3 * tall
    size = 9.0 * tall / wide + 1.0
    figure = new_figure(11.0, 2.0 * size) if stacked else new_figure(13.0, 6.5 * tall / wide + 1.0)
    panels = figure.subplots(2, 1) if stacked else figure.subplots(1, 2)
    _draw_shares(panels[0], survey)
    panels[0].set_title(
        f"{percent(survey.share)} is uniquely localizable with a {sensor_words(survey.lidar)}"
    )
    bad = ~asked.unique
    panels[0].scatter(*asked.poses[bad, :2].T, s=18, facecolors="none", edgecolors=INK)
    for place, alias in zip(asked.poses[bad], asked.alias_xy[bad], strict=True):
        if np.isfinite(alias).all():
            arrow = {"arrowstyle": "-|>", "color": ACCENT, "linewidth": 0.7}
            panels[0].annotate("", alias, place[:2], arrowprops=arrow)
    held = np.isfinite(survey.mu)
    shown = panels[1].scatter(x[held], y[held], c=survey.mu[held], cmap="viridis", **DOTS)
    figure.colorbar(shown, ax=panels[1], shrink=0.8, label="μ, in the weakest direction (per m)")
    panels[1].set_title("How fast the view changes")
    panels[1].set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
    return figure


def _draw_shares(axes: Any, survey: Survey) -> None:
    """Share of unique answers at nodes in space, from above."""
    x, y = survey.places[:, 0], survey.places[:, 1]
    shown = axes.scatter(x, y, c=survey.unique_share, cmap="RdYlBu", vmin=0, vmax=1, **DOTS)
    axes.figure.colorbar(shown, ax=axes, shrink=0.8, label="share answered “unique”")
    axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
