"""Broken requests to the studio: every one is answered, or refused with a status and a clear line.

A sound request is damaged (its tree, its words, its bytes), or a damaged file is dropped.  Findings
are errors of the server, answers that are no JSON, and refusals that are not one clear line.
"""

import asyncio
import json
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import isovist as iv
from benchmarks.fuzz import readers, seeds
from benchmarks.fuzz.mutations import Random, damage, damage_tree
from isovist.apps.studio.app import studio_app
from isovist.apps.studio.session_store import Named, SessionStore, Site
from isovist.io.maps.ros_map import write_ros_map

ROBOT = {"x": seeds.TRUTH.x, "y": seeds.TRUTH.y, "yaw": seeds.TRUTH.yaw}
SOUND: dict[str, dict[str, Any]] = {
    "/locate": {"site": "seed", "robot": ROBOT, "seed": 3, "why": True,
                "sensor": {"field_of_view": 270.0, "beams": 90, "range_max": 12.0, "noise": 0.03}},
    "/theory": {"x": 1.3, "y": 1.7, "channels": 8, "temperature": 0.5},
    "/track": {"log": "seed", "site": "seed", "every": 2, "carried": {"at": 2, "x": 1, "y": 1}},
    "/survey": {"site": "nowhere", "count": 20},
    "/explore": {"site": "nowhere", "seed": 1},
    "/share": {"title": "a page", "site": {"key": "seed"}, "marks": [{"kind": "robot"}]},
}  # fmt: skip
PATHS = ("/", "/things", "/sites/seed", "/sites/seed/plan.png", "/sites/nowhere",
         "/static/../app.py", "/static/%2e%2e/app.py", "/sites/seed/../../etc")  # fmt: skip


def ask_json(random: Random) -> None:
    """A verb with a damaged body, or an address that may not be there."""
    client = door()
    if random.random() < 0.1:
        check(client.ask("GET", PATHS[int(random.integers(len(PATHS)))]))
        return
    path = sorted(SOUND)[int(random.integers(len(SOUND)))]
    tree: Any = SOUND[path]
    for _ in range(int(random.choice([1, 1, 2, 5]))):
        tree = damage_tree(tree, random)
    body = json.dumps(tree).encode()
    if random.random() < 0.2:
        body = damage("body.json", body, random)
    head = {"Content-Type": "application/json"}
    check(client.ask("POST", path, content=body, headers=head))


def ask_files(random: Random) -> None:
    """A damaged file that is dropped on the page, under a damaged name at times."""
    files = dropped()
    some = files[int(random.integers(len(files)))]
    worst = int(random.integers(len(some)))
    parts = []
    for k, (name, data) in enumerate(some):
        wrong = damage(name, data, random) if k == worst else data
        odd = ("../" + name, "/etc/" + name, "a/b/c/" + name, "\x1b" + name, "." * 200)
        called = odd[int(random.integers(len(odd)))] if random.random() < 0.1 else name
        parts.append(("file", (called, wrong)))
    wanted = str(random.choice(["", "map", "scan", "log", "song"]))
    check(door().ask("POST", "/read", files=parts, data={"as": wanted}))


def check(response: httpx.Response) -> None:
    """Raise what makes an answer a finding."""
    if response.status_code >= 500:
        raise readers.WrongError(f"status {response.status_code}: {response.text[:200]}")
    kind = response.headers.get("content-type", "")
    if response.status_code < 400 and "json" not in kind:
        return
    for line in response.text.splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            raise readers.WrongError(f"no JSON: {line[:200]!r}") from None
        text = told.get("error") if isinstance(told, dict) else None
        if text is not None and not (text.isprintable() and text.endswith((".", "?", "!"))):
            raise readers.WrongError(f"no clear line: {text[:200]!r}")


class Door:
    """Asks an application in this process; what it raises comes through."""

    def __init__(self, app: Any) -> None:
        self._way, self._loop = httpx.ASGITransport(app), asyncio.Runner()

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request and wait for all of its answer."""

        async def send() -> httpx.Response:
            client = httpx.AsyncClient(transport=self._way, base_url="http://127.0.0.1")
            return await client.request(method, path, **options)

        return self._loop.run(send())


@lru_cache
def door() -> Door:
    """The door of a studio with one small map."""
    store = SessionStore()
    store.sites.add(
        "seed", Site("seed", readers.plane_atlas(), seeds.plane_world()), is_pinned=True
    )
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "log.npz"
        ranges = np.tile(
            np.where(seeds.plane_scan().valid, seeds.plane_scan().ranges, 12.0), (6, 1)
        )
        still = np.tile(seeds.TRUTH.vector, (6, 1))
        np.savez(path, ranges_m=ranges, pose=still, odom=still, t=np.arange(6.0), range_max=12.0,
                 angle_min=-np.pi, angle_inc=np.pi / 90.0)  # fmt: skip
        store.logs.add("seed", Named("seed", iv.read_log(path)), is_pinned=True)
    return Door(studio_app(store, first="seed"))


@lru_cache
def dropped() -> list[list[tuple[str, bytes]]]:
    """What people drop: names and bytes of sound files."""
    small = iv.OccupancyMap(np.array(seeds.plane_world().cells[:40, :30]), 0.1)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_ros_map(small, folder / "map.yaml")
        iv.write_map(seeds.plan(), folder / "plan.geojson")
        for suffix in ("json", "npz", "csv"):
            iv.write_scan(seeds.plane_scan(), folder / f"scan.{suffix}")
        names = [["map.yaml", "map.pgm"], ["plan.geojson"], ["scan.json"], ["scan.npz"],
                 ["scan.csv"]]  # fmt: skip
        return [[(name, (folder / name).read_bytes()) for name in some] for some in names]


ASKED = {"studio.json": ask_json, "studio.files": ask_files}
