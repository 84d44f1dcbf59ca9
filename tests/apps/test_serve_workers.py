"""A server whose scans are answered by other processes: as by one, whatever becomes of them."""

import asyncio
import io
import json
import os
import pickle
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import perf_counter, sleep

import pytest
from tests.support.paths import SUPPORT
from tests.support.serve_door import laser, library, npz, plainly, serving, untimed
from tests.support.sites import PLANE, SITES
from tests.support.worker_pipe import unpacked
from typer.testing import CliRunner

import isovist as iv
from isovist import InputError
from isovist.apps import (
    BINARY,
    LOCATE,
    Answered,
    Asked,
    Batcher,
    Body,
    Fields,
    Limits,
    Question,
    RefusedError,
    Search,
)
from isovist.apps import app as command
from isovist.localization import workers as processes
from isovist.localization.workers import ENDED
from isovist.report import answer_json, check_json, update_json
from isovist.serve import worker, workers
from isovist.tracking.replay import Update

NOT_FOLLOWED = "This robot is not followed, or no more. POST /track begins."
HOW = {"hints": False, "certificate": False}


def posted(client, scan, **fields):
    return client.post("/locate", json={"scan": laser(scan), **HOW, **fields})


def test_answers_are_those_of_one_process_whatever_becomes_of_the_others(tmp_path):
    scans = [PLANE.look(pose, seed=seed) for seed in range(2) for pose in PLANE.places]
    wanted = [plainly(answer_json(iv.locate(PLANE.atlas, scan))) for scan in scans]
    with serving(library(tmp_path / "maps"), workers=2, gather_s=0.2) as (server, client):

        def ask_all():
            with ThreadPoolExecutor(len(scans)) as pool:
                return list(pool.map(lambda scan: posted(client, scan), scans))

        assert [plainly(told.json()) for told in ask_all()] == wanted
        assert server.batches.sizes[1] == len(scans)
        until = perf_counter() + 120.0
        while client.get("/ready").status_code != 200 and perf_counter() < until:
            sleep(0.1)  # until all have begun
        hired = server.workers._all
        before = [one.process for one in hired]
        os.kill(before[0].pid, signal.SIGTERM)  # as when all processes of a service are told to end
        before[1].kill()
        for _ in range(9):  # the second may not be asked at once
            assert [plainly(told.json()) for told in ask_all()] == wanted
            if hired[1].process is not before[1]:
                break
        assert hired[1].process is not before[1]
        assert hired[0].process is before[0]
        assert hired[0].library is hired[1].library is server.maps._library
        # What is wrong with a scan is told of that one, and a prior is taken along.
        none = client.post("/locate", json={"scan": {"points": [[1.0, 2.0, 0.5]]}})
        assert none.status_code == 400
        place = PLANE.places[0]
        near = posted(client, scans[0], near=[place.x, place.y, 2.0]).json()
        assert near["verdict"] == "unique"
        ended = [one.process for one in hired]
    assert all(process.poll() is not None for process in ended)


def test_maps_that_come_and_go_are_those_of_the_others_too(tmp_path):
    folder, scan = library(tmp_path / "maps"), PLANE.look(PLANE.places[0])
    with serving(folder, workers=1) as (server, client):
        assert posted(client, scan).json()["verdict"] == "unique"
        iv.write_atlas(PLANE.twin_atlas, folder / "twin.atlas")
        assert server.maps.refresh()
        told = posted(client, scan).json()
        maps = {"plane": PLANE.atlas, "twin": PLANE.twin_atlas}
        assert plainly(told) == plainly(answer_json(iv.locate(maps, scan)))
        alone = posted(client, scan, map="twin").json()
        assert plainly(alone) == plainly(answer_json(iv.locate(PLANE.twin_atlas, scan)))
        server.maps.remove("twin")
        assert posted(client, scan, map="twin").status_code == 404
        assert plainly(posted(client, scan).json())["verdict"] == "unique"


def told_of(answer):
    return answer.status_code, untimed(answer.json())


