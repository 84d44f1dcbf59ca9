"""Describe surveys as words and as JSON."""

import math
from typing import Any

import numpy as np

from isovist.report.answers import finite
from isovist.report.settings import TEXT
from isovist.sensing import Lidar, SpinningLidar
from isovist.surveying import Area, Survey


def sensor_words(lidar: Lidar | SpinningLidar) -> str:
    """Describe a sensor in a few words."""
    if isinstance(lidar, SpinningLidar):
        low, high = math.degrees(lidar.low), math.degrees(lidar.high)
        return f"lidar of {lidar.rings} rings ({low:.0f}° to {high:.0f}°, {lidar.range_max:g} m)"
    view = math.degrees(lidar.field_of_view)
    return f"{view:.0f}°, {lidar.range_max:g} m lidar ({lidar.beams} beams, σ {lidar.noise:g} m)"


def sensor_json(lidar: Lidar | SpinningLidar) -> dict[str, float | None]:
    """Return a sensor as JSON data: angles in degrees, ranges in m."""
    shape: dict[str, float | None]
    if isinstance(lidar, SpinningLidar):
        shape = {
            "rings": lidar.rings,
            "low_deg": math.degrees(lidar.low),
            "high_deg": math.degrees(lidar.high),
        }
    else:
        shape = {"field_of_view_deg": math.degrees(lidar.field_of_view), "beams": lidar.beams}
    return shape | {"range_max": finite(lidar.range_max), "noise": lidar.noise}


def percent(share: float) -> str:
    """Format a share in percent, with one decimal near 0 % and 100 %."""
    return f"{share:.1%}" if min(share, 1.0 - share) < 0.005 else f"{share:.0%}"


def area_words(area: Area) -> str:
    """Describe an area: its position, how often answers are unique, and the reason."""
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


def share_text(survey: Survey) -> str:
    """Return a sentence that says how much of the floor is uniquely localizable."""
    return (
        f"{percent(survey.share)} of the floor ({survey.area:.0f} m²) is uniquely localizable "
        f"with a {sensor_words(survey.lidar)}."
    )


def survey_rows(survey: Survey) -> list[tuple[str, str]]:
    """Return the results of a survey as pairs of a label and a text."""
    scans, areas = survey.samples, survey.areas
    median_m, high_m = np.nanquantile(survey.sigma_m, [0.5, 0.95])
    size = sum(area.size for area in areas)
    return [
        ("sensor", sensor_words(survey.lidar)),
        ("uniquely localizable", f"{percent(survey.share)} of {survey.area:.0f} m²"),
        ("standard error", f"{100.0 * survey.standard_error:.1f} points"),
        ("simulated scans", f"{len(scans)}, {int(scans.unique.sum())} of them unique"),
        ("σ of the position", f"{median_m:.2f} m (95 %: {high_m:.2f} m)"),
        ("σ of the heading", f"{np.nanmedian(survey.sigma_deg):.1f}°"),
        ("no wall in reach", f"{float(survey.summary.blind_share.mean()):.1%}"),
        ("areas seldom unique", f"{len(areas)}, {size:.0f} m² together"),
    ]


def survey_text(survey: Survey) -> str:
    """Describe a survey in a few lines."""
    scans = survey.samples
    median_m, high_m = np.nanquantile(survey.sigma_m, [0.5, 0.95])
    lines = [
        share_text(survey),
        f"  ± {100.0 * survey.standard_error:.1f} points (standard error), from {len(scans)} "
        f"simulated scans, {int(scans.unique.sum())} of them unique",
        f"  a fit would hold the position to {median_m:.2f} m (95 % of the floor: {high_m:.2f} m) "
        f"and the heading to {np.nanmedian(survey.sigma_deg):.1f}°",
    ]
    blind = float(survey.summary.blind_share.mean())
    if blind > 0.0005:
        lines.append(f"  no wall is in reach at {blind:.1%} of places and headings")
    for k, area in enumerate(survey.areas[: TEXT.max_areas]):
        lines.append(f"  {'worst' if k == 0 else 'then'}: {area_words(area)}")
    rest = len(survey.areas) - TEXT.max_areas
    if rest > 0:
        lines.append(f"  and {rest} more area{'s' if rest > 1 else ''}")
    return "\n".join(lines)


def survey_json(survey: Survey) -> dict[str, Any]:
    """Return a survey as JSON data: m and m², degrees where the key says so."""
    looks = survey.summary
    return {
        "unique_share": survey.share,
        "standard_error": survey.standard_error,
        "asked": len(survey.samples),
        "asked_unique": int(survey.samples.unique.sum()),
        "area_m2": survey.area,
        "nodes": len(survey.places),
        "blind_share": float(looks.blind_share.mean()),
        "median_sigma_m": float(np.nanmedian(survey.sigma_m)),
        "p95_sigma_m": float(np.nanquantile(survey.sigma_m, 0.95)),
        "median_sigma_deg": float(np.nanmedian(survey.sigma_deg)),
        "median_mu": float(np.nanmedian(survey.mu)),
        "sensor": sensor_json(survey.lidar),
        "areas": [area_json(area) for area in survey.areas],
    }


def area_json(area: Area) -> dict[str, Any]:
    """Return an area as JSON data, in m and m²."""
    return {
        "x": area.x,
        "y": area.y,
        "area_m2": area.size,
        "unique_share": area.unique_share,
        "reason": area.reason.value,
        "axis_deg": area.axis_deg,
        "alias": None if area.alias is None else list(area.alias),
        "turn_deg": area.turn_deg,
    }
