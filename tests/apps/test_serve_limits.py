"""What the server refuses, each time with a status, a code and one line; and how it ends."""

import json
import os
import signal
import sys

import numpy as np
import pytest
from benchmarks.fuzz.mutations import damage
from tests.support.serve_door import (
    laser,
    library,
    line_to,
    npz,
    refusal,
    refused_at_start,
    server_process,
    serving,
)
from tests.support.sites import PLANE, SITES

import isovist as iv

pytestmark = pytest.mark.slow
TOKEN, OTHER = "a-token-of-many-letters", "another-one-of-them"
SCAN = laser(PLANE.look(PLANE.places[0]))
CLOUD = {"points": [[1.0, 2.0, 3.0 + k] for k in range(60)]}
BINARY, JSON = {"Content-Type": "application/octet-stream"}, {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    with serving(library(tmp_path_factory.mktemp("maps"))) as (_, client):
        yield client


LOCATE, CHECK, BEGIN, UPDATE = "/locate", "/check", "/track", "/track/{session}"
STILL = {"odometry": [0, 0, 0]}
WRONG = [
    (LOCATE, [1], "unknown_format", None),
    (LOCATE, {}, "missing", "scan"),
    (LOCATE, {"scan": 3}, "invalid_file", None),
    (LOCATE, {"scan": {"ranges": []}}, "invalid_file", "angle_min"),
    (LOCATE, {"scan": {"points": "x"}}, "invalid_file", None),
    (LOCATE, {"scan": CLOUD}, "wrong_dimension", "scan"),
    (LOCATE, {"scan": SCAN, "prov": True}, "invalid_value", None),
    (LOCATE, {"scan": SCAN, "prove": 1}, "invalid_value", "prove"),
    (LOCATE, {"scan": SCAN, "near": [1, 2]}, "invalid_value", "near"),
    (LOCATE, {"scan": SCAN, "near": [1, 2, -1]}, "invalid_value", "radius"),
    (LOCATE, {"scan": SCAN, "near": [1, 2, True]}, "invalid_value", "near"),
    (LOCATE, {"scan": SCAN, "near": [1, 2e6, 1]}, "invalid_value", "near"),
    (LOCATE, {"scan": SCAN, "heading": [1]}, "invalid_value", "heading"),
    (LOCATE, {"scan": SCAN, "sensor": [1, 2, "3"]}, "invalid_value", "sensor"),
    (LOCATE, {"scan": SCAN, "prove": True, "budget_s": 100}, "invalid_value", "budget_s"),
    (LOCATE, {"scan": SCAN, "tilt": True}, "wrong_dimension", "tilt"),
    (LOCATE, {"scan": SCAN, "map": 7}, "invalid_value", "map"),
    (CHECK, {"scan": SCAN}, "invalid_value", "pose"),
    (CHECK, {"scan": SCAN, "pose": [1, 2, 3, 4, 5]}, "invalid_value", "pose"),
    (CHECK, {"scan": SCAN, "pose": [1, 2, 3], "spread": [0, 1]}, "invalid_value", "spread"),
    (CHECK, {"scan": SCAN, "pose": [1, 2, 3], "spread": [1, 0]}, "invalid_value", "spread"),
    (CHECK, {"scan": SCAN, "pose": [1, 2, 3], "spread": [1, -1]}, "invalid_value", "spread"),
    (BEGIN, {"scan": SCAN}, "invalid_value", None),
    (BEGIN, {"tilt": True}, "wrong_dimension", "tilt"),
    (BEGIN, {"any_attitude": True}, "wrong_dimension", "any_attitude"),
    (BEGIN, b"{", "unknown_format", None),
    (BEGIN, b"[" * 5000, "unknown_format", None),
    (UPDATE, {"scan": SCAN, "odometry": [0.0]}, "invalid_value", "odometry"),
    (UPDATE, STILL, "missing", "scan"),
    (UPDATE, {**STILL, "scan": SCAN, "time": "x"}, "invalid_value", "time"),
    (UPDATE, {**STILL, "scan": SCAN, "map": "plane"}, "invalid_value", None),
    (LOCATE + "?map=plane", {"scan": SCAN}, "conflict", None),
]


@pytest.fixture(scope="module")
def session(door):
    """The key of a robot that is followed."""
    return door.post("/track", json={}).json()["session"]


@pytest.mark.parametrize(("address", "ask", "code", "field"), WRONG)
def test_what_cannot_be_answered_is_refused(door, session, address, ask, code, field):
    how = {"content": ask, "headers": JSON} if isinstance(ask, bytes) else {"json": ask}
    response = door.post(address.format(session=session), **how)
    assert refusal(response) == (400, code, field)


def test_addresses_methods_and_kinds_that_there_are_not(door):
    gone = door.post("/locate", json={"scan": SCAN, "map": "attic"})
    assert refusal(gone) == (404, "not_found", None)
    assert refusal(door.get("/etc/passwd")) == (404, "not_found", None)
    assert refusal(door.put("/locate"))[0] == 405
    html = {"Content-Type": "text/html"}
    for address, headers, code, field in (
        ("/locate", html, "unknown_format", None),
        ("/track", BINARY, "unknown_format", "scan"),
        ("/locate", BINARY, "invalid_file", None),
        ("/locate?near=a", BINARY, "invalid_value", "near"),
        ("/locate?near=nan,1,2", BINARY, "invalid_value", "near"),
        ("/locate?prove=1", BINARY, "invalid_value", "prove"),
    ):
        answer = door.post(address, content=b"PK", headers=headers)
        assert refusal(answer) == (400, code, field), address


@pytest.mark.parametrize(
    ("name", "files", "code", "field"),
    [
        (".hidden", {"a.yaml": b"x"}, "invalid_value", "name"),
        ("a.atlas", {"a.yaml": b"x"}, "invalid_value", "name"),
        ("a ", {"a.yaml": b"x"}, "invalid_value", "name"),
        ("a" * 101, {"a.yaml": b"x"}, "invalid_value", "name"),
        ("room", {}, "invalid_value", "files"),
        ("room", {"a.pgm": b"P5"}, "invalid_file", None),
        ("room", {"scan.csv": b"0,1"}, "unknown_format", None),
    ],
)
def test_what_is_no_map_is_not_taken(door, name, files, code, field):
    parts = [("file", (file, data)) for file, data in files.items()]
    response = door.post(f"/maps/{name}", files=parts or None, data={} if parts else {"a": "b"})
    assert refusal(response) == (400, code, field)
    assert [row["name"] for row in door.get("/maps").json()["maps"]] == ["plane"]


def test_a_form_of_too_many_files_and_a_name_that_leads_out_are_refused(door):
    many = [("file", (f"{k}.yaml", b"")) for k in range(501)]
    assert refusal(door.post("/maps/room", files=many)) == (400, "unknown_format", None)
    assert refusal(door.post("/maps/..", files=many[:1]))[0] in (404, 405)


def test_tokens(tmp_path):
    maps = library(tmp_path / "maps")
    with serving(maps, tokens=[TOKEN, OTHER]) as (_, client):
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {TOKEN}"}):
            response = client.post("/locate", json={"scan": SCAN}, headers=headers)
            assert refusal(response) == (401, "forbidden", None)
            assert response.headers["www-authenticate"] == "Bearer"
        assert client.get("/health").status_code == 200
        assert client.get("/ready").status_code != 401
        assert client.get("/metrics").status_code == 401
        for token in (TOKEN, OTHER):
            headers = {"Authorization": f"Bearer {token}", "Host": "maps.example"}
            assert client.get("/maps", headers=headers).status_code == 200
        # With a token too, what is no origin is that of a stranger, and no failure.
        answer = client.get("/maps", headers={**headers, "Origin": "http://["})
        assert refusal(answer) == (403, "forbidden", None)


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Host": "["}, {"Origin": "http://evil.example"},
     {"Origin": "http://["}, {"Sec-Fetch-Site": "cross-site"}],
)  # fmt: skip
def test_without_tokens_only_this_machine_may_ask(door, headers):
    assert refusal(door.get("/maps", headers=headers)) == (403, "forbidden", None)


