"""A server whose scans are answered by other processes, whatever becomes of them."""

import os
import signal

import pytest
from tests.support.reports import said, untimed
from tests.support.serve_door import followed, laser, library, refusal, serving
from tests.support.sites import PLANE

import isovist as iv

pytestmark = pytest.mark.slow
SCAN = PLANE.look(PLANE.places[0])


def test_a_worker_that_ends_is_replaced_and_its_maps_are_those_of_the_server(tmp_path):
    folder, maps = library(tmp_path / "maps"), {"plane": PLANE.atlas, "twin": PLANE.twin_atlas}
    with serving(folder, workers=1) as (server, client):

        def same(answer, **more):
            told = client.post("/locate", json={"scan": laser(SCAN), "hints": False, **more})
            assert untimed(told.json()) == said(answer)

        alone, both = iv.locate(PLANE.atlas, SCAN), iv.locate(maps, SCAN)
        same(alone)
        iv.write_atlas(PLANE.twin_atlas, folder / "twin.atlas")
        while "twin" not in server.maps.names:
            server.maps.refresh()
        same(both)
        same(iv.locate(PLANE.twin_atlas, SCAN), map="twin")
        one = server.workers.least_used(())
        process = one.process
        os.kill(process.pid, signal.SIGTERM)  # as when all processes of a service are told to end
        same(both)
        assert one.process is process
        os.kill(process.pid, signal.SIGKILL)
        same(both)
        same(iv.locate(PLANE.atlas, SCAN, prove=True), map="plane", prove=True)
        assert one.process is not process
        server.maps.remove("twin")
        same(alone)
        gone = client.post("/locate", json={"scan": laser(SCAN), "map": "twin"})
        assert refusal(gone) == (404, "not_found", None)
        bad = client.post("/locate", json={"scan": {"points": [[1.0, 2.0, 0.5]] * 60}})
        assert refusal(bad) == (400, "wrong_dimension", "scan")
    assert one.process is None


def test_a_robot_is_followed_by_one_worker_and_ends_with_it(tmp_path):
    with serving(library(tmp_path / "maps"), workers=2) as (server, client):
        assert refusal(client.post("/track", json={"tilt": True})) == (
            400, "wrong_dimension", "tilt",
        )  # fmt: skip
        assert len(server.homes) == 0
        keys = [client.post("/track", json={}).json()["session"] for _ in range(3)]
        homes = [server.homes.get(key) for key in keys]
        assert len(set(map(id, homes))) == 2
        tracker, ask = iv.Tracker(PLANE.atlas), {"odometry": [0, 0, 0], "scan": laser(SCAN)}

        def update(number):
            told = client.post(f"/track/{keys[0]}", json=ask)
            assert untimed(told.json()) == followed(tracker, number, iv.Pose(), SCAN)

        update(0)
        bad = client.post(f"/track/{keys[0]}", json={"odometry": None})
        assert refusal(bad) == (400, "missing", "scan")
        # The worker of one ends, a map is taken away, and another never notices.
        other = next(k for k in (1, 2) if homes[k] is not homes[0])
        server.maps.remove("plane")
        os.kill(homes[other].process.pid, signal.SIGKILL)
        assert refusal(client.post(f"/track/{keys[other]}", json=ask)) == (404, "not_found", None)
        update(1)
        assert "isovist_sessions 2" in client.get("/metrics").text.splitlines()
        assert client.delete(f"/track/{keys[0]}").status_code == 204
        assert refusal(client.delete(f"/track/{keys[0]}")) == (404, "not_found", None)
        assert refusal(client.post("/track", json={"map": "plane"})) == (404, "not_found", None)
        assert len(server.homes) == 1
