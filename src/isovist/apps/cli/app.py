"""Put the commands together, in groups and help sections, and end on an error with exit code 2."""

import gc
import logging
import os
import shlex
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import typer

from isovist.apps.cli.bench.calibrate import calibrate
from isovist.apps.cli.bench.scans import carmen, cross, scans, simulate, simulate3d
from isovist.apps.cli.bench.tracking import follow, kidnap, starts
from isovist.apps.cli.commands.build import build
from isovist.apps.cli.commands.check import check
from isovist.apps.cli.commands.demo import demo
from isovist.apps.cli.commands.explore import explore
from isovist.apps.cli.commands.info import info
from isovist.apps.cli.commands.locate import locate
from isovist.apps.cli.commands.sample import sample
from isovist.apps.cli.commands.survey import survey
from isovist.apps.cli.commands.track import track
from isovist.apps.cli.maps.convert import convert
from isovist.apps.cli.maps.make import make
from isovist.apps.cli.paper.fit_basis import fit_basis
from isovist.apps.cli.paper.locate import locate as locate_by_paper
from isovist.apps.cli.paper.metric import metric
from isovist.apps.cli.paper.steer import steer
from isovist.apps.cli.paper.tables import tables
from isovist.apps.cli.paper.track import track as track_by_paper
from isovist.apps.cli.paper.verify import verify
from isovist.apps.cli.services.ros import ros
from isovist.apps.cli.services.serve import serve
from isovist.apps.cli.services.studio import studio
from isovist.apps.cli.services.warm_up import warm_up
from isovist.apps.cli.support.command import Command, Group
from isovist.apps.cli.support.examples import example_of
from isovist.errors import IsovistError, one_line
from isovist.renamed import todays_words

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises on a wrong command line, whether it brings its own click or not."""

INTERRUPTED = 130


def new_group(help_text: str, **settings: Any) -> typer.Typer:
    """Return an empty group of commands."""
    return typer.Typer(
        help=help_text, cls=Group, no_args_is_help=True, rich_markup_mode=None, **settings
    )


app = new_group(
    "Find a robot's pose on a known map from a single lidar scan.",
    name="isovist",
    epilog="Start with `isovist demo`. Options and an example: `isovist COMMAND -h`.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
maps = new_group("Make and convert 2D maps.")
paper = new_group("Tables, statements and localizer of the reference paper.")
bench = new_group("Measure accuracy and times on your own site, one scan at a time.")

WITH_NUMBERS = (check, steer)
"""Commands whose arguments may begin with a minus."""


def add(group: typer.Typer, noun: str, section: str | None, *commands: Callable[..., None]) -> None:
    """Add commands to a group, each with its example."""
    for command in commands:
        name = command.__name__.replace("_", "-")
        group.command(
            name,
            epilog=example_of(f"{noun}{name}"),
            cls=Command,
            context_settings={"ignore_unknown_options": command in WITH_NUMBERS},
            rich_help_panel=section,
        )(command)


FIND, SITE, SERVICES = "Find a robot", "Know a site", "In the browser and on robots"
PAPER, MEASURE = "The paper", "Measure"
add(app, "", FIND, demo, sample, build, info, locate, check, track)
add(app, "", SITE, survey, explore)
add(maps, "map ", None, make, convert)
app.add_typer(maps, name="map", rich_help_panel=SITE)
add(app, "", SERVICES, studio, ros, serve)
add(
    paper, "paper ", None, tables, verify, locate_by_paper, track_by_paper, fit_basis, metric, steer
)
app.add_typer(paper, name="paper", rich_help_panel=PAPER)
add(bench, "bench ", None, carmen, scans, simulate, simulate3d, cross, calibrate)
add(bench, "bench ", None, starts, follow, kidnap)
app.add_typer(bench, name="bench", rich_help_panel=MEASURE)
add(app, "", MEASURE, warm_up)


@app.callback(invoke_without_command=True)
def version(is_wanted: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    """Find a robot's pose on a known map from a single lidar scan."""
    if is_wanted:
        from isovist import __version__

        typer.echo(f"isovist {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; an expected error prints one line and gives exit code 2."""
    has_words = len(sys.argv) > 1  # otherwise typer prints its help
    gc.set_threshold(50_000)  # imports make no garbage: looking for it took a twentieth of a start
    # Our matrices are small: threads of the linear algebra would only spin beside ours.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("isovist: %(message)s"))
    logging.getLogger("isovist").addHandler(handler)
    logging.getLogger("isovist").setLevel(logging.INFO)
    if any("\0" in word for word in sys.argv):  # of no shell; a program that calls this can
        _refuse("A word of the command line holds a zero byte.")
    try:
        words = todays_words(sys.argv[1:])
        if words != sys.argv[1:]:
            sys.stderr.write(f"isovist: this command is `isovist {shlex.join(words)}` now.\n")
        code = app(words, prog_name="isovist", standalone_mode=not has_words)
        if code == INTERRUPTED:  # typer has caught it
            raise KeyboardInterrupt
    except IsovistError as error:
        _refuse(str(error))
    except OSError as error:
        _refuse(_system_text(error))
    except UsageError as error:
        _refuse(_usage_text(error))
    except MemoryError as error:
        _refuse(f"out of memory. {error or 'Use a smaller map'}.")
    except KeyboardInterrupt:
        sys.stderr.write("isovist: interrupted; nothing was written.\n")
        raise SystemExit(INTERRUPTED) from None
    raise SystemExit(code)


def _system_text(error: OSError) -> str:
    """Return the error text of the operating system, with the file it is about."""
    if error.strerror is None:
        return str(error)
    file = "" if error.filename is None else f"{str(error.filename)[:200]}: "
    return f"{file}{error.strerror}."


def _usage_text(error: Any) -> str:
    """Return the error text for a wrong command line, with the help command to read."""
    command = error.ctx.command_path if error.ctx else "isovist"
    parameter = getattr(error, "param", None)
    if getattr(parameter, "param_type_name", "") == "argument" and not error.message:
        return f"Missing argument. {error.ctx.get_usage()}."
    text = error.format_message().rstrip(".")
    return f"{text}{'' if text.endswith('?') else '.'} See `{command} --help`."


def _refuse(text: str) -> NoReturn:
    sys.stderr.write(f"isovist: {one_line(text)}\n")
    raise SystemExit(2) from None
