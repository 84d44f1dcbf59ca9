"""Drawing drives of a lost robot: the rivals as they die, in a picture or as it happens."""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from isovist.arrays import FloatArray
from isovist.localization.answer import Verdict
from isovist.localization.settings import LocalizationSettings
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.poses import AnyPose, Pose
from isovist.report.figures.answers import BEST, RIVAL
from isovist.report.figures.cells import draw_cells, known_size
from isovist.report.figures.figures import (
    ACCENT,
    INK,
    SECOND,
    SOFT,
    check_suffix,
    explain_below,
    new_figure,
    save,
    to_bytes,
)
from isovist.report.figures.robots import draw_ends, draw_robot, draw_truth, open_cross
from isovist.simulation.lost_robot import Run
from isovist.simulation.robot import Step
from isovist.storage.files import replace_file

PANELS = 4
"""Moments in a picture: the start, the end, and those between."""
FRAMES = 60
"""Most frames of an animation."""
SECONDS, HELD = 0.2, 2.5
"""Of a frame, and of the first and the last one."""
FAINT = 0.35
"""Least opacity of a rival."""
SAME = 1.0
"""A place of the start is still possible when an estimate is this near to it, in m."""
DEAD = "#9aa7b0"


def save_run(world: OccupancyMap, run: Run, path: Path) -> None:
    """Write a picture of a drive, or an animation if the file name ends in .gif."""
    check_suffix(path, ".gif")
    if path.suffix.lower() == ".gif":
        _animate(world, run, path)
    else:
        save(draw_run(world, run), path)


