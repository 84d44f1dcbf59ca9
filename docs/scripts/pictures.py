"""Draw the pictures of the pages that need no browser.

    python docs/scripts/pictures.py [FOLDER]     # `docs` unless another is named

`docs/scripts/studio.py` makes those of the studio.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

import isovist as iv
from isovist.localization import NodeSearch
from isovist.report.figures.answers import draw_answer
from isovist.report.figures.cells import draw_cell_isovist, draw_cells, known_bounds
from isovist.report.figures.figures import new_figure, save, show_between
from isovist.report.figures.plans import draw_petals
from isovist.simulation.demo import Demonstration, demonstrate

AROUND = np.array([5.5, 4.5])
"""Half of what a close view shows, in m."""
RIVALS = 4
"""Seed of an office, and of a robot in it, where several places explain the scan."""


def describe(shown: Demonstration) -> Any:
    """The isovist of a place, and the descriptor of it as petals."""
    figure = new_figure(9.0, 4.2)
    left, right = figure.subplots(1, 2)
    place, world = shown.truth.position, shown.atlas.world
    for axes in (left, right):
        draw_cells(axes, world)
        show_between(axes, place - AROUND, place + AROUND)
    draw_cell_isovist(left, world, place, 30.0)
    left.set_title("What can be seen from here: the isovist")
    basis = iv.DirectionalBasis.circle(64)
    scan = iv.Lidar(noise=0.0, beams=1440, range_max=30.0).scan(
        world, iv.Pose(*place, 0.0), np.random.default_rng(0)
    )
    F = iv.Descriptor(basis, iv.Range()).of_scan(scan).F
    draw_petals(right, basis, F, place, 3.5)
    right.set_title("The same in 64 numbers: the descriptor")
    return figure


def candidates(shown: Demonstration) -> Any:
    """What the search hands on, by what each place costs."""
    found = NodeSearch(shown.atlas, shown.scan, None, iv.LocalizationSettings()).coarse(400)
    figure = new_figure(9.0, 6.4)
    axes = figure.subplots()
    draw_cells(axes, shown.atlas.world)
    order = np.argsort(-found.costs)
    style = {"c": found.costs[order], "cmap": "viridis", "s": 22.0, "linewidths": 0.0}
    dots = axes.scatter(*found.poses[order, :2].T, **style)
    figure.colorbar(dots, label="cost, at the best heading")
    axes.plot(shown.truth.x, shown.truth.y, "o", ms=22.0, mfc="none", mec="#d9475a", mew=2.0)
    show_between(axes, *known_bounds(shown.atlas.world))
    axes.set_title(
        f"The {len(found.costs)} best of {len(shown.atlas.nodes)} nodes; the ring is the truth"
    )
    return figure


def answer(shown: Demonstration) -> Any:
    """An answer as the program draws it."""
    return draw_answer(shown.atlas, shown.scan, shown.answer, shown.truth)


def draw(folder: Path) -> None:
    """All of them, into a folder."""
    shown = demonstrate(0)
    save(answer(shown), folder / "demo.png")
    save(describe(shown), folder / "works-describe.png")
    save(candidates(shown), folder / "works-search.png")
    save(answer(demonstrate(RIVALS)), folder / "works-answer.png")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent)
