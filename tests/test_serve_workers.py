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
from pathlib import Path
from time import perf_counter, sleep

import pytest
from typer.testing import CliRunner

import isovist as iv
from isovist.cli.app import app as command
from isovist.errors import InputError
from isovist.localization import workers as processes
from isovist.localization.workers import ENDED
from isovist.report.answers import answer_json
from isovist.serve import worker, workers
from isovist.serve.answers import Answered, Asked, Search
from isovist.serve.batches import Batcher
from isovist.serve.errors import RefusedError
from isovist.serve.limits import Limits
from isovist.serve.questions import BINARY, LOCATE, Body, Fields
from serve_door import laser, library, npz, plainly, serving, untimed
from sites import PLANE, SITES
from test_workers import unpacked

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


def body_of(scan, **fields):
    """A request that asks where a scan was taken."""
    return Body(json.dumps({"scan": laser(scan), **HOW, **fields}).encode(), "application/json", {})


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
            return await crew.ask(maps, body_of(PLANE.look(PLANE.places[0])))

        refused = run(ask()).error
    assert isinstance(refused, RefusedError)
    assert (refused.status, str(refused)) == (503, ENDED.format(1))


def test_requests_may_come_before_all_have_begun(tmp_path):
    maps, scan = iv.read_library(library(tmp_path / "maps")), PLANE.look(PLANE.places[0])
    with a_loop_of(1) as (crew, run):

        async def ask():
            told = [crew.ask(maps, body_of(scan)) for _ in range(3)]
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
        asked.append([body.data for body in given.bodies])
        await asyncio.sleep(0.0)
        return [Answered(text=body.data) for body in given.bodies]

    monkeypatch.setattr(workers._Hired, "__init__", lambda *_: None)
    monkeypatch.setattr(workers._Hired, "ask", answer)

    async def ask_all():
        batches = Batcher(Limits())
        crew = workers.Workers(2, Limits(), batches)
        batches.pace = pace
        batches.note = lambda jobs, _spent: counted.append(jobs)
        old, new = {"old": 1}, {"new": 1}
        told = [crew.ask(old if k < 30 else new, Body(bytes([k]), "", {})) for k in range(40)]
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
    known = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setattr(processes, "ALONE", {"PYTHONPATH": os.pathsep.join(known)})
    monkeypatch.setattr(workers, "MODULE", "dying_worker")
    words = [b"a", b"b", b"c", b"end", b"d", b"end", b"e"]
    with a_loop_of(1) as (crew, run):
        crew._batches.pace = 1e-5  # so that all that wait go together

        async def ask_all():
            told = [crew.ask({}, Body(word, "", {})) for word in words]
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

    monkeypatch.setattr(workers._Hired, "__init__", lambda *_: None)
    monkeypatch.setattr(workers._Hired, "ask", fail)

    async def ask_twice():
        crew = workers.Workers(1, Limits(), Batcher(Limits()))
        return [str((await crew.ask({}, Body(b"", "", {}))).error) for _ in range(2)]

    assert asyncio.run(ask_twice()) == ["by mistake"] * 2


@pytest.mark.parametrize("name", SITES)
def test_a_worker_answers_until_nothing_more_comes(name, tmp_path):
    site, maps = SITES[name], iv.read_library(library(tmp_path / "maps", name))
    scans = [site.look(site.places[0]), site.elsewhere()]
    how = "hints=false&certificate=false"
    address = dict(pair.split("=") for pair in how.split("&"))
    bodies = [Body(npz(scan, tmp_path), BINARY[0], address) for scan in scans]
    gone = Body(bodies[0].data, BINARY[0], {**address, "map": "gone"})
    read, write = io.BytesIO(), io.BytesIO()
    for given in (
        Limits(), Asked(maps, ()), Asked(maps, [bodies[0], gone, bodies[1]]),
        Asked(None, bodies[:1]), 7,
    ):  # fmt: skip
        pickle.dump(given, read)
    read.seek(0)
    worker.work(read, write)
    write.seek(0)
    assert unpacked(write) == []
    first, refused, second = unpacked(write)
    search = Search.of(site.atlas, Fields(HOW, LOCATE), 1.0)
    seen = [Body.scan(body, Fields(HOW, LOCATE)) for body in bodies]
    told = [json.loads(one.text) for one in (first, second)]
    assert [untimed(one) for one in told] == [plainly(one) for one in search.run(seen)]
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
