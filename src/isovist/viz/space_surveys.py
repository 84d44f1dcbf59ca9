"""Surveys in space as a picture, as JSON and as words."""

import math
from typing import Any

import numpy as np

from isovist.surveying.space import SpaceSurvey
from isovist.viz.figures import ACCENT, INK, new_figure
from isovist.viz.surveys import percent


def sensor_words(survey: SpaceSurvey) -> str:
    """The sensor in a few words."""
    lidar = survey.lidar
    low, high = math.degrees(lidar.low), math.degrees(lidar.high)
    return f"lidar of {lidar.rings} rings ({low:.0f}° to {high:.0f}°, {lidar.range_max:g} m)"


def space_text(survey: SpaceSurvey) -> str:
    """The survey in a few lines."""
    lines = [
        f"{percent(survey.share)} of the floor is uniquely localizable with a "
        f"{sensor_words(survey)}.",
        f"  ± {100.0 * survey.standard_error:.1f} points (standard error), from "
        f"{len(survey.unique)} simulated scans, {int(survey.unique.sum())} of them unique",
        f"  the position is held to {np.nanmedian(survey.sigma_m):.2f} m and the heading to "
        f"{np.nanmedian(survey.sigma_deg):.1f}°",
    ]
    bad = np.flatnonzero(~survey.unique)
    worst = bad[np.argsort(-survey.rivals[bad], kind="stable")][:3]
    for k in worst:
        x, y = survey.asked[k, :2]
        like = ""
        if np.isfinite(survey.alias_xy[k]).all():
            like = f", like ({survey.alias_xy[k, 0]:.1f}, {survey.alias_xy[k, 1]:.1f})"
        lines.append(f"  not unique at ({x:.1f}, {y:.1f}): {survey.rivals[k]:.0f} rivals{like}")
    return "\n".join(lines)


def space_json(survey: SpaceSurvey) -> dict[str, Any]:
    """The summary as plain data: m, and degrees where the key says so."""
    lidar = survey.lidar
    return {
        "unique_share": survey.share,
        "standard_error": survey.standard_error,
        "asked": len(survey.unique),
        "asked_unique": int(survey.unique.sum()),
        "nodes": len(survey.places),
        "median_sigma_m": float(np.nanmedian(survey.sigma_m)),
        "median_sigma_deg": float(np.nanmedian(survey.sigma_deg)),
        "median_mu": float(np.nanmedian(survey.mu)),
        "sensor": {
            "rings": lidar.rings,
            "low_deg": math.degrees(lidar.low),
            "high_deg": math.degrees(lidar.high),
            "range_max": lidar.range_max,
            "noise": lidar.noise,
        },
    }


def draw_space_survey(survey: SpaceSurvey) -> Any:
    """Two maps from above: share of unique answers with aliases, and μ."""
    x, y = survey.places[:, 0], survey.places[:, 1]
    wide, tall = np.ptp(x) + 1.0, np.ptp(y) + 1.0
    stacked = wide > 1.3 * tall
    size = 9.0 * tall / wide + 1.0
    figure = new_figure(11.0, 2.0 * size) if stacked else new_figure(13.0, 6.5 * tall / wide + 1.0)
    panels = figure.subplots(2, 1) if stacked else figure.subplots(1, 2)
    dots = {"s": 14, "marker": "s", "linewidths": 0}
    shown = panels[0].scatter(x, y, c=survey.unique_share, cmap="RdYlBu", vmin=0, vmax=1, **dots)
    figure.colorbar(shown, ax=panels[0], shrink=0.8, label="share answered “unique”")
    panels[0].set_title(
        f"{percent(survey.share)} is uniquely localizable with a {sensor_words(survey)}"
    )
    bad = ~survey.unique
    panels[0].scatter(*survey.asked[bad, :2].T, s=18, facecolors="none", edgecolors=INK)
    for place, alias in zip(survey.asked[bad], survey.alias_xy[bad], strict=True):
        if np.isfinite(alias).all():
            arrow = {"arrowstyle": "-|>", "color": ACCENT, "linewidth": 0.7}
            panels[0].annotate("", alias, place[:2], arrowprops=arrow)
    held = np.isfinite(survey.mu)
    shown = panels[1].scatter(x[held], y[held], c=survey.mu[held], cmap="viridis", **dots)
    figure.colorbar(shown, ax=panels[1], shrink=0.8, label="μ, in the weakest direction (per m)")
    panels[1].set_title("How fast the view changes")
    for axes in panels:
        axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
    return figure
