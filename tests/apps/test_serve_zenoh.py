"""The second door of the server: queries over zenoh on the loopback of this machine."""

import json
import socket

import pytest
from tests.support.serve_door import laser, library, npz, serving, untimed
from tests.support.sites import PLANE

from isovist import InputError
from isovist.apps import Router, open_session
from isovist.serve.start import start

zenoh = pytest.importorskip("zenoh")
pytest.importorskip("starlette")
from isovist.apps import ZenohDoor  # noqa: E402

TOKEN = "a token of many letters"


@pytest.fixture(scope="module")
def endpoint():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    with Router(f"tcp/localhost:{port}"):
        yield f"tcp/localhost:{port}"


@pytest.fixture(scope="module")
def ask(endpoint):
    """Whether a query is answered, and the JSON of its one reply."""
    session = open_session(
        {"mode": "client", "connect/endpoints": [endpoint], "scouting/multicast/enabled": False},
        "no router",
    )

    def asked(selector, body=None, **more):
        payload = json.dumps(body) if isinstance(body, dict) else body
        (reply,) = session.get(f"isovist/{selector}", payload=payload, timeout=60.0, **more)
        if reply.ok is None:
            return False, json.loads(bytes(reply.err.payload))
        return True, json.loads(bytes(reply.ok.payload))

    yield asked
    session.close()


@pytest.mark.slow
def test_both_doors_tell_the_same(endpoint, ask, tmp_path):
    truth = PLANE.places[0]
    scan = PLANE.look(truth)
    body = {"scan": laser(scan), "map": "plane"}
    judged = {**body, "pose": [truth.x, truth.y, truth.yaw]}
    with serving(library(tmp_path / "maps"), door=ZenohDoor(endpoint)) as (server, client):
        for path, fields in (("locate", body), ("check", judged)):
            good, told = ask(path, fields)
            assert good
            assert untimed(told) == untimed(client.post(f"/{path}", json=fields).json())
        binary = ask("locate?map=plane", npz(scan, tmp_path), encoding="application/octet-stream")
        assert binary[0]
        assert untimed(binary[1])["estimates"] == ask("locate", body)[1]["estimates"]
        assert ask("maps") == (True, client.get("/maps").json())
        bad = {"scan": {"ranges": []}, "map": "cellar"}
        for path, fields in (("locate", bad), ("nowhere", body), ("locate", {})):
            refused = client.post(f"/{path}", json=fields)
            assert refused.status_code >= 400
            assert ask(path, fields) == (False, refused.json())
        assert ask("locate", b"\0")[1] == {"error": "The body of the request is no JSON."}
        assert 'route="/locate",status="200"' in server.metrics.text({}, (0, 0))


@pytest.mark.slow
def test_a_token_is_the_attachment_of_a_query(endpoint, ask, tmp_path):
    folder, door = library(tmp_path / "maps"), ZenohDoor(endpoint)
    with serving(folder, tokens=(TOKEN,), door=door, scan_bytes=100):
        assert ask("maps") == (
            False, {"error": "This needs a token: `Authorization: Bearer TOKEN`."}
        )  # fmt: skip
        assert ask("maps", attachment=TOKEN)[0]
        long = ask("locate", b" " * 101, attachment=TOKEN)
        assert long == (False, {"error": "The body of this request has at most 0 MiB."})


def test_a_door_that_cannot_be_opened_is_one_line(tmp_path):
    def refused(router):
        with pytest.raises(InputError) as error:
            start(tmp_path, host="127.0.0.1", port=0, zenoh=router)
        return str(error.value)

    assert refused("tcp/localhost:9") == (
        "No zenoh router answers at tcp/localhost:9. Start one, or leave out `--zenoh`."
    )
    assert refused("tcp/10.0.0.5:7447") == (
        "By the router at tcp/10.0.0.5:7447 others can ask, so that the server needs a "
        "`token_file`; without one the router must be on this machine, e.g. tcp/localhost:7447."
    )
