"""Draw drives of a lost robot, as a picture or an animation: rivals, and when they end."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from isovist.arrays import FloatArray
from isovist.localization import LocalizationSettings, Verdict
from isovist.maps import OccupancyMap
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
from isovist.report.settings import DRIVE_FIGURE
from isovist.simulation import Run, Step
from isovist.storage import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REFUTED = "#9aa7b0"


def save_run(world: OccupancyMap, run: Run, path: Path) -> None:
    """Write a picture of a drive, or an animation if the file name ends in .gif."""
    check_suffix(path, ".gif")
    if path.suffix.lower() == ".gif":
        _animate(world, run, path)
    else:
        save(draw_run(world, run), path)


def draw_run(world: OccupancyMap, run: Run) -> "Figure":
    """Draw several moments of a drive side by side."""
    indices = np.unique(np.linspace(0, len(run.steps) - 1, DRIVE_FIGURE.panels).astype(np.int64))
    steps = [run.steps[k] for k in indices]
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


def draw_step(axes: "Axes", world: OccupancyMap, run: Run, step: Step) -> None:
    """Draw a moment of a drive: paths driven and proposed, poses possible and refuted."""
    draw_cells(axes, world)
    size = 0.035 * float(known_size(world).max())
    past = run.steps[: run.steps.index(step) + 1]
    axes.plot(*np.array([s.truth.vector[:2] for s in past]).T, color=INK, linewidth=1.6, zorder=4)
    for pose in _refuted(past):
        axes.plot(pose.x, pose.y, "x", color=REFUTED, markersize=6, mew=1.6, zorder=3)
    belief = step.belief
    best = belief.best
    if best is not None:
        for rival in belief.estimates[1:] if belief.verdict is not Verdict.UNIQUE else ():
            ratio = rival.probability / max(best.probability, 1e-9)
            opacity = max(DRIVE_FIGURE.min_opacity, min(1.0, ratio))
            draw_robot(axes, rival.pose, RIVAL, size, alpha=opacity, zorder=4.5)
        pose = Pose.from_vector(best.pose.vector[:3])
        points = (pose @ step.scan.T_robot_sensor).apply(step.scan.endpoints)
        draw_ends(axes, points, {SECOND: np.ones(len(points), dtype=np.bool_)})
        draw_robot(axes, best.pose, BEST, size)
    path = _proposed_path(run, step)
    if path is not None:
        axes.plot(*path.T, "--", color=ACCENT, linewidth=1.2, zorder=4)
    draw_truth(axes, step.truth)
    axes.set_title(_title(step), fontsize=10)
    axes.tick_params(labelsize=8, color=SOFT)


def _explain(figure: "Figure") -> None:
    """Add a legend below the panels."""
    from matplotlib.lines import Line2D

    symbols = (
        ("best place", {"color": BEST, "marker": "p", "linestyle": "", "markeredgecolor": INK}),
        ("rival", {"color": RIVAL, "marker": "p", "linestyle": "", "markeredgecolor": INK}),
        ("its scan", {"color": SECOND, "marker": ".", "linestyle": ""}),
        ("refuted", {"color": REFUTED, "marker": "x", "linestyle": ""}),
        ("truth", {"color": INK, "marker": open_cross(), "markersize": 14, "linestyle": ""}),
        ("driven", {"color": INK}),
        ("proposed", {"color": ACCENT, "linestyle": "--"}),
    )
    explain_below(figure, [Line2D([], [], label=label, **style) for label, style in symbols])


def _refuted(past: tuple[Step, ...]) -> list[AnyPose]:
    """Return the poses that follow from places of the start that are no longer possible."""
    first, last = past[0], past[-1]
    motion = first.truth.inverse @ last.truth
    candidates = [estimate.pose @ motion for estimate in first.belief.estimates]
    reach = DRIVE_FIGURE.same_place_m
    possible = last.belief.estimates[: 1 if last.belief.verdict is Verdict.UNIQUE else None]
    return [
        pose
        for pose in candidates
        if all(np.hypot(pose.x - e.pose.x, pose.y - e.pose.y) > reach for e in possible)
    ]


def _title(step: Step) -> str:
    belief = step.belief
    verdict = belief.verdict.value
    if belief.verdict is not Verdict.UNIQUE:
        others = len(belief.estimates) - 1
        open_end = " or more" if others >= LocalizationSettings().decision.max_estimates - 1 else ""
        verdict = f"{verdict}: {others}{open_end} rival{'s' if others != 1 else ''}"
    return f"after {step.distance:.1f} m\n{verdict}"


def _proposed_path(run: Run, step: Step) -> FloatArray | None:
    """Return the corners of the path that the robot follows next, in the world; None if none."""
    k = run.steps.index(step)
    proposal = run.steps[k + 1].proposal if k + 1 < len(run.steps) else None
    if proposal is None:
        return None
    begin = next(j for j, other in enumerate(run.steps) if other.proposal is proposal) - 1
    return run.steps[begin].truth.apply(proposal.path[:, :2])


def _animate(world: OccupancyMap, run: Run, path: Path) -> None:
    """Write an animation with a frame for each update, or for every N-th of a long drive."""
    across, up = known_size(world)
    shape = float(up / across)
    width = 7.0 if shape < 1.0 else 5.0
    stride = -(-len(run.steps) // DRIVE_FIGURE.max_frames)
    steps = [*run.steps[:-1:stride], run.steps[-1]]
    images = []
    for step in steps:
        figure = new_figure(width, width * min(shape, 1.8) + 1.4)
        draw_step(figure.subplots(), world, run, step)
        _explain(figure)
        images.append(Image.open(BytesIO(to_bytes(figure, "png", 110))).convert("RGB"))
    frames = _in_one_palette(images)
    times = [int(1e3 * DRIVE_FIGURE.frame_s)] * len(frames)
    times[0] = times[-1] = int(1e3 * DRIVE_FIGURE.end_frame_s)
    film = BytesIO()
    frames[0].save(
        film, format="GIF", save_all=True, append_images=frames[1:], duration=times, loop=0
    )
    replace_file(path, film.getvalue(), parents=True)


def _in_one_palette(images: list[Image.Image]) -> list[Image.Image]:
    """Return images in one palette, that of the first, the middle and the last image."""
    samples = [images[0], images[len(images) // 2], images[-1]]
    width, height = images[0].size
    palette_source = Image.new("RGB", (width, len(samples) * height))
    for k, image in enumerate(samples):
        palette_source.paste(image, (0, k * height))
    palette = palette_source.quantize(255, Image.Quantize.FASTOCTREE)  # keeps rare colours
    return [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
