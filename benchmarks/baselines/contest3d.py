"""Peers in space side by side: the same scans on the same map, one row for each method.

Right is within 0.5 m and 3° of the truth, by the distance in space and the whole turn.  A method is
unique where it is sure (`space_peers`), and unique and wrong where it is sure and not right; NaN
for those that never say.  Times are of one scan at a time, the first of which is asked once more
before, so that none is charged for loading; CPU time is that of all threads.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from benchmarks.baselines.availability import left_out
from benchmarks.baselines.methods3d import PEERS, Arena, Finder, Found, Peer, gicp
from isovist.arrays import FloatArray
from isovist.atlas.base import Atlas
from isovist.atlas.data.atlas3d import SpaceAtlas
from isovist.errors import FileError, InputError
from isovist.evaluation.metrics import Row
from isovist.evaluation.protocols import Trial
from isovist.io.clouds import read_cloud
from isovist.io.logs.cloud_logs import read_cloud_log
from isovist.io.logs.kitti import is_kitti
from isovist.io.logs.pose_files import read_poses
from isovist.io.maps.read import is_cloud
from isovist.io.scans.read import CLOUD, read_scan
from isovist.maps.cells import Cell
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.poses import Pose3, way_of
from isovist.sensing.cloud_scan import CloudScan
from isovist.storage.files import is_folder

NEAR = 0.5, float(np.radians(3.0))
"""So near to the truth an answer is right, in m and rad."""


def chosen_peers(names: Sequence[str] | None) -> tuple[Peer, ...]:
    """Those of `PEERS` with these names; all when `None`."""
    known = [peer.name for peer in PEERS]
    for name in names or ():
        if name not in known:
            raise InputError.about("only", f"must be one of {', '.join(known)}, got {name}.")
    return tuple(peer for peer in PEERS if not names or peer.name in names)


def absences(peers: Sequence[Peer]) -> list[str]:
    """What cannot be tried, GICP among it, a sentence for each."""
    found = [peer.why_not() for peer in peers]
    if any(peer.fitted for peer in peers):
        found.append(without_gicp())
    return [why for why in found if why is not None]


def without_gicp() -> str | None:
    """Why peers are not fitted; `None` where they are."""
    return left_out("GICP", "small-gicp", "small_gicp")


def arena_of(path: Path, atlas: Atlas, trials: Sequence[Trial], voxel: float) -> Arena:
    """What every method is given.

    Args:
        path: Of the map.
        atlas: The same, described.
        trials: That will be asked.
        voxel: Side of the voxels of the peers, in m.
    """
    if not isinstance(atlas, SpaceAtlas):
        raise InputError(
            "Peers in space need an atlas of a map in space, got one of the plane.",
            code="wrong_dimension",
        )
    return Arena(atlas, wall_points(path, atlas.world), voxel, seen_in_space(trials[0]))


def wall_points(path: Path, world: VoxelMap) -> FloatArray:
    """Points on the walls of a map, shape (k, 3), in m: a cloud's own, else middles of cells."""
    if is_cloud(path):
        return read_cloud(path).returns().points
    return world.centres(np.flatnonzero(world.cells.ravel() == Cell.OCCUPIED))


def posed_trials(paths: Sequence[Path], poses: Path | None) -> list[Trial]:
    """Clouds with the pose of the sensor at each.

    Args:
        paths: Files, folders of them in the order of their names, or one folder in the layout of
            KITTI, which has poses of its own.
        poses: Of the sensor on the map, a line for each cloud (`io.logs.pose_files`).
    """
    if len(paths) == 1 and is_kitti(paths[0]) and poses is None:
        log = read_cloud_log(paths[0])
        if log.truth is None:
            raise FileError(f"{paths[0].name} has no poses.txt. Give `poses`.")
        return [
            Trial(lambda k=k: log.scan(k), log.truth[k])  # type: ignore[misc]
            for k in range(len(log))
        ]
    if poses is None:
        raise InputError(
            "Scans need their poses. Give `poses`, a file of TUM or KITTI.", code="missing"
        )
    files = [file for path in paths for file in _files(path)]
    truth = read_poses(poses)
    if len(truth.position) != len(files):
        raise FileError(
            f"{poses.name} has {len(truth.position)} poses for {len(files)} scans. It needs one "
            "for each."
        )
    return [
        Trial(lambda file=file: read_scan(file), truth[k])  # type: ignore[misc]
        for k, file in enumerate(files)
    ]


def _files(path: Path) -> list[Path]:
    """The clouds of a folder, in the order of their names, or the file itself."""
    if not is_folder(path):
        return [path]
    inside = path / "velodyne" if is_kitti(path) else path
    found = sorted(
        file for file in inside.iterdir() if file.suffix.lower() in (*CLOUD.suffixes, ".npz")
    )
    if not found:
        raise FileError(f"{path.name} has no scan in space: {', '.join(CLOUD.suffixes)} or .npz.")
    return found


def peer_rows(
    site: str,
    arena: Arena,
    trials: Sequence[Trial],
    peers: Sequence[Peer] = PEERS,
    progress: Callable[[float], None] = lambda _share: None,
) -> Iterator[Row]:
    """One row for each method; one that is not there says so."""
    total = len(peers) * len(trials)
    for number, peer in enumerate(peers):
        head: Row = {"site": site, "method": peer.name}
        if peer.why_not() is not None:
            lacking = dict.fromkeys(("right", "unique", "unique_wrong"), np.nan)
            times = dict.fromkeys(("median_s", "cpu_s", "prepare_s"), np.nan)
            yield head | {"queries": 0} | lacking | times | {"note": "not installed"}
            continue
        start = perf_counter()
        find, note = _fitted(peer, arena)
        find(arena.scan)
        ready = perf_counter() - start
        said, right, walls, cpus = [], [], [], []
        for k, trial in enumerate(trials):
            scan = seen_in_space(trial)
            wall, cpu = perf_counter(), process_time()
            found = find(scan)
            walls.append(perf_counter() - wall)
            cpus.append(process_time() - cpu)
            said.append(np.nan if found.sure is None else float(found.sure))
            truth = Pose3.lifted(trial.truth) @ scan.T_robot_sensor
            right.append(_near(found.pose, truth))
            progress((number * len(trials) + k + 1) / total)
        good, sure = np.array(right), np.array(said)
        yield head | {
            "queries": len(trials), "right": float(good.mean()), "unique": float(sure.mean()),
            "unique_wrong": float((sure * ~good).mean()), "median_s": float(np.median(walls)),
            "cpu_s": float(np.median(cpus)), "prepare_s": ready, "note": note,
        }  # fmt: skip


def seen_in_space(trial: Trial) -> CloudScan:
    """The scan of a trial, which must be in space."""
    scan = trial.scan()
    if not isinstance(scan, CloudScan):
        raise InputError(
            "Peers in space need clouds of points, got a scan of the plane.", code="wrong_dimension"
        )
    return scan


def _fitted(peer: Peer, arena: Arena) -> tuple[Finder, str]:
    """A method made ready, with GICP behind it where that belongs and is there; and which."""
    find = peer.make(arena)
    if not peer.fitted:
        return find, ""
    if without_gicp() is not None:
        return find, "without GICP"
    fit = gicp(arena)

    def both(scan: CloudScan) -> Found:
        found = find(scan)
        return found if found.pose is None else found._replace(pose=fit(scan, found.pose))

    return both, "then GICP"


def _near(pose: Pose3 | None, truth: Pose3) -> bool:
    if pose is None:
        return False
    away, turn = way_of(truth.inverse @ pose)
    return away <= NEAR[0] and turn <= NEAR[1]
