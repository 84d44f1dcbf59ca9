"""What is public is written down: names, verbs and options, as the program has them."""

import runpy
import tomllib

import pytest
import yaml
from tests.support.paths import ROOT

import isovist

SCRIPT = runpy.run_path(str(ROOT / "docs/scripts/reference.py"))


@pytest.mark.parametrize("name", SCRIPT["FILES"])
def test_the_lists_of_what_is_public_are_those_of_the_program(name):
    stored = (ROOT / "docs/reference" / name).read_text(encoding="utf-8")
    assert stored == SCRIPT["FILES"][name](), "`make reference` writes them; see docs/versions.md"


def test_every_setting_on_the_page_has_a_meaning():
    assert "` |  |" not in SCRIPT["settings_page"]()


def test_the_version_is_the_same_wherever_it_is_told():
    number = isovist.__version__.removesuffix(".dev0")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == number
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert changes.index("## [Unreleased]\n") < changes.index(f"## [{number}]\n")
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert told["project"]["license"] == cited["license"]
    assert f"<version>{number}<" in (ROOT / "ros2/isovist_ros/package.xml").read_text()


def test_each_hook_of_a_commit_is_a_line_of_make_lint():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    lint = (ROOT / "Makefile").read_text()
    for hook in hooks:
        program = hook["entry"].split()[0].removeprefix(".venv/bin/")
        assert f"$(BIN)/{program}" in lint
