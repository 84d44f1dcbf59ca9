"""The command line: one verb per file, known errors in one line, exit code 2."""

import logging
import os
import sys

import typer

from isovist.cli.bench import bench
from isovist.cli.build import build
from isovist.cli.convert import convert
from isovist.cli.demo import demo
from isovist.cli.explore import explore
from isovist.cli.info import info
from isovist.cli.locate import locate
from isovist.cli.paper import paper
from isovist.cli.survey import survey
from isovist.cli.track import track
from isovist.cli.verify import verify
from isovist.cli.warm_up import warm_up
from isovist.errors import IsovistError

app = typer.Typer(
    name="isovist",
    help="Where am I on this map?  Localization from one range scan, with an honest verdict.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for verb in (demo, build, info, convert, locate, track, explore, survey, paper, verify, warm_up):
    app.command()(verb)


app.add_typer(bench, name="bench")


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    """Where am I on this map?"""
    if show:
        from isovist import __version__

        typer.echo(f"isovist {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; a known error is one line and exit code 2."""
    # Our matrices are small: threads of the linear algebra would only spin beside ours.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    notes = logging.StreamHandler()
    notes.setFormatter(logging.Formatter("isovist: %(message)s"))
    logging.getLogger("isovist").addHandler(notes)
    logging.getLogger("isovist").setLevel(logging.INFO)
    try:
        app()
    except (IsovistError, OSError) as error:
        sys.stderr.write(f"isovist: {error}\n")
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        sys.stderr.write("isovist: interrupted; nothing was written.\n")
        raise SystemExit(130) from None
