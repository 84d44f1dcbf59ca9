"""The server: the numbers of the command line, maps that come and go, robots that are followed."""

import asyncio
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.support.serve_door import laser, library, npz, plainly, serving, untimed
from tests.support.sites import PLANE, SITES, SPACE
from typer.testing import CliRunner

import isovist as iv
from isovist import write_map
from isovist.apps import LOCATE, Fields, Limits, Search, Sessions
from isovist.apps import app as command
from isovist.report import check_json, update_json
from isovist.serve import openapi
from isovist.tracking.replay import Update

BINARY = {"Content-Type": "application/octet-stream"}


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    with serving(library(tmp_path_factory.mktemp("maps"))) as (_, client):
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("name", SITES)
def test_answers_are_those_of_the_command_line(name, tmp_path):
    site, maps = SITES[name], library(tmp_path / "maps", name)
    scan = site.look(site.places[0])
    data = npz(scan, tmp_path)
    done = CliRunner().invoke(
        command,
        ["locate", str(maps / f"{name}.atlas"), str(tmp_path / "scan-to-send.npz"), "--json"],
    )
    wanted = untimed(json.loads(done.output))
    with serving(maps) as (_, client):
        binary = client.post("/locate", content=data, headers=BINARY)
        assert binary.status_code == 200, binary.text
        assert untimed(binary.json()) == wanted
        assert wanted["verdict"] == "unique"
        fields = {"points": scan.points.tolist()} if name == "space" else laser(scan)
        told = client.post("/locate", json={"scan": fields, "map": name}).json()
        assert untimed(told) == wanted


@pytest.mark.slow
def test_scans_that_come_together_are_located_together(tmp_path):
    scans = [PLANE.look(pose, seed=seed) for seed in range(3) for pose in PLANE.places]
    wanted = [iv.locate(PLANE.atlas, scan, certificate=True) for scan in scans]
    with serving(library(tmp_path / "maps"), gather_s=0.2) as (server, client):
        with ThreadPoolExecutor(len(scans)) as pool:
            told = list(
                pool.map(lambda scan: client.post("/locate", json={"scan": laser(scan)}), scans)
            )
        assert server.batches.sizes[1] == len(scans)
        assert server.batches.sizes[0] < len(scans)
    for answer, mine in zip(told, wanted, strict=True):
        assert answer.json()["estimates"][0]["x"] == mine.best.pose.x


def test_a_bad_scan_in_a_batch_is_told_alone():
    search = Search.of(PLANE.atlas, Fields({"certificate": False}, LOCATE), 1.0)
    good, bad = search.run(iter([PLANE.look(PLANE.places[0]), SPACE.look(SPACE.places[0])]))
    assert good["verdict"] == "unique"
    assert str(bad).startswith("The scan is a cloud of points, and the atlas is of a map of the ")


@pytest.mark.slow
def test_a_pose_is_judged_as_at_the_command_line(door):
    truth = PLANE.places[1]
    scan = PLANE.look(truth)
    ask = {"scan": laser(scan), "pose": [truth.x, truth.y, truth.yaw], "spread": [0.1, 0.05]}
    told = door.post("/check", json=ask).json()
    mine = iv.check(PLANE.atlas, scan, truth, np.diag([0.1**2, 0.1**2, 0.05**2]))
    assert untimed(told) == plainly(check_json(mine))
    assert told["verdict"] == "agrees"


@pytest.mark.slow
def test_a_prior_a_mount_and_a_proof_are_taken(door, tmp_path):
    truth = PLANE.places[0]
    scan = PLANE.look(truth, mount=PLANE.mount)
    mount = PLANE.mount
    near = f"{truth.x},{truth.y},2.0"
    told = door.post(
        f"/locate?sensor={mount.x},{mount.y},{mount.yaw}&near={near}&heading=0.7,0.5"
        "&prove=true&budget_s=15&certificate=false&map=plane",
        content=npz(scan, tmp_path),
        headers=BINARY,
    ).json()
    assert told["frame"] == "robot"
    assert told["certificate"] is None
    assert told["proof"]["complete"]
    best = told["estimates"][0]
    assert abs(best["x"] - truth.x) + abs(best["y"] - truth.y) < 0.1


