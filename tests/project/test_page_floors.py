"""The page on floors, followed to the letter: what it shows is what is printed."""

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest
from tests.support.paths import ROOT
from typer.testing import CliRunner

from isovist.apps import app

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/how-to/floors.md").read_text()


def blocks(kind):
    found = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.M | re.S)
    return [text for name, text in found if name == kind]


def test_the_page_on_floors_shows_what_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    printed = ""
    for line in "".join(blocks("sh")).splitlines():
        verb, *words = shlex.split(line)
        if verb == "python":
            monkeypatch.setattr(sys, "argv", words)
            runpy.run_path(str(ROOT / words[0]), run_name="__main__")
            printed += capsys.readouterr().out
        elif verb == "mkdir":
            Path(words[0]).mkdir()
        else:
            assert verb == "isovist"
            printed += CliRunner().invoke(app, words).output
    shown = "".join(blocks("")).splitlines()
    assert len(shown) == 9  # lines of answers, of rivals and of the ride
    for line in shown:
        assert line in printed.splitlines()
    assert Path("alike.png").stat().st_size > 10_000
