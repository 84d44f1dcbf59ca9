"""`isovist demo`: a lost robot in a generated office."""

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from isovist.cli.options import Json


def demo(
    seed: Annotated[int, typer.Option(help="Which office, and where in it.")] = 0,
    figure: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path(
        "isovist-demo.png"
    ),
    as_json: Json = False,
) -> None:
    """A robot wakes up in an office it has a plan of, and finds out where it is."""
    from isovist.cli.progress import busy
    from isovist.demonstration import demonstrate
    from isovist.viz.answers import draw_answer
    from isovist.viz.figures import save
    from isovist.viz.reports import answer_json, answer_text

    with busy("Describing the office and compiling"):
        shown = demonstrate(seed)
    save(draw_answer(shown.atlas.world, shown.scan, shown.answer, shown.truth), figure)
    gap, turn = shown.error
    truth = shown.truth
    if as_json:
        report = {
            **answer_json(shown.answer),
            "truth": {"x": truth.x, "y": truth.y, "yaw": truth.yaw},
            "right": shown.right,
        }
        typer.echo(json.dumps(report, indent=1))
        return
    typer.echo(
        f"An office of {shown.atlas.world.free_area:.0f} m², {len(shown.atlas.nodes)} nodes; "
        "one scan of a 270° lidar among furniture that the plan lacks.\n"
        f"{answer_text(shown.answer)}\n"
        f"  truth: x {truth.x:.3f} m, y {truth.y:.3f} m, yaw {math.degrees(truth.yaw):.2f}°; "
        f"the answer is {gap:.3f} m and {math.degrees(turn):.2f}° off\n"
        f"  picture: {figure}"
    )
