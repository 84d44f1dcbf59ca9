"""Processes and threads that locate scans: groups, who shares one, and what is said at an end."""

import io
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.answers import bits, scans_of
from tests.support.errors import refused
from tests.support.paths import SUPPORT
from tests.support.sites import PLANE, SITES
from tests.support.workers import unpacked

import isovist as iv
from isovist import localization
from isovist.compute import run_parallel
from isovist.compute.infra import threads
from isovist.localization import LocateOptions, ScanGroup, Worker, WorkerEndedError, Workers


@pytest.mark.parametrize(
    ("scans", "workers", "size"),
    [
        ([0], 2, 1), (range(5), 2, 1), (range(90), 2, 11), (range(256), 2, 32),
        (range(9999), 3, 32), ([bytes(20_000)] * 200, 1, 32), ([bytes(200_000)] * 200, 1, 5),
        ([bytes(3_000_000)] * 200, 1, 1),
    ],
)  # fmt: skip
def test_groups_of_scans_get_smaller_so_that_workers_end_at_once(scans, workers, size):
    """And hold fewer of large scans."""
    groups = list(localization.split_scans(scans, workers, LocateOptions()))
    assert [one for group in groups for one in group.scans] == list(scans)
    assert all(group.scans[0] == scans[group.first] for group in groups)
    sizes = [len(group.scans) for group in groups]
    assert sizes[0] == size
    assert sizes == sorted(sizes, reverse=True)
    assert set(sizes[-workers:]) == {1}
    assert list(localization.split_scans([], workers, LocateOptions())) == []


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_workers_that_are_kept_answer_call_after_call(site):
    scans = scans_of(site)[:2]
    with Workers(site.atlas, 1) as kept:
        assert (kept.atlas, kept.count) == (site.atlas, 1)
        region = iv.Region.circle(site.places[0].position[:2], 2.0)
        for some, how in ((scans, {}), (scans[:1], {"region": region}), ([], {})):
            answers = iv.locate_many(site.atlas, some, workers=kept, **how)
            twins = [iv.locate(site.atlas, scan, **how) for scan in some]
            assert [bits(a) for a in answers] == [bits(a) for a in twins]
        with refused("locate") as caught:
            iv.locate_many(site.atlas, [scans[0], 3], workers=kept)
        assert str(caught.value).startswith("Scan 1: ")
        with refused("workers", "conflict"):
            iv.locate_many(site.twin_atlas, scans, workers=kept)
    with refused("Workers"):
        Workers("floor.yaml", 2)
    with refused("workers", "unavailable"):
        iv.locate_many(site.atlas, scans, workers=kept)


def test_a_worker_that_is_kept_and_ends_is_replaced():
    scans = scans_of(PLANE)[:1]
    with Workers(PLANE.atlas, 1) as kept:
        kept._workers[0].process.kill()
        with pytest.raises(WorkerEndedError):
            iv.locate_many(PLANE.atlas, scans, workers=kept)
        (answer,) = iv.locate_many(PLANE.atlas, scans, workers=kept)
    assert bits(answer) == bits(iv.locate(PLANE.atlas, scans[0]))


def test_threads_that_ask_one_worker_get_their_own_answers(monkeypatch):
    known = [str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(known))
    worker = Worker(module="echo_worker")
    try:
        with ThreadPoolExecutor(8) as pool:
            for told, asked in zip(pool.map(worker.ask, range(400)), range(400), strict=True):
                assert told == (asked, "x" * 100 * (asked % 7))
            with pytest.raises(iv.InputError, match="Scan -1"):
                pool.submit(worker.ask, -1).result()
            ended = [pool.submit(worker.ask, asked) for asked in (7, None, 8, 9)]
            assert any(isinstance(one.exception(), WorkerEndedError) for one in ended)
    finally:
        worker.close()


def test_a_worker_reads_scans_until_nothing_more_comes():
    scans = scans_of(PLANE)[:2]
    read, write = io.BytesIO(), io.BytesIO()
    options = LocateOptions()
    for given in (PLANE.atlas, ScanGroup(0, scans, options), ScanGroup(7, [None], options)):
        pickle.dump(given, read)
    read.seek(0)
    localization.locate_requests(read, write)
    write.seek(0)
    ask = localization.scan_locator(PLANE.atlas)
    assert [bits(a) for a in unpacked(write)] == [bits(ask(0, scan)) for scan in scans]
    error = unpacked(write)
    assert (error.code, error.field) == ("invalid_value", "locate")
    assert str(error).startswith("Scan 7: ")


def test_scans_are_made_a_few_ahead_of_the_answers():
    made = []
    scans = (made.append(k) or k for k in range(100))
    answers = threads.map_in_order(lambda number, scan: (number, scan), scans, 2)
    assert next(answers) == (0, 0)
    assert len(made) <= 2 * threads.PENDING_PER_CORE + 1
    answers.close()


def test_loops_leave_a_core_to_each_caller(monkeypatch):
    monkeypatch.setattr(threads, "THREADS", 3)
    hands, seen = [threads.free_threads()], []

    def loop(first, last):
        seen.append((first, last, threading.current_thread()))

    with threads.reserve_core():
        hands.append(threads.free_threads())
        with threads.reserve_core():
            hands.append(threads.free_threads())
            with threads.reserve_core(), threads.reserve_core():
                hands.append(threads.free_threads())
                run_parallel(loop, 100, 1, None, ())
    with threads.single_threaded():
        run_parallel(loop, 50, 1, None, ())
    assert [*hands, threads.free_threads()] == [3, 3, 2, 1, 3]
    assert seen == [(0, last, threading.current_thread()) for last in (100, 50)]
