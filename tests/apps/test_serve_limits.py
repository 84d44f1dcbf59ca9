"""What the server refuses, each time with a status and one line; and how it ends."""

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from logging.handlers import QueueHandler
from pathlib import Path
from queue import SimpleQueue

import httpx
import numpy as np
import pytest
from tests.support.serve_door import laser, library, npz, serving
from tests.support.sites import PLANE, SPACE

import isovist as iv
from isovist import InputError
from isovist.apps import Batcher, Limits, Search, read_tokens
from isovist.serve import gate
from isovist.serve.start import start

TOKEN = "a-token-of-many-letters"
SCAN = laser(PLANE.look(PLANE.places[0]))
BINARY = {"Content-Type": "application/octet-stream"}


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    with serving(library(tmp_path_factory.mktemp("maps"))) as (_, client):
        yield client


def refused(response):
    """Status and text of an answer that says no, in one line."""
    told = response.json()
    assert set(told) == {"error"}
    assert "\n" not in told["error"]
    return response.status_code, told["error"]


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        ([1], "A request is an object with named fields, got [1]."),
        ({}, "`scan` is missing: the fields of a LaserScan, or `points` in space."),
        ({"scan": 3}, "scan must hold the fields of a LaserScan, got 3."),
        ({"scan": {"ranges": []}}, "scan: `angle_min` is missing. A scan needs `angle_min`, "
         "`angle_increment`, `ranges`, `range_min`, `range_max`."),
        ({"scan": {"points": "x"}}, "scan: `points` of a cloud must be numbers, got 'x'."),
        ({"scan": {"points": [[1.0, 2.0, 3.0 + k] for k in range(60)]}}, "The scan is a cloud of "
         "points, and the atlas is of a map of the plane. Build the atlas of a map in space, or "
         "take a scan of the plane."),
        ({"scan": SCAN, "prov": True}, "There is no field 'prov'; there are `scan`, `sensor`, "
         "`map`, `near`, `heading`, `tilt`, `any_attitude`, `certificate`, `hints`, `prove`, "
         "`budget_s`."),
        ({"scan": SCAN, "prove": 1}, "`prove` must be true or false, got 1."),
        ({"scan": SCAN, "near": [1, 2]}, "`near` must be [x, y, radius] in m and rad, got [1, 2]."),
        ({"scan": SCAN, "sensor": [1, 2, "3"]}, "`sensor` must be [x, y, yaw] in m and rad, got "
         "[1, 2, '3']."),
        ({"scan": SCAN, "prove": True, "budget_s": 100}, "`budget_s` must be a number from 0 to "
         "20, got 100."),
        ({"scan": SCAN, "tilt": True}, "`tilt` is for maps in space; this atlas is of the plane."),
        ({"scan": SCAN, "map": 7}, "`map` must be a short text, got 7."),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_one_sentence(door, ask, text):
    assert refused(door.post("/locate", json=ask)) == (400, text)


def test_addresses_methods_and_kinds_that_there_are_not(door):
    assert refused(door.post("/locate", json={"scan": SCAN, "map": "attic"})) == (
        404, "There is no map 'attic'. GET /maps lists those there are.",
    )  # fmt: skip
    assert refused(door.get("/etc/passwd")) == (
        404, "There is nothing at this address. GET / lists what there is.",
    )  # fmt: skip
    assert refused(door.put("/locate")) == (
        405, "This address is asked in another way. GET / lists how.",
    )  # fmt: skip
    assert refused(door.post("/locate", content=b"{", headers={"Content-Type": "text/html"})) == (
        400, "A request is JSON (`Content-Type: application/json`) or an .npz file "
        "(`application/octet-stream`), got 'text/html'.",
    )  # fmt: skip
    assert refused(door.post("/locate", content=b"{")) == (
        400, "The body of the request is no JSON.",
    )  # fmt: skip
    assert refused(door.post("/locate?map=plane", json={"scan": SCAN})) == (
        400, "Only with an .npz file does the address say more; put it in the JSON.",
    )  # fmt: skip
    assert refused(door.post("/track", content=b"PK", headers=BINARY)) == (
        400, "Here a request is JSON: it has no scan, and so no .npz file.",
    )  # fmt: skip
    assert refused(door.post("/locate", content=b"PK", headers=BINARY)) == (
        400, "scan.npz is not a sound .npz file: File is not a zip file.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "files", "text"),
    [
        ("..", {"a.yaml": b"x"}, None),
        (".hidden", {"a.yaml": b"x"}, "The name of a map has letters, digits, spaces, `.`, `_` "
         "and `-`, and at most 100 of them, got '.hidden'."),
        ("a.atlas", {"a.yaml": b"x"}, "The name of a map has letters, digits, spaces, `.`, `_` "
         "and `-`, and at most 100 of them, got 'a.atlas'."),
        ("room", {}, "A map has from 1 to 500 files, got 0."),
        ("room", {"a.pgm": b"P5"}, "a.pgm: an image is no map by itself. Drop the .yaml of the "
         "map with it."),
        ("room", {"scan.csv": b"0,1"}, "scan.csv is not a map."),
    ],
)  # fmt: skip
def test_maps_that_are_none(door, name, files, text):
    parts = [("file", (file, data)) for file, data in files.items()]
    response = door.post(f"/maps/{name}", files=parts or None, data={} if parts else {"a": "b"})
    status, told = refused(response)
    assert 400 <= status < 500
    assert text is None or told == text
    assert [row["name"] for row in door.get("/maps").json()["maps"]] == ["plane"]


