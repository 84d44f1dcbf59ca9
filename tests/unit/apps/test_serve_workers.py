"""Processes that answer requests of a server: who is asked what, and what becomes of an end."""

import asyncio
import io
import json
import os
import pickle
from contextlib import contextmanager

import pytest
from tests.support.paths import ROOT
from tests.support.reports import said, untimed
from tests.support.serve_door import laser, library, npz
from tests.support.sites import PLANE, SITES
from tests.support.workers import unpacked

import isovist as iv
from isovist.apps import BINARY, Batch, Body, Call, Limits, RefusedError, Worker, WorkerPool, work

pytestmark = pytest.mark.slow
ENDS = "tests.support.asked_worker"


class Steady(WorkerPool):
    """A pool whose pace stays as it is set."""

    def note(self, requests, seconds):
        assert seconds >= 0.0
        self.batches = self.batches[0] + 1, self.batches[1] + requests


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    known = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, known)))


@contextmanager
def pool_of(count, pool=Steady, module=ENDS, **limits):
    """Workers, and what runs a coroutine in their loop."""
    with asyncio.Runner() as runner:
        workers = pool(count, Limits(**limits), module)
        try:
            yield workers, lambda ask: runner.run(asyncio.wait_for(ask, 120.0))
        finally:
            runner.run(workers.close())


def call(data, content_type="", query=(), verb="locate"):
    return Call(verb, Body(data, content_type, dict(query)))


async def tasks_of(*calls):
    """Tasks that have begun."""
    tasks = [asyncio.create_task(one) for one in calls]
    await asyncio.sleep(0.0)
    return tasks


def test_processes_that_cannot_begin_are_no_fault_of_the_request():
    with pool_of(1, module="tests.support.nothing") as (pool, run):
        refused = run(pool.ask(call(b""), {})).error
    assert isinstance(refused, RefusedError)
    assert (refused.status, refused.code) == (503, "unavailable")


def test_requests_that_wait_are_shared_out_and_nobody_works_for_those_who_left():
    async def ask(pool):
        old, new = {"old": 1}, {"new": 1}
        maps = [old if k < 30 else new for k in range(40)]
        replies = await tasks_of(*(pool.ask(call(bytes([k])), maps[k]) for k in range(40)))
        replies[4].cancel()
        replies[5].cancel()
        return await asyncio.gather(*replies, return_exceptions=True)

    with pool_of(2, answer_timeout_s=1000.0) as (pool, run):
        for pace, most in ((1.0, 1), (0.0, 1), (0.004, 2), (1e-5, 8)):
            before, pool.pace_s = pool.batches[1], pace
            told = dict(enumerate(run(ask(pool))))
            assert [k for k, one in told.items() if isinstance(one, BaseException)] == [4, 5]
            del told[4], told[5]
            assert [one.content for one in told.values()] == [bytes([k]) for k in told]
            assert all(one.log_fields["library"] == {"old" if k < 30 else "new": 1}
                       for k, one in told.items())  # fmt: skip
            assert max(one.log_fields["together"] for one in told.values()) == most
            assert pool.batches[1] - before == 38
        assert pool.waiting == 0


def test_a_request_that_ends_a_worker_or_fails_does_not_take_others_along():
    words, maps = [b"a", b"b", b"end", b"c", b"end", b"d"], {}

    async def ask(pool, words):
        return await asyncio.gather(*(pool.ask(call(word), maps) for word in words))

    with pool_of(1) as (pool, run):
        pool.pace_s = 1e-5  # so that all that wait go together
        told = run(ask(pool, words))
        assert [one.content for one in told] == [b"" if w == b"end" else w for w in words]
        refused = [one.error for one in told if one.error is not None]
        assert [(error.status, error.code) for error in refused] == [(503, "unavailable")] * 2
        told = run(ask(pool, [b"a", b"fail", b"b"]))
        assert [type(one.error) for one in told] == [type(None), *[ZeroDivisionError] * 2]
        assert run(ask(pool, [b"c"]))[0].content == b"c"


def test_what_could_not_be_answered_in_time_is_refused_at_once():
    async def ask(pool):
        pool.pace_s, pool.waiting = 3.0, 4
        with pytest.raises(RefusedError) as error:
            await pool.ask(call(b"1"), {})
        assert (error.value.status, error.value.retry_after_s) == (429, 6)
        pool.waiting = 3  # 9 s of the 20 s, no more than half of them
        assert (await pool.ask(call(b"2"), {})).content == b"2"
        pool.pace_s, pool.waiting = 0.0, 5
        with pytest.raises(RefusedError) as error:
            await pool.ask(call(b"3"), {})
        assert error.value.retry_after_s == 1

    with pool_of(1, answer_timeout_s=20.0, max_waiting=5) as (pool, run):
        run(ask(pool))


def test_pace_is_that_of_the_latest():
    with pool_of(2, WorkerPool) as (pool, _):
        pool.note(4, 4.0)
        assert (pool.pace_s, pool.batches) == (0.5, (1, 4))
        pool.note(1, 3.0)
        assert pool.pace_s == pytest.approx(0.8)
        assert pool.batches == (2, 5)


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_worker_answers_until_nothing_more_comes(site, tmp_path):
    maps = iv.read_library(library(tmp_path / "maps", site.name))
    scans = [site.look(site.places[0]), site.elsewhere()]
    address = {"hints": "false", "certificate": "false"}
    asked = [call(npz(scan, tmp_path), BINARY[0], address) for scan in scans]
    gone = call(asked[0].body.data, BINARY[0], {**address, "map": "gone"})
    read, write = io.BytesIO(), io.BytesIO()
    for given in (
        Limits(), Batch(maps, ()), Batch(maps, [asked[0], gone, asked[1]]),
        Batch(None, asked[:1]), 7,
    ):  # fmt: skip
        pickle.dump(given, read)
    read.seek(0)
    work(read, write)
    write.seek(0)
    assert unpacked(write) == []
    first, refused, second = unpacked(write)
    for one, scan in ((first, scans[0]), (second, scans[1])):
        assert untimed(json.loads(one.content)) == said(iv.locate(site.atlas, scan))
    assert first.log_fields == {"verdict": "unique"}
    assert refused.log_fields == {"map": "gone"}
    assert (refused.error.status, refused.content) == (404, b"")
    (again,) = unpacked(write)
    assert untimed(json.loads(again.content)) == untimed(json.loads(first.content))
    assert isinstance(unpacked(write), AttributeError)


@pytest.mark.parametrize(
    ("fields", "needs_proof"),
    [({"prove": True}, True), ({"prove": False}, False), ({"map": "prove"}, False),
     (b'"prov\\u0065": true', True)],
)  # fmt: skip
def test_a_request_asks_for_a_proof_by_its_field_alone(fields, needs_proof, tmp_path):
    """Proofs have a process of their own."""
    scan = laser(PLANE.look(PLANE.places[0]))
    body = json.dumps({"scan": scan, **(fields if isinstance(fields, dict) else {})}).encode()
    if isinstance(fields, bytes):
        body = b"{" + fields + b"," + body[1:]
    maps = iv.read_library(library(tmp_path / "maps", "plane"))
    (reply,) = Worker(Limits()).answer(Batch(maps, [call(body)]))
    assert reply.needs_proof is needs_proof
