"""The server of the studio: the numbers of the command line, and nothing for strangers."""

import io
import json
import math
import socket
from contextlib import closing
from functools import lru_cache
from http.client import HTTPConnection

import httpx
import numpy as np
import pytest
import yaml
from PIL import Image
from tests.support.reference_survey import nook
from tests.support.sites import PLANE, SPACE
from tests.support.studio_client import scan_file, send, told, untimed
from tests.support.studio_door import running

import isovist as iv
from isovist import FileError, Pose, write_map
from isovist.apps import Box, GoneError, Named, carried
from isovist.apps import drive as simulated
from isovist.report import answer_json, update_json
from isovist.studio import guard, uploads
from isovist.tracking.replay import replay

drive = lru_cache(simulated)


@pytest.fixture(scope="module")
def door():
    with running() as address, httpx.Client(base_url=address, timeout=120.0) as client:
        yield client


def map_files(world, name="room"):
    """A ROS map as it is dropped: names and bytes."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        write_map(world, Path(folder, f"{name}.yaml"))
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("site", [PLANE, SPACE], ids=["plane", "space"])
def test_a_dropped_scan_is_answered_as_the_command_line_answers_it(door, site, tmp_path):
    name = "scan.json" if site is PLANE else "scan.npz"
    kept = send(door, scan_file(site.look(site.places[0]), tmp_path, name))["done"]
    assert kept["kind"] == "scan"
    answer = door.post("/locate", json={"site": site.name, "scan": kept["key"]}).json()
    scan = iv.read_scan(tmp_path / name)
    expected = answer_json(iv.locate(site.atlas, scan, certificate=True))
    assert untimed(answer["answer"]) == untimed(json.loads(json.dumps(expected)))
    assert answer["answer"]["verdict"] == "unique"
    place = answer["scene"]["places"][0]
    assert len(place["fits"]) == len(place["refutes"]) == len(answer["scene"]["ends"])
    assert set(place["refutes"]) == {"0"}  # nothing speaks against the best place


@pytest.mark.slow
def test_a_dropped_map_is_that_of_its_files(door):
    kept = send(door, map_files(PLANE.world))["done"]
    assert kept["kind"] == "map"
    assert kept["name"] == "room.yaml"
    site = door.get(f"/sites/{kept['key']}").json()
    assert (site["rows"], site["columns"]) == PLANE.world.cells.shape
    image = Image.open(io.BytesIO(door.get(f"/sites/{kept['key']}/plan.png").content))
    assert np.array_equal(np.asarray(image)[::-1], PLANE.world.cells)
    assert send(door, map_files(PLANE.world))["done"]["key"] == kept["key"]


@pytest.mark.slow
def test_an_atlas_and_a_plan_can_be_dropped(door, tmp_path):
    iv.write_atlas(PLANE.atlas, tmp_path / "room.atlas")
    inside = {f"room.atlas/{p.name}": p.read_bytes() for p in (tmp_path / "room.atlas").iterdir()}
    kept = send(door, inside)["done"]
    assert (kept["kind"], kept["name"]) == ("map", "room.atlas")
    assert door.get(f"/sites/{kept['key']}").json()["nodes"] == len(PLANE.atlas.nodes)
    iv.write_map(iv.SegmentMap.room(6, 4), tmp_path / "plan.geojson")
    plan = {"plan.json": (tmp_path / "plan.geojson").read_bytes()}
    assert send(door, plan)["done"]["kind"] == "map"


@pytest.mark.slow
def test_a_virtual_robot_is_found_where_it_stands(door):
    pose = PLANE.places[0]
    about = {"site": "plane", "robot": {"x": pose.x, "y": pose.y, "yaw": pose.yaw}, "live": True}
    first, again = (door.post("/locate", json=about).json() for _ in range(2))
    assert untimed(first["answer"]) == untimed(again["answer"])  # the same noise
    best = first["answer"]["estimates"][0]
    assert math.hypot(best["x"] - pose.x, best["y"] - pose.y) < 0.1
    assert first["off"].endswith("from where the robot stands.")
    moved = about | {"mount": {"x": -0.25, "y": 0.1, "yaw": 3.1}, "lidar": {"field_of_view": 300}}
    best = door.post("/locate", json=moved).json()["answer"]["estimates"][0]
    assert math.hypot(best["x"] - pose.x, best["y"] - pose.y) < 0.1


@pytest.mark.slow
def test_a_search_and_a_proof_are_told(door):
    pose = PLANE.places[1]
    about = {"site": "plane", "robot": {"x": pose.x, "y": pose.y, "yaw": pose.yaw}}
    answer = door.post("/locate", json=about | {"search": True, "prove": True}).json()
    assert answer["answer"]["proof"]["complete"]
    assert answer["proof"].startswith("no other place can explain the scan")
    worth = answer["search"]["worth"]
    assert worth == sorted(worth)
    assert (worth[0], worth[-1]) == (0.0, 1.0)
    assert len(worth) == len(answer["search"]["places"]) == len(PLANE.atlas.nodes)
    x, y = answer["search"]["places"][-1]
    assert math.hypot(x - pose.x, y - pose.y) < 0.5


@pytest.mark.slow
def test_updates_of_a_log_are_those_of_the_command_line(door):
    lines = told(door.post("/track", json={"site": "office", "log": "drive", "every": 20}))
    log = drive()
    log = log.take(log.chosen(every=20))
    office = door.get("/sites/office").json()
    assert office["name"] == "demo office"
    from isovist.apps import office as make

    expected = [update_json(u, log.frame) for u in replay(iv.Tracker(make().atlas), log)]
    assert [untimed(line["update"]) for line in lines[1:-1]] == [
        untimed(json.loads(json.dumps(one))) for one in expected
    ]
    assert lines[0] == {"length": len(log), "truth": True, "every": 20}
    assert lines[-1]["done"].startswith(f"{expected[-1]['verdict']} at the end: ")


@pytest.mark.slow
def test_a_robot_that_is_carried_away_goes_on_from_there():
    log = drive()
    there = log.truth[300, :2]
    jumped = carried(log, 50, tuple(there))
    assert np.array_equal(jumped.truth[:50], log.truth[:50])
    assert np.hypot(*(jumped.truth[50, :2] - there)) < 0.05
    assert np.allclose(jumped.odometry[49], jumped.odometry[50])  # it knows nothing of the jump
    step = Pose.from_vector(jumped.odometry[50]).inverse @ Pose.from_vector(jumped.odometry[60])
    at = len(log) - len(jumped) + 50
    was = Pose.from_vector(log.odometry[at]).inverse @ Pose.from_vector(log.odometry[at + 10])
    assert np.allclose(step.vector, was.vector)
    assert (np.diff(jumped.times) > 0.0).all()
    with pytest.raises(ValueError, match="The robot can be carried at updates 1 to"):
        carried(log, len(log), (0.0, 0.0))


@pytest.mark.slow
def test_a_survey_tells_progress_and_three_layers(door):
    site = send(door, map_files(nook()))["done"]["key"]
    about = {"site": site, "lidars": [{"range_max": 8}, {"range_max": 3}], "count": 20}
    *before, last = told(door.post("/survey", json=about))
    assert all(0.0 <= line["progress"] <= 1.0 for line in before)
    done = last["done"]
    first = done["layers"][0]
    assert set(first["columns"]) == {"unique", "sigma", "alike"}
    assert {len(c) for c in first["columns"].values()} == {len(first["places"])}
    assert done["report"]["surveys"][0]["nodes"] == len(first["places"])
    assert done["report"]["text"] in done["text"]
    assert [len(row) for row in done["rows"]] == [3] * len(done["rows"])
    assert done["rows"][0][0] == "sensor"


@pytest.mark.slow
def test_a_lost_robot_is_told_step_by_step(door):
    *_, last = told(door.post("/explore", json={"site": "hall", "seed": 1}))
    done = last["done"]
    assert done["run"]["unique"]
    assert len(done["scene"]) == len(done["run"]["steps"])
    ways = [step for step in done["scene"] if step["ahead"]]
    assert ways
    assert ways[0]["because"] in done["text"]


def test_the_paper_room_has_the_values_of_the_paper_command(door):
    from isovist import Descriptor
    from isovist.paper import paper_room, paper_rose

    answer = door.post("/theory", json={"x": 1.3, "y": 1.7, "other_x": 4.0, "other_y": 3.2}).json()
    F, J = Descriptor(paper_rose()).at(paper_room(), [1.3, 1.7], jacobian=True)
    assert np.allclose(answer["F"], F, atol=1e-6)
    assert np.allclose(answer["J"], J, atol=1e-5)
    assert np.allclose(answer["shadows"][0][:2], (3.0, 3.0)) or np.allclose(
        answer["shadows"][1][:2], (3.0, 3.0)
    )
    assert answer["other"]["distance"] > 0.0


def test_a_view_becomes_one_page_that_asks_for_nothing(door):
    view = {"title": "</script><b>", "marks": [], "panel": "", "site": {"bounds": [[0, 0], [1, 1]]}}
    page = door.post("/share", json=view).text
    assert "</script><b>" not in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert "/static/" not in page.split("data:text/javascript")[0]


@pytest.mark.parametrize(
    ("about", "text"),
    [
        ({"site": "nowhere"}, "The map is not kept any more. Drop its file again."),
        (
            {"site": "plane", "robot": {"x": 1}},
            "`y` must be a number from -1e+06 to 1e+06, got None.",
        ),
        (
            {"site": "plane", "robot": {"x": 1, "y": 1}, "lidar": {"beams": 2.5}},
            "`beams` must be a whole number, got 2.5.",
        ),
        (
            {"site": "plane", "robot": {"x": 1, "y": 1}, "lidar": {"noise": "much"}},
            "`noise` must be a number from 0 to 1, got 'much'.",
        ),
        (
            {"site": "plane", "robot": {"x": -90, "y": 1}},
            "The sensor at (-90, 1) is not in free space.",
        ),
        ([1], "A request is an object with named fields, got [1]."),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(door, about, text):
    response = door.post("/locate", json=about)
    assert response.status_code in (400, 404)
    assert response.json() == {"error": text}


def test_what_is_no_json_is_one_sentence(door):
    response = door.post("/locate", content=b"{")
    assert (response.status_code, response.json()) == (
        400, {"error": "A request is JSON, and this is none."},
    )  # fmt: skip
    assert door.post("/theory", json={"x": 3.0, "y": 2.0}).json() == {
        "error": "A point must lie in the free space of the room, got (3.00, 2.00)."
    }


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({"map.yaml": b"x: 1"}, "map.yaml: `image` is missing. A ROS map needs the name of its "
                                "image, e.g. `image: office.pgm`."),
        ({"map.pgm": b"P5"}, "map.pgm: an image is no map by itself. Drop the .yaml of the map "
                             "with it."),
        ({"a.csv": b"0,1", "b.csv": b"0,1"}, "2 files that do not belong together: drop one map, "
                                             "one scan or one log at a time."),
        ({"notes.txt": b"hello"}, "notes.txt: neither a map (.yaml with its image, .geojson, .bt, "
                                  "a mesh, a cloud, an atlas), nor a scan (.json, .csv, .npz), nor "
                                  "a log (.log, .bag, .mcap)."),
        ({"scan.json": b"nonsense"}, "scan.json is not JSON: Expecting value: line 1 column 1 "
                                     "(char 0)."),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_sentence(door, files, text):
    assert send(door, files) == {"error": text}


def test_names_of_files_lead_nowhere():
    assert str(uploads.safe_path("../../etc/passwd")) == "etc/passwd"
    assert str(uploads.safe_path("/etc/cron.d/x")) == "cron.d/x"
    assert str(uploads.safe_path("..\\..\\boot.ini")) == "boot.ini"
    assert str(uploads.safe_path("a\x00b/c:d")) == "a_b/c_d"
    assert str(uploads.safe_path("a/../../b")) == "a/b"
    for name in ("..", "", "/", "... "):
        with pytest.raises(FileError, match="is no name of a file"):
            uploads.safe_path(name)


def test_an_image_of_a_map_cannot_be_another_file_of_the_machine(door, tmp_path):
    secret = tmp_path / "secret.pgm"
    write_map(PLANE.world, tmp_path / "secret.yaml")
    assert secret.exists()
    files = map_files(PLANE.world)
    fields = yaml.safe_load(files["room.yaml"])
    fields["image"] = str(secret)
    error = send(door, {"room.yaml": yaml.safe_dump(fields).encode()})["error"]
    assert error == "room.yaml: its image 'secret.pgm' is missing. Drop both together."


@pytest.mark.slow
def test_a_map_finds_the_image_that_was_dropped_with_it_wherever_it_lay(door):
    files = map_files(PLANE.world)
    fields = yaml.safe_load(files["room.yaml"]) | {"image": "/home/somebody/maps/room.pgm"}
    files["room.yaml"] = yaml.safe_dump(fields).encode()
    kept = send(door, {"a/room.yaml": files["room.yaml"], "b/room.pgm": files["room.pgm"]})["done"]
    assert kept["kind"] == "map"


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
        status, text = answer.status, answer.read()
    assert status == 404
    assert json.loads(text) in (
        {"error": "There is nothing of this name."},
        {"error": "The map is not kept any more. Drop its file again."},
    )


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ({"Host": "evil.example"}, guard.FOREIGN_HOST),
        ({"Host": "192.168.1.7:80"}, guard.FOREIGN_HOST),
        ({"Host": "localhost.evil.example"}, guard.FOREIGN_HOST),
        ({"Origin": "http://evil.example"}, guard.FOREIGN_PAGE),
        ({"Origin": "null"}, guard.FOREIGN_PAGE),
        ({"Sec-Fetch-Site": "cross-site"}, guard.FOREIGN_PAGE),
    ],
)
def test_strangers_are_refused(door, headers, text):
    response = door.post("/locate", json={"site": "plane"}, headers=headers)
    assert (response.status_code, response.json()) == (403, {"error": text})


def test_our_own_page_is_let_in_and_may_load_nothing_from_elsewhere(door):
    own = str(door.base_url).rstrip("/")
    response = door.get("/things", headers={"Origin": own})
    assert response.status_code == 200
    policy = door.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "'sha256-" in policy


def test_a_studio_for_the_network_answers_to_numbers_alone():
    wide = guard.Guard(None, host="0.0.0.0")
    assert wide._is_ours("192.168.1.7:8765")
    assert wide._is_ours("[fe80::1]:80")
    assert not wide._is_ours("evil.example")
    assert not guard.Guard(None)._is_ours("192.168.1.7")
    assert guard.Guard(None, host="robot.local")._is_ours("robot.local:80")


def test_more_than_the_limit_is_refused_before_it_is_read(door, monkeypatch):
    monkeypatch.setattr(guard, "MOST_BYTES", 1000)
    response = door.post("/read", files=[("file", ("a.csv", b"0" * 2000))])
    assert (response.status_code, response.json()) == (413, {"error": guard.TOO_LARGE})


def test_what_was_dropped_first_goes_first_and_what_was_told_stays():
    box = Box("map", 2)
    box.put("first", Named("first", 1), stays=True)
    box.offer("demo", "demo", lambda: Named("demo", 0))
    for key in "abc":
        box.put(key, Named(key, key))
    assert [name for _, name in box.names()] == ["c", "b", "first", "demo"]
    assert box.get("demo").thing == 0
    with pytest.raises(GoneError, match=r"^The map is not kept any more\. Drop its file again\.$"):
        box.get("a")


def test_a_port_that_is_taken_is_one_sentence():
    from isovist.apps import listen

    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    port = taken.getsockname()[1]
    text = f"The studio cannot listen at 127.0.0.1, port {port}: Address already in use. "
    with pytest.raises(ValueError, match=f"^{text}Take another `port`.$"):
        listen("127.0.0.1", port)
    taken.close()


def test_small_pieces_are_sent_at_once():
    """`asyncio` turns Nagle's algorithm off only on sockets that name their protocol."""
    from isovist.apps import listen

    with closing(listen("127.0.0.1", 0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_modules_of_the_page_are_short():
    from isovist.apps import STATIC

    lengths = {path.name: len(path.read_text().splitlines()) for path in STATIC.glob("*.js")}
    assert max(lengths.values()) <= 300, lengths


def test_a_map_that_cannot_be_read_is_told_before_anything_is_served(tmp_path):
    from isovist.studio.start import start

    with pytest.raises(FileError, match=r"nosuch\.yaml: there is no such file\.$"):
        start(tmp_path / "nosuch.yaml", None, host="127.0.0.1", port=0, browser=False)