@pytest.mark.slow
def test_tokens(tmp_path):
    with serving(library(tmp_path / "maps"), tokens=[TOKEN, "another-one-of-them"]) as (_, client):
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {TOKEN}"}):
            response = client.post("/locate", json={"scan": SCAN}, headers=headers)
            assert refused(response) == (401, gate.NO_TOKEN)
            assert response.headers["www-authenticate"] == "Bearer"
        assert client.get("/health").status_code == 200
        assert client.get("/metrics").status_code == 401
        for token in (TOKEN, "another-one-of-them"):
            headers = {"Authorization": f"Bearer {token}", "Host": "maps.example"}
            assert client.get("/maps", headers=headers).status_code == 200


def test_without_tokens_only_this_machine_may_ask(door, tmp_path):
    assert refused(door.get("/maps", headers={"Host": "evil.example"})) == (
        403, "The server does not answer to this name. Ask it by its number, or give it a token.",
    )  # fmt: skip
    assert refused(door.get("/maps", headers={"Origin": "http://evil.example"})) == (
        403, "The server answers to no pages of others.",
    )  # fmt: skip
    with pytest.raises(InputError) as error:
        start(tmp_path, host="0.0.0.0", port=0)
    assert str(error.value) == (
        "At `host` 0.0.0.0 others can ask, so that the server needs a `token_file`; without one it "
        "listens at 127.0.0.1 alone."
    )


def test_files_of_tokens(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"{TOKEN}\n\n  another-one-of-them \n")
    assert read_tokens(path) == (TOKEN, "another-one-of-them")
    for text, words in (
        (" \n", "tokens holds no token. Write one per line."),
        ("short\n", "tokens: a token has at least 16 letters."),
    ):
        path.write_text(text)
        with pytest.raises(iv.FileError) as error:
            read_tokens(path)
        assert str(error.value) == words


