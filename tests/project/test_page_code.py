"""The code of every page runs, and prints what the page shows."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
import typer.main
from tests.support.page_world import names, write_files
from tests.support.paths import ROOT
from typer.testing import CliRunner

from isovist.apps import app

pytestmark = pytest.mark.slow

PAGES = ["README.md", *(str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").rglob("*.md")))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.M | re.S)
"""Kind and content of a block, and of a block of text straight below it: what it prints."""
RUN = ("build", "info", "locate", "track")
"""Verbs that are run; the lines of others are read by the program, and have tests of their own."""
ELSEWHERE = ("docs/how-to/floors.md", "docs/how-to/prove.md", "README.md")
"""Pages whose commands are run by tests of their own, or are too long."""


def blocks(page, *kinds):
    found = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    return [(text, printed) for kind, text, printed in found if kind in kinds]


def commands(page):
    """The lines that call the program, without comments and what they are piped into."""
    for text, _ in blocks(page, "sh", "console"):
        for line in text.splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words and words[0] == "isovist":
                yield words[1 : words.index("|")] if "|" in words else words[1:]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Files and names of the pages."""
    folder = tmp_path_factory.mktemp("pages")
    write_files(folder)
    return folder, names()


@pytest.fixture
def folder(world, tmp_path, monkeypatch):
    shutil.copytree(world[0], tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
def test_the_python_of_a_page_runs(page, world, capsys):
    given = dict(world[1])
    for code, printed in blocks(page, "python"):
        capsys.readouterr()
        exec(compile(code, page, "exec"), given)
        if printed:
            assert capsys.readouterr().out == printed


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", [page for page in PAGES if list(commands(page))])
def test_the_commands_of_a_page_are_understood(page):
    for words in commands(page):
        program = typer.main.get_command(app)
        whole = program.make_context("isovist", list(words), resilient_parsing=True)
        program.commands[words[0]].make_context(words[0], list(words[1:]), parent=whole)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in ELSEWHERE and list(commands(page))]
)
def test_the_commands_of_a_page_run(page):
    for words in commands(page):
        known = all(Path(w).exists() for w in words[1:] if re.search(r"\.(yaml|mcap|atlas)$", w))
        if words[0] in RUN and (known or words[0] == "build"):
            made = CliRunner().invoke(app, words)
            assert made.exit_code in (0, 1), (words, made.output, made.exception)


def test_the_demonstration_prints_what_the_first_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ((shown, _),) = blocks("README.md", "console")
    command, *lines = shown.splitlines()
    printed = CliRunner().invoke(app, shlex.split(command)[2:]).output.splitlines()
    assert len(lines) == len(printed)
    for line, told in zip(lines, printed, strict=True):
        assert line == told or line.startswith("  time in ms")
