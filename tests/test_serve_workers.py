"""A server whose scans are answered by other processes: as by one, whatever becomes of them."""

import io
import os
import pickle
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from time import perf_counter, sleep

import pytest
from typer.testing import CliRunner

import isovist as iv
from isovist.cli.app import app as command
from isovist.errors import InputError
from isovist.localization.workers import ENDED
from isovist.report.answers import answer_json
from isovist.serve import workers
from isovist.serve.answers import Search
from isovist.serve.errors import RefusedError
from isovist.serve.questions import LOCATE, Fields
from serve_door import laser, library, plainly, serving
from sites import PLANE, SITES

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
        before = [one.worker.process for one in hired]
        os.kill(before[0].pid, signal.SIGTERM)  # as when all processes of a service are told to end
        before[1].kill()
        for _ in range(9):  # the second may not be asked at once
            assert [plainly(told.json()) for told in ask_all()] == wanted
            if hired[1].worker.process is not before[1]:
                break
        assert hired[1].worker.process is not before[1]
        assert hired[0].worker.process is before[0]
        assert hired[0].library is hired[1].library is server.maps._library
        # What is wrong with a scan is told of that one, and a prior is taken along.
        none = client.post("/locate", json={"scan": {"points": [[1.0, 2.0, 0.5]]}})
        assert none.status_code == 400
        place = PLANE.places[0]
        near = posted(client, scans[0], near=[place.x, place.y, 2.0]).json()
        assert near["verdict"] == "unique"
        ended = [one.worker.process for one in hired]
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


def test_processes_that_cannot_begin_are_no_fault_of_the_request(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "false")
    maps = iv.read_library(library(tmp_path / "maps"))
    search = Search.of(maps["plane"], "plane", Fields(HOW, LOCATE), 1.0)
    crew = workers.Workers(1)
    with pytest.raises(RefusedError) as refused:
        crew.answer(maps, search, PLANE.look(PLANE.places[0]))
    crew.close()
    assert (refused.value.status, str(refused.value)) == (503, ENDED.format(1))


def test_scans_may_come_before_all_have_begun(tmp_path):
    """Whoever waits for a worker must not keep those from beginning who hold it."""
    maps, scan = iv.read_library(library(tmp_path / "maps")), PLANE.look(PLANE.places[0])
    search = Search.of(maps["plane"], "plane", Fields(HOW, LOCATE), 1.0)
    crew = workers.Workers(1)
    told = [crew.pool.submit(crew.answer, maps, search, scan) for _ in range(3)]
    begin = threading.Thread(target=crew.warm_up, args=(maps,), daemon=True)
    begin.start()
    assert {one.result(60.0)["verdict"] for one in told} == {"unique"}
    begin.join(60.0)
    assert not begin.is_alive()
    crew.close()


@pytest.mark.parametrize("name", SITES)
def test_a_worker_answers_until_nothing_more_comes(name, tmp_path):
    site, maps = SITES[name], iv.read_library(library(tmp_path / "maps", name))
    scan = site.look(site.places[0])
    search = Search.of(site.atlas, name, Fields(HOW, LOCATE), 1.0)
    asked = workers.Asked(maps, name, replace(search, site=None), [scan, site.elsewhere()])
    read, write = io.BytesIO(), io.BytesIO()
    for given in (replace(asked, search=None), asked, replace(asked, library=None, name="gone")):
        pickle.dump(given, read)
    read.seek(0)
    workers.work(read, write)
    write.seek(0)
    assert pickle.load(write) == []
    told = pickle.load(write)
    assert [plainly(one) for one in told] == [plainly(one) for one in search.run(asked.scans)]
    assert told[0]["verdict"] == "unique"
    assert isinstance(pickle.load(write), KeyError)


@pytest.mark.parametrize("count", ["0", "-2"])
def test_a_server_has_one_worker_or_more(count, tmp_path):
    done = CliRunner().invoke(command, ["serve", "--library", str(tmp_path), "--workers", count])
    assert isinstance(done.exception, InputError)
    text = f"`--workers` must be a number of processes, 1 or more, got {count}."
    assert str(done.exception) == text