@pytest.mark.parametrize(
    ("words", "code", "field"),
    [
        (["--host", "0.0.0.0"], "missing", "token_file"),
        (["--zenoh", "tcp/10.0.0.5:7447"], "missing", "token_file"),
        (["--workers", "0"], "invalid_value", "workers"),
        (["--workers", "-2"], "invalid_value", "workers"),
        (["--memory", "-5"], "invalid_value", "memory"),
        (["--memory", "nan"], "invalid_value", "memory"),
        (["--token-file", "gone"], "not_found", None),
        (["--token-file", "empty"], "empty", None),
        (["--token-file", "short"], "invalid_file", None),
        (["--token-file", "odd"], "unknown_format", None),
        (["--library", "empty"], "file_not_writable", None),
    ],
)
def test_a_server_that_cannot_be_as_it_is_told_does_not_begin(
    words, code, field, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name, data in (("empty", b" \n"), ("short", b"abc\n"), ("odd", b"\xff" * 20)):
        (tmp_path / name).write_bytes(data)
    assert refused_at_start("serve", "--library", "maps", *words) == (code, field)


def test_a_server_without_its_optional_part_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert refused_at_start("serve", "--library", tmp_path) == ("missing_extra", "serve")


def test_bodies_that_are_too_large_or_too_slow(tmp_path):
    large = b" " * (1 << 20) + b"{}"
    with serving(library(tmp_path / "maps"), max_scan_bytes=1 << 20) as (_, client):
        pieces = (large[k : k + 65536] for k in range(0, len(large), 65536))
        for content in (large, pieces):
            assert refusal(client.post("/locate", content=content)) == (413, "too_large", None)
        assert refusal(client.post("/locate", content=large[:-2])) == (400, "unknown_format", None)
    with serving(tmp_path / "maps", body_timeout_s=0.0) as (_, client), line_to(client) as line:
        line.sendall(
            b"POST /locate HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            b"Content-Length: 9\r\n\r\n{"
        )
        told = line.makefile("rb").read()  # until the server closes
        assert told.startswith(b"HTTP/1.1 408 ")
        assert b'"timed_out"' in told


def test_more_than_can_be_answered_is_refused_and_told_when_to_come_again(tmp_path):
    maps = library(tmp_path / "maps")
    for limits, status, code in (
        ({"max_waiting": 0}, 429, "busy"),
        ({"answer_timeout_s": 0.0}, 503, "unavailable"),
    ):
        with serving(maps, retry_after_s=3, **limits) as (server, client):
            for address in ("/locate", "/locate?prove=true"):
                data = npz(PLANE.look(PLANE.places[0]), tmp_path)
                response = client.post(address, content=data, headers=BINARY)
                assert refusal(response) == (status, code, None)
                assert response.headers["retry-after"] == "3"
            assert server.workers.waiting == 0
            assert client.get("/health").status_code == 200
    with serving(maps, max_sessions=1) as (_, client):
        assert client.post("/track", json={}).status_code == 201
        assert refusal(client.post("/track", json={})) == (429, "busy", None)


def test_connections_that_ask_nothing_are_closed(tmp_path):
    with (
        serving(tmp_path / "maps", idle_timeout_s=0.05) as (_, client),
        line_to(client) as idle, line_to(client) as slow,
    ):  # fmt: skip
        slow.sendall(b"POST /locate HTTP/1.1\r\nHost: ")
        assert idle.recv(10) == slow.recv(10) == b""


def test_of_too_many_connections_those_that_ask_nothing_for_the_longest_are_closed(tmp_path):
    """Whoever is asking stays, and so does who has just asked."""
    head = "POST /locate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n"

    def answered(line):
        line.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        told = b""
        while not told.endswith(b"}"):
            told += line.recv(1000) or b"closed}"
        assert told.startswith(b"HTTP/1.1 200 ")

    with serving(tmp_path / "maps", max_connections=3, idle_timeout_s=3600.0) as (_, client):
        lines = [line_to(client)]
        lines[0].sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
        assert lines[0].recv(64).startswith(b"HTTP/1.1 100 ")  # the server waits for its body
        lines += [line_to(client), line_to(client)]
        answered(lines[2])
        for one, closed in ((3, 1), (4, 2)):
            lines.append(line_to(client))
            answered(lines[one])
            assert lines[closed].recv(1) == b""
        lines[0].sendall(b"{}")
        assert lines[0].recv(1000).startswith(b"HTTP/1.1 404 ")  # there is no map
        answered(lines[3])
        for line in lines:
            line.close()


def test_hundreds_of_damaged_requests_are_refused_with_one_line_each(door, tmp_path):
    random, refused = np.random.default_rng(0), 0
    good = json.dumps({"scan": SCAN, "map": "plane", "pose": [1, 2, 3], "odometry": [1, 2, 3]})
    files = [npz(site.look(site.places[0]), tmp_path) for site in SITES.values()]
    paths = ("/locate", "/check", "/track", "/track/none", "/maps/x", "/maps", "/nowhere", "/%00")
    for _ in range(700):
        path, binary = str(random.choice(paths)), random.random() < 0.4
        body = damage("a.npz", files[random.integers(2)], random) if binary else good.encode()
        body = body if binary else damage("a.json", body, random)
        response = door.post(path, content=body, headers=BINARY if binary else JSON)
        if not response.is_success:
            assert 400 <= refusal(response)[0] < 500, (path, body[:80], response.text)
            refused += 1
    assert refused > 300
    lines = (b"GET", b"\x00\x01\x02", b"GET / HTTP/9.9", b"POST /locate HTTP/1.1\r\nHost: a b\x00")
    for line in lines:
        with line_to(door) as raw:
            raw.sendall(line + b"\r\n\r\n")
            assert raw.recv(4096).startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 "))
    assert door.post("/locate", json={"scan": SCAN}).json()["verdict"] == "unique"


def test_a_server_that_is_told_to_end_answers_whom_it_let_in(tmp_path):
    (tmp_path / "tokens").write_text(f"{TOKEN}\n\n  {OTHER} \n")
    told = ("--token-file", str(tmp_path / "tokens"))
    body = json.dumps({"scan": SCAN}).encode()
    head = (
        f"POST /locate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
        f"Authorization: Bearer {OTHER}\r\nExpect: 100-continue\r\n\r\n"
    )
    with server_process(library(tmp_path / "maps"), *told) as (running, client):
        assert refusal(client.post("/locate", json={"scan": SCAN})) == (401, "forbidden", None)
        lines = [line_to(client) for _ in range(8)]
        for line in lines:
            line.sendall(head.encode())
        # Whom the server asks for the rest it has let in.
        assert {line.recv(64) for line in lines} == {b"HTTP/1.1 100 Continue\r\n\r\n"}
        for line in lines:
            line.sendall(body)
        first = lines[0].recv(65536)
        running.send_signal(signal.SIGTERM)
        told = [first, *(line.recv(65536) for line in lines[1:])]
        assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in told)
        out, _ = running.communicate(timeout=120)
        assert running.returncode == 0
        assert [json.loads(line)["status"] for line in out.splitlines()] == [401, *[200] * 8]
        for line in lines:
            line.close()


def test_a_server_that_is_killed_while_a_map_comes_leaves_nothing_of_it(tmp_path):
    maps = library(tmp_path / "maps")
    head = (
        "POST /maps/annex HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        '--x\r\nContent-Disposition: form-data; name="file"; filename="a.yaml"\r\n\r\n'
    )
    with server_process(maps) as (running, client), line_to(client) as line:
        line.sendall(head.encode() + b"0" * 50000)
        client.get("/health")
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
    assert [path.name for path in maps.iterdir()] == ["plane.atlas"]
    assert list(iv.read_library(maps)) == ["plane"]
