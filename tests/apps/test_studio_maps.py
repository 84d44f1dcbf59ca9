"""The studio with several maps that were dropped together."""

import httpx
import pytest
from tests.support.serve_door import said, untimed
from tests.support.sites import PLANE, SPACE, gap
from tests.support.studio_client import inside, scan_file, send, wrong
from tests.support.studio_door import running

import isovist as iv

pytestmark = pytest.mark.slow
SITE = {"hall.atlas": PLANE.twin_atlas, "一楼.atlas": PLANE.atlas}


@pytest.fixture(scope="module")
def door():
    with running() as address, httpx.Client(base_url=address, timeout=120.0) as client:
        yield client


def library(tmp_path, atlases):
    """The files of atlases as a browser sends a folder that holds them."""
    for name, atlas in atlases.items():
        iv.write_atlas(atlas, tmp_path / name)
    files = [inside(tmp_path / name, f"site/{name}/") for name in atlases]
    return {name: data for some in files for name, data in some.items()}


def test_a_dropped_library_is_asked_as_one_and_says_which_map(door, tmp_path):
    files = library(tmp_path, SITE)
    kept = send(door, files)["done"]
    assert (kept["kind"], len(kept["sites"])) == ("library", 2)
    sites = {site["key"]: site for site in door.get("/things").json()["sites"]}
    assert [sites[key]["name"] for key in kept["sites"]] == ["hall", "一楼"]
    assert {sites[key]["library"] for key in kept["sites"]} == {kept["key"]}
    assert sites["plane"]["library"] == ""
    scan = send(door, scan_file(PLANE.look(PLANE.places[0]), tmp_path))["done"]["key"]
    about = {"site": kept["sites"][0], "library": kept["key"], "scan": scan}
    told = door.post("/locate", json=about).json()
    maps = {"hall": PLANE.twin_atlas, "一楼": PLANE.atlas}
    mine = iv.locate(maps, iv.read_scan(tmp_path / "scan.json"))
    assert untimed(told["answer"]) == said(mine)
    assert (mine.map, told["site"], told["off"]) == ("一楼", kept["sites"][1], "")
    assert gap(mine.best.pose, PLANE.places[0])[0] < 0.1
    place = told["scene"]["places"][0]
    assert place["fits"].count("1") > 0.8 * len(place["fits"])
    alone = door.post("/locate", json=about | {"library": "", "site": kept["sites"][1]}).json()
    assert alone["scene"]["places"][0]["fits"] == place["fits"]
    assert send(door, files)["done"] == kept


@pytest.mark.parametrize(
    ("atlases", "code"),
    [
        ({"a.atlas": PLANE.atlas, "b.atlas": SPACE.atlas}, "wrong_dimension"),
        ({"c.atlas": PLANE.atlas, "c": PLANE.atlas}, "invalid_file"),
    ],
    ids=["unlike", "of one name"],
)
def test_a_library_that_is_none_is_refused(door, tmp_path, atlases, code):
    assert wrong(send(door, library(tmp_path, atlases)))[0] == code
