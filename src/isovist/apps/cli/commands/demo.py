"""`isovist demo`: a lost robot in a generated office."""

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options

NO_PICTURE = "needs Matplotlib, pip install 'isovist[figures]'"


def demo(
    seed: options.Seed = 0,
    figure: Annotated[Path, options.figure()] = Path("isovist-demo.png"),
    in_space: Annotated[
        bool, typer.Option("--3d", help="Take a building in space and a lidar of 16 rings.")
    ] = False,
    bag: Annotated[
        Path | None, typer.Option(help="Write a drive with map and odometry as .mcap instead.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="How long the drive of --bag is, in s.")] = 30.0,
    as_json: options.Json = False,
) -> None:
    """A robot wakes up in an office whose plan it has, and finds out where it is."""
    from isovist.apps.cli.support.progress import busy
    from isovist.apps.cli.support.samples import check_folder, write_building, write_office
    from isovist.apps.ros.demo_bag import write_demonstration
    from isovist.compute.fitting.align2d import align_2d
    from isovist.compute.fitting.align3d import align_3d
    from isovist.compute.infra.precompile import compile_in_background
    from isovist.compute.likelihood.score2d import score_2d
    from isovist.compute.likelihood.score3d import score_3d
    from isovist.compute.search.correlate import correlate
    from isovist.compute.search.topk import select_distinct
    from isovist.report.answers import answer_json, answer_text, pose_json
    from isovist.report.figures.answers import draw_answer
    from isovist.report.figures.figures import can_draw, check_suffix, save
    from isovist.simulation.demo import demonstrate, demonstrate_in_space

    if bag is not None:
        scans = write_demonstration(bag, seed=seed, seconds=seconds)
        where = f"in {bag}, the map in {bag.with_suffix('.yaml')}"
        typer.echo(f"{scans} scans of a drive of {seconds:g} s {where}")
        return
    check_suffix(figure)
    folder = figure.with_suffix("")
    check_folder(folder)
    drawn = can_draw()
    fitting = (align_3d, score_3d) if in_space else (align_2d, score_2d)
    compile_in_background(correlate, select_distinct, *fitting)
    with busy("Describing the office and compiling"):
        shown = demonstrate_in_space(seed) if in_space else demonstrate(seed)
    if drawn:
        save(draw_answer(shown.atlas, shown.scan, shown.answer, shown.truth), figure)
    with busy("Writing the map, the scan and a drive"):
        if in_space:
            files = write_building(folder, shown, seed)
        else:
            files = write_office(folder, shown.scan, seed)
    gap, turn = shown.error
    truth = shown.truth
    if as_json:
        report = {**answer_json(shown.answer), "truth": pose_json(truth), "right": shown.right}
        typer.echo(json.dumps(report, indent=1))
        return
    lidar = "lidar of 16 rings" if in_space else "270° lidar"
    typer.echo(
        f"An office of {shown.atlas.area:.0f} m², {len(shown.atlas.nodes)} nodes; "
        f"one scan of a {lidar} among furniture that the plan lacks.\n"
        f"{answer_text(shown.answer)}\n"
        f"  truth: x {truth.x:.3f} m, y {truth.y:.3f} m, yaw {math.degrees(truth.yaw):.2f}°; "
        f"the answer is {gap:.3f} m and {math.degrees(turn):.2f}° off\n"
        f"  picture: {figure if drawn else NO_PICTURE}\n"
        f"  files in {folder}: {', '.join(path.name for path in files)}"
    )
