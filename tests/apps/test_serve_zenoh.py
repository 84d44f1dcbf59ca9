"""The second door of the server: queries over zenoh on the loopback of this machine."""

import pytest
from tests.support.reports import untimed
from tests.support.serve_door import laser, library, npz, refused_at_start
from tests.support.sites import PLANE

pytest.importorskip("zenoh")
from tests.support.zenoh_router import asking, routed, serving_at

pytestmark = pytest.mark.slow
TOKEN = "a token of many letters"


@pytest.fixture(scope="module")
def way():
    with routed() as endpoint, asking(endpoint) as ask:
        yield endpoint, ask


def test_both_doors_tell_the_same(way, tmp_path):
    (endpoint, ask), truth = way, PLANE.places[0]
    scan = PLANE.look(truth)
    body = {"scan": laser(scan), "map": "plane"}
    judged = {**body, "pose": [truth.x, truth.y, truth.yaw]}
    wrong = {"scan": {"ranges": []}, "map": "cellar"}
    with serving_at(endpoint, library(tmp_path / "maps")) as (_, client):
        for path, fields in (
            ("locate", body), ("check", judged), ("locate", wrong), ("nowhere", body),
            ("locate", {}),
        ):  # fmt: skip
            good, told = ask(path, fields)
            answer = client.post(f"/{path}", json=fields)
            assert (good, untimed(told)) == (answer.is_success, untimed(answer.json()))
        good, told = ask(
            "locate?map=plane;hints=false", npz(scan, tmp_path), encoding="application/zip"
        )
        assert untimed(told) == untimed(ask("locate", body)[1])
        assert ask("maps") == (True, client.get("/maps").json())
        assert ask("locate", b"\0")[1]["code"] == "unknown_format"
        counts = client.get("/metrics").text.splitlines()
        assert 'isovist_requests_total{route="/locate",status="200"} 4' in counts


def test_a_token_is_the_attachment_of_a_query(way, tmp_path):
    endpoint, ask = way
    with serving_at(endpoint, library(tmp_path / "maps"), tokens=(TOKEN,), max_scan_bytes=100):
        assert ask("maps")[1]["code"] == "forbidden"
        assert ask("maps", attachment=TOKEN)[0]
        good, told = ask("locate", b" " * 101, attachment=TOKEN)
        assert (good, told["code"]) == (False, "too_large")


def test_a_door_that_cannot_be_opened_is_refused(tmp_path):
    words = ("serve", "--library", tmp_path, "--zenoh", "tcp/localhost:9")
    assert refused_at_start(*words)[0] == "unavailable"
