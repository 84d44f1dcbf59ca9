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
from tests.support.serve_door import library, npz
from tests.support.sites import SITES
from tests.support.workers import unpacked

import isovist as iv
from isovist.apps import BINARY, Asked, Batcher, Body, Limits, Question, RefusedError, Workers, work

pytestmark = pytest.mark.slow
ENDS = "tests.support.asked_worker"


class Steady(Batcher):
    """Batches whose pace stays as it is set."""

    def note(self, jobs, spent):
        assert spent >= 0.0
        self.sizes = self.sizes[0] + 1, self.sizes[1] + jobs


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    known = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, known)))


@contextmanager
def crew_of(count, **more):
    """Workers, their batches, and what runs a coroutine in their loop."""
    with asyncio.Runner() as runner:
        batches = Steady(Limits())
        crew = Workers(count, Limits(), batches, **more)
        try:
            yield crew, batches, lambda ask: runner.run(asyncio.wait_for(ask, 120.0))
        finally:
            runner.run(crew.close())


def question(data, kind="", address=(), verb="locate"):
    return Question(verb, Body(data, kind, dict(address)))


def test_processes_that_cannot_begin_are_no_fault_of_the_request():
    async def ask(crew):
        return await crew.ask({}, question(b""))

    with crew_of(1, module="tests.support.nothing") as (crew, _, run):
        refused = run(ask(crew)).error
    assert isinstance(refused, RefusedError)
    assert (refused.status, refused.code) == (503, "unavailable")


def test_requests_that_wait_are_shared_out_and_nobody_works_for_those_who_left():
    async def ask(crew):
        old, new = {"old": 1}, {"new": 1}
        told = [crew.ask(old if k < 30 else new, question(bytes([k]))) for k in range(40)]
        told[4].cancel()
        told[5].cancel()
        return await asyncio.gather(*told, return_exceptions=True)

    with crew_of(2, module=ENDS) as (crew, batches, run):
        for pace, most in ((1.0, 1), (0.0, 1), (0.004, 2), (1e-5, 8)):
            before, batches.pace = batches.sizes[1], pace
            told = dict(enumerate(run(ask(crew))))
            assert [k for k, one in told.items() if isinstance(one, BaseException)] == [4, 5]
            del told[4], told[5]
            assert [one.text for one in told.values()] == [bytes([k]) for k in told]
            assert all(one.noted["library"] == {"old" if k < 30 else "new": 1}
                       for k, one in told.items())  # fmt: skip
            assert max(one.noted["together"] for one in told.values()) == most
            assert batches.sizes[1] - before == 38


def test_a_request_that_ends_a_worker_or_fails_does_not_take_others_along():
    words, maps = [b"a", b"b", b"end", b"c", b"end", b"d"], {}

    async def ask(crew, words):
        return await asyncio.gather(*(crew.ask(maps, question(word)) for word in words))

    with crew_of(1, module=ENDS) as (crew, batches, run):
        batches.pace = 1e-5  # so that all that wait go together
        told = run(ask(crew, words))
        assert [one.text for one in told] == [b"" if w == b"end" else w for w in words]
        refused = [one.error for one in told if one.error is not None]
        assert [(error.status, error.code) for error in refused] == [(503, "unavailable")] * 2
        told = run(ask(crew, [b"a", b"fail", b"b"]))
        assert [type(one.error) for one in told] == [type(None), *[ZeroDivisionError] * 2]
        assert run(ask(crew, [b"c"]))[0].text == b"c"


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_worker_answers_until_nothing_more_comes(site, tmp_path):
    maps = iv.read_library(library(tmp_path / "maps", site.name))
    scans = [site.look(site.places[0]), site.elsewhere()]
    address = {"hints": "false", "certificate": "false"}
    asked = [question(npz(scan, tmp_path), BINARY[0], address) for scan in scans]
    gone = question(asked[0].body.data, BINARY[0], {**address, "map": "gone"})
    read, write = io.BytesIO(), io.BytesIO()
    for given in (
        Limits(), Asked(maps, ()), Asked(maps, [asked[0], gone, asked[1]]),
        Asked(None, asked[:1]), 7,
    ):  # fmt: skip
        pickle.dump(given, read)
    read.seek(0)
    work(read, write)
    write.seek(0)
    assert unpacked(write) == []
    first, refused, second = unpacked(write)
    for one, scan in ((first, scans[0]), (second, scans[1])):
        assert untimed(json.loads(one.text)) == said(iv.locate(site.atlas, scan))
    assert first.noted == {"verdict": "unique"}
    assert refused.noted == {"map": "gone"}
    assert (refused.error.status, refused.text) == (404, b"")
    (again,) = unpacked(write)
    assert untimed(json.loads(again.text)) == untimed(json.loads(first.text))
    assert isinstance(unpacked(write), AttributeError)


@pytest.mark.parametrize(
    ("body", "proves"),
    [
        ({"prove": True}, True),
        ({"prove": False}, False),
        ({"prove": 1}, False),
        ({"map": "prove"}, False),
        ({"scan": {"prove": True}}, False),
        (b'{"prov\\u0065": true}', True),
        (b'{"prove": true', False),
        (b"prove", False),
    ],
)
def test_a_request_asks_for_a_proof_by_its_field_alone(body, proves):
    """For proofs do not go to the workers."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    assert Body(data, "application/json", {}).asks_for_proof is proves
    told = {"prove": "true"} if proves else {"map": "prove=true"}
    assert Body(b"prove", BINARY[0], told).asks_for_proof is proves
