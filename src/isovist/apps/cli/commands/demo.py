"""`isovist demo`: localize a robot in a generated office."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isovist.apps.cli.support import options

if TYPE_CHECKING:
    from isovist.simulation import Demonstration

NO_PICTURE = "needs Matplotlib, pip install 'isovist[figures]'"


def demo(
    seed: options.Seed = 0,
    figure: Annotated[Path, options.figure()] = Path("isovist-demo.png"),
    in_3d: Annotated[
        bool, typer.Option("--3d", help="Use a 3D building and a lidar of 16 rings.")
    ] = False,
    bag: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write only a map, and a drive on it as .mcap."),
    ] = None,
    seconds: Annotated[float, options.number("S", "Duration of the drive of --bag, in s.")] = 30.0,
    as_json: options.Json = False,
) -> None:
    """Localize a simulated scan in a generated office, and draw it."""
    from isovist.apps.cli.support.progress import busy
    from isovist.apps.cli.support.samples import check_folder, write_building, write_office
    from isovist.apps.ros import write_demonstration
    from isovist.report import answer_json, can_draw, check_suffix, draw_answer, pose_json, save

    if bag is not None:
        scans = write_demonstration(bag, seed=seed, seconds=seconds)
        place = f"in {bag}, the map in {bag.with_suffix('.yaml')}"
        typer.echo(f"{scans} scans of a drive of {seconds:g} s {place}")
        return
    check_suffix(figure)
    folder = figure.with_suffix("")
    check_folder(folder)
    with busy("Building the office and compiling"):
        result = simulate(seed, in_3d)
    has_picture = can_draw()
    if has_picture:
        save(draw_answer(result.atlas, result.scan, result.answer, result.truth), figure)
    with busy("Writing the map, the scan and a drive"):
        write = write_building if in_3d else write_office
        files = write(folder, result.scan, seed)
    if as_json:
        truth = {"truth": pose_json(result.truth), "right": result.right}
        typer.echo(json.dumps({**answer_json(result.answer), **truth}, indent=1))
        return
    typer.echo(
        f"{words_of(result)}\n  picture: {figure if has_picture else NO_PICTURE}\n"
        f"  files in {folder}: {', '.join(path.name for path in files)}"
    )


def simulate(seed: int, in_3d: bool) -> "Demonstration":
    """Localize a scan in a generated building, while kernels compile beside."""
    from isovist.compute import (
        align_2d,
        align_3d,
        compile_in_background,
        correlate,
        score_2d,
        score_3d,
        select_distinct,
    )
    from isovist.simulation import demonstrate, demonstrate_in_space

    fitting = (align_3d, score_3d) if in_3d else (align_2d, score_2d)
    compile_in_background(correlate, select_distinct, *fitting)
    return demonstrate_in_space(seed) if in_3d else demonstrate(seed)


def words_of(result: "Demonstration") -> str:
    """Return the office, the answer and its error as text."""
    from isovist.report import answer_text

    atlas, truth, (distance, angle) = result.atlas, result.truth, result.error
    lidar = "lidar of 16 rings" if atlas.dimension == 3 else "270° lidar"
    return (
        f"An office of {atlas.area:.0f} m², {len(atlas.nodes)} nodes; "
        f"one scan of a {lidar} among furniture that is not on the map.\n"
        f"{answer_text(result.answer)}\n"
        f"  truth: x {truth.x:.3f} m, y {truth.y:.3f} m, yaw {math.degrees(truth.yaw):.2f}°; "
        f"the answer is {distance:.3f} m and {math.degrees(angle):.2f}° off"
    )
