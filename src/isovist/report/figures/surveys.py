"""Draw surveys from above: unique answers, uncertainty, aliases and bad areas."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas import Atlas
from isovist.maps import OccupancyMap
from isovist.report.comparisons import difference_text
from isovist.report.figures.cells import draw_cells, draw_raster
from isovist.report.figures.figures import ACCENT, INK, PAPER, new_figure, show_between
from isovist.report.settings import FIGURE, TEXT
from isovist.report.surveys import percent, sensor_words
from isovist.surveying import Reason, Survey, lattice_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Labels of the uncertainty, in m."""
DOTS: dict[str, Any] = {"s": 14, "marker": "s", "linewidths": 0}
"""Style of the nodes of a 3D map, from above."""


def draw_surveys(atlas: Atlas, surveys: Sequence[Survey]) -> "Figure":
    """Draw one survey, or the places where one scan is enough for each of two sensors."""
    if len(surveys) == 1:
        return draw_survey(atlas, surveys[0])
    low, high = _bounds(surveys[0])
    wide, tall = high - low
    stacked = wide > 1.5 * tall
    size = 9.0 * tall / wide + 1.0
    figure = new_figure(11.0, 2.0 * size) if stacked else new_figure(13.0, 5.2 * tall / wide + 1.2)
    panels = figure.subplots(2, 1) if stacked else figure.subplots(1, 2)
    for axes, survey in zip(panels, surveys, strict=True):
        _draw_verdicts(axes, atlas, survey)
        axes.set_title(f"{percent(survey.share)} with a {sensor_words(survey.lidar)}", fontsize=10)
    figure.suptitle(difference_text(surveys))
    return figure


def draw_survey(atlas: Atlas, survey: Survey) -> "Figure":
    """Draw the unique share, the uncertainty and the aliases of a survey, from above."""
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
    _draw_verdicts(panels[0], atlas, survey)
    _draw_uncertainty(panels[1], atlas, survey)
    _draw_aliases(panels[2], atlas, survey)
    figure.suptitle(
        f"{percent(survey.share)} of the floor is uniquely localizable "
        f"with a {sensor_words(survey.lidar)}"
    )
    return figure


def _draw_verdicts(axes: "Axes", atlas: Atlas, survey: Survey) -> None:
    nodes = _draw_nodes(axes, atlas, survey, survey.unique_share)
    nodes.set(cmap="RdYlBu", clim=(0, 1))
    _add_colour_bar(nodes, "share of headings answered “unique”")
    axes.set_title("Where one scan is enough")
    _mark_areas(axes, survey)


def _draw_uncertainty(axes: "Axes", atlas: Atlas, survey: Survey) -> None:
    from matplotlib.colors import LogNorm

    summary = survey.summary
    # From 2 cm up, so that noise in a well held place is not shown as a difference.
    largest = max(0.5, float(summary.sigma_m.max()))
    nodes = _draw_nodes(axes, atlas, survey, np.maximum(summary.sigma_m, TICKS[0]))
    nodes.set(cmap="YlOrRd", norm=LogNorm(TICKS[0], largest))
    scale = _add_colour_bar(nodes, "σ along the worst axis (m)")
    ticks = [tick for tick in TICKS if tick <= largest]
    scale.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks], minor=False)
    scale.minorticks_off()
    axes.set_title("How firmly a fit holds, and the weakest direction")
    bad = survey.unique_share < FIGURE.stroke_share
    step = max(1, math.ceil(math.sqrt(np.count_nonzero(bad) / FIGURE.max_strokes)))
    bad &= (np.stack(_lattice(atlas, survey)) % step == 0).all(axis=0)
    low, high = _bounds(survey)
    # Readable, whatever the size of the site.
    length = max(0.8 * survey.spacing, 0.012 * float((high - low).max()))
    axes.quiver(
        *survey.places[bad, :2].T, survey.weakest[bad, 0], survey.weakest[bad, 1],
        color=INK, pivot="mid", angles="xy", scale_units="xy", scale=1.0 / length,
        width=0.0022, headwidth=0, headlength=0, headaxislength=0,
    )  # fmt: skip


def _draw_aliases(axes: "Axes", atlas: Atlas, survey: Survey) -> None:
    nodes = _draw_nodes(axes, atlas, survey, survey.summary.alias_similarity)
    nodes.set(cmap="PuBuGn", clim=(0, 1))
    _add_colour_bar(nodes, "similarity of the best distant alias")
    axes.set_title("What it can be mistaken for")
    for area in survey.areas[: TEXT.max_areas]:
        if area.reason is Reason.ALIASED and area.alias is not None:
            arrow = {"arrowstyle": "-|>", "color": ACCENT, "linewidth": 1.4, "shrinkA": 7}
            arrow |= {"connectionstyle": "arc3,rad=0.15"}
            axes.annotate("", area.alias, (area.x, area.y), arrowprops=arrow, zorder=4)
    _mark_areas(axes, survey)


def _draw_nodes(axes: "Axes", atlas: Atlas, survey: Survey, values: FloatArray) -> Any:
    """Draw one value per node, on a 2D map under the walls; return the artist."""
    world = atlas.world
    if isinstance(world, OccupancyMap):
        draw_cells(axes, world)
        rows, cols = _lattice(atlas, survey)
        table = np.full((rows.max() + 1, cols.max() + 1), np.nan)
        table[rows, cols] = values
        drawing = draw_raster(axes, world, table, survey.spacing)
        drawing.set_zorder(1.0)
        draw_cells(axes, world, *_bounds(survey), walls=True)
    else:
        x, y = survey.places[:, :2].T
        drawing = axes.scatter(x, y, c=values, **DOTS)
        axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
    show_between(axes, *_bounds(survey))
    return drawing


def _add_colour_bar(drawing: Any, label: str) -> Any:
    """Add a labelled bar of the colours beside the axes of a drawing, and return it."""
    return drawing.figure.colorbar(drawing, ax=drawing.axes, shrink=0.8, label=label)


def _lattice(atlas: Atlas, survey: Survey) -> tuple[IntArray, IntArray]:
    """Return the row and column of each node in the lattice of nodes, each of shape (N,)."""
    rows, columns = lattice_of(atlas)[survey.nodes, -2:].T
    return rows, columns


def _mark_areas(axes: "Axes", survey: Survey) -> None:
    """Write the number of each area in a circle."""
    style: dict[str, Any] = {
        "color": INK,
        "fontsize": 9,
        "ha": "center",
        "va": "center",
        "zorder": 6,
    }
    circle = {"boxstyle": "circle,pad=0.25", "facecolor": PAPER, "edgecolor": INK}
    for k, area in enumerate(survey.areas[: TEXT.max_areas]):
        axes.text(area.x, area.y, str(k + 1), bbox=circle, **style)


def _bounds(survey: Survey) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and largest coordinates of the floor, with a margin, in m."""
    flat = survey.places[:, :2]
    return flat.min(axis=0) - 0.7, flat.max(axis=0) + 0.7
