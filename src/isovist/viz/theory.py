"""Figures of the theory: what a descriptor remembers, adapted roses, the bin-boundary effect."""

from typing import Any

import numpy as np

from isovist.gram import Projection
from isovist.hard_bins import Walk
from isovist.maps.segments import SegmentMap
from isovist.roses import Rose, unit_vectors
from isovist.types import FloatArray
from isovist.viz.figures import ACCENT, INK, SECOND, SOFT
from isovist.viz.plans import draw_map


def draw_reconstruction(
    axes: Any, world: SegmentMap, point: FloatArray, projections: dict[str, Projection]
) -> None:
    """The range seen from a place over the angle, and what each projection remembers of it."""
    angles = np.linspace(0.0, 2.0 * np.pi, 1441)
    theta = unit_vectors(angles)
    axes.plot(angles, world.cast(point, theta).ranges, color=INK, linewidth=1.6, label="range")
    for (label, projection), colour in zip(
        projections.items(), (ACCENT, SECOND, SOFT), strict=False
    ):
        axes.plot(angles, projection(theta), color=colour, linewidth=1.2, label=label)
    axes.set(xlabel="angle (rad)", ylabel="range (m)", xlim=(0.0, 2.0 * np.pi))
    axes.legend(frameon=False, fontsize=8)


def draw_remembered(
    axes: Any, world: SegmentMap, point: FloatArray, projection: Projection
) -> None:
    """The same as an outline in the room: the place as the descriptor remembers it."""
    theta = unit_vectors(np.linspace(0.0, 2.0 * np.pi, 721))
    outline = point + np.maximum(projection(theta), 0.0)[:, None] * theta
    draw_map(axes, world)
    axes.fill(*outline.T, color=ACCENT, alpha=0.2, linewidth=0)
    axes.plot(*outline.T, color=ACCENT, linewidth=1.2)
    axes.plot(*point, "*", color=INK, markersize=10)


def draw_gap(axes: Any, sizes: FloatArray, curves: dict[str, FloatArray]) -> None:
    """Energy that is not captured, over n, on logarithmic axes."""
    for (label, gaps), colour in zip(curves.items(), (INK, ACCENT, SECOND), strict=False):
        axes.loglog(sizes, gaps, "o-", color=colour, markersize=4, label=label)
    axes.set(xlabel="directions n", ylabel="‖f‖² − |f|²")
    axes.legend(frameon=False, fontsize=8)


def draw_rose_over_map(
    axes: Any, world: SegmentMap, centre: FloatArray, roses: dict[str, Rose], length: float
) -> None:
    """Directions of roses as spokes around a place of a map."""
    draw_map(axes, world)
    for (label, rose), colour in zip(roses.items(), (SECOND, ACCENT), strict=False):
        tips = centre + length * rose.directions
        for k, tip in enumerate(tips):
            axes.plot(
                [centre[0], tip[0]], [centre[1], tip[1]],
                color=colour, linewidth=1.4, label=label if k == 0 else None,
            )  # fmt: skip
    axes.legend(frameon=False, fontsize=8, loc="upper right")


def draw_bars(axes: Any, values: dict[str, float], label: str) -> None:
    """A bar for each named value."""
    colours = [SECOND if k % 2 == 0 else ACCENT for k in range(len(values))]
    axes.bar(list(values), list(values.values()), color=colours, width=0.6)
    axes.set_ylabel(label)


def draw_channels(axes: Any, walk: Walk, channel: int) -> None:
    """One channel along a walk, soft and hard."""
    axes.plot(walk.travelled, walk.hard[:, channel], color=SECOND, linewidth=1.0, label="hard bins")
    axes.plot(walk.travelled, walk.soft[:, channel], color=ACCENT, linewidth=1.6, label="soft")
    axes.set(xlabel="distance travelled (m)", ylabel=f"channel {channel} of F (m)")
    axes.legend(frameon=False, fontsize=8)


def draw_steps(axes: Any, walk: Walk) -> None:
    """Change of F per step, and what its slope promised, soft and hard."""
    dt = np.diff(walk.travelled)
    axes.semilogy(walk.travelled[1:], walk.hard_steps / dt, color=SECOND, linewidth=0.9,
                  label="hard: change per m")  # fmt: skip
    axes.semilogy(walk.travelled, walk.hard_slope, "--", color=SECOND, label="hard: its slope")
    axes.semilogy(walk.travelled[1:], walk.soft_steps / dt, color=ACCENT, linewidth=1.8,
                  label="soft: change per m")  # fmt: skip
    axes.semilogy(walk.travelled, walk.soft_slope, "--", color=INK, label="soft: its slope")
    axes.set(xlabel="distance travelled (m)", ylabel="‖ΔF‖ per m")
    axes.legend(frameon=False, fontsize=8)


def draw_errors(axes: Any, noise: FloatArray, soft: FloatArray, hard: FloatArray) -> None:
    """Median localization error over the noise, soft and hard."""
    axes.plot(noise, hard, "o-", color=SECOND, label="hard bins")
    axes.plot(noise, soft, "o-", color=ACCENT, label="soft")
    axes.set(xlabel="noise per coordinate (m)", ylabel="median error (m)")
    axes.set_ylim(bottom=0.0)
    axes.legend(frameon=False, fontsize=8)


def draw_tradeoff(
    axes: Any, temperatures: FloatArray, paper: FloatArray, sharp: FloatArray
) -> None:
    """Both stability constants over the temperature."""
    axes.loglog(temperatures, paper, color=SECOND, label="paper: (n + 1)e^(2/ε)/(nε)")
    axes.loglog(temperatures, sharp, color=ACCENT, label="sharp: 1/ε")
    axes.set(xlabel="temperature ε", ylabel="Lipschitz constant")
    axes.legend(frameon=False, fontsize=8)
