"""What is done with a damaged file: it is read, and what was read is used a little."""

import json
import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from tests.support.bag_writer import write_bag

import isovist as iv
from benchmarks.fuzz import seeds
from benchmarks.fuzz.mutations import Random, damage, damage_array, damage_tree
from isovist.atlas.data.store import KIND, VERSION, atlas_info, check_atlas
from isovist.io.clouds import read_cloud
from isovist.io.logs.carmen import read_carmen
from isovist.io.scans.scan_sets import read_scan_set
from isovist.storage.array_folder import read_folder, write_folder
from isovist.tracking import checksum

MOST_CELLS = 200_000
"""Larger maps are not described: that takes its time, rightly."""


class WrongError(Exception):
    """What was read, or answered, is not what it claims to be."""


def use_map(path: Path) -> None:
    """Read a map, look around in it, describe it."""
    world = iv.read_map(path)
    middle = world.bounds.mean(axis=0)
    if not np.isfinite(world.bounds).all():
        raise WrongError("the bounds of the map are not finite")
    with np.errstate(over="ignore"):
        size = np.ptp(world.bounds, axis=0) / getattr(world, "resolution", 0.1)
    if not np.prod(size) <= 100 * MOST_CELLS:
        return  # rays need several bytes a cell
    along = np.eye(world.dimension)
    if np.isnan(world.cast(np.broadcast_to(middle, along.shape), along).ranges).any():
        raise WrongError("a ray has no length")
    if np.prod(size) < MOST_CELLS:
        answers(iv.build(world))


def use_cloud(path: Path) -> None:
    """Read a cloud as a cloud, as a map and as a scan."""
    cloud = read_cloud(path)
    if not np.isfinite(cloud.points).all():
        raise WrongError("a point is not finite")
    iv.read_map(path)
    if path.suffix in (".ply", ".pcd", ".bin"):
        iv.read_scan(path)


def use_scan(path: Path) -> None:
    """Read a scan and ask where it was taken."""
    scan = iv.read_scan(path)
    flat = isinstance(scan, iv.Scan)
    said(iv.locate(plane_atlas() if flat else space_atlas(), scan))


def use_log(path: Path) -> None:
    """Read a log and every scan of it."""
    log = iv.read_log(path)
    if not (np.isfinite(log.odometry).all() and np.isfinite(log.times).all()):
        raise WrongError("odometry or a time is not finite")
    for k in range(len(log)):
        log.scan(k)
    if path.suffix == ".npz":
        read_scan_set(path)
    elif path.is_file() and path.suffix != ".bag":
        read_carmen(path)


def use_bag(path: Path) -> None:
    """Read a bag as a scan and as a log."""
    first: Exception | None = None
    for read in (iv.read_scan, use_log):
        try:
            read(path)
        except iv.IsovistError as error:
            first = first or error
    if first is not None:
        raise first


def use_atlas(path: Path) -> None:
    """Read an atlas and ask it."""
    if not check_atlas(path):
        atlas_info(path)
    answers(iv.read_atlas(path))


def use_state(path: Path) -> None:
    """Bring a tracker back and let it go on."""
    state = json.loads(path.read_bytes())
    tracker = iv.Tracker.from_state(plane_atlas(), state)
    said(tracker.update(iv.Pose(0.3, 0.0, 0.0), seeds.plane_scan()))


def answers(atlas: iv.Atlas) -> None:
    """Ask an atlas with a scan of its kind."""
    said(iv.locate(atlas, seeds.plane_scan() if atlas.dimension == 2 else seeds.space_scan()))


def said(answer: iv.Answer | iv.Belief) -> None:
    """Every number of an answer must be one."""
    for estimate in answer.estimates:
        numbers = [*estimate.pose.vector, estimate.probability, *np.ravel(estimate.covariance)]
        if not np.isfinite(numbers).all():
            raise WrongError("a number of the answer is not finite")


def damage_file(home: Path, target: Path, random: Random) -> None:
    """One of the files of a seed."""
    del target
    files = sorted(path for path in home.rglob("*") if path.is_file())
    path = files[int(random.integers(len(files)))]
    path.write_bytes(damage(path.name, path.read_bytes(), random))


def damage_atlas(home: Path, target: Path, random: Random) -> None:
    """Its bytes, or what it says with checksums that are right."""
    if random.random() < 0.4:
        damage_file(home, target, random)
        return
    meta, arrays = read_folder(target, KIND, VERSION)
    if random.random() < 0.5:
        meta = damage_tree(meta, random)
    else:
        name = sorted(arrays)[int(random.integers(len(arrays)))]
        changed = damage_array(arrays[name], random)
        arrays = {**arrays, name: changed if changed.dtype.kind in "biufc" else arrays[name][:1]}
    try:
        write_folder(target, KIND, VERSION, meta, arrays)
    except iv.IsovistError:  # what cannot be written cannot be met
        damage_file(home, target, random)


def damage_state(home: Path, target: Path, random: Random) -> None:
    """What it says, mostly with a checksum that is right."""
    del home
    tree = json.loads(target.read_bytes())
    for _ in range(int(random.choice([1, 1, 3]))):
        tree = damage_tree(tree, random)
    if isinstance(tree, dict) and random.random() < 0.9:
        tree["crc32"] = checksum(tree)
    target.write_text(json.dumps(tree))


def damage_bag(home: Path, target: Path, random: Random) -> None:
    """Its bytes, or what its messages say."""
    kinds = {"bag.ros1": "bag", "bag.db3": "sqlite3", "bag.mcap": "mcap"}
    if random.random() < 0.4:
        damage_file(home, target, random)
        return
    messages = seeds.bag_messages()
    for _ in range(int(random.choice([1, 2, 6]))):
        k = int(random.integers(len(messages)))
        topic, what, time, fields = messages[k]
        messages[k] = (topic, what, time, damage_tree(fields, random))
    try:
        made = write_bag(home, messages, kinds[home.name], "other")
    except Exception:  # what cannot be written cannot be met
        _remove(home / f"other{target.suffix}")
        damage_file(home, target, random)
        return
    _remove(target)
    made.replace(target)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@lru_cache
def plane_atlas() -> iv.Atlas:
    return iv.build(seeds.plane_world(), spacing=seeds.SPACING)


@lru_cache
def space_atlas() -> iv.Atlas:
    return iv.build(seeds.space_world(), spacing=seeds.SPACING)


USES: dict[str, Callable[[Path], None]] = {
    "map": use_map, "plan": use_map, "octomap": use_map, "mesh": use_map, "cloud": use_cloud,
    "scan": use_scan, "log": use_log, "bag": use_bag, "atlas": use_atlas, "state": use_state,
}  # fmt: skip
WOUNDS: dict[str, Callable[[Path, Path, Random], None]] = {
    "atlas": damage_atlas, "bag": damage_bag, "state": damage_state,
}  # fmt: skip
"""How a kind is damaged where bytes are not enough."""
