"""Programs of an earlier version: the examples, and the Python of the pages."""

import importlib.util
import json
import shutil
import sys

import pytest
from tests.compat.shared import FILES, FIXTURES, program_of, run_example, run_page, works_or_says
from tests.support.serve_door import serving

pytestmark = pytest.mark.slow
FOUND = json.loads((FIXTURES / "programs.json").read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(FILES, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", [name for name in FOUND if not name.endswith(".md")])
def test_an_example_runs_and_prints_the_same_numbers(name):
    with works_or_says(name):
        for was, now in zip(FOUND[name], run_example(name), strict=True):
            assert now == pytest.approx(was, rel=1e-3, abs=2e-3)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", [name for name in FOUND if name.endswith(".md")])
def test_the_code_of_a_page_runs_and_finds_the_same(name):
    with works_or_says(name):
        for was, now in zip(FOUND[name], run_page(name), strict=True):
            assert now.keys() == was.keys()
            for key, value in was.items():
                verdict = value[:1] if isinstance(value[0], str) else []
                assert now[key][: len(verdict)] == verdict
                numbers = value[len(verdict) :]
                assert now[key][len(verdict) :] == pytest.approx(numbers, rel=1e-6, abs=1e-6)


def test_the_example_of_a_client_asks_todays_server(folder, monkeypatch, capsys):
    with works_or_says("ask_server"), serving(folder / "site") as (_, client):
        monkeypatch.setattr(sys, "argv", ["ask_server.py", str(client.base_url), "scan.json"])
        names = {"__name__": "ask_server"}
        exec(program_of("ask_server"), names)
        names["main"]()
        assert capsys.readouterr().out.startswith("unique on ground: x 2.")


def test_the_example_with_torch_can_be_loaded_and_run_where_there_is_torch():
    with works_or_says("fit_a_wall"):
        names = {"__name__": "fit_a_wall"}
        exec(program_of("fit_a_wall"), names)
        if importlib.util.find_spec("torch"):
            assert names["main"]() < 0.2
