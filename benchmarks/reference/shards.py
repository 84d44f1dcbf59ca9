"""Files of inputs: maps, scans, odometry and truth, which do not change when generators do.

A shard is one `.npz` file with the maps of some questions and the questions themselves.  Scans of
the plane are whole millimetres, so that the last bits of a machine do not matter; those in space,
and maps in space, are files beside it.  Its hash is of what it holds, not of the packed bytes.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIGITS = 6
"""Decimals of poses, in m and rad."""
Record = dict[str, Any]


def rounded(values: Any) -> list[Any]:
    """Nested lists of numbers with `DIGITS` decimals."""
    return np.round(np.asarray(values, dtype=np.float64), DIGITS).tolist()


@dataclass(slots=True, eq=False)
class Shard:
    """What some questions need.

    Attributes:
        near: A pose is right within so many m and rad of the truth.
        maps: Name, resolution and origin of each map of the plane, name and file of others.
        cells: Codes of the cells of each map of the plane.
        scans: Ranges in mm, 0 where there is none, and the number of the sensor.
        sensors: Bearings, least and largest range.
        queries: What is asked; see `ask` and `drive`.
    """

    near: tuple[float, float] = (0.5, float(np.radians(10.0)))
    maps: list[Record] = field(default_factory=list)
    cells: list[NDArray[np.uint8]] = field(default_factory=list)
    scans: list[tuple[int, NDArray[np.int32]]] = field(default_factory=list)
    sensors: list[tuple[NDArray[np.float64], float, float]] = field(default_factory=list)
    queries: list[Record] = field(default_factory=list)

    def add_map(self, name: str, world: Any) -> int:
        """Add a map with `cells`, `resolution` and `origin`; its number."""
        origin = rounded([world.origin.x, world.origin.y, world.origin.yaw])
        self.maps.append({"name": name, "resolution": float(world.resolution), "origin": origin})
        self.cells.append(np.asarray(world.cells, dtype=np.uint8))
        return len(self.maps) - 1

    def add_scan(self, scan: Any) -> int:
        """Add a scan of the plane; its number."""
        limits = float(scan.range_min), float(scan.range_max)
        same = [
            number
            for number, (bearings, *known) in enumerate(self.sensors)
            if tuple(known) == limits and np.array_equal(bearings, scan.bearings)
        ]
        number = same[0] if same else len(self.sensors)
        if not same:
            self.sensors.append((np.array(scan.bearings), *limits))
        ranges = np.where(scan.valid, scan.ranges, 0.0)
        self.scans.append((number, np.round(1e3 * ranges).astype(np.int32)))
        return len(self.scans) - 1

    def ask(self, maps: Sequence[int], scans: Sequence[int | str], truth: Any, **more: Any) -> None:
        """Add a question: where was the last of these scans taken?"""
        given = {"maps": list(maps), "scans": list(scans), "truth": rounded(truth)}
        self.queries.append(given | more)

    def drive(self, maps: Sequence[int], scans: Sequence[int], odometry: Any, truth: Any) -> None:
        """Add a drive, all of whose updates are questions."""
        self.ask(maps, scans, truth, odometry=rounded(odometry), verb="track")


def write_shard(shard: Shard, path: Path) -> None:
    """Write it, whole or not at all."""
    meta = {"near": shard.near, "maps": shard.maps, "queries": shard.queries,
            "limits": [limits for _, *limits in shard.sensors]}  # fmt: skip
    arrays = {f"cells{k}": cells for k, cells in enumerate(shard.cells)}
    arrays |= {f"bearings{k}": bearings for k, (bearings, *_) in enumerate(shard.sensors)}
    ranges = [scan for _, scan in shard.scans]
    arrays["ranges"] = np.concatenate([*ranges, np.empty(0, np.int32)]).astype(np.int32)
    arrays["starts"] = np.cumsum([0, *map(len, ranges)])
    arrays["sensor"] = np.array([number for number, _ in shard.scans], dtype=np.int64)
    arrays["meta"] = np.frombuffer(json.dumps(meta, sort_keys=True).encode(), dtype=np.uint8)
    write_arrays(path, arrays)


def write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """Write arrays to an `.npz` file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as stream:
        np.savez_compressed(stream, **arrays)
    part.replace(path)


def read_shard(path: Path) -> Shard:
    """Read what `write_shard` wrote."""
    with np.load(path) as kept:
        arrays = {name: kept[name] for name in kept.files}
    meta = json.loads(arrays["meta"].tobytes())
    parts = np.split(arrays["ranges"], arrays["starts"][1:-1]) if len(arrays["sensor"]) else []
    return Shard(
        near=tuple(meta["near"]),
        maps=meta["maps"],
        cells=[arrays[f"cells{k}"] for k in range(sum("file" not in one for one in meta["maps"]))],
        scans=list(zip(arrays["sensor"].tolist(), parts, strict=True)),
        sensors=[(arrays[f"bearings{k}"], *pair) for k, pair in enumerate(meta["limits"])],
        queries=meta["queries"],
    )


def hash_of(path: Path) -> str:
    """SHA-256 of what a file holds; of an `.npz` file, of its arrays."""
    digest = hashlib.sha256()
    if path.suffix != ".npz":
        digest.update(path.read_bytes())
        return digest.hexdigest()
    with np.load(path) as kept:
        for name in sorted(kept.files):
            array = np.ascontiguousarray(kept[name])
            digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()
