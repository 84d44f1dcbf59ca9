"""The studio while a robot is dragged, and with several maps that were dropped together."""

import json
import math
from dataclasses import replace

import httpx
import pytest
from tests.support.sites import PLANE, SITES, SPACE, gap
from tests.support.studio_client import scan_file, send, untimed
from tests.support.studio_door import running

import isovist as iv
from isovist.apps import Ask, Shelf, Site
from isovist.localization.locate import SIGHT, preview
from isovist.report import answer_json
from isovist.studio import verbs


@pytest.fixture(scope="module")
def door():
    with running() as address, httpx.Client(base_url=address, timeout=120.0) as client:
        yield client


def library(tmp_path, **atlases):
    """The files of atlases as a browser sends a folder that holds them."""
    files = {}
    for name, atlas in atlases.items():
        iv.write_atlas(atlas, tmp_path / name)
        files |= {f"site/{name}/{p.name}": p.read_bytes() for p in (tmp_path / name).iterdir()}
    return files


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_at_first_sight_the_best_place_is_that_of_the_answer(site):
    for place in site.places:
        scan = site.look(place)
        first, whole = preview(site.atlas, scan), iv.locate(site.atlas, scan)
        assert gap(first.best.pose, whole.best.pose)[0] < 0.05
        assert first.frame == whole.frame
        assert set(first.timing_ms) == set(whole.timing_ms)
    scan = site.look(site.lonely, world=site.twins, seed=6)
    assert preview(site.twin_atlas, scan).verdict is iv.Verdict.AMBIGUOUS
    far = site.look(site.places[0]).scaled(1000.0)
    assert preview(site.atlas, far).verdict is iv.Verdict.LOST


def test_what_would_be_looked_at_closer_is_not_called_unique_at_first_sight():
    scan = PLANE.look(PLANE.places[0])
    assert preview(PLANE.atlas, scan).verdict is iv.Verdict.UNIQUE
    never = replace(iv.LocalizationSettings(), lead=1e9)
    told = preview(PLANE.atlas, scan, settings=never)
    assert (told.verdict, told.advice) == (iv.Verdict.AMBIGUOUS, SIGHT)


@pytest.mark.slow
def test_a_robot_that_is_dragged_is_looked_at_once(monkeypatch):
    shelf = Shelf()
    shelf.sites.put("plane", Site("plane", PLANE.atlas, PLANE.world))
    pose = PLANE.places[0]
    about = {"site": "plane", "robot": {"x": pose.x, "y": pose.y, "yaw": pose.yaw}}

    def never(*_arguments, **_options):
        raise AssertionError

    still = verbs.locate_scan(shelf, Ask(about))
    for name in ("locate", "hints", "contrast", "search_scene"):
        monkeypatch.setattr(verbs, name, never)
    moving = verbs.locate_scan(shelf, Ask(about | {"live": True, "search": True}))
    assert (moving["live"], still["live"]) == (True, False)
    assert moving["answer"]["verdict"] == still["answer"]["verdict"] == "unique"
    for key in ("x", "y", "yaw"):
        one, other = (told["answer"]["estimates"][0][key] for told in (moving, still))
        assert one == pytest.approx(other, abs=0.02)


@pytest.mark.slow
def test_a_dropped_library_is_asked_as_one_and_says_which_map(door, tmp_path):
    files = library(tmp_path, **{"hall.atlas": PLANE.twin_atlas, "house.atlas": PLANE.atlas})
    kept = send(door, files)["done"]
    assert (kept["kind"], kept["name"], len(kept["sites"])) == ("library", "2 maps", 2)
    sites = {site["key"]: site for site in door.get("/things").json()["sites"]}
    assert [sites[key]["name"] for key in kept["sites"]] == ["hall", "house"]
    assert {sites[key]["library"] for key in kept["sites"]} == {kept["key"]}
    assert sites["plane"]["library"] == ""
    scan = send(door, scan_file(PLANE.look(PLANE.places[0]), tmp_path))["done"]["key"]
    about = {"site": kept["sites"][0], "library": kept["key"], "scan": scan}
    told = door.post("/locate", json=about).json()
    maps = {"hall": PLANE.twin_atlas, "house": PLANE.atlas}
    seen = iv.read_scan(tmp_path / "scan.json")
    expected = answer_json(iv.locate(maps, seen, certificate=True))
    assert untimed(told["answer"]) == untimed(json.loads(json.dumps(expected)))
    assert told["answer"]["map"] == "house"
    assert told["site"] == kept["sites"][1]
    best = told["answer"]["estimates"][0]
    assert math.hypot(best["x"] - PLANE.places[0].x, best["y"] - PLANE.places[0].y) < 0.1
    place = told["scene"]["places"][0]
    assert place["fits"].count("1") > 0.8 * len(place["fits"])
    alone = door.post("/locate", json=about | {"library": "", "site": kept["sites"][1]}).json()
    assert alone["scene"]["places"][0]["fits"] == place["fits"]
    again = send(door, files)["done"]
    assert again == kept


@pytest.mark.slow
def test_a_library_that_is_none_is_one_sentence(door, tmp_path):
    mixed = library(tmp_path, **{"a.atlas": PLANE.atlas, "b.atlas": SPACE.atlas})
    assert send(door, mixed)["error"] == (
        "Maps must all be of the plane or all in space: 'a' is of the plane, and 'b' is in space."
    )
    twice = library(tmp_path, **{"c.atlas": PLANE.atlas, "c": PLANE.atlas})
    assert send(door, twice)["error"] == "Two atlases are called 'c'. Rename one."
    answer = door.post(
        "/locate", json={"site": "plane", "library": "gone", "robot": {"x": 1, "y": 1}}
    )
    assert answer.json()["error"] == "The library is not kept any more. Drop its file again."
