"""Drawing drives of a lost robot: the rivals as they die, in a picture or as it happens."""

from pathlib import Path
from typing import Any

import numpy as np

from isovist.errors import InputError
from isovist.locate.answer import Verdict
from isovist.maps.occupancy import OccupancyMap
from isovist.poses import Pose
from isovist.track.explore import Run, Step
from isovist.types import FloatArray
from isovist.viz.answers import draw_cells, draw_pose, draw_scan, known_bounds
from isovist.viz.figures import ACCENT, INK, SECOND, SOFT, new_figure, save

PANELS = 4
"""Moments in a picture: the start, the end, and those between."""
FRAMES = 90
"""Most frames of an animation."""
SECONDS, PAUSE = 0.18, 2.5
"""Of a frame, and of the last one."""
FAINT = 0.15
"""Least opacity of a rival."""


def check_suffix(path: Path) -> None:
    """An `InputError` unless `save_run` can write such a file."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg", ".gif"):
        raise InputError(f"{path}: a picture must end in .png, .pdf, .svg or .gif.")


def save_run(world: OccupancyMap, run: Run, path: Path) -> None:
    """Write a picture, or an animation when the file ends in .gif."""
    check_suffix(path)
    if path.suffix.lower() == ".gif":
        _animate(world, run, path)
    else:
        save(draw_run(world, run), path)


def run_json(run: Run) -> dict[str, Any]:
    """A drive as plain data, in m and rad."""
    return {
        "rule": run.rule.value,
        "unique": run.unique,
        "right": run.right,
        "distance": run.distance,
        "steps": [
            {
                "distance": step.distance,
                "verdict": step.belief.verdict.value,
                "truth": _plain(step.truth),
                "estimates": [
                    {**_plain(e.pose), "probability": e.probability} for e in step.belief.estimates
                ],
            }
            for step in run.steps
        ],
        "proposals": [
            {
                "direction": p.direction,
                "distance": p.distance,
                "gain": p.gain,
                "path": p.path.tolist(),
                "text": p.text,
            }
            for p in run.proposals
        ],
    }


def run_text(run: Run) -> str:
    """A drive in a few lines: what was proposed, and what came of it."""
    first = run.steps[0].belief
    lines = [f"at the start: {first.verdict.value}: {first.advice}"]
    for k, step in enumerate(run.steps[1:]):
        proposal = step.proposal
        if proposal is not None and proposal is not run.steps[k].proposal:
            lines.append(f"  after {run.steps[k].distance:4.1f} m: {proposal.text}")
    last = run.steps[-1].belief
    lines.append(f"after {run.distance:.1f} m: {last.verdict.value}: {last.advice}")
    if run.unique:
        lines.append("The answer is right." if run.right else "The answer is wrong.")
    return "\n".join(lines)


def _plain(pose: Pose) -> dict[str, float]:
    return {"x": pose.x, "y": pose.y, "yaw": pose.yaw}


def draw_run(world: OccupancyMap, run: Run) -> Any:
    """A few moments of a drive side by side."""
    steps = _moments(run)
    lo, hi = known_bounds(world)
    shape = float((hi - lo)[1] / (hi - lo)[0])
    columns = len(steps) if shape > 1.2 else min(2, len(steps))
    rows = -(-len(steps) // columns)
    width = 12.0 if columns > 1 else 7.0
    panel = width / columns * min(shape, 2.4)
    figure = new_figure(width, rows * (panel + 0.8))
    for axes, step in zip(np.ravel(figure.subplots(rows, columns)), steps, strict=False):
        draw_step(axes, world, run, step)
    return figure


def draw_step(axes: Any, world: OccupancyMap, run: Run, step: Step) -> None:
    """The map with the way so far, the places still possible, and the way proposed."""
    draw_cells(axes, world)
    lo, hi = known_bounds(world)
    size = 0.05 * float((hi - lo).max())
    driven = np.array([s.truth.vector[:2] for s in run.steps if s.distance <= step.distance])
    axes.plot(*driven.T, color=INK, linewidth=1.6, zorder=4)
    belief = step.belief
    best = belief.best
    if best is not None:
        for rival in belief.estimates[1:] if belief.verdict is not Verdict.UNIQUE else ():
            likely = rival.probability / max(best.probability, 1e-9)
            draw_pose(axes, rival.pose, SECOND, size)[0].set_alpha(max(FAINT, min(1.0, likely)))
        draw_scan(axes, step.scan, best.pose @ step.scan.T_robot_sensor)
        draw_pose(axes, best.pose, ACCENT, size)
        ahead = _ahead(run, step)
        if ahead is not None:
            axes.plot(*best.pose.apply(ahead).T, "--", color=ACCENT, linewidth=1.2, zorder=4)
    axes.plot(step.truth.x, step.truth.y, "+", color=INK, markersize=13, mew=1.8, zorder=7)
    axes.set_title(_title(step), fontsize=10)
    axes.set(xlabel="", ylabel="")
    axes.tick_params(labelsize=8, color=SOFT)


def _title(step: Step) -> str:
    belief = step.belief
    if belief.verdict is Verdict.UNIQUE:
        return f"{step.distance:.1f} m driven: unique"
    others = len(belief.estimates) - 1
    more = "+" if others >= 9 else ""
    return (
        f"{step.distance:.1f} m driven: {belief.verdict.value}, "
        f"{others}{more} other place{'s' if others != 1 else ''}"
    )


def _ahead(run: Run, step: Step) -> FloatArray | None:
    """Corners of the way that is proposed here, in the frame of the robot."""
    k = run.steps.index(step) + 1
    following = run.steps[k].proposal if k < len(run.steps) else None
    if following is None or following is step.proposal:
        return None
    return np.asarray(following.path[:, :2])


def _moments(run: Run) -> list[Step]:
    """The start, the end, and steps at which a new way was proposed, evenly chosen."""
    asked = [k for k, step in enumerate(run.steps[:-1]) if _ahead(run, step) is not None]
    if len(asked) < PANELS - 1:
        asked = list(range(len(run.steps) - 1))
    chosen = (
        {asked[round(p)] for p in np.linspace(0, len(asked) - 1, PANELS - 1)} if asked else set()
    )
    return [run.steps[k] for k in sorted(chosen | {0, len(run.steps) - 1})][-PANELS:]


def _animate(world: OccupancyMap, run: Run, path: Path) -> None:
    """One frame for each update."""
    from PIL import Image

    lo, hi = known_bounds(world)
    shape = float((hi - lo)[1] / (hi - lo)[0])
    width = 7.0 if shape < 1.0 else 5.0
    every = -(-len(run.steps) // FRAMES)
    steps = [*run.steps[:-1:every], run.steps[-1]]
    images = []
    for step in steps:
        figure = new_figure(width, width * min(shape, 1.8) + 0.7)
        draw_step(figure.subplots(), world, run, step)
        images.append(_rendered(figure))
    path.parent.mkdir(parents=True, exist_ok=True)
    palette = images[0].quantize(64)
    frames: list[Image.Image] = [image.quantize(palette=palette) for image in images]
    times = [int(1e3 * SECONDS)] * (len(frames) - 1) + [int(1e3 * PAUSE)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0)


def _rendered(figure: Any) -> Any:
    """A figure as an image."""
    from io import BytesIO

    from PIL import Image

    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=90)
    return Image.open(buffer).convert("RGB")
