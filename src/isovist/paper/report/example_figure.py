"""Draw the figure of the paper's example."""

from typing import Any

import numpy as np

from isovist.paper import CircleSum
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.example import Example
from isovist.report import (
    ACCENT,
    INK,
    SOFT,
    draw_map,
    draw_petals,
    draw_plan_isovist,
    draw_weights,
    new_figure,
    place_text,
)


def draw_example(example: Example) -> Any:
    """Draw the room with nodes, query and path; the weights; a descriptor; convergence."""
    figure = new_figure(11.0, 7.2)
    grid = figure.add_gridspec(2, 3, height_ratios=(1.5, 1.0))
    _draw_room(figure.add_subplot(grid[0, :2]), example)

    petals = figure.add_subplot(grid[0, 2])
    F = example.grid.F[example.order[0]]
    draw_petals(petals, example.setup.basis, F, np.zeros(2), 1.0)
    petals.set(aspect="equal", xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))
    petals.set_title("Descriptor of the nearest node")
    petals.axis("off")

    weights = figure.add_subplot(grid[1, 0], projection="polar")
    draw_weights(weights, example.setup.basis)
    weights.set_title("The weights")

    _draw_quadrature(figure.add_subplot(grid[1, 1]), example)
    _draw_convergence(figure.add_subplot(grid[1, 2]), example)
    return figure


def _draw_room(axes: Any, example: Example) -> None:
    """Draw the room with its nodes, the true place and the path of Gauss–Newton."""
    world, place = example.setup.world, np.array(example.setup.place)
    draw_plan_isovist(axes, world, place)
    draw_map(axes, world)
    axes.plot(*example.grid.nodes.T, ".", color=SOFT, markersize=6, label="nodes")
    path = example.descent_exact.positions
    axes.plot(*path.T, "-o", color=ACCENT, markersize=4, linewidth=1.2, label="Gauss–Newton")
    axes.plot(*place, "*", color=INK, markersize=13, label="true place")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncol=3, frameon=False)
    axes.set_title("Visible area of the true place, and the path of Gauss–Newton")


def _draw_quadrature(axes: Any, example: Example) -> None:
    """Draw the error of F over the number of terms."""
    terms = 2 ** np.arange(4, 15)
    errors = [_sum_error(int(S), example) for S in terms]
    axes.loglog(terms, errors, "o-", color=INK, markersize=4, label="S-term sum")
    axes.axhline(1e-14, color=ACCENT, label="exact quadrature,\nabout 100 evaluations")
    place = place_text(example.setup.described)
    axes.set(xlabel="terms S", ylabel=f"error of F at {place} (m)", ylim=(1e-15, 1.0))
    axes.legend(frameon=False, fontsize=8)
    axes.set_title("Quadrature")


def _draw_convergence(axes: Any, example: Example) -> None:
    """Draw the position error over the steps of Gauss–Newton."""
    for descent, colour, name in (
        (example.descent, INK, "as in the paper"),
        (example.descent_exact, ACCENT, "exact F and J"),
    ):
        gap = np.linalg.norm(descent.positions - np.array(example.setup.place), axis=1)
        axes.semilogy(gap, "o-", color=colour, markersize=4, label=name)
    axes.set(xlabel="Gauss–Newton step", ylabel="position error (m)")
    axes.legend(frameon=False, fontsize=8)
    axes.set_title("Convergence")


def _sum_error(terms: int, example: Example) -> float:
    setup = example.setup
    F, _ = Descriptor(setup.basis, quadrature=CircleSum(terms)).at(setup.world, setup.described)
    return float(np.abs(F - example.phi_exact).max())
