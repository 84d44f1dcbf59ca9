"""The server: what the library says, maps that come and go, robots that are followed."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.reports import said, untimed
from tests.support.serve_door import followed, laser, library, noted, npz, refusal, serving
from tests.support.sites import PLANE, SITES, SPACE

import isovist as iv

pytestmark = pytest.mark.slow
BINARY = {"Content-Type": "application/octet-stream"}
SCAN = laser(PLANE.look(PLANE.places[0]))


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    with serving(library(tmp_path_factory.mktemp("maps"))) as (_, client):
        yield client


def fields_of(scan):
    return laser(scan) if isinstance(scan, iv.Scan) else {"points": scan.points.tolist()}


def numbers(row):
    return ",".join(map(repr, row))


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_the_server_says_what_the_library_says(site, tmp_path):
    truth, atlas = site.places[0], site.atlas
    scan, away = site.look(truth), site.elsewhere()
    pose = truth.vector[: 1 + site.atlas.dimension].tolist()
    with serving(library(tmp_path / "maps", site.name), workers=2) as (_, client):

        def same(address, mine, body, query=""):
            """JSON, and where there is a query the bytes of a file with it, are answered so."""
            answers = [client.post(address, json=body)]
            if query:
                data = npz(scan, tmp_path)
                answers.append(client.post(address + query, content=data, headers=BINARY))
            for answer in answers:
                assert answer.status_code == 200, answer.text
                assert untimed(answer.json()) == mine

        answer = iv.locate(atlas, scan)
        assert answer.verdict is iv.Verdict.UNIQUE
        same("/locate", said(answer), {"scan": fields_of(scan), "map": site.name}, "?hints=true")
        lost = iv.locate(atlas, away)
        told = said(lost, *iv.hints(atlas, away, lost))
        same("/locate", told, {"scan": fields_of(away)})
        same("/locate", {**told, "hints": []}, {"scan": fields_of(away), "hints": False})
        near = iv.locate(atlas, scan, region=iv.Region.circle(pose[:2], 2.0).towards(pose[2], 0.5))
        ask = {"near": [*pose[:2], 2.0], "heading": [pose[2], 0.5], "hints": False}
        query = f"?near={numbers(pose[:2])},2.0&heading={pose[2]!r},0.5&hints=false"
        same("/locate", said(near), {"scan": fields_of(scan), **ask}, query)
        judged = said(iv.check(atlas, scan, type(truth)(*pose)))
        same("/check", judged, {"scan": fields_of(scan), "pose": pose}, f"?pose={numbers(pose)}")
        assert judged["verdict"] == "agrees"

        begun = client.post("/track", json={"map": site.name})
        assert begun.status_code == 201
        address, tracker = f"/track/{begun.json()['session']}", iv.Tracker(atlas)
        for k in range(3):
            odometry = iv.Pose(0.1 * k, 0.2, 0.05 * k)
            scan = site.look(truth @ iv.Pose(0.1 * k, 0.0, 0.05 * k), seed=k) if k else scan
            row = odometry.vector.tolist()
            time = None if k else 7.5
            mine = followed(tracker, k, odometry, scan, time)
            if k == 1:
                data = npz(scan, tmp_path)
                query = f"?odometry={numbers(row)}"
                told = client.post(address + query, content=data, headers=BINARY)
            else:
                body = {"odometry": row, "scan": fields_of(scan), "time": time}
                told = client.post(address, json=body)
            assert untimed(told.json()) == mine
        assert client.delete(address).status_code == 204
        assert refusal(client.post(address, json=body)) == (404, "not_found", None)
        assert refusal(client.delete(address)) == (404, "not_found", None)


def test_a_robot_without_odometry_says_so_in_every_way(door, tmp_path):
    address = f"/track/{door.post('/track', json={}).json()['session']}"
    tracker = iv.Tracker(PLANE.atlas)
    for k, query in enumerate(("?odometry=null", "?odometry=", "", None)):
        scan = PLANE.look(PLANE.places[0], seed=k)
        if query is None:
            told = door.post(address, json={"odometry": None, "scan": laser(scan)})
        else:
            told = door.post(address + query, content=npz(scan, tmp_path), headers=BINARY)
        assert untimed(told.json()) == followed(tracker, k, None, scan)


def test_scans_that_come_together_are_each_answered(door):
    scans = [PLANE.look(pose, seed=seed) for seed in range(3) for pose in PLANE.places]
    bad = {"points": [[1.0, 2.0, 0.5]] * 60}
    ask = [*map(laser, scans[:4]), bad, *map(laser, scans[4:])]
    with ThreadPoolExecutor(len(ask)) as pool:
        told = list(pool.map(lambda scan: door.post("/locate", json={"scan": scan}), ask))
    assert refusal(told.pop(4)) == (400, "wrong_dimension", "scan")
    for answer, scan in zip(told, scans, strict=True):
        assert untimed(answer.json()) == said(iv.locate(PLANE.atlas, scan))


def test_a_mount_a_proof_and_a_certificate_are_taken(door):
    truth, mount = PLANE.places[0], PLANE.mount
    scan = PLANE.look(truth, mount=mount)
    body = {"scan": laser(scan), "sensor": mount.vector.tolist(), "prove": True, "budget_s": 15}
    told = door.post("/locate", json={**body, "certificate": True}).json()
    mine = iv.locate(PLANE.atlas, scan, prove=True)
    assert mine.frame == "robot"
    assert {**untimed(told), "certificate": None} == said(mine)
    assert told["certificate"]["mu"] == iv.certify(PLANE.world, scan, mine.best.pose).mu
    truth = [truth.x, truth.y, truth.yaw]
    wide = {"scan": SCAN, "pose": truth, "spread": [0.1, 0.05], "thorough": True}
    assert door.post("/check", json=wide).json()["verdict"] == "agrees"


def parts(folder):
    """The files of a folder as a form holds them."""
    return [("file", (p.name, p.read_bytes())) for p in sorted(folder.iterdir())]


def test_maps_are_brought_listed_told_apart_and_taken_away(tmp_path):
    (tmp_path / "room").mkdir()
    iv.write_map(PLANE.world, tmp_path / "room" / "room.yaml")
    iv.write_atlas(PLANE.twin_atlas, tmp_path / "twin")
    iv.write_atlas(SPACE.atlas, tmp_path / "space")
    folder, scan = tmp_path / "maps", PLANE.look(PLANE.places[0])
    with serving(folder) as (_, client):
        ask = lambda **more: client.post("/locate", json={"scan": SCAN, **more})  # noqa: E731
        assert refusal(ask()) == (404, "not_found", None)
        brought = client.post("/maps/office 1", files=parts(tmp_path / "room"))
        assert (brought.status_code, brought.json()) == (201, {"name": "office 1", "new": True})
        assert client.post("/maps/office 1", files=parts(tmp_path / "room")).status_code == 200
        (row,) = client.get("/maps").json()["maps"]
        nodes = len(PLANE.atlas.nodes)
        assert (row["name"], row["dimension"], row["nodes"]) == ("office 1", 2, nodes)
        assert untimed(ask().json()) == said(iv.locate(PLANE.atlas, scan))

        assert client.post("/maps/annex", files=parts(tmp_path / "twin")).status_code == 201
        both = iv.locate({"annex": PLANE.twin_atlas, "office 1": PLANE.atlas}, scan)
        assert both.map == "office 1"
        assert untimed(ask().json()) == said(both)
        assert refusal(ask(near=[0, 0, 1])) == (400, "missing", "near")
        assert refusal(client.post("/check", json={"scan": SCAN, "pose": [0, 0, 0]})) == (
            400, "missing", "map",
        )  # fmt: skip
        unlike = client.post("/maps/house", files=parts(tmp_path / "space"))
        assert refusal(unlike) == (400, "wrong_dimension", None)
        assert sorted(p.name for p in folder.iterdir()) == ["annex.atlas", "office 1.atlas"]
        for name in ("annex", "office 1"):
            assert client.delete(f"/maps/{name}").status_code == 204
            assert refusal(client.delete(f"/maps/{name}")) == (404, "not_found", None)
        assert list(folder.iterdir()) == []


def test_health_readiness_metrics_and_the_log(tmp_path):
    with serving(library(tmp_path / "maps")) as (server, client), noted() as next_line:
        assert client.get("/health").json() == {"version": iv.__version__}
        server.is_ready = False
        late = client.get("/ready")
        assert (refusal(late), late.headers["retry-after"]) == ((503, "unavailable", None), "1")
        server.is_ready = True
        assert client.get("/ready").json() == {"maps": 1}
        client.post("/locate", json={"scan": SCAN, "map": "plane"})
        client.get("/nowhere?secret=1")
        lines = {line["path"]: line for line in (next_line() for _ in range(5))}
        text = client.get("/metrics").text
    assert {
        'isovist_requests_total{route="/locate",status="200"} 1',
        'isovist_requests_total{route="other",status="404"} 1',
        'isovist_answers_total{verdict="unique"} 1',
        'isovist_request_seconds_count{route="/locate"} 1',
        'isovist_request_seconds_bucket{route="/locate",le="+Inf"} 1',
        "isovist_batches_total 1", "isovist_batched_scans_total 1", "isovist_maps 1",
        "isovist_sessions 0", "isovist_waiting 0",
    } <= set(text.splitlines())  # fmt: skip
    assert text.endswith("\n")
    located, nowhere = lines["/locate"], lines["/nowhere"]
    wanted = {"method": "POST", "status": 200, "map": "plane", "verdict": "unique"}
    assert located.items() >= wanted.items()
    assert min(located["bytes_in"], located["bytes_out"]) > 1000
    assert located["ms"] > 0.0
    assert (nowhere["status"], nowhere["bytes_in"]) == (404, 0)
    assert "secret" not in json.dumps(lines)


def test_every_address_is_described_with_what_it_answers(tmp_path):
    """A client that is made of the description gets what it expects, and every address is there."""
    iv.write_atlas(PLANE.twin_atlas, tmp_path / "twin")
    pose = PLANE.places[0].vector.tolist()
    bodies = {
        "locate": {"json": {"scan": SCAN}}, "check": {"json": {"scan": SCAN, "pose": pose}},
        "begin": {"json": {}}, "update": {"json": {"scan": SCAN, "odometry": [0, 0, 0]}},
        "bring_map": {"files": parts(tmp_path / "twin")},
    }  # fmt: skip
    found, last = {}, {"delete": 1, "get": 2}
    with serving(library(tmp_path / "maps")) as (_, client):
        paths = client.get("/openapi.json").json()["paths"]
        asked = [(verb, path, one) for path, verbs in paths.items() for verb, one in verbs.items()]
        session = ""
        for verb, path, one in sorted(asked, key=lambda row: (last.get(row[0], 0), row[1])):
            name = one["operationId"]
            address = path.format(session=session, name="annex") if "{" in path else path
            told = client.request(verb, address, **bodies.get(name, {}))
            status = str(told.status_code)
            assert told.is_success, (name, told.text)
            assert status in one["responses"], (name, status)
            content = one["responses"][status].get("content", {})
            if "application/json" in content:
                schema = content["application/json"]["schema"]
                assert set(schema.get("required", ())) <= set(told.json()), name
                session = told.json().get("session", session)
            body = one.get("requestBody", {}).get("content", {}).get("application/json", {})
            assert set(bodies.get(name, {}).get("json", ())) <= set(
                body.get("schema", {}).get("properties", ())
            )
            found[name] = {s for s in one["responses"] if s < "400"}
        refused = client.post("/locate", json={})
        wrong = paths["/locate"]["post"]["responses"]["400"]["content"]["application/json"]
        assert set(wrong["schema"]["required"]) == set(refused.json())
        page = client.get("/")
    assert found["bring_map"] == {"200", "201"}
    assert found["begin"] == {"201"}
    assert found["end"] == found["remove_map"] == {"204"}
    query = {one["name"] for one in paths["/locate"]["post"]["parameters"]}
    assert {"sensor", "map", "near", "any_attitude", "tilt", "prove"} <= query
    assert page.headers["content-type"].startswith("text/html")
    assert all(f"{verb.upper()} {path}" in page.text for verb, path, _ in asked)
    assert not any(word in page.text for word in ("http://", "https://", "<script"))
