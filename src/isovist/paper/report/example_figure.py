"""Draw the figure of the paper's example."""

from typing import Any

import numpy as np

from isovist.paper import CircleSum
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.example import Example
from isovist.report import new_figure
from isovist.report.figures.figures import ACCENT, INK, SOFT
from isovist.report.figures.plans import draw_isovist, draw_map, draw_petals, draw_weights
from isovist.report.tables import place_text


def draw_example(example: Example) -> Any:
    """Draw the room with nodes, query and path; the weights; a descriptor; convergence."""
    figure = new_figure(11.0, 7.2)
    grid = figure.add_gridspec(2, 3, height_ratios=(1.5, 1.0))
    world, basis = example.setup.world, example.setup.basis
    place = np.array(example.setup.place)

    room = figure.add_subplot(grid[0, :2])
    draw_isovist(room, world, place)
    draw_map(room, world)
    room.plot(*example.grid.nodes.T, ".", color=SOFT, markersize=6, label="nodes")
    path = example.descent_exact.positions
    room.plot(*path.T, "-o", color=ACCENT, markersize=4, linewidth=1.2, label="Gauss–Newton")
    room.plot(*place, "*", color=INK, markersize=13, label="true place")
    room.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncol=3, frameon=False)
    room.set_title("Visible area of the true place, and the path of Gauss–Newton")

    petals = figure.add_subplot(grid[0, 2])
    draw_petals(petals, basis, example.grid.F[example.order[0]], np.zeros(2), 1.0)
    petals.set(aspect="equal", xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))
    petals.set_title("Descriptor of the nearest node")
    petals.axis("off")

    weights = figure.add_subplot(grid[1, 0], projection="polar")
    draw_weights(weights, basis)
    weights.set_title("The weights")

    sums = figure.add_subplot(grid[1, 1])
    terms = 2 ** np.arange(4, 15)
    errors = [_sum_error(int(S), example) for S in terms]
    sums.loglog(terms, errors, "o-", color=INK, markersize=4, label="S-term sum")
    sums.axhline(1e-14, color=ACCENT, label="exact quadrature,\nabout 100 evaluations")
    sums.set(
        xlabel="terms S",
        ylabel=f"error of F at {place_text(example.setup.described)} (m)",
        ylim=(1e-15, 1.0),
    )
    sums.legend(frameon=False, fontsize=8)
    sums.set_title("Quadrature")

    steps = figure.add_subplot(grid[1, 2])
    for descent, colour, name in (
        (example.descent, INK, "as in the paper"),
        (example.descent_exact, ACCENT, "exact F and J"),
    ):
        gap = np.linalg.norm(descent.positions - place, axis=1)
        steps.semilogy(gap, "o-", color=colour, markersize=4, label=name)
    steps.set(xlabel="Gauss–Newton step", ylabel="position error (m)")
    steps.legend(frameon=False, fontsize=8)
    steps.set_title("Convergence")
    return figure


def _sum_error(terms: int, example: Example) -> float:
    setup = example.setup
    F, _ = Descriptor(setup.basis, quadrature=CircleSum(terms)).at(setup.world, setup.described)
    return float(np.abs(F - example.phi_exact).max())
