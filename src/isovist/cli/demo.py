"""`isovist demo`: the paper's room, end to end."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    figure: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path(
        "isovist-demo.png"
    ),
) -> None:
    """A robot finds its place in the paper's room; writes a picture."""
    from isovist import paper as example_of
    from isovist.viz.figures import save
    from isovist.viz.paper import draw_example
    from isovist.viz.tables import print_demo

    example = example_of.run_example()
    print_demo(example)
    save(draw_example(example), figure)
    typer.echo(f"Picture: {figure}")
