"""The code of every page and docstring runs, and prints what is shown there."""

import ast
import doctest
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.support.command_line import PROGRAM, run
from tests.support.page_world import names, without_sentences, write_files
from tests.support.paths import ROOT

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
            assert without_sentences(capsys.readouterr().out) == without_sentences(printed)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", [page for page in PAGES if list(commands(page))])
def test_the_commands_of_a_page_are_understood(page):
    for words in commands(page):
        whole = PROGRAM.make_context("isovist", list(words), resilient_parsing=True)
        PROGRAM.commands[words[0]].make_context(words[0], list(words[1:]), parent=whole)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in ELSEWHERE and list(commands(page))]
)
def test_the_commands_of_a_page_run(page):
    for words in commands(page):
        given = words[1:2] if words[0] == "build" else words[1:]
        known = all(Path(w).exists() for w in given if re.search(r"\.(yaml|mcap|atlas|bt)$", w))
        other = {"--start", "/velodyne_points"} & {*words}  # the drive here is short, and flat
        if words[0] in RUN and known and not other:
            made = run(*words)
            assert made.code in (0, 1), (words, made)


def test_the_demonstration_prints_what_the_first_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ((shown, _),) = blocks("README.md", "console")
    command, *lines = without_sentences(shown).splitlines()
    printed = without_sentences(run(*shlex.split(command)[2:]).out).splitlines()
    assert len(lines) == len(printed)
    for line, told in zip(lines, printed, strict=True):
        assert line == told or line.startswith("  time in ms")


def examples():
    """Yield each docstring of the package that has an example."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if ">>> " in text else ():
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                doc = ast.get_docstring(node) or ""
                if ">>> " in doc:
                    yield pytest.param(doc, id=f"{path.stem}-{node.name}")


@pytest.mark.parametrize("doc", [*examples()])
def test_the_example_of_a_docstring_prints_what_it_shows(doc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(doc, {}, "example", None, 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example).failed == 0
