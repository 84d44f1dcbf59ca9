"""The command line in this process: exit code, what was printed, and why a line was refused."""

import io
import json
import logging
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import typer.main

import isovist as iv
from isovist.apps import app, main

PROGRAM = typer.main.get_command(app)


@dataclass(frozen=True)
class Line:
    """What a command line ended with.

    Attributes:
        code: Exit code.
        out: Standard output.
        err: Standard error.
        error: What it was refused with, if it was.
    """

    code: int
    out: str
    err: str
    error: BaseException | None

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def rows(self):
        """Of one JSON object per line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def pose(self):
        """Of the first estimate; of a robot in the plane where it has no height."""
        return pose_in(self.json["estimates"][0])

    @property
    def reason(self):
        """The code of an error of ours; of others "usage" or "system"."""
        if isinstance(self.error, iv.IsovistError):
            return self.error.code
        return "system" if isinstance(self.error, OSError) else "usage"


def run(*words):
    """Type a command line."""
    notes, before = logging.getLogger("isovist"), sys.argv
    handlers, out, err = notes.handlers[:], io.StringIO(), io.StringIO()
    sys.argv = ["isovist", *map(str, words)]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as end:
        return Line(end.code or 0, out.getvalue(), err.getvalue(), end.__context__)
    finally:
        sys.argv, notes.handlers[:] = before, handlers
    raise AssertionError("The program did not end by itself.")


def one_line(*words):
    """Type a command line that is refused: exit code 2, one line and nothing else."""
    line = run(*words)
    assert line.code == 2, line
    assert line.err.count("\n") == 1, line.err
    assert line.err.startswith("isovist: ")
    assert line.err.endswith((".\n", "?\n")), line.err
    assert line.err[:-1].isprintable()
    return line


def pose_in(row):
    """The pose of an estimate in JSON."""
    names = ("x", "y", "yaw", "z", "roll", "pitch")
    kind = iv.Pose3 if "z" in row else iv.Pose
    return kind(*(row[name] for name in names if name in row))


def verbs(command, path=()):
    """Every verb of a group of commands, by the words that call it."""
    if not hasattr(command, "commands"):
        return {" ".join(path): command}
    rows = {}
    for name, verb in command.commands.items():
        rows |= {} if verb.hidden else verbs(verb, (*path, name))
    return rows


VERBS = verbs(PROGRAM)
