"""What is asked in the plane: logs, worlds, drives, generated plans, several maps and scans.

Each maker returns the shard of its number, the same for the same seed.
"""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import distance_transform_edt

import isovist as iv
from benchmarks.reference.shards import Shard
from isovist.atlas.build import as_cells
from isovist.atlas.data.surfaces import bare_walls
from isovist.evaluation.calibrate import SENSORS, kind_of
from isovist.evaluation.protocols import Trial, carmen_trials, map_of, revisit_trials
from isovist.evaluation.settings import PROTOCOL
from isovist.evaluation.tracking_protocols import kidnap_logs, start_logs
from isovist.io.logs.carmen import read_carmen
from isovist.maps.floor import standing_places
from isovist.sensing.models.simulate import random_scans as scans_from
from isovist.sensing.scan_set import ScanSet
from isovist.simulation.plans import draw_plan
from isovist.simulation.worlds import similar_floors

FREE, OCCUPIED = 0, 1
SITES = ("intel", "seattle", "freiburg-079", "aces", "fhw", "infinite-corridor")
NOISE = 0.02, math.radians(1.0)
"""Of odometry: share of the distance, and rad per m."""
VIEWS = {
    360: iv.Lidar(2.0 * math.pi, 360, 12.0, noise=0.03),
    270: iv.Lidar(1.5 * math.pi, 541, 12.0, noise=0.03),
    120: iv.Lidar(2.0 * math.pi / 3.0, 241, 10.0, noise=0.02),
}
PLANS, SCANS = 20, 10
"""Plans of a shard of `calibrate`, and scans on each."""


def random_scans(world: Any, reality: Any, lidar: iv.Lidar, count: int, *seeds: int) -> Any:
    """Return poses and scans at random places; several seeds do not meet those of others."""
    return scans_from(world, reality, lidar, count, seed=list(seeds))  # type: ignore[arg-type]


def log_of(data: Path, site: str) -> ScanSet:
    """Read a CARMEN log with corrected poses."""
    return read_carmen(data / "carmen" / f"{site}-corrected.log.gz")


def split_of(log: ScanSet, split: str) -> tuple[iv.OccupancyMap, list[Trial]]:
    """Return the map and the queries of one of the two splits."""
    return (carmen_trials if split == "fifth" else revisit_trials)(log)


def vector(pose: Any) -> list[float]:
    """Return the coordinates of a pose."""
    return [float(value) for value in pose.vector]


