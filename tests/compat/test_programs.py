"""Programs of an earlier version: the examples, and the Python of the pages."""

import importlib.util
import shutil
import sys

import pytest
from tests.compat.shared import FILES, program_of, run_example, run_page, stored, works_or_says
from tests.support.serve_door import serving

pytestmark = pytest.mark.slow
FOUND = stored("programs")


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    shutil.copytree(FILES, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", [name for name in FOUND if not name.endswith(".md")])
def test_an_example_runs_and_prints_the_same_numbers(name):
    with works_or_says(name):
        for was, now in zip(FOUND[name], run_example(name), strict=True):
            if len(was) != 5 or was[-1] > 0.01:  # places that the scan excludes may be others
                assert now == pytest.approx(was, rel=1e-3, abs=2e-3)


@pytest.mark.parametrize("name", [name for name in FOUND if name.endswith(".md")])
def test_the_code_of_a_page_runs_and_finds_the_same(name):
    with works_or_says(name):
        for was, now in zip(FOUND[name], run_page(name), strict=True):
            assert now.keys() == was.keys()
            for key, values in was.items():
                words = sum(isinstance(value, str) for value in values)
                assert now[key][:words] == values[:words]
                if "ambiguous" not in values:  # the best of several may be another
                    assert now[key][words:] == pytest.approx(values[words:], rel=1e-6, abs=1e-6)


def test_the_example_of_a_client_asks_todays_server(tmp_path, monkeypatch, capsys):
    with works_or_says("ask_server"), serving(tmp_path / "site") as (_, client):
        monkeypatch.setattr(sys, "argv", ["ask_server.py", str(client.base_url), "scan.json"])
        names = {"__name__": "ask_server"}
        exec(program_of("ask_server"), names)
        names["main"]()
        assert capsys.readouterr().out.startswith("unique on ground: x 2.")


def test_the_example_with_torch_can_be_loaded_and_runs_where_there_is_torch():
    with works_or_says("fit_a_wall"):
        names = {"__name__": "fit_a_wall"}
        exec(program_of("fit_a_wall"), names)
        if importlib.util.find_spec("torch"):
            assert names["main"]() < 0.2
