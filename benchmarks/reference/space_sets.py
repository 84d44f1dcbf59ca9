"""What is asked in space: a building and streets, level, leaning and in any attitude.

Scans, and the map of the streets, are files beside the shard; their names begin with its own and a
plus.  Coordinates are whole millimetres.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

import isovist as iv
from benchmarks.reference.plane_sets import vector
from benchmarks.reference.shards import Shard, write_arrays
from benchmarks.worlds.streets import HEIGHT, quarter
from isovist.evaluation.protocols import simulated_trials
from isovist.maps.cloud import Cloud
from isovist.sensing.models.simulate import Placement
from isovist.sensing.models.spinning import SpinningLidar

BUILDING = "3d/geb079.bt"
STEEP = math.radians(15.0)
LIDAR = SpinningLidar(16, -STEEP, STEEP, 900, 30.0, 0.03, 0.1)
NEAR = 0.3, math.radians(5.0)


def millimetres(points: Any) -> Any:
    """Return coordinates in m, rounded to mm, as singles."""
    return np.round(np.asarray(points, dtype=np.float64), 3).astype(np.float32)


def write_cloud_scan(scan: Any, path: Path) -> str:
    """Write a scan in space; the name of its file."""
    fields = {name: np.float64(getattr(scan, name)) for name in ("range_min", "range_max")}
    fields |= {name: np.float64(round(getattr(scan, name), 6)) for name in ("roll", "pitch")}
    write_arrays(path, {"points": millimetres(scan.points), **fields})
    return path.name


def building(
    data: Path, seed: int, number: int, inputs: Path, name: str, count: int,
    lean: float = 0.0, options: dict[str, Any] | None = None,
) -> Shard:  # fmt: skip
    """Simulated scans in a real building, whose roll and pitch may not be known."""
    del number
    world = iv.read_map(data / BUILDING)
    any_attitude = bool(options and options.get("any_attitude"))
    trials = simulated_trials(
        world,
        count,
        LIDAR,
        seed=seed,
        placement=Placement(any_attitude=any_attitude, max_tilt=math.radians(lean)),
    )
    shard = Shard(near=NEAR)
    shard.maps.append({"name": "geb079", "file": BUILDING, "of_data": True, "height": 1.0})
    for k, trial in enumerate(trials):
        path = inputs / f"{name}-{seed}+{k:03}.npz"
        file = write_cloud_scan(trial.scan(), path)
        shard.ask([0], [file], vector(trial.truth), **({"options": options} if options else {}))
    return shard


def streets(data: Path, seed: int, number: int, inputs: Path, count: int) -> Shard:
    """Scans among cars that were parked since the map was made, tilted by up to 4°."""
    del data, number
    town = quarter(seed, size=110.0)
    cloud = millimetres(town.cloud())
    file = f"streets-{seed}+map.ply"
    write_ply(cloud, inputs / file)
    cells = Cloud(cloud.astype(np.float64)).resolution()
    shard = Shard(near=(0.5, math.radians(5.0)))
    shard.maps.append({"name": "streets", "file": file, "resolution": cells, "height": HEIGHT})
    for k, (pose, scan) in enumerate(town.asks(count, seed=seed)):
        path = inputs / f"streets-{seed}+{k:03}.npz"
        shard.ask([0], [write_cloud_scan(scan, path)], vector(pose))
    return shard


def write_ply(points: Any, path: Path) -> None:
    """Write a cloud as binary PLY."""
    head = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\n"
    head += "".join(f"property float {axis}\n" for axis in "xyz") + "end_header\n"
    path.write_bytes(head.encode() + points.astype("<f4").tobytes())