def evenly(count: int, most: int) -> list[int]:
    """Return at most so many numbers below a count, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int)).tolist()


def carmen(data: Path, seed: int, number: int, site: str, split: str) -> Shard:
    """Every query of a log."""
    del seed, number
    world, trials = split_of(log_of(data, site), split)
    shard = Shard()
    shard.add_map(site, world)
    for trial in trials:
        shard.ask([0], [shard.add_scan(trial.scan())], vector(trial.truth))
    return shard


def drive_of(shard: Shard, log: Any, sensor: iv.Pose | None = None) -> None:
    """Add a log as a drive of its sensor."""
    mount = sensor or iv.Pose()
    scans = [log.scan(i) for i in range(len(log))]
    numbers = [shard.add_scan(scan) for scan in scans]
    odometry = [vector(log.odometry_at(i) @ mount) for i in range(len(log))]
    truth = [vector(log.truth_at(i) @ mount) for i in range(len(log))]
    shard.drive([0], numbers, odometry, truth)


def starts(data: Path, seed: int, number: int, site: str) -> Shard:
    """Drives from unknown starts along a log, 8 m each, 15 m where places look alike."""
    del number
    reach = 15.0 if site == "infinite-corridor" else 8.0
    world, logs = start_logs(log_of(data, site), 100, reach, seed=seed, noise=NOISE)
    shard = Shard()
    shard.add_map(site, world)
    for log in logs:
        drive_of(shard, log)
    return shard


DRIVES = {
    "intel": ("tracking/intel/map_split.yaml", "tracking/intel/scans.npz", "", None),
    "fr079": ("tracking/fr079/map_split.yaml", "tracking/fr079/scans.npz", "", (-0.04, 0.0, 0.0)),
    "jarvis": ("jarvis/map.yaml", "jarvis/jarvis_circular_path_fast.npz", "nav_",
               (0.194, 0.0, 0.0)),
}  # fmt: skip
"""Map, log, prefix and place of the sensor; two logs have scans that their map lacks."""


def logged_drive(data: Path, site: str) -> tuple[Any, Any, iv.Pose | None]:
    """Return map, log and mount of a drive with raw odometry."""
    world, path, prefix, place = DRIVES[site]
    mount = None if place is None else iv.Pose(*place)
    log = iv.read_log(data / path, prefix=prefix, T_robot_sensor=mount)
    held_out = log.held_out is not None and site != "jarvis"
    return iv.read_map(data / world), log.take(log.select(held_out=held_out)), mount


def follow(data: Path, seed: int, number: int, site: str) -> Shard:
    """One whole drive with raw odometry."""
    del seed, number
    world, log, mount = logged_drive(data, site)
    shard = Shard()
    shard.add_map(site, world)
    drive_of(shard, log, mount)
    return shard


def kidnap(data: Path, seed: int, number: int, site: str) -> Shard:
    """Drives in which the robot is carried away, odometry unaware."""
    del number
    world, log, mount = logged_drive(data, site)
    shard = Shard()
    shard.add_map(site, world)
    for piece in kidnap_logs(log, 40, seed):
        drive_of(shard, piece, mount)
    return shard


def world_of(data: Path, name: str) -> iv.OccupancyMap:
    """Read one of the four worlds."""
    path = "willow-full-0.05" if name == "willow" else name
    return iv.read_map(data / "maps" / f"{path}.yaml")


def changed(world: iv.OccupancyMap, condition: str, rng: np.random.Generator) -> iv.OccupancyMap:
    """Return what a sensor meets: walls, with furniture, or without some pieces of them."""
    reality = bare_walls(world)
    if condition == "clean":
        return reality
    cells = np.array(reality.cells)
    found, made = (FREE, OCCUPIED) if condition == "furniture" else (OCCUPIED, FREE)
    rows, columns = np.nonzero(world.cells == found)
    least, most, room = (0.3, 1.2, 20.0) if condition == "furniture" else (0.5, 2.5, 30.0)
    count = max(1, round((world.cells == FREE).sum() * world.resolution**2 / room))
    for k in rng.integers(len(rows), size=count):
        high, wide = np.maximum(rng.uniform(least, most, 2) / world.resolution, 1.0).astype(int)
        row, column = max(rows[k] - high // 2, 0), max(columns[k] - wide // 2, 0)
        cells[row : row + high, column : column + wide] = made
    return world.with_cells(cells)


def scans_in_world(data: Path, seed: int, number: int, name: str, condition: str) -> Shard:
    """Simulated scans of three views in a world as it is, furnished, or without some walls."""
    del number
    world = world_of(data, name)
    reality = changed(world, condition, np.random.default_rng([seed, 1]))
    shard = Shard()
    shard.add_map(name, world)
    asked = [
        random_scans(world, reality, lidar, 40, seed, degrees) for degrees, lidar in VIEWS.items()
    ]
    for trials in zip(*asked, strict=True):
        for degrees, (pose, scan) in zip(VIEWS, trials, strict=True):
            shard.ask([0], [shard.add_scan(scan)], vector(pose), what=f"{degrees}°")
    return shard


def drives_in_world(data: Path, seed: int, number: int, name: str) -> Shard:
    """Simulated drives through a furnished world, 270° of view."""
    del number
    world = world_of(data, name)
    rng = np.random.default_rng([seed, 2])
    reality = changed(world, "furniture", rng)
    room = distance_transform_edt(reality.cells == FREE) * world.resolution
    places = standing_places(world, 0.4, 0.0)
    shard = Shard()
    shard.add_map(name, world)
    while len(shard.queries) < 15:
        poses = wander(reality, room, places, rng)
        try:
            scans = [VIEWS[270].scan(reality, pose, rng) for pose in poses]
        except iv.InputError:  # no wall within reach
            continue
        numbers = [shard.add_scan(scan) for scan in scans]
        truth = [vector(pose) for pose in poses]
        shard.drive([0], numbers, noisy(poses, rng), truth)
    return shard


def wander(
    world: iv.OccupancyMap, room: Any, places: Any, rng: np.random.Generator, steps: int = 40
) -> list[iv.Pose]:
    """Return poses of a robot that drives straight while there is room, and else turns."""

    def clear(pose: iv.Pose) -> bool:
        row, column = world.index(np.array([[pose.x, pose.y]]))
        return bool(row[0] >= 0 and room[row[0], column[0]] > 0.35)

    while True:
        x, y = places[int(rng.integers(len(places)))][:2]
        poses = [iv.Pose(float(x), float(y), float(rng.uniform(-math.pi, math.pi)))]
        if clear(poses[0]):
            break
    while len(poses) < steps:
        turn = float(rng.normal(0.0, 0.1))
        ahead = poses[-1] @ iv.Pose(0.3 * math.cos(turn), 0.3 * math.sin(turn), turn)
        poses.append(ahead if clear(ahead) else poses[-1] @ iv.Pose(0.0, 0.0, 0.7))
    return poses


def noisy(poses: list[iv.Pose], rng: np.random.Generator) -> list[list[float]]:
    """Return odometry with errors of `NOISE`."""
    odometry = [iv.Pose()]
    for motion in motions_of(poses, rng):
        odometry.append(odometry[-1] @ iv.Pose(*motion))
    return [vector(pose) for pose in odometry]


def motions_of(poses: list[iv.Pose], rng: np.random.Generator) -> list[list[float]]:
    """Return motions between poses with errors of `NOISE`."""
    moved = []
    for a, b in pairwise(poses):
        step = a.inverse @ b
        way = math.hypot(step.x, step.y)
        longer, turn = 1.0 + NOISE[0] * rng.normal(), NOISE[1] * way * rng.normal()
        moved.append([step.x * longer, step.y * longer, step.yaw + turn])
    return moved


def calibrate(data: Path, seed: int, number: int) -> Shard:
    """Scans on twenty generated plans, as `isovist bench calibrate` has them."""
    del data
    shard = Shard()
    for plan_number in range(PLANS * number, PLANS * (number + 1)):
        add_plan(shard, plan_number, seed, SCANS)
    return shard


def add_plan(shard: Shard, number: int, seed: int, scans: int) -> None:
    """Add a generated plan and scans of all sensors in turn."""
    kind = kind_of(number)
    plan = draw_plan(kind, (seed, number))
    world = shard.add_map(f"{kind} {number}", plan.world)
    places = standing_places(plan.built, PROTOCOL.calibration_clearance_m, 0.0)
    for k in range(scans):
        name = list(SENSORS)[(number + k) % len(SENSORS)]
        drawn = np.random.SeedSequence((seed, number, k)).generate_state(1)[0]
        ((pose, scan),) = scans_from(
            plan.built, plan.reality, SENSORS[name], 1, seed=int(drawn), places=places
        )
        truth = [plan.scale * pose.x, plan.scale * pose.y, pose.yaw]
        shard.ask([world], [shard.add_scan(scan)], truth, what=f"{kind}, {name}")


def floors(data: Path, seed: int, number: int) -> Shard:
    """Scans of five furnished storeys that share most walls: on which floor, and where?"""
    del data, number
    shard, lidar = Shard(), iv.Lidar(beams=360, range_max=20.0, noise=0.02)
    made = similar_floors(seed)
    worlds = [as_cells(floor.plan) for floor in made]
    numbers = [shard.add_map(f"floor {k}", world) for k, world in enumerate(worlds)]
    for k, (floor, world) in enumerate(zip(made, worlds, strict=True)):
        for pose, scan in random_scans(world, floor.reality, lidar, 16, seed, k):
            shard.ask(numbers, [shard.add_scan(scan)], vector(pose), map=f"floor {k}")
    return shard


def sites(data: Path, seed: int, number: int) -> Shard:
    """Queries of six logs on the maps of all of them."""
    del seed, number
    shard, trials = Shard(), {}
    for site in SITES:
        world, trials[site] = split_of(log_of(data, site), "fifth")
        shard.add_map(site, world)
    for site, asked in trials.items():
        for k in evenly(len(asked), 10):
            scan = shard.add_scan(asked[k].scan())
            shard.ask(range(len(SITES)), [scan], vector(asked[k].truth), map=site)
    return shard


def several(data: Path, seed: int, number: int) -> Shard:
    """Two and three scans of a log, joined by odometry with errors."""
    log, rng = log_of(data, SITES[number]), np.random.default_rng([seed, number])
    index: list[int] = []
    for i in np.flatnonzero(log.usable):
        if not index or math.dist(log.poses[i][:2], log.poses[index[-1]][:2]) >= 0.5:
            index.append(int(i))
    runs = [index[k : k + 2 + j % 2] for j, k in enumerate(range(0, len(index) - 3, 8))]
    shard = Shard()
    asked = {i for run in runs for i in run}
    shard.add_map(SITES[number], map_of(log, np.array([i for i in index if i not in asked])))
    for k in evenly(len(runs), 25):
        poses = [iv.Pose(*log.poses[i]) for i in runs[k]]
        scans = [shard.add_scan(log.scan(i)) for i in runs[k]]
        shard.ask([0], scans, vector(poses[-1]), motions=motions_of(poses, rng))
    return shard


def regions(data: Path, seed: int, number: int, holds: bool) -> Shard:
    """Queries of a log with a region that holds the truth, or one that is elsewhere."""
    site, rng = SITES[number], np.random.default_rng([seed, number])
    world, trials = split_of(log_of(data, site), "fifth")
    shard = Shard()
    shard.add_map(site, world)
    places = np.array([trial.truth.vector for trial in trials])
    for k in evenly(len(trials), 30):
        truth, centre = places[k], places[k, :2] + rng.uniform(-2.0, 2.0, 2)
        if not holds:
            far = places[np.hypot(*(places - truth)[:, :2].T) > 8.0]
            if len(far) == 0:
                continue
            centre = far[int(rng.integers(len(far))), :2]
        region = {"centre": centre.round(3).tolist(), "radius": 4.0}
        if k % 2:
            region |= {"heading": round(float(truth[2] + rng.uniform(-0.3, 0.3)), 3)}
            region |= {"tolerance": 0.8}
        shard.ask([0], [shard.add_scan(trials[k].scan())], truth, region=region)
    return shard


def checks(data: Path, seed: int, number: int) -> Shard:
    """Poses to be checked: the truth, one that is 1 m off, and one turned by 15°."""
    site, rng = SITES[number], np.random.default_rng([seed, number])
    world, trials = split_of(log_of(data, site), "fifth")
    shard = Shard()
    shard.add_map(site, world)
    for k in evenly(len(trials), 30):
        scan, truth = shard.add_scan(trials[k].scan()), trials[k].truth
        angle = float(rng.uniform(-math.pi, math.pi))
        for what, motion in (
            ("truth", iv.Pose()),
            ("1 m off", iv.Pose(math.cos(angle), math.sin(angle), 0.0)),
            ("15° off", iv.Pose(0.0, 0.0, math.radians(15.0))),
        ):
            pose = vector(truth @ motion)
            shard.ask([0], [scan], vector(truth), verb="check", pose=pose, what=what)
    return shard


def many(data: Path, seed: int, number: int) -> Shard:
    """Scans of a world that are asked together, ten at a time."""
    del number
    world = world_of(data, "warehouse")
    shard = Shard()
    shard.add_map("warehouse", world)
    trials = random_scans(world, bare_walls(world), VIEWS[270], 60, seed, 7)
    for k in range(0, len(trials), 10):
        scans = [shard.add_scan(scan) for _, scan in trials[k : k + 10]]
        shard.ask([0], scans, [vector(pose) for pose, _ in trials[k : k + 10]], verb="many")
    return shard
