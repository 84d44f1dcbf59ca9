"""The command says which beams tell the two best places apart."""

import json

import pytest
from tests.support.sites import PLANE

import isovist as iv


@pytest.mark.slow
def test_the_command_says_why(tmp_path, typed):
    iv.write_scan(PLANE.look(PLANE.lonely, world=PLANE.twins), tmp_path / "scan.json")
    iv.write_map(PLANE.twins, tmp_path / "twins.yaml")
    words = ["locate", tmp_path / "twins.yaml", tmp_path / "scan.json", "--why"]
    code, printed, _ = typed(*words)
    assert code == 1
    why = printed.splitlines()[-1].removeprefix("  why: ")
    picture = tmp_path / "why.png"
    told = json.loads(typed(*words, "--json", "--figure", picture)[1])["why"]
    assert told["text"] == why
    assert told["places"] == [1, 2]
    assert told["telling"] == told["for_first"] + told["for_second"] == sum(told["by_sector"])
    assert picture.read_bytes().startswith(b"\x89PNG")