@pytest.mark.parametrize("name", SITES)
def test_robots_are_followed_each_by_one_worker_as_by_a_tracker(name, tmp_path):
    site = SITES[name]
    folder = library(tmp_path / "maps", name)
    binary = {"Content-Type": BINARY[0]}
    with serving(folder, workers=2) as (server, client):
        keys = [client.post("/track", json={"map": name}).json()["session"] for _ in range(3)]
        homes = [server.homes.get(key) for key in keys]
        assert len(set(map(id, homes))) == 2
        trackers = [iv.Tracker(site.atlas) for _ in keys]

        def update(k, step):
            """What the server and a tracker say of a robot."""
            pose = site.places[k % len(site.places)]
            scan = site.look(pose, seed=step)
            row = ",".join(map(repr, pose.vector[:3].tolist()))
            address = f"/track/{keys[k]}?odometry={row}&time={step}"
            answer = client.post(address, content=npz(scan, tmp_path), headers=binary)
            odometry = iv.Pose(*map(float, row.split(",")))
            seen = Body(npz(scan, tmp_path), BINARY[0], {}).scan(Fields({}, LOCATE))
            belief = trackers[k].update(odometry, seen, time=float(step))
            return told_of(answer), (
                200,
                plainly(update_json(Update(step, step, odometry, belief))),
            )

        for step in range(2):
            for k in range(3):
                theirs, mine = update(k, step)
                assert theirs == mine
        if name == "plane":
            truth = site.places[0]
            scan = site.look(truth)
            ask = {"scan": laser(scan), "pose": [truth.x, truth.y, truth.yaw]}
            judged = client.post("/check", json=ask)
            assert told_of(judged) == (200, plainly(check_json(iv.check(site.atlas, scan, truth))))
        # One is told to go, the worker of another ends, and the third never notices.
        other = next(k for k in (1, 2) if homes[k] is not homes[0])
        third = next(k for k in (0, 1, 2) if k != other and homes[k] is homes[0])
        server.maps.remove(name)  # they have their maps
        homes[other].process.kill()
        gone = client.post(f"/track/{keys[other]}", json={"odometry": None, "scan": {}})
        assert told_of(gone) == (404, {"error": NOT_FOLLOWED})
        theirs, mine = update(third, 2)
        assert theirs == mine
        assert len(server.homes) == 2
        assert client.delete(f"/track/{keys[third]}").status_code == 204
        assert client.delete(f"/track/{keys[third]}").status_code == 404
        wrong = client.post("/track", json={"map": name})  # there is none any more
        assert wrong.status_code == 404
        assert len(server.homes) == 1


def test_a_robot_that_cannot_be_followed_leaves_nothing_behind(tmp_path):
    with serving(library(tmp_path / "maps"), workers=1) as (server, client):
        refused = client.post("/track", json={"tilt": True})
        assert refused.status_code == 400
        assert len(server.homes) == 0
        key = client.post("/track", json={}).json()["session"]
        bad = client.post(f"/track/{key}", json={"odometry": None})
        assert (bad.status_code, "`scan` is missing" in bad.json()["error"]) == (400, True)
        assert "isovist_sessions 1" in client.get("/metrics").text


def question(data, kind="", address=(), verb="locate"):
    return Question(verb, Body(data, kind, dict(address)))


def asking(scan):
    """A request that asks where a scan was taken."""
    return question(json.dumps({"scan": laser(scan), **HOW}).encode(), "application/json")


@contextmanager
def a_loop_of(count):
    """Workers, and what runs one of their calls in a loop."""
    with asyncio.Runner() as runner:
        limits = Limits()
        crew = workers.Workers(count, limits, Batcher(limits))
        try:
            yield crew, runner.run
        finally:
            runner.run(crew.close())


def test_processes_that_cannot_begin_are_no_fault_of_the_request(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "false")
    maps = iv.read_library(library(tmp_path / "maps"))
    with a_loop_of(1) as (crew, run):

        async def ask():
            return await crew.ask(maps, asking(PLANE.look(PLANE.places[0])))

        refused = run(ask()).error
    assert isinstance(refused, RefusedError)
    assert (refused.status, str(refused)) == (503, ENDED.format(1))


def test_requests_may_come_before_all_have_begun(tmp_path):
    maps, scan = iv.read_library(library(tmp_path / "maps")), PLANE.look(PLANE.places[0])
    with a_loop_of(1) as (crew, run):

        async def ask():
            told = [crew.ask(maps, asking(scan)) for _ in range(3)]
            *told, _ = await asyncio.gather(*told, crew.warm_up(maps))
            return told

        told = run(asyncio.wait_for(ask(), 60.0))
    assert [one.noted["verdict"] for one in told] == ["unique"] * 3
    assert {json.loads(one.text)["verdict"] for one in told} == {"unique"}


