"""The server of the studio: what the library says, and nothing for strangers."""

import io
import json
import math
import re
from contextlib import closing
from http.client import HTTPConnection

import httpx
import numpy as np
import pytest
import yaml
from benchmarks.fuzz import requests
from PIL import Image
from tests.support.reference_survey import nook
from tests.support.reports import said, untimed
from tests.support.serve_door import refusal, refused_at_start
from tests.support.sites import PLANE, SITES, SPACE, gap
from tests.support.studio_client import inside, of_the_paper, replayed, scan_file, send, told, wrong
from tests.support.studio_door import ask_within, running, short_drive

import isovist as iv

pytestmark = pytest.mark.slow
TWO = {"hall.atlas": PLANE.twin_atlas, "一楼.atlas": PLANE.atlas}
POSE = PLANE.places[0]
ROBOT = {"x": POSE.x, "y": POSE.y, "yaw": POSE.yaw}


@pytest.fixture(scope="module")
def door():
    with running() as address, httpx.Client(base_url=address, timeout=120.0) as client:
        yield client


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A ROS map as it is dropped: names and bytes."""
    folder = tmp_path_factory.mktemp("room")
    iv.write_map(PLANE.world, folder / "room.yaml")
    return inside(folder)


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_the_studio_says_what_the_library_says(door, site, tmp_path):
    name = "scan.json" if site is PLANE else "scan.npz"
    for seen in (site.look(site.places[0]), site.elsewhere()):
        kept = send(door, scan_file(seen, tmp_path, name))["done"]
        assert (kept["kind"], kept["name"]) == ("scan", name)
        about = {"site": site.name, "scan": kept["key"]}
        answer = door.post("/locate", json=about).json()
        scan = iv.read_scan(tmp_path / name)
        mine = iv.locate(site.atlas, scan)
        assert untimed(answer["answer"]) == said(mine, *iv.hints(site.atlas, scan, mine))
        scene = answer["scene"]
        for place in scene["places"]:
            assert len(place["fits"]) == len(place["refutes"]) == len(scene["ends"]) > 0
        if mine.best is not None:
            assert set(scene["places"][0]["refutes"]) == {"0"}  # nothing speaks against the best
        live = door.post("/locate", json={**about, "live": True, "search": True}).json()
        assert (live["live"], answer["live"]) == (True, False)
        assert live["why"] is None
        assert "search" not in live
        assert live["answer"]["hints"] == []
        assert live["answer"]["verdict"] == answer["answer"]["verdict"]


def test_a_dropped_map_is_that_of_its_files(door, room):
    kept = send(door, room)["done"]
    assert (kept["kind"], kept["name"]) == ("map", "room.yaml")
    site = door.get(f"/sites/{kept['key']}").json()
    assert (site["rows"], site["columns"]) == PLANE.world.cells.shape
    image = Image.open(io.BytesIO(door.get(f"/sites/{kept['key']}/plan.png").content))
    assert np.array_equal(np.asarray(image)[::-1], PLANE.world.cells)
    assert door.get(f"/sites/{kept['key']}/points").content == b""
    assert door.get(f"/sites/{kept['key']}/walls").status_code == 404
    assert send(door, room)["done"]["key"] == kept["key"]
    # The image is found wherever it lay.
    fields = yaml.safe_load(room["room.yaml"]) | {"image": "/home/somebody/maps/room.pgm"}
    moved = {"a/room.yaml": yaml.safe_dump(fields).encode(), "b/room.pgm": room["room.pgm"]}
    assert send(door, moved)["done"]["kind"] == "map"


def test_an_atlas_and_a_plan_can_be_dropped_and_a_cloud_is_what_it_is_called(door, tmp_path):
    iv.write_atlas(PLANE.atlas, tmp_path / "room.atlas")
    for prefix, name in (("room.atlas/", "room.atlas"), ("", "atlas")):
        kept = send(door, inside(tmp_path / "room.atlas", prefix))["done"]
        assert (kept["kind"], kept["name"]) == ("map", name)
        assert door.get(f"/sites/{kept['key']}").json()["nodes"] == len(PLANE.atlas.nodes)
    iv.write_map(iv.SegmentMap.room(6, 4), tmp_path / "plan.geojson")
    plan = {"plan.json": (tmp_path / "plan.geojson").read_bytes()}
    assert send(door, plan)["done"]["kind"] == "map"
    assert send(door, plan, "scan")["code"] == "invalid_file"


def library(tmp_path, atlases):
    """The files of atlases as a browser sends a folder that holds them."""
    for name, atlas in atlases.items():
        iv.write_atlas(atlas, tmp_path / name)
    files = [inside(tmp_path / name, f"site/{name}/") for name in atlases]
    return {name: data for some in files for name, data in some.items()}


def test_a_dropped_library_is_asked_as_one_and_says_which_map(door, tmp_path):
    files = library(tmp_path, TWO)
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


def test_a_virtual_robot_is_found_where_it_stands(door):
    about = {"site": "plane", "robot": ROBOT}
    first, again = (door.post("/locate", json=about).json() for _ in range(2))
    assert untimed(first["answer"]) == untimed(again["answer"])  # the same noise
    lidar = {"field_of_view": 300, "beams": 300, "range_max": 20, "clutter": 0.1}
    house = SPACE.places[0]
    for more, (x, y) in (
        ({}, POSE.position),
        ({"live": True, "seed": 3}, POSE.position),
        ({"mount": {"x": -0.25, "y": 0.1, "yaw": 3.1}, "lidar": lidar}, POSE.position),
        ({"site": "space", "robot": {"x": house.x, "y": house.y}}, house.position[:2]),
    ):
        answer = door.post("/locate", json={**about, **more}).json()
        best = answer["answer"]["estimates"][0]
        assert math.hypot(best["x"] - x, best["y"] - y) < 0.1
        assert answer["off"]


def test_a_search_and_a_proof_are_told(door):
    about = {"site": "plane", "robot": ROBOT, "search": True, "prove": True}
    answer = door.post("/locate", json=about).json()
    assert answer["answer"]["proof"]["complete"]
    assert answer["proof"]
    worth, places = (answer["search"][key] for key in ("worth", "places"))
    assert worth == sorted(worth)
    assert (worth[0], worth[-1]) == (0.0, 1.0)
    assert len(worth) == len(places) == len(PLANE.atlas.nodes)
    assert math.dist(places[-1], POSE.position) < 0.5


def test_updates_of_a_drive_are_those_of_a_tracker(door):
    lines = told(door.post("/track", json={"site": "office", "log": "drive", "every": 5}))
    log = short_drive().take(np.arange(0, 100, 5))
    assert [untimed(line["update"]) for line in lines[1:-1]] == replayed(log)
    assert lines[0] == {"length": 20, "truth": True, "every": 5}
    assert list(lines[-1]) == ["done"]
    x, y = map(float, log.truth[12, :2])
    jump = {"site": "office", "log": "drive", "every": 5, "carried": {"at": 3, "x": x, "y": y}}
    carried = told(door.post("/track", json=jump))
    assert carried[0]["length"] == 3 + 20 - 12
    assert [line["truth"] for line in carried[4:-1]] == [line["truth"] for line in lines[13:-1]]
    late = {**jump, "carried": {"at": 20, "x": x, "y": y}}
    assert wrong(told(door.post("/track", json=late))[-1]) == ("invalid_value", None)


def test_a_survey_tells_progress_and_three_layers(door, tmp_path):
    iv.write_map(nook(), tmp_path / "room.yaml")
    site = send(door, inside(tmp_path))["done"]["key"]
    about = {"site": site, "lidars": [{"range_max": 8}, {"range_max": 3}], "count": 20}
    *before, last = told(door.post("/survey", json=about))
    shares = [line["progress"] for line in before]
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] < 0.5 < shares[-1] <= 1.0
    done = last["done"]
    first = done["layers"][0]
    assert set(first["columns"]) == {"unique", "sigma", "alike"}
    assert {len(column) for column in first["columns"].values()} == {len(first["places"])}
    assert done["report"]["surveys"][0]["nodes"] == len(first["places"])
    assert done["report"]["text"] in done["text"]
    assert {len(row) for row in done["rows"]} == {3}
    none = told(door.post("/survey", json={"site": site}))[-1]
    assert wrong(none)[0] == "invalid_value"


def test_a_lost_robot_is_told_step_by_step(door):
    done = told(door.post("/explore", json={"site": "hall", "seed": 1}))[-1]["done"]
    assert done["run"]["unique"]
    assert len(done["scene"]) == len(done["run"]["steps"])
    ways = [step for step in done["scene"] if step["ahead"]]
    assert ways
    assert ways[0]["because"] in done["text"]
    flat = told(door.post("/explore", json={"site": "space"}))[-1]
    assert wrong(flat)[0] == "wrong_dimension"


def test_the_paper_room_has_the_values_of_the_paper(door):
    answer = door.post("/theory", json={"x": 1.3, "y": 1.7, "other_x": 4.0, "other_y": 3.2}).json()
    F, J = of_the_paper([1.3, 1.7])
    np.testing.assert_allclose(answer["F"], F, atol=1e-6)
    np.testing.assert_allclose(answer["J"], J, atol=1e-5)
    np.testing.assert_allclose(answer["singular_values"], np.linalg.svd(J, compute_uv=False))
    assert any(np.allclose(shadow[:2], (3.0, 3.0)) for shadow in answer["shadows"])
    assert answer["other"]["distance"] > 0.0


def test_a_view_becomes_one_page_that_asks_for_nothing(door):
    view = {"title": "</script><b>", "marks": [], "panel": "", "site": {"bounds": [[0, 0], [1, 1]]}}
    page = door.post("/share", json=view).text
    assert "</script><b>" not in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert "/static/" not in page.split("data:text/javascript")[0]
    half = door.post("/share", content=b'{"title": "a \\ud800 b", "marks": []}')
    assert "<title>a ? b</title>" in half.text


PLACED = {"site": "plane", "robot": ROBOT}


@pytest.mark.parametrize(
    ("address", "about", "status", "code", "field"),
    [
        ("/locate", {"site": "nowhere"}, 404, "not_found", None),
        ("/locate", {"site": "plane", "scan": "gone"}, 404, "not_found", None),
        ("/locate", {**PLACED, "library": "gone"}, 404, "not_found", None),
        ("/locate", {"site": "plane", "robot": {"x": 1}}, 400, "invalid_value", "y"),
        ("/locate", {"site": "plane", "robot": {"x": 1, "y": 1e7}}, 400, "invalid_value", "y"),
        ("/locate", {"site": "plane", "robot": {"x": -90, "y": 1}}, 400, "not_free", "pose"),
        ("/locate", {**PLACED, "lidar": {"beams": 2.5}}, 400, "invalid_value", "beams"),
        ("/locate", {**PLACED, "lidar": {"noise": "much"}}, 400, "invalid_value", "noise"),
        ("/locate", {"site": 1}, 400, "invalid_value", "site"),
        ("/locate", [1], 400, "unknown_format", None),
        ("/locate", b"{", 400, "unknown_format", None),
        ("/theory", {"x": 3.0, "y": 2.0}, 400, "not_free", None),
        ("/theory", {"channels": 2}, 400, "invalid_value", "channels"),
        ("/theory", {"profile": "none"}, 400, "invalid_value", "profile"),
        ("/share", {"title": "a"}, 400, "missing", None),
    ],
)
def test_what_cannot_be_answered_is_refused(door, address, about, status, code, field):
    how = {"content": about} if isinstance(about, bytes) else {"json": about}
    assert refusal(door.post(address, **how)) == (status, code, field)


@pytest.mark.parametrize(
    ("files", "code", "field"),
    [
        ({"map.yaml": b"x: 1"}, "invalid_file", "image"),
        ({"map.pgm": b"P5"}, "invalid_file", None),
        ({"a.csv": b"0,1", "b.csv": b"0,1"}, "invalid_file", None),
        ({"notes.txt": b"hello"}, "unknown_format", None),
        ({"scan.json": b"nonsense"}, "unknown_format", None),
        ({"..": b"x"}, "invalid_file", None),
        ({"\u00e9.csv": b"0,1", "e\u0301.csv": b"0,1"}, "file_exists", None),
    ],
)
def test_a_bad_file_is_refused_with_its_code(door, files, code, field):
    assert wrong(send(door, files)) == (code, field)


def test_a_form_of_too_many_files_is_refused(door):
    many = [("file", (f"{k}.csv", b"")) for k in range(501)]
    assert refusal(door.post("/read", files=many)) == (400, "unknown_format", None)
    assert wrong(told(door.post("/read", data={"as": "map"}))[-1]) == ("invalid_value", None)


def test_a_map_cannot_name_another_file_of_the_machine_as_its_image(door, room, tmp_path):
    iv.write_map(PLANE.world, tmp_path / "secret.yaml")
    fields = yaml.safe_load(room["room.yaml"]) | {"image": str(tmp_path / "secret.pgm")}
    files = {"room.yaml": yaml.safe_dump(fields).encode()}
    assert wrong(send(door, files)) == ("invalid_file", None)


@pytest.mark.parametrize("path", requests.SOUND)
def test_sound_requests_are_answered(path):
    asked = requests.door().ask("POST", path, json=requests.SOUND[path])
    assert asked.status_code == 200
    requests.check(asked)


@pytest.mark.parametrize("kind", requests.ASKED)
def test_broken_requests_are_answered_or_refused_in_one_clear_line(kind):
    """A sample of those of `python -m benchmarks.fuzz`."""
    for case in range(60):
        requests.ASKED[kind](np.random.default_rng([5, case]))


TRICKS = (
    "/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/../../etc/passwd",
    "/sites/../things/x", "/sites/plane/../../app.py", "/static/vendor/../../app.py",
)  # fmt: skip


@pytest.mark.parametrize("path", TRICKS)
def test_nothing_of_the_machine_can_be_read_by_name(door, path):
    with closing(HTTPConnection(door.base_url.host, door.base_url.port)) as line:
        line.putrequest("GET", path, skip_host=True)
        line.putheader("Host", f"localhost:{door.base_url.port}")
        line.endheaders()
        answer = line.getresponse()
        assert answer.status == 404
        assert json.loads(answer.read())["code"] == "not_found"


STRANGERS = [
    {"Host": "evil.example"}, {"Host": "192.168.1.7:80"}, {"Host": "localhost.evil.example"},
    {"Host": "["}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://["},
    {"Sec-Fetch-Site": "cross-site"},
]  # fmt: skip


@pytest.mark.parametrize("headers", STRANGERS)
def test_strangers_are_refused(door, headers):
    response = door.post("/locate", json={"site": "plane"}, headers=headers)
    assert refusal(response) == (403, "forbidden", None)


def test_our_own_page_is_let_in_and_may_load_nothing_from_elsewhere(door):
    own = str(door.base_url).rstrip("/")
    assert door.get("/things", headers={"Origin": own}).status_code == 200
    policy = door.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "'sha256-" in policy


@pytest.mark.parametrize(
    ("host", "asked", "status"),
    [
        ("0.0.0.0", "192.168.1.7:8765", 200),
        ("0.0.0.0", "[fe80::1]:80", 200),
        ("0.0.0.0", "evil.example", 403),
        ("robot.local", "robot.local:80", 200),
        ("robot.local", "192.168.1.7", 403),
    ],
)
def test_a_studio_for_the_network_answers_to_its_name_or_to_numbers(host, asked, status):
    with running(host=host) as address:
        assert httpx.get(f"{address}/things", headers={"Host": asked}).status_code == status


def test_a_studio_with_a_token_answers_nobody_without_it():
    with running(token="of-this-start") as address, httpx.Client(base_url=address) as client:
        for path in ("/", "/things", "/things?token=", "/?token=of-this-star"):
            assert refusal(client.get(path)) == (403, "forbidden", None)
        assert client.get("/?token=of-this-start").status_code == 200
        assert client.get("/things").status_code == 200  # the cookie is kept
        other = {"Cookie": "isovist-token=of-another"}
        assert httpx.get(f"{address}/things", headers=other).status_code == 403


@pytest.mark.parametrize(
    ("path", "size", "length"),
    [
        ("/read", 1, 1 << 40),
        ("/read", 1, "1e3"),
        ("/read", (512 << 20) + 1, None),
        ("/locate", (64 << 20) + 1, None),
        ("/survey", (64 << 20) + 1, None),
    ],
)
def test_more_than_the_limit_is_refused_before_it_is_read(path, size, length):
    """Also of a request that does not say how long it is."""
    kind = "multipart/form-data; boundary=x" if path == "/read" else "application/json"
    headers = {"Content-Type": kind}
    if length is not None:
        headers["Content-Length"] = str(length)

    async def pieces():
        yield bytes(size)

    answer = ask_within("POST", path, content=pieces(), headers=headers)
    assert refusal(answer) == (413, "too_large", None)


def test_the_page_and_its_drawings_have_the_same_colours(door):
    marks, style = (door.get(f"/static/{name}").text for name in ("marks.js", "studio.css"))
    drawn = re.findall(r"(?:light|dark): \{(.*?)\}", marks, re.DOTALL)
    shown = re.findall(r"\{([^{}]*--ink:.*?)\}", style, re.DOTALL)
    assert len(drawn) == len(shown) == 2
    for js, css in zip(drawn, shown, strict=True):
        colours = dict(re.findall(r"(\w+): \"(#\w+)\"", js))
        names = dict(re.findall(r"--(\w+): (#\w+)", css))
        same = colours.keys() & names.keys()
        assert {"best", "rival", "plain", "unique", "ambiguous", "lost"} <= same
        assert {name: names[name] for name in same} == {name: colours[name] for name in same}


@pytest.mark.parametrize(
    ("words", "code"), [(["nosuch.yaml"], "not_found"), (["notes.txt"], "unknown_format")]
)
def test_a_map_that_cannot_be_read_is_told_before_anything_is_served(
    words, code, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    assert refused_at_start("studio", *words, "--no-browser")[0] == code