@pytest.mark.slow
def test_a_robot_is_followed_as_by_a_tracker(door):
    tracker = iv.Tracker(PLANE.atlas)
    begun = door.post("/track", json={"map": "plane"})
    assert begun.status_code == 201
    key, odometry = begun.json()["session"], PLANE.places[0]
    for k in range(3):
        pose = odometry @ iv.Pose(0.1 * k, 0.0, 0.05 * k)
        scan = PLANE.look(pose, seed=k)
        ask = {"odometry": [pose.x, pose.y, pose.yaw], "scan": laser(scan), "time": float(k)}
        told = door.post(f"/track/{key}", json=ask).json()
        belief = tracker.update(pose, scan, time=float(k))
        assert untimed(told) == plainly(update_json(Update(k, float(k), pose, belief)))
    assert door.delete(f"/track/{key}").status_code == 204
    gone = door.post(f"/track/{key}", json=ask)
    assert (gone.status_code, gone.json()["error"]) == (
        404,
        "This robot is not followed, or no more. POST /track begins.",
    )


def test_robots_are_forgotten_after_a_while_and_are_not_too_many():
    now = [0.0]
    sessions = Sessions(Limits(sessions=2, session_s=10.0), lambda: now[0])
    keys = [sessions.begin(iv.Tracker(PLANE.atlas)) for _ in range(2)]
    with pytest.raises(iv.IsovistError, match=r"^2 robots are followed already\.$"):
        sessions.begin(iv.Tracker(PLANE.atlas))
    now[0] = 8.0
    sessions.get(keys[1])
    now[0] = 12.0
    sessions.begin(iv.Tracker(PLANE.atlas))
    assert len(sessions) == 2
    with pytest.raises(iv.IsovistError, match="not followed"):
        sessions.get(keys[0])


@pytest.mark.slow
def test_maps_are_brought_listed_and_taken_away(tmp_path):
    write_map(PLANE.world, tmp_path / "room.yaml")
    files = [("file", (name, (tmp_path / name).read_bytes())) for name in ("room.yaml", "room.pgm")]
    with serving(tmp_path / "maps") as (server, client):
        none = client.post("/locate", json={"scan": laser(PLANE.look(PLANE.places[0]))})
        assert (none.status_code, none.json()["error"]) == (
            404,
            "There is no map yet. POST /maps brings one.",
        )
        brought = client.post("/maps/office 1", files=files)
        assert (brought.status_code, brought.json()) == (201, {"name": "office 1", "new": True})
        assert client.post("/maps/office 1", files=files).status_code == 200
        (row,) = client.get("/maps").json()["maps"]
        assert (row["name"], row["dimension"]) == ("office 1", 2)
        assert row["nodes"] == len(PLANE.atlas.nodes)
        answer = client.post("/locate", json={"scan": laser(PLANE.look(PLANE.places[0]))})
        assert answer.json()["verdict"] == "unique"
        assert sorted(p.name for p in (tmp_path / "maps").iterdir()) == ["office 1.atlas"]
        assert client.delete("/maps/office 1").status_code == 204
        assert client.delete("/maps/office 1").status_code == 404
        assert server.maps.names == ()
        assert list((tmp_path / "maps").iterdir()) == []


