"""Scans located by other processes: the answers of a loop, and its errors."""

import io
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.support.answers import bits, scans_of
from tests.support.paths import SUPPORT
from tests.support.sites import PLANE, SITES, SPACE
from tests.support.worker_pipe import unpacked

import isovist as iv
from isovist import InputError
from isovist.localization import workers
from isovist.localization.many import asking
from isovist.localization.workers import Workers, groups_of

BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


def in_threes(scans, _workers):
    return ((k, scans[k : k + 3]) for k in range(0, len(scans), 3))


@pytest.mark.parametrize(
    ("count", "workers", "size"), [(1, 2, 1), (5, 2, 1), (90, 2, 11), (256, 2, 32), (9999, 3, 32)]
)
def test_groups_of_scans_get_smaller_so_that_workers_end_at_once(count, workers, size):
    scans = list(range(count))
    groups = list(groups_of(scans, workers))
    assert [one for _, group in groups for one in group] == scans
    assert all(group[0] == first for first, group in groups)
    sizes = [len(group) for _, group in groups]
    assert sizes[0] == size
    assert sizes == sorted(sizes, reverse=True)
    assert set(sizes[-workers:]) == {1}
    assert list(groups_of([], workers)) == []


def test_scans_that_are_large_go_one_by_one():
    for megabytes, size in ((0.02, 32), (0.2, 5), (3.0, 1)):
        scans = [np.zeros(int(1e6 * megabytes), np.uint8)] * 200
        groups = list(groups_of(scans, 1))
        assert len(groups[0][1]) == size
        assert sum(len(group) for _, group in groups) == 200


def test_other_processes_give_the_bits_of_a_loop_in_order(monkeypatch):
    monkeypatch.setattr("isovist.localization.many.groups_of", in_threes)
    scans, told = [*scans_of(PLANE)[:3], PLANE.elsewhere()], []
    answers = iv.locate_many(PLANE.atlas, scans, workers=2, progress=told.append)
    assert [bits(a) for a in answers] == [bits(iv.locate(PLANE.atlas, scan)) for scan in scans]
    assert told == [0.75, 1.0]
    with pytest.raises(InputError, match=r"^Scan 4: `locate` needs an atlas and a scan, got "):
        iv.locate_many(PLANE.atlas, [*scans, 3], workers=1)


def test_other_processes_know_several_maps_in_space():
    maps = {"there": SPACE.twin_atlas, "here": SPACE.atlas}
    scans = scans_of(SPACE)[:1]
    (answer,) = iv.locate_many(maps, scans, workers=1)
    assert bits(answer) == bits(iv.locate(maps, scans[0]))
    assert answer.map == "here"


@BOTH
def test_workers_that_are_kept_answer_call_after_call(site):
    scans = scans_of(site)[:2]
    with Workers(site.atlas, 1) as kept:
        assert (kept.atlas, kept.count) == (site.atlas, 1)
        for some, how in ((scans, {}), (scans[:1], {"certificate": True}), ([], {})):
            answers = iv.locate_many(site.atlas, some, workers=kept, **how)
            twins = [iv.locate(site.atlas, scan, **how) for scan in some]
            assert [bits(a) for a in answers] == [bits(a) for a in twins]
        with pytest.raises(InputError, match=r"^Scan 1: `locate` needs an atlas and a scan, got "):
            iv.locate_many(site.atlas, [scans[0], 3], workers=kept)
        with pytest.raises(InputError) as refused:
            iv.locate_many(site.twin_atlas, scans, workers=kept)
        assert str(refused.value) == workers.OTHER
    with pytest.raises(InputError) as refused:
        iv.locate_many(site.atlas, scans, workers=kept)
    assert str(refused.value) == workers.CLOSED


CERTIFIED = """
import isovist as iv
from sites import SITES
from tests.support.answers import bits, scans_of
for site in SITES.values():
    for scan in scans_of(site)[:2]:
        print(bits(iv.locate(site.atlas, scan, certificate=True)))
"""


def test_answers_do_not_hang_on_how_many_cores_blas_has():
    """Workers have one each, and whoever asks in a script has all of them."""
    told = set()
    for cores in ("1", "2"):
        env = {**os.environ, "OPENBLAS_NUM_THREADS": cores}
        env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        told.add(subprocess.run([sys.executable, "-c", CERTIFIED], env=env, capture_output=True,
                                check=True, cwd=SUPPORT).stdout)  # fmt: skip
    assert len(told) == 1
    assert told.pop().count(b"Certificate(mu=") == 4


def test_a_worker_that_is_kept_and_ends_is_replaced():
    scans = scans_of(PLANE)[:1]
    with Workers(PLANE.atlas, 1) as kept:
        kept._each[0].process.kill()
        with pytest.raises(workers.EndedError):
            iv.locate_many(PLANE.atlas, scans, workers=kept)
        (answer,) = iv.locate_many(PLANE.atlas, scans, workers=kept)
    assert bits(answer) == bits(iv.locate(PLANE.atlas, scans[0]))


def test_workers_need_an_atlas():
    with pytest.raises(InputError) as refused:
        Workers("floor.yaml", 2)
    assert str(refused.value) == "`Workers` need an atlas, got str."


def test_a_number_of_workers_is_at_least_one():
    with pytest.raises(InputError) as refused:
        iv.locate_many(PLANE.atlas, [], workers=0)
    assert str(refused.value) == "`workers` must be a number of processes, 1 or more, got 0."


@pytest.mark.parametrize("workers", [2.5, "x", float("nan"), True])
def test_a_number_of_workers_is_whole(workers):
    with pytest.raises(InputError, match=r"^`workers` must be a whole number, got "):
        iv.locate_many(PLANE.atlas, [], workers=workers)


def test_a_worker_that_ends_says_so(monkeypatch):
    monkeypatch.setattr(sys, "executable", "false")
    with pytest.raises(InputError) as ended:
        iv.locate_many(PLANE.atlas, scans_of(PLANE)[:1], workers=1)
    assert str(ended.value) == workers.ENDED.format(1)


def test_threads_that_ask_one_worker_get_their_own_answers(monkeypatch):
    known = [str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setattr(workers, "ALONE", {"PYTHONPATH": os.pathsep.join(known)})
    worker = workers.Worker(module="echo_worker")
    try:
        with ThreadPoolExecutor(8) as pool:
            for told, asked in zip(pool.map(worker.ask, range(400)), range(400), strict=True):
                assert told == (asked, "x" * 100 * (asked % 7))
            with pytest.raises(InputError, match=r"^Scan -1 is refused\.$"):
                pool.submit(worker.ask, -1).result()
            ended = [pool.submit(worker.ask, asked) for asked in (7, None, 8, 9)]
            assert any(isinstance(one.exception(), workers.EndedError) for one in ended)
    finally:
        worker.close()


def test_a_worker_reads_scans_until_nothing_more_comes():
    scans = scans_of(PLANE)[:2]
    read, write = io.BytesIO(), io.BytesIO()
    for given in (PLANE.atlas, (0, scans, {}), (7, [None], {})):
        pickle.dump(given, read)
    read.seek(0)
    workers.work(read, write)
    write.seek(0)
    ask = asking(PLANE.atlas)
    assert [bits(a) for a in unpacked(write)] == [bits(ask(0, scan)) for scan in scans]
    error = unpacked(write)
    assert isinstance(error, InputError)
    assert str(error).startswith("Scan 7: ")
