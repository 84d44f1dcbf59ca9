"""The command line: one verb per file, known errors in one line, exit code 2."""

import gc
import logging
import os
import sys
from typing import Any, NoReturn

import typer

from isovist.apps.cli.bench.scans import bench
from isovist.apps.cli.commands.build import build
from isovist.apps.cli.commands.check import check
from isovist.apps.cli.commands.convert import convert
from isovist.apps.cli.commands.demo import demo
from isovist.apps.cli.commands.explore import explore
from isovist.apps.cli.commands.info import info
from isovist.apps.cli.commands.locate import locate
from isovist.apps.cli.commands.map import map_log
from isovist.apps.cli.commands.sample import sample
from isovist.apps.cli.commands.survey import survey
from isovist.apps.cli.commands.track import track
from isovist.apps.cli.paper.fit_basis import optimise
from isovist.apps.cli.paper.metric import metric
from isovist.apps.cli.paper.steer import steer
from isovist.apps.cli.paper.tables import paper
from isovist.apps.cli.paper.verify import verify
from isovist.apps.cli.services.ros import ros
from isovist.apps.cli.services.serve import serve
from isovist.apps.cli.services.studio import studio
from isovist.apps.cli.services.warm_up import warm_up
from isovist.apps.cli.support.command import Verb
from isovist.apps.cli.support.examples import example_of
from isovist.errors import IsovistError, one_line

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises on a wrong command line, whether it brings its own click or not."""

INTERRUPTED = 130
"""Exit code of a program that is ended by Ctrl-C."""

NEGATIVE = {"ignore_unknown_options": True}
"""For verbs with numbers as arguments, which may begin with a minus."""

app = typer.Typer(
    name="isovist",
    help="Where am I on this map?  Localization from one range scan, with an honest verdict.",
    epilog="Begin with `isovist demo`; `isovist VERB -h` explains a verb with an example.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
FIND, SITE, DOORS = "Find a robot", "Know a site", "In the browser and on robots"
PAPER, MEASURE = "The paper", "Measure"
VERBS = {
    FIND: (demo, sample, build, info, locate, track),
    SITE: (survey, explore, convert),
    DOORS: (studio, ros, serve),
    PAPER: (paper, verify, optimise, metric),
}
for panel, verbs in VERBS.items():
    for verb in verbs:
        app.command(epilog=example_of(verb.__name__), cls=Verb, rich_help_panel=panel)(verb)
for panel, signed in ((FIND, check), (PAPER, steer)):
    app.command(
        epilog=example_of(signed.__name__),
        cls=Verb,
        context_settings=NEGATIVE,
        rich_help_panel=panel,
    )(signed)
app.command(name="map", epilog=example_of("map"), cls=Verb, rich_help_panel=SITE)(map_log)
app.command(name="warm-up", epilog=example_of("warm-up"), cls=Verb, rich_help_panel=MEASURE)(
    warm_up
)
app.add_typer(bench, name="bench", rich_help_panel=MEASURE)


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    """Where am I on this map?"""
    if show:
        from isovist import __version__

        typer.echo(f"isovist {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; a known error is one line and exit code 2."""
    bare = len(sys.argv) < 2  # then typer prints its help
    gc.set_threshold(50_000)  # imports make no garbage: looking for it took a twentieth of a start
    # Our matrices are small: threads of the linear algebra would only spin beside ours.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    notes = logging.StreamHandler()
    notes.setFormatter(logging.Formatter("isovist: %(message)s"))
    logging.getLogger("isovist").addHandler(notes)
    logging.getLogger("isovist").setLevel(logging.INFO)
    if any("\0" in word for word in sys.argv):  # of no shell; a program that calls this can
        _refuse("A word of the command line holds a zero byte.")
    try:
        code = app(prog_name="isovist", standalone_mode=bare)
        if code == INTERRUPTED:  # typer has caught it
            raise KeyboardInterrupt
    except IsovistError as error:
        _refuse(str(error))
    except OSError as error:
        _refuse(_of_system(error))
    except UsageError as error:
        _refuse(_usage(error))
    except MemoryError as error:
        _refuse(f"out of memory. {error or 'Take a smaller map'}.")
    except KeyboardInterrupt:
        sys.stderr.write("isovist: interrupted; nothing was written.\n")
        raise SystemExit(INTERRUPTED) from None
    raise SystemExit(code)


def _of_system(error: OSError) -> str:
    """What the operating system does not allow, and with which file."""
    if error.strerror is None:
        return str(error)
    named = "" if error.filename is None else f"{str(error.filename)[:200]}: "
    return f"{named}{error.strerror}."


def _usage(error: Any) -> str:
    """What is wrong with a command line, and where to read how it goes."""
    verb = error.ctx.command_path if error.ctx else "isovist"
    text = error.format_message().rstrip(".")
    return f"{text}{'' if text.endswith('?') else '.'} See `{verb} --help`."


def _refuse(text: str) -> NoReturn:
    sys.stderr.write(f"isovist: {one_line(text)}\n")
    raise SystemExit(2) from None
