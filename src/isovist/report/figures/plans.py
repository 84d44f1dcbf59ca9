"""Draw segment maps and descriptors into axes."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.basis import DirectionalBasis
from isovist.maps import SegmentMap
from isovist.poses import unit_vectors
from isovist.report.figures.figures import ACCENT, INK, SECOND, show_between

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_map(axes: "Axes", world: SegmentMap) -> Any:
    """Draw the walls of a map as lines, in m."""
    from matplotlib.collections import LineCollection

    lines = LineCollection(list(world.walls.reshape(-1, 2, 2)), colors=INK, linewidths=1.6)
    axes.add_collection(lines)
    lo, hi = world.bounds
    pad = 0.03 * float((hi - lo).max())
    show_between(axes, lo - pad, hi + pad)
    axes.spines[["top", "right"]].set_visible(False)
    return lines


def draw_plan_isovist(axes: "Axes", world: SegmentMap, point: FloatArray) -> Any:
    """Shade the region that is visible from a point."""
    outline = outline_of(world, point)
    return axes.fill(*outline.T, color=SECOND, alpha=0.14, linewidth=0.0)


def outline_of(world: SegmentMap, point: FloatArray) -> FloatArray:
    """Return the corners of the region visible from a point, counter-clockwise, (k, 2), in m."""
    pieces = world.see(point[None, :])
    angles = pieces.angles[0, : pieces.counts[0] + 1]
    inner = np.concatenate([[a + 1e-7, b - 1e-7] for a, b in pairwise(angles)])
    directions = unit_vectors(inner)
    return np.asarray(point + world.cast(point, directions).ranges[:, None] * directions)


def draw_petals(
    axes: "Axes", basis: DirectionalBasis, F: FloatArray, origin: FloatArray, size: float
) -> Any:
    """Draw each channel of F as a petal along its direction; the largest has length `size` (m)."""
    lengths = size * F / F.max()
    artists = []
    for direction, length in zip(basis.directions, lengths, strict=True):
        side = np.array([-direction[1], direction[0]])
        t = np.linspace(0.0, 1.0, 40)[:, None]
        half = 0.5 * np.pi * length / len(basis) * np.sin(np.pi * t) * side
        spine = origin + t * length * direction
        petal = np.concatenate([spine + half, (spine - half)[::-1]])
        artists += axes.fill(*petal.T, color=ACCENT, alpha=0.55, linewidth=0.0)
    return artists


def draw_weights(axes: "Axes", basis: DirectionalBasis) -> Any:
    """Draw the weights w_i(θ) in polar axes."""
    theta = np.linspace(0.0, 2.0 * np.pi, 721)
    lines = axes.plot(theta, basis.weights(unit_vectors(theta)), linewidth=1.4)
    axes.set_yticklabels([])
    axes.grid(alpha=0.3)
    return lines
