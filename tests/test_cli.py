import subprocess
import sys

import pytest
from typer.testing import CliRunner

import isovist
from isovist.cli.app import app


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "isovist", *arguments], capture_output=True, text=True, check=False
    )


def test_the_version_is_that_of_the_package():
    result = CliRunner().invoke(app, ["--version"])
    assert result.output == f"isovist {isovist.__version__}\n"


def test_a_known_error_is_one_line_and_exit_code_2(tmp_path):
    result = run("paper", "--figure", str(tmp_path / "picture.doc"))
    assert result.returncode == 2
    path = tmp_path / "picture.doc"
    assert result.stderr == f"isovist: {path}: a picture must end in .png, .pdf or .svg.\n"


@pytest.mark.parametrize("verb", ["demo", "paper"])
def test_every_verb_explains_itself(verb):
    result = CliRunner().invoke(app, [verb, "--help"])
    assert result.exit_code == 0
    assert "--figure" in result.output


def test_the_demonstration_needs_no_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setattr("isovist.viz.figures.find_spec", lambda _: None)
    picture = tmp_path / "demo.png"
    result = CliRunner().invoke(app, ["demo", "--figure", str(picture)])
    assert result.exit_code == 0, result.exception
    assert result.stdout.endswith("  picture: needs Matplotlib, pip install 'isovist[figures]'\n")
    assert not picture.exists()


def test_the_demonstration_refuses_an_unknown_format_before_the_work(monkeypatch):
    def never(_):
        raise AssertionError

    monkeypatch.setattr("isovist.bench.demonstration.demonstrate", never)
    result = CliRunner().invoke(app, ["demo", "--figure", "demo.doc"])
    assert str(result.exception) == "demo.doc: a picture must end in .png, .pdf or .svg."
