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