@pytest.mark.parametrize(
    ("pace", "most"), [(1.0, 1), (0.0, 1), (0.004, 2), (1e-5, workers.TOGETHER)]
)
def test_requests_that_wait_are_shared_out_and_nobody_works_for_those_who_left(
    pace, most, monkeypatch
):
    asked = []

    async def answer(_self, given):
        asked.append([one.body.data for one in given.questions])
        await asyncio.sleep(0.0)
        return [Answered(text=one.body.data) for one in given.questions]

    monkeypatch.setattr(workers, "begin", lambda _module: None)
    monkeypatch.setattr(workers.Hired, "ask", answer)

    async def ask_all():
        batches = Batcher(Limits())
        crew = workers.Workers(2, Limits(), batches)
        batches.pace = pace
        batches.note = lambda jobs, _spent: counted.append(jobs)
        old, new = {"old": 1}, {"new": 1}
        told = [crew.ask(old if k < 30 else new, question(bytes([k]))) for k in range(40)]
        told[4].cancel()
        told[5].cancel()
        done = await asyncio.gather(*told, return_exceptions=True)
        return [one.text for one in done if isinstance(one, Answered)]

    counted = []
    told = asyncio.run(ask_all())
    assert told == [bytes([k]) for k in range(40) if k not in (4, 5)]
    assert sum(counted) == len(told)
    assert max(map(len, asked)) == most
    assert all(len({data[0] < 30 for data in some}) == 1 for some in asked)  # one library each


def test_a_request_that_ends_a_worker_does_not_take_others_along(monkeypatch):
    known = [str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setattr(processes, "ALONE", {"PYTHONPATH": os.pathsep.join(known)})
    monkeypatch.setattr(workers, "MODULE", "dying_worker")
    words = [b"a", b"b", b"c", b"end", b"d", b"end", b"e"]
    with a_loop_of(1) as (crew, run):
        crew._batches.pace = 1e-5  # so that all that wait go together

        async def ask_all():
            told = [crew.ask({}, question(word)) for word in words]
            return await asyncio.gather(*told)

        told = run(ask_all())
        again = run(ask_all())
    for one in (told, again):
        assert [answer.text for answer in one] == [b"" if w == b"end" else w for w in words]
        refused = [answer.error for answer in one if answer.error is not None]
        assert [(error.status, str(error)) for error in refused] == [(503, ENDED.format(3))] * 2


def test_an_error_of_a_worker_is_told_to_those_who_asked(monkeypatch):
    async def fail(_self, _given):
        raise ZeroDivisionError("by mistake")

    monkeypatch.setattr(workers, "begin", lambda _module: None)
    monkeypatch.setattr(workers.Hired, "ask", fail)

    async def ask_twice():
        crew = workers.Workers(1, Limits(), Batcher(Limits()))
        return [str((await crew.ask({}, question(b""))).error) for _ in range(2)]

    assert asyncio.run(ask_twice()) == ["by mistake"] * 2


@pytest.mark.parametrize("name", SITES)
def test_a_worker_answers_until_nothing_more_comes(name, tmp_path):
    site, maps = SITES[name], iv.read_library(library(tmp_path / "maps", name))
    scans = [site.look(site.places[0]), site.elsewhere()]
    how = "hints=false&certificate=false"
    address = dict(pair.split("=") for pair in how.split("&"))
    asked = [question(npz(scan, tmp_path), BINARY[0], address) for scan in scans]
    gone = question(asked[0].body.data, BINARY[0], {**address, "map": "gone"})
    read, write = io.BytesIO(), io.BytesIO()
    for given in (
        Limits(), Asked(maps, ()), Asked(maps, [asked[0], gone, asked[1]]),
        Asked(None, asked[:1]), 7,
    ):  # fmt: skip
        pickle.dump(given, read)
    read.seek(0)
    worker.work(read, write)
    write.seek(0)
    assert unpacked(write) == []
    first, refused, second = unpacked(write)
    search = Search.of(site.atlas, Fields(HOW, LOCATE), 1.0)
    seen = [one.body.scan(Fields(HOW, LOCATE)) for one in asked]
    told = [json.loads(one.text) for one in (first, second)]
    assert [untimed(one) for one in told] == [plainly(one) for one in search.run(iter(seen))]
    assert first.noted == {"verdict": "unique"}
    assert refused.noted == {"map": "gone"}
    assert (refused.error.status, refused.text) == (404, b"")
    (again,) = unpacked(write)
    assert untimed(json.loads(again.text)) == untimed(told[0])
    assert isinstance(unpacked(write), AttributeError)


@pytest.mark.parametrize("count", ["0", "-2"])
def test_a_server_has_one_worker_or_more(count, tmp_path):
    done = CliRunner().invoke(command, ["serve", "--library", str(tmp_path), "--workers", count])
    assert isinstance(done.exception, InputError)
    text = f"`--workers` must be a number of processes, 1 or more, got {count}."
    assert str(done.exception) == text
