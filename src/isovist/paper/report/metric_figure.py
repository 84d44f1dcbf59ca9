"""The metric of a map as a picture."""

from typing import Any

import numpy as np

from isovist.paper.gram.metric import MapMetric
from isovist.report.figures.figures import ACCENT, new_figure, show_between

LINES = 300
"""Most aliases that are drawn."""
HIGHEST = 0.95
"""Coarser resolutions than this quantile have its colour."""


def draw_metric(found: MapMetric) -> Any:
    """Nodes coloured by resolution, and lines between places that look alike."""
    figure = new_figure(9.0, 7.0)
    axes = figure.add_subplot()
    x, y = found.places[:, 0], found.places[:, 1]
    most = np.quantile(found.resolution, HIGHEST)
    shown = axes.scatter(x, y, c=np.minimum(found.resolution, most), s=6.0)
    step = max(1, len(found.aliases) // LINES)
    for a, b in found.aliases[::step]:
        axes.plot(x[[a, b]], y[[a, b]], color=ACCENT, linewidth=0.4, alpha=0.5)
    figure.colorbar(shown, ax=axes, label="1/σ_min, m per unit of d")
    show_between(axes, found.places.min(axis=0) - 1.0, found.places.max(axis=0) + 1.0)
    axes.set_title(f"{found.alone:.0%} of {len(found.places)} nodes have no alias")
    return figure