def draw_run(world: OccupancyMap, run: Run) -> Any:
    """Draw a few moments of a drive side by side."""
    chosen = np.unique(np.linspace(0, len(run.steps) - 1, PANELS).astype(np.int64))
    steps = [run.steps[k] for k in chosen]
    across, up = known_size(world)
    shape = float(up / across)
    columns = len(steps) if shape > 1.2 else min(2, len(steps))
    rows = -(-len(steps) // columns)
    width = 12.0 if columns > 1 else 7.0
    panel = (width / columns - 0.4) * shape + 0.7
    figure = new_figure(width, rows * panel + 0.4)
    panels = np.ravel(figure.subplots(rows, columns))
    for axes, step in zip(panels, steps, strict=False):
        draw_step(axes, world, run, step)
    for axes in panels[len(steps) :]:
        axes.set_visible(False)
    _explain(figure)
    return figure


def draw_step(axes: Any, world: OccupancyMap, run: Run, step: Step) -> None:
    """Draw a moment of a drive: paths driven and proposed, poses possible and refuted."""
    draw_cells(axes, world)
    size = 0.035 * float(known_size(world).max())
    past = run.steps[: run.steps.index(step) + 1]
    axes.plot(*np.array([s.truth.vector[:2] for s in past]).T, color=INK, linewidth=1.6, zorder=4)
    for pose in _refuted(past):
        axes.plot(pose.x, pose.y, "x", color=DEAD, markersize=6, mew=1.6, zorder=3)
    belief = step.belief
    best = belief.best
    if best is not None:
        for rival in belief.estimates[1:] if belief.verdict is not Verdict.UNIQUE else ():
            likely = rival.probability / max(best.probability, 1e-9)
            faint = max(FAINT, min(1.0, likely))
            draw_robot(axes, rival.pose, RIVAL, size, alpha=faint, zorder=4.5)
        pose = Pose.from_vector(best.pose.vector[:3])
        points = (pose @ step.scan.T_robot_sensor).apply(step.scan.endpoints)
        draw_ends(axes, points, {SECOND: np.ones(len(points), dtype=np.bool_)})
        draw_robot(axes, best.pose, BEST, size)
    ahead = _ahead(run, step)
    if ahead is not None:
        axes.plot(*ahead.T, "--", color=ACCENT, linewidth=1.2, zorder=4)
    draw_truth(axes, step.truth)
    axes.set_title(_title(step), fontsize=10)
    axes.tick_params(labelsize=8, color=SOFT)


def _explain(figure: Any) -> None:
    """A line of symbols below the panels."""
    from matplotlib.lines import Line2D

    symbols = (
        ("best place", {"color": BEST, "marker": "p", "linestyle": "", "markeredgecolor": INK}),
        ("rival", {"color": RIVAL, "marker": "p", "linestyle": "", "markeredgecolor": INK}),
        ("its scan", {"color": SECOND, "marker": ".", "linestyle": ""}),
        ("refuted", {"color": DEAD, "marker": "x", "linestyle": ""}),
        ("truth", {"color": INK, "marker": open_cross(), "markersize": 14, "linestyle": ""}),
        ("driven", {"color": INK}),
        ("proposed", {"color": ACCENT, "linestyle": "--"}),
    )
    explain_below(figure, [Line2D([], [], label=label, **style) for label, style in symbols])


def _refuted(past: tuple[Step, ...]) -> list[AnyPose]:
    """Where the robot would be now from the places of the start that are possible no more."""
    first, last = past[0], past[-1]
    motion = first.truth.inverse @ last.truth
    carried = [estimate.pose @ motion for estimate in first.belief.estimates]
    alive = last.belief.estimates[: 1 if last.belief.verdict is Verdict.UNIQUE else None]
    return [
        pose
        for pose in carried
        if all(np.hypot(pose.x - e.pose.x, pose.y - e.pose.y) > SAME for e in alive)
    ]


def _title(step: Step) -> str:
    belief = step.belief
    verdict = belief.verdict.value
    if belief.verdict is not Verdict.UNIQUE:
        others = len(belief.estimates) - 1
        more = " or more" if others >= LocalizationSettings().listed - 1 else ""
        verdict = f"{verdict}: {others}{more} rival{'s' if others != 1 else ''}"
    return f"after {step.distance:.1f} m\n{verdict}"


def _ahead(run: Run, step: Step) -> FloatArray | None:
    """Corners of the way that the robot is on, or about to take, in the world."""
    k = run.steps.index(step)
    proposal = run.steps[k + 1].proposal if k + 1 < len(run.steps) else None
    if proposal is None:
        return None
    begin = next(j for j, other in enumerate(run.steps) if other.proposal is proposal) - 1
    return run.steps[begin].truth.apply(proposal.path[:, :2])


def _animate(world: OccupancyMap, run: Run, path: Path) -> None:
    """One frame for each update."""
    across, up = known_size(world)
    shape = float(up / across)
    width = 7.0 if shape < 1.0 else 5.0
    every = -(-len(run.steps) // FRAMES)
    steps = [*run.steps[:-1:every], run.steps[-1]]
    images = []
    for step in steps:
        figure = new_figure(width, width * min(shape, 1.8) + 1.4)
        draw_step(figure.subplots(), world, run, step)
        _explain(figure)
        images.append(Image.open(BytesIO(to_bytes(figure, "png", 110))).convert("RGB"))
    frames = _in_one_palette(images)
    times = [int(1e3 * SECONDS)] * len(frames)
    times[0] = times[-1] = int(1e3 * HELD)
    film = BytesIO()
    frames[0].save(
        film, format="GIF", save_all=True, append_images=frames[1:], duration=times, loop=0
    )
    replace_file(path, film.getvalue(), parents=True)


def _in_one_palette(images: list[Image.Image]) -> list[Image.Image]:
    """Images with the colours of the first, the middle and the last: places come and go."""
    some = [images[0], images[len(images) // 2], images[-1]]
    width, height = images[0].size
    together = Image.new("RGB", (width, len(some) * height))
    for k, image in enumerate(some):
        together.paste(image, (0, k * height))
    palette = together.quantize(255, Image.Quantize.FASTOCTREE)  # keeps what is small and rare
    return [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
