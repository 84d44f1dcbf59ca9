"""`isovist paper`: every table of the paper's example, beside the exact values."""

import json

import typer

from isovist.cli.options import Figure, Json


def paper(figure: Figure = None, as_json: Json = False) -> None:
    """Every table and figure of the paper's example, beside the exact values."""
    from isovist.report.tables import print_example
    from isovist.theory import example as example_of
    from isovist.viz.figures import check_suffix, save
    from isovist.viz.paper import draw_example

    check_suffix(figure)
    example = example_of.run_example()
    if figure is not None:
        save(draw_example(example), figure)
    rows = example_of.as_json(example)
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    print_example(rows)
    if figure is not None:
        typer.echo(f"Picture: {figure}")
