"""Figures of the theory: what a descriptor remembers, adapted bases, the bin-boundary effect."""

from typing import Any

import numpy as np

from isovist import DirectionalBasis, SegmentMap
from isovist.arrays import FloatArray
from isovist.paper.gram.gram import Projection
from isovist.paper.gram.hard_bins import Walk
from isovist.paper.stability import Tradeoff
from isovist.poses import unit_vectors
from isovist.report import ACCENT, INK, SECOND, SOFT, draw_map


def draw_reconstruction(
    axes: Any, world: SegmentMap, point: FloatArray, projections: dict[str, Projection]
) -> Any:
    """Draw the range from a place over the angle, and each projection of it."""
    angles = np.linspace(0.0, 2.0 * np.pi, 1441)
    theta = unit_vectors(angles)
    curves: list[Any] = [("range", angles, world.cast(point, theta).ranges, {"color": INK})]
    for (label, p), colour in zip(projections.items(), (ACCENT, SECOND, SOFT), strict=False):
        curves.append((label, angles, p(theta), {"color": colour, "linewidth": 1.2}))
    axes.set_xlim(0.0, 2.0 * np.pi)
    return _lines(axes.plot, "angle (rad)", "range (m)", *curves)


def draw_remembered(axes: Any, world: SegmentMap, point: FloatArray, projection: Projection) -> Any:
    """Draw the projection as an outline in the room: the place as the descriptor stores it."""
    theta = unit_vectors(np.linspace(0.0, 2.0 * np.pi, 721))
    outline = point + np.maximum(projection(theta), 0.0)[:, None] * theta
    draw_map(axes, world)
    axes.plot(*point, "*", color=INK, markersize=10)
    shape = axes.fill(*outline.T, color=ACCENT, alpha=0.2, linewidth=0)
    return shape + axes.plot(*outline.T, color=ACCENT, linewidth=1.2)


def draw_gap(axes: Any, sizes: FloatArray, curves: dict[str, FloatArray]) -> Any:
    """Draw the energy that is not captured, over n, on logarithmic axes."""
    colours = zip(curves.items(), (INK, ACCENT, SECOND), strict=False)
    styled = (
        (label, sizes, gaps, {"color": colour, "marker": "o", "markersize": 4})
        for (label, gaps), colour in colours
    )
    return _lines(axes.loglog, "directions n", "‖f‖² − |f|²", *styled)


def draw_basis_over_map(
    axes: Any,
    world: SegmentMap,
    centre: FloatArray,
    bases: dict[str, DirectionalBasis],
    length: float,
) -> Any:
    """Draw the directions of bases as spokes of a length (m) around a place of a map."""
    draw_map(axes, world)
    lines = []
    for (label, basis), colour in zip(bases.items(), (SECOND, ACCENT), strict=False):
        for k, tip in enumerate(centre + length * basis.directions):
            lines += axes.plot(
                [centre[0], tip[0]], [centre[1], tip[1]],
                color=colour, linewidth=1.4, label=label if k == 0 else None,
            )  # fmt: skip
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.12), "ncols": len(bases)}
    axes.legend(frameon=False, fontsize=8, **below)
    return lines


def draw_bars(axes: Any, values: dict[str, float], label: str) -> Any:
    """Draw a bar for each named value, in alternating colours."""
    colours = [SECOND if k % 2 == 0 else ACCENT for k in range(len(values))]
    axes.set_ylabel(label)
    return axes.bar(list(values), list(values.values()), color=colours, width=0.6)


def draw_channels(axes: Any, walk: Walk, channel: int) -> Any:
    """Draw one channel along a walk, soft and hard."""
    return _lines(
        axes.plot, "distance travelled (m)", f"channel {channel} of F (m)",
        ("hard bins", walk.travelled, walk.hard[:, channel], {"color": SECOND, "linewidth": 1.0}),
        ("soft", walk.travelled, walk.soft[:, channel], {"color": ACCENT, "linewidth": 1.6}),
    )  # fmt: skip


def draw_steps(axes: Any, walk: Walk) -> Any:
    """Draw the change of F per step, and what its slope promised, soft and hard."""
    t, dt = walk.travelled, np.diff(walk.travelled)
    dashed = {"linestyle": "--"}
    lines = _lines(
        axes.semilogy, "distance travelled (m)", "‖ΔF‖ per m",
        ("hard: change per m", t[1:], walk.hard_steps / dt, {"color": SECOND, "linewidth": 0.9}),
        ("hard: its slope", t, walk.hard_slope, {"color": SECOND, **dashed}),
        ("soft: change per m", t[1:], walk.soft_steps / dt, {"color": ACCENT, "linewidth": 1.8}),
        ("soft: its slope", t, walk.soft_slope, {"color": INK, **dashed}),
    )  # fmt: skip
    axes.legend(fontsize=8, loc="center right", framealpha=0.9)
    return lines


def draw_errors(axes: Any, noise: FloatArray, soft: FloatArray, hard: FloatArray) -> Any:
    """Draw the median localization error over the noise, soft and hard, in m."""
    lines = _lines(
        axes.plot, "noise per coordinate (m)", "median error (m)",
        ("hard bins", noise, hard, {"color": SECOND, "marker": "o"}),
        ("soft", noise, soft, {"color": ACCENT, "marker": "o"}),
    )  # fmt: skip
    axes.set_ylim(bottom=0.0)
    return lines


def draw_tradeoff(axes: Any, curve: Tradeoff) -> Any:
    """Draw both stability constants over the temperature."""
    return _lines(
        axes.loglog, "temperature ε", "Lipschitz constant",
        ("paper: (n + 1)e^(2/ε)/(nε)", curve.temperatures, curve.paper, {"color": SECOND}),
        ("sharp: 1/ε", curve.temperatures, curve.sharp, {"color": ACCENT}),
    )  # fmt: skip


def _lines(plot: Any, across: str, up: str, *curves: tuple[str, Any, Any, dict[str, Any]]) -> Any:
    """Draw labelled curves with a method of some axes, its labels and its legend."""
    lines = [line for label, x, y, style in curves for line in plot(x, y, label=label, **style)]
    plot.__self__.set(xlabel=across, ylabel=up)
    plot.__self__.legend(frameon=False, fontsize=8)
    return lines
