"""Broken requests to the server: every one is answered, or refused with a status and a clear line.

As of the studio (`requests`): bodies of JSON whose tree, words or bytes are damaged, damaged `.npz`
files, and maps that are brought damaged.
"""

import json
from functools import lru_cache
from typing import Any

import isovist as iv
from benchmarks.fuzz import readers, seeds
from benchmarks.fuzz.mutations import Random, damage, damage_tree
from benchmarks.fuzz.requests import Door, check, dropped
from isovist.apps.server.app import Server
from isovist.apps.server.maps import Maps
from isovist.apps.web.settings import Limits

PLACE = [seeds.TRUTH.x, seeds.TRUTH.y]
NAMES = ("brought", "..", "a/b", "%1b", "x" * 300, "seed", "%2e%2e", "é")
QUERIES = ("", "map=seed", "near=4,2.6,3", "near=[4,2.6,3]", "sensor=[0,0,nan]", "prove=true&x=1")


def sound() -> dict[str, dict[str, Any]]:
    """Bodies that are answered, by address."""
    scan = seeds.plane_scan()
    laser = {
        "angle_min": float(scan.bearings[0]),
        "angle_increment": float(scan.bearings[1] - scan.bearings[0]),
        "ranges": [round(float(r), 3) for r in scan.ranges],
        "range_min": 0.0,
        "range_max": 12.0,
    }
    asked = {"scan": laser, "sensor": [0.0, 0.0, 0.0], "map": "seed"}
    near = {"near": [*PLACE, 3.0], "heading": [seeds.TRUTH.yaw, 1.0]}
    return {
        "/locate": {**asked, **near, "hints": True, "certificate": True},
        "/check": {**asked, "pose": [*PLACE, seeds.TRUTH.yaw], "spread": [0.1, 0.1]},
        "/track": {"map": "seed", **near},
        "/track/SESSION": {"scan": laser, "odometry": [0.1, 0.0, 0.0], "time": 1.0},
    }


def ask_json(random: Random) -> None:
    """A verb with a damaged body."""
    bodies = sound()
    path = sorted(bodies)[int(random.integers(len(bodies)))]
    tree: Any = bodies[path]
    for _ in range(int(random.choice([1, 1, 2, 5]))):
        tree = damage_tree(tree, random)
    body = json.dumps(tree).encode()
    if random.random() < 0.2:
        body = damage("body.json", body, random)
    kind = str(random.choice(["application/json"] * 8 + ["text/plain", "application/x; y=1"]))
    where = path.replace("SESSION", session())
    check(door().ask("POST", where, content=body, headers={"Content-Type": kind}))


def ask_npz(random: Random) -> None:
    """A damaged file as the body, with what the address says."""
    files = [data for some in dropped() for name, data in some if name.endswith(".npz")]
    body = damage("scan.npz", files[0], random)
    path = str(random.choice(["/locate", "/check", f"/track/{session()}"]))
    query = QUERIES[int(random.integers(len(QUERIES)))]
    head = {"Content-Type": "application/octet-stream"}
    check(door().ask("POST", f"{path}?{query}", content=body, headers=head))


def ask_maps(random: Random) -> None:
    """A damaged map that is brought, under an odd name at times, and taken away again."""
    some = dropped()[int(random.integers(2))]
    worst = int(random.integers(len(some)))
    parts = [
        ("file", (name, damage(name, data, random) if k == worst else data))
        for k, (name, data) in enumerate(some)
    ]
    name = NAMES[int(random.choice([0, 0, 0, *range(len(NAMES))]))]
    name = "brought" if name == "seed" else name
    client = door()
    check(client.ask("POST", f"/maps/{name}", files=parts))
    check(client.ask("GET", "/maps"))
    gone = client.ask("DELETE", f"/maps/{name}")
    if gone.status_code != 204:
        check(gone)


@lru_cache
def door() -> Door:
    """The door of a server with one small map."""
    folder = seeds.new_home()
    iv.write_atlas(readers.plane_atlas(), folder / "seed.atlas")
    limits = Limits(answer_timeout_s=600.0)  # the worker may compile first
    return Door(Server(Maps(folder), limits=limits).app)


@lru_cache
def session() -> str:
    """Of a robot that is followed."""
    return str(door().ask("POST", "/track", json={}).json()["session"])


ASKED = {"serve.json": ask_json, "serve.npz": ask_npz, "serve.maps": ask_maps}