@pytest.mark.slow
def test_an_atlas_can_be_brought_and_several_maps_are_told_apart(tmp_path):
    iv.write_atlas(PLANE.twin_atlas, tmp_path / "twin")
    files = [("file", (p.name, p.read_bytes())) for p in sorted((tmp_path / "twin").iterdir())]
    with serving(library(tmp_path / "maps")) as (_, client):
        assert client.post("/maps/annex", files=files).status_code == 201
        told = client.post("/locate", json={"scan": laser(PLANE.look(PLANE.places[0]))}).json()
        assert (told["verdict"], told["map"]) == ("unique", "plane")
        mine = iv.locate(
            {"annex": PLANE.twin_atlas, "plane": PLANE.atlas}, PLANE.look(PLANE.places[0])
        )
        assert told["estimates"][0]["x"] == mine.best.pose.x
        space = tmp_path / "space"
        iv.write_atlas(SPACE.atlas, space)
        files = [("file", (p.name, p.read_bytes())) for p in sorted(space.iterdir())]
        unlike = client.post("/maps/house", files=files)
        assert (unlike.status_code, unlike.json()["error"]) == (
            400,
            "Maps must all be of the plane or all in space: 'annex' is of the plane, and 'house' "
            "is in space.",
        )


@pytest.mark.slow
def test_a_map_that_is_written_anew_is_taken_up_and_no_request_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr("isovist.serve.app.LOOK_S", 1e6)
    maps = library(tmp_path / "maps")
    with serving(maps) as (server, client):
        before = server.maps.get("plane")
        assert not server.maps.refresh()
        iv.write_atlas(PLANE.twin_atlas, maps / "plane.atlas")
        assert server.maps.get("plane") is before  # until it is looked at
        assert server.maps.refresh()
        after = server.maps.get("plane")
        assert (after.nodes.size, before.nodes.size) == (
            PLANE.twin_atlas.nodes.size,
            PLANE.atlas.nodes.size,
        )
        assert iv.locate(before, PLANE.look(PLANE.places[0])).verdict is iv.Verdict.UNIQUE
        # Another map that comes leaves what is open as it is.
        shutil.copytree(maps / "plane.atlas", maps / "second.atlas")
        assert server.maps.refresh()
        assert server.maps.get("plane") is after
        told = client.post(
            "/locate", json={"scan": laser(PLANE.look(PLANE.places[0])), "map": "plane"}
        )
        assert told.status_code == 200
        # What cannot be read leaves everything as it was.
        (maps / "second.atlas" / "manifest.json").write_text("{}")
        with pytest.raises(iv.FileError):
            server.maps.refresh()
        assert server.maps.names == ("plane", "second")


@pytest.mark.slow
def test_what_a_killed_server_left_is_no_map(tmp_path):
    maps = library(tmp_path / "maps")
    shutil.copytree(maps / "plane.atlas", maps / ".incoming-0123")
    (maps / ".incoming-0123" / "manifest.json").unlink()
    with serving(maps) as (server, _):
        assert server.maps.names == ("plane",)
        assert [path.name for path in maps.iterdir()] == ["plane.atlas"]


@pytest.mark.slow
def test_health_readiness_and_metrics(tmp_path):
    with serving(library(tmp_path / "maps")) as (server, client):
        assert client.get("/health").json() == {"version": iv.__version__}
        asyncio.run(server.warm_up())
        assert client.get("/ready").json() == {"maps": 1}
        server.ready = False
        late = client.get("/ready")
        assert (late.status_code, late.json()["error"]) == (
            503,
            "Not ready: the loops are being compiled. Try again later.",
        )
        client.post("/locate", json={"scan": laser(PLANE.look(PLANE.places[0]))})
        client.get("/nowhere")
        text = client.get("/metrics").text
    for line in (
        'isovist_requests_total{route="/locate",status="200"} 1',
        'isovist_requests_total{route="other",status="404"} 1',
        'isovist_answers_total{verdict="unique"} 1',
        'isovist_request_seconds_count{route="/locate"} 1',
        "isovist_batches_total 1",
        "isovist_maps 1",
        "isovist_waiting 0",
    ):
        assert line in text.splitlines()
    assert text.endswith("\n")


@pytest.mark.slow
def test_every_door_is_described(door):
    described = door.get("/openapi.json").json()
    listed = {(m, path) for path, verbs in described["paths"].items() for m in verbs}
    assert listed == {(method, path) for method, path, *_ in openapi.ADDRESSES}
    page = door.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "POST /locate" in page.text
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert "<script" not in page.text
