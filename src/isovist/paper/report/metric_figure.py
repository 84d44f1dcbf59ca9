"""Draw the metric of a map."""

from typing import Any

import numpy as np

from isovist.paper.metric import MapMetric
from isovist.report import ACCENT, new_figure, show_between

MAX_LINES = 300
"""Aliases that are drawn at most."""
QUANTILE = 0.95
"""Coarser resolutions than this quantile have its colour."""


def draw_metric(metric: MapMetric) -> Any:
    """Draw nodes coloured by resolution, and lines between places that are easily confused."""
    figure = new_figure(9.0, 7.0)
    axes = figure.add_subplot()
    x, y = metric.places[:, 0], metric.places[:, 1]
    limit = np.quantile(metric.resolution, QUANTILE)
    nodes = axes.scatter(x, y, c=np.minimum(metric.resolution, limit), s=6.0)
    step = max(1, len(metric.aliases) // MAX_LINES)
    for a, b in metric.aliases[::step]:
        axes.plot(x[[a, b]], y[[a, b]], color=ACCENT, linewidth=0.4, alpha=0.5)
    figure.colorbar(nodes, ax=axes, label="1/σ_min, m per unit of d")
    show_between(axes, metric.places.min(axis=0) - 1.0, metric.places.max(axis=0) + 1.0)
    axes.set_title(f"{metric.unique_share:.0%} of {len(metric.places)} nodes have no alias")
    return figure