@pytest.mark.slow
def test_bodies_that_are_too_large_or_too_slow(tmp_path):
    with serving(library(tmp_path / "maps"), scan_bytes=1 << 20, body_s=0.3) as (_, client):
        large = b" " * (1 << 20) + b"{}"
        text = "The body of this request has at most 1 MiB."
        assert refused(client.post("/locate", content=large)) == (413, text)
        pieces = (large[k : k + 65536] for k in range(0, len(large), 65536))
        assert refused(client.post("/locate", content=pieces)) == (413, text)
        with socket.create_connection((client.base_url.host, client.base_url.port)) as line:
            line.sendall(
                b"POST /locate HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                b"Content-Length: 9\r\n\r\n{"
            )
            head = line.makefile("rb").read()  # until the server closes
        assert head.startswith(b"HTTP/1.1 408 ")
        assert b"The body of the request did not come within 0.3 s." in head


@pytest.mark.slow
def test_connections_that_ask_nothing_are_closed(tmp_path):
    with serving(library(tmp_path / "maps"), head_s=0.2) as (_, client):
        address = client.base_url.host, client.base_url.port
        with socket.create_connection(address) as idle, socket.create_connection(address) as slow:
            slow.sendall(b"POST /locate HTTP/1.1\r\nHost: ")
            idle.settimeout(30.0)
            slow.settimeout(30.0)
            assert idle.recv(10) == b""
            assert slow.recv(10) == b""
        assert client.get("/health").status_code == 200


def test_of_too_many_connections_those_that_ask_nothing_for_the_longest_are_closed(tmp_path):
    """Whoever is asking stays, and so does who has just asked."""
    asking = b"POST /locate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{"
    with serving(library(tmp_path / "maps"), connections=3) as (_, client), ExitStack() as stack:
        address = client.base_url.host, client.base_url.port

        def connect():
            line = stack.enter_context(socket.create_connection(address))
            line.settimeout(30.0)
            return line

        slow = connect()
        slow.sendall(asking)
        idle = [connect(), connect()]
        idle[0].sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        told = b""
        while not told.endswith(b"}"):
            told += idle[0].recv(1000)
        idle.append(connect())
        assert idle[1].recv(1) == b""
        assert client.get("/health").status_code == 200
        assert idle[0].recv(1) == b""
        slow.sendall(b"}")
        assert slow.recv(1000).startswith(b"HTTP/1.1 400 ")
        idle[2].settimeout(0.2)
        with pytest.raises(TimeoutError):
            idle[2].recv(1)


def test_a_server_asks_for_as_many_open_files_as_its_connections_need():
    words = "import resource as r; from isovist.serve.start import room_for; "
    words += (
        "n = r.RLIMIT_NOFILE; r.setrlimit(n, (100, {})); print(room_for(50), r.getrlimit(n)[0])"
    )
    for hard, wanted in ((400, "50 150"), (120, "40 120")):
        command = [sys.executable, "-c", words.format(hard)]
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        assert told.stdout.strip() == wanted


@pytest.fixture
def held(monkeypatch):
    """Searches wait until they are let go."""
    begun, free = threading.Event(), threading.Event()

    def run(_search):
        def wait(scans):
            begun.set()
            free.wait(60.0)
            return [{"verdict": "unique"} for _ in scans]

        return wait

    monkeypatch.setattr(Search, "run", property(run))
    yield begun, free
    free.set()


@pytest.mark.slow
def test_more_than_may_wait_is_refused_and_told_when_to_come_again(tmp_path, held):
    begun, free = held
    with (
        serving(library(tmp_path / "maps"), queue=2, batch=1) as (server, client),
        ThreadPoolExecutor(2) as pool,
    ):
        ask = lambda: client.post("/locate", json={"scan": SCAN})  # noqa: E731
        waiting = [pool.submit(ask) for _ in range(2)]
        assert begun.wait(60.0)
        while server.batches.waiting < 2:
            pass
        response = ask()
        assert refused(response) == (429, "2 requests wait already. Try again in 1 s.")
        assert response.headers["retry-after"] == "1"
        free.set()
        assert [one.result().status_code for one in waiting] == [200, 200]
        assert ask().status_code == 200


def test_what_could_not_be_answered_in_time_is_refused_at_once():
    batches = Batcher(Limits(seconds=20.0))

    async def ask():
        return await batches.ask("kind", 1, list)

    assert asyncio.run(ask()) == 1
    batches.pace, batches.waiting = 3.0, 4
    with pytest.raises(iv.IsovistError) as error:
        asyncio.run(ask())
    assert (str(error.value), error.value.retry_s) == (
        "4 requests wait already. Try again in 6 s.", 6,
    )  # fmt: skip
    batches.close()


def test_whoever_comes_while_a_batch_is_located_gets_into_it():
    """And who has an answer need not wait for the others; one that fails takes no answer back."""
    batches, more = Batcher(Limits(batch=3)), threading.Event()

    def run(jobs):
        for job in jobs:
            yield -job
            assert more.wait(60.0)
            if job == 3:
                raise ValueError("three")

    async def ask():
        first = await batches.ask("kind", 1, run)
        others = [asyncio.create_task(batches.ask("kind", job, run)) for job in (2, 3, 4)]
        while batches.waiting < 3:
            await asyncio.sleep(0.001)
        assert batches.sizes == (1, 1)
        more.set()
        told = await asyncio.gather(*others, return_exceptions=True)
        return [first, *told], batches.sizes

    assert asyncio.run(ask()) == ([-1, -2, -3, -4], (2, 4))
    batches.close()


def test_an_error_of_a_batch_is_told_to_all_who_wait_for_it():
    batches = Batcher(Limits(gather_s=0.05))

    def run(jobs):
        yield next(jobs)
        assert list(jobs) == [2, 3]
        raise ValueError("by mistake")

    async def ask():
        asked = [batches.ask("kind", job, run) for job in (1, 2, 3)]
        return await asyncio.gather(*asked, return_exceptions=True)

    first, *others = asyncio.run(ask())
    assert first == 1
    assert [str(error) for error in others] == ["by mistake"] * 2
    batches.close()


def test_a_batch_that_nobody_waits_for_any_more_does_not_end_the_line():
    """Its scans were given up while another kind was located."""
    batches, begun, free = Batcher(Limits(seconds=0.2)), threading.Event(), threading.Event()

    def holding(jobs):
        begun.set()
        assert free.wait(60.0)
        return list(jobs)

    async def ask():
        held = asyncio.create_task(batches.ask("one", 1, holding))
        await asyncio.to_thread(begun.wait)
        with pytest.raises(iv.IsovistError, match="There was no answer within"):
            await batches.ask("other", 2, list)
        tasks = set(batches._tasks)
        free.set()
        with pytest.raises(iv.IsovistError):
            await held
        while batches._lines:
            await asyncio.sleep(0.001)
        assert [task.exception() for task in tasks] == [None, None]
        return await batches.ask("other", 3, list)

    assert asyncio.run(ask()) == 3
    batches.close()


@pytest.mark.slow
def test_an_answer_that_takes_too_long_is_given_up(tmp_path, held):
    with serving(library(tmp_path / "maps"), seconds=0.2) as (server, client):
        response = client.post("/locate", json={"scan": SCAN})
        assert refused(response) == (503, "There was no answer within 0.2 s. Try again later.")
        assert response.headers["retry-after"] == "1"
        assert server.batches.waiting == 0
        held[1].set()
        assert client.post("/locate", json={"scan": SCAN}).status_code == 200


def test_each_request_is_one_line_of_the_log(door, caplog, monkeypatch):
    """A line is written once its answer is sent, so perhaps after the answer is here."""
    logger, lines = logging.getLogger("isovist.serve.requests"), SimpleQueue()
    monkeypatch.setattr(logger, "handlers", [*logger.handlers, QueueHandler(lines)])
    with caplog.at_level(logging.INFO, logger.name):
        door.post("/locate", json={"scan": SCAN, "map": "plane"})
        door.get("/maps?secret=1")
        told = {}
        while "/maps" not in told:
            line = json.loads(lines.get(timeout=60.0).message)
            told[line["path"]] = line
    first, second = told["/locate"], told["/maps"]
    assert first.items() >= {
        "method": "POST", "path": "/locate", "status": 200, "map": "plane", "verdict": "unique",
    }.items()  # fmt: skip
    assert first["bytes_in"] > 1000
    assert first["ms"] > 0.0
    assert (second["path"], second["status"], second["bytes_in"]) == ("/maps", 200, 0)


def mangled(seed, folder):
    """Requests that are wrong in some way: method, address, headers and body."""
    random = np.random.default_rng(seed)
    good = json.dumps({"scan": SCAN, "map": "plane"}).encode()
    packed = npz(PLANE.look(PLANE.places[0]), folder)
    cloud = npz(SPACE.look(SPACE.places[0]), folder)
    paths = ("/locate", "/check", "/track", "/track/none", "/maps/x", "/maps", "/nowhere", "/%00")
    while True:
        path, binary = str(random.choice(paths)), bool(random.random() < 0.4)
        body = bytearray([good, packed, cloud][int(random.integers(3 if binary else 1))])
        kind = int(random.integers(5))
        if kind == 0:
            body = body[: int(random.integers(len(body)))]
        elif kind == 1:
            for k in random.integers(len(body), size=int(random.integers(1, 40))):
                body[k] = int(random.integers(256))
            body[0] = 0  # so that none is right by chance
        elif kind == 2:
            body = bytearray(random.bytes(int(random.integers(300))))
        elif kind == 3:
            body = bytearray(b"[" * int(random.integers(1, 3000)))
        else:
            body = bytearray(json.dumps({"scan": None, "pose": "x", "odometry": 1e999}).encode())
        yield path, bytes(body), BINARY if binary else {"Content-Type": "application/json"}


@pytest.mark.slow
def test_hundreds_of_malformed_requests_are_refused_with_one_line_each(door, tmp_path):
    count = 0
    for path, body, headers in mangled(0, tmp_path):
        response = door.post(path, content=body, headers=headers)
        if response.status_code not in (200, 201):
            status, _ = refused(response)
            assert 400 <= status < 500, (path, body[:80], response.text)
            count += 1
        if count == 600:
            break
    lines = (b"GET", b"\x00\x01\x02", b"GET / HTTP/9.9", b"POST /locate HTTP/1.1\r\nHost: a b\x00")
    for line in lines:
        with socket.create_connection((door.base_url.host, door.base_url.port)) as raw:
            raw.settimeout(30.0)
            raw.sendall(line + b"\r\n\r\n")
            assert raw.recv(4096).startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 "))
    assert door.post("/locate", json={"scan": SCAN}).json()["verdict"] == "unique"


@pytest.fixture
def process(tmp_path):
    """`isovist serve` as a process of its own, and a client that asks it."""
    maps = library(tmp_path / "maps")
    command = [sys.executable, "-m", "isovist", "serve", "--library", str(maps), "--port", "0"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = ""
    while "served at" not in address:
        address = running.stderr.readline()
        assert address, running.stderr.read()
    with httpx.Client(base_url=address.split()[6].rstrip("/"), timeout=120.0) as client:
        yield running, client, maps
    if running.poll() is None:
        running.kill()
    running.communicate()


@pytest.mark.slow
def test_a_server_that_is_told_to_end_answers_whom_it_let_in(process):
    running, client, _ = process
    client.post("/locate", json={"scan": SCAN})
    body = json.dumps({"scan": SCAN}).encode()
    head = f"POST /locate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    address = client.base_url.host, client.base_url.port
    with ExitStack() as stack:
        lines = [stack.enter_context(socket.create_connection(address)) for _ in range(8)]
        for line in lines:
            line.settimeout(120.0)
            line.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
        # Whom the server asks for the rest it has let in.
        assert {line.recv(64) for line in lines} == {b"HTTP/1.1 100 Continue\r\n\r\n"}
        for line in lines:
            line.sendall(body)
        first = lines[0].recv(65536)
        running.send_signal(signal.SIGTERM)
        told = [first, *(line.recv(65536) for line in lines[1:])]
    assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in told)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0
    assert err.splitlines()[-1] == "isovist: every request is answered; the server ends"
    statuses = [json.loads(line)["status"] for line in out.splitlines()]
    assert statuses == [200] * 9


@pytest.mark.slow
def test_a_server_that_is_killed_while_a_map_comes_leaves_nothing_of_it(process):
    running, client, maps = process
    before = sorted(path.name for path in maps.iterdir())
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.yaml"\r\n\r\n'
    head = (
        "POST /maps/annex HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
    )
    with socket.create_connection((client.base_url.host, client.base_url.port)) as line:
        line.sendall(head.encode() + form + b"0" * 50000)
        client.get("/health")
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
    assert sorted(path.name for path in maps.iterdir()) == before
    assert list(iv.read_library(maps)) == ["plane"]


def test_a_map_comes_under_its_name_when_it_is_whole(tmp_path, monkeypatch):
    """Whenever the process ends, what has a name that is no draft's is a whole atlas."""
    maps = tmp_path / "maps"
    seen = []
    from isovist.serve import maps as kept

    plain = kept.write_atlas

    def watched(atlas, path):
        plain(atlas, path)
        seen.append(
            (Path(path).name.startswith(kept.DRAFT), sorted(p.name for p in maps.iterdir()))
        )

    monkeypatch.setattr(kept, "write_atlas", watched)
    iv.write_map(iv.SegmentMap.room(4.0, 3.0), tmp_path / "room.geojson")
    served = kept.Maps(maps)
    assert served.put("room", {"room.geojson": (tmp_path / "room.geojson").read_bytes()})
    ((draft, names),) = seen
    assert draft
    assert all(name.startswith(kept.DRAFT) for name in names)
    assert [path.name for path in maps.iterdir()] == ["room.atlas"]


def test_a_missing_part_and_a_bad_folder_are_one_line(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    with pytest.raises(iv.FileError, match=r"file cannot be written: File exists\.$"):
        start(tmp_path / "file", host="127.0.0.1", port=0)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(iv.MissingExtraError) as error:
        start(tmp_path, host="127.0.0.1", port=0)
    assert str(error.value) == "The server needs an optional part: pip install 'isovist[serve]'."
