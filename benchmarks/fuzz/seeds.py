"""Sound little files of every kind that is read, made here and now.

Each lies in a folder of its own, `KIND.VARIANT`, and is called `seed` with its suffix; a folder
that is read as a whole (an atlas, a ROS 2 bag) is called `seed`.
"""

import bz2
import gzip
import json
import tempfile
from pathlib import Path

import laspy
import numpy as np
import pypcd4
import trimesh
from tests.support.bag_writer import link, odometry, scan, write_bag
from tests.support.space_writer import POINTS, VALUES, octree, ply

import isovist as iv
from isovist.io.maps.ros_map import write_ros_map
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.simulation.worlds import office_floor

TRUTH = iv.Pose(4.1, 2.6, 0.4)
"""Where the scans of the plane were taken; those in space 1 m above it."""
PLANAR = iv.Lidar(beams=180, range_max=12.0)
SPACING = 0.5
"""Of the nodes, in m: twice as far apart as usual, so that a case takes little time."""
SPINNING = iv.SpinningLidar(8, azimuths=180, range_max=15.0)
HOMES: list[tempfile.TemporaryDirectory[str]] = []
"""Folders that stay as long as the process."""


def new_home() -> Path:
    """An empty folder that goes when the process ends."""
    HOMES.append(tempfile.TemporaryDirectory(prefix="isovist-home-"))
    return Path(HOMES[-1].name)


def plan() -> iv.SegmentMap:
    """A small office without a twin of any of its places."""
    return office_floor(2, length=15.0, rows=2).plan


def plane_world() -> iv.OccupancyMap:
    return iv.OccupancyMap.from_segments(plan().walls.reshape(-1, 2, 2), 0.1)


def space_world() -> iv.VoxelMap:
    return VoxelMap.from_mesh(MeshMap.extrude(plan(), 0.0, 2.6), 0.2)


def plane_scan() -> iv.Scan:
    return PLANAR.scan(plane_world(), TRUTH, np.random.default_rng(0))


def space_scan() -> iv.CloudScan:
    pose = iv.Pose3(TRUTH.x, TRUTH.y, TRUTH.yaw, 1.0)
    return SPINNING.scan(space_world(), pose, np.random.default_rng(0))


def bag_messages() -> list[tuple[object, ...]]:
    """A drive of three scans."""
    beams = {"ranges": [1.0, 2.0, 3.0], "frame": "laser"}
    messages = [link(0.0, "base", "laser", (0.1, 0.0, 0.2), topic="/tf_static")]
    for k in range(3):
        messages += [odometry(float(k), (0.5 * k, 0.0, 0.1)), scan(k + 0.5, **beams)]
    return [*messages, odometry(3.0, (1.5, 0.0, 0.1))]


def write_seeds(folder: Path) -> None:
    """All of them, in a new folder."""

    def place(kind: str, name: str) -> Path:
        home = folder / kind
        home.mkdir(parents=True)
        return home / name

    flat, solid = plane_world(), space_world()
    small = iv.OccupancyMap(np.array(flat.cells[:40, :30]), 0.1, iv.Pose(1.0, 2.0, 0.3))
    for suffix in (".pgm", ".png"):
        write_ros_map(small, place(f"map.{suffix[1:]}", "seed.yaml"), image=suffix)
    path = place("map.text", "seed.yaml")
    write_ros_map(small, path)
    levels = np.where(small.cells == 0, 254, 0)
    rows = "\n".join(" ".join(map(str, row)) for row in levels)
    path.with_suffix(".pgm").write_text(f"P2\n30 40\n255\n{rows}\n")
    iv.write_map(plan(), place("plan.walls", "seed.geojson"))
    place("plan.rooms", "seed.geojson").write_text(json.dumps(_rooms()))
    for suffix in ("bt", "ot"):
        path = place(f"octomap.{suffix}", f"seed.{suffix}")
        path.write_bytes(octree("fo.ffof.", suffix == "bt"))
    _write_meshes(place)
    _write_clouds(place)
    for suffix in ("json", "npz", "csv"):
        iv.write_scan(plane_scan(), place(f"scan.{suffix}", f"seed.{suffix}"))
    iv.write_scan(space_scan(), place("scan.points", "seed.npz"))
    _write_logs(place)
    for variant, kind, ending in (
        ("ros1", "bag", ".bag"),
        ("db3", "sqlite3", ""),
        ("mcap",) * 2 + ("",),
    ):
        home = place(f"bag.{variant}", f"seed{ending}").parent
        write_bag(home, bag_messages(), kind, "seed")
    atlas = iv.build(flat, spacing=SPACING)
    iv.write_atlas(atlas, place("atlas.plane", "seed"))
    iv.write_atlas(iv.build(solid, spacing=SPACING), place("atlas.space", "seed"))
    tracker = iv.Tracker(atlas)
    for k in range(3):
        tracker.update(iv.Pose(0.1 * k, 0.0, 0.0), plane_scan())
    place("state.json", "seed.json").write_text(json.dumps(tracker.state()))


def _rooms() -> dict[str, object]:
    def polygon(side: float, at: float) -> list[list[list[float]]]:
        a, b = at, at + side
        return [[[a, a], [b, a], [b, b], [a, b], [a, a]]]

    return {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "properties": {"obstacle": solid}, "geometry": {
                "type": "Polygon", "coordinates": polygon(side, at)}}
            for solid, side, at in ((False, 6.0, 0.0), (True, 1.0, 2.0))
        ],
    }  # fmt: skip


def _write_meshes(place) -> None:
    box = trimesh.creation.box((4.0, 3.0, 2.5))
    for suffix in ("ply", "obj", "stl", "off", "glb"):
        box.export(place(f"mesh.{suffix}", f"seed.{suffix}"))
    trimesh.Trimesh([[0, 0, 0], [4, 0, 0], [0, 3, 1]], [[0, 1, 2]]).export(
        place("mesh.open", "seed.off")
    )
    box.export(place("mesh.plytext", "seed.ply"), encoding="ascii")


def _write_clouds(place) -> None:
    table = np.c_[POINTS, VALUES].astype(np.float32)
    for variant, form in (("plytext", "ascii"), ("ply", "binary_little_endian")):
        place(f"cloud.{variant}", "seed.ply").write_bytes(ply(form))
    cloud = pypcd4.PointCloud.from_xyzi_points(table)
    for name in ("ASCII", "BINARY", "BINARY_COMPRESSED"):
        path = place(f"cloud.pcd_{name.lower()}", "seed.pcd")
        cloud.save(path, encoding=pypcd4.Encoding[name])
    las = laspy.create()
    las.header.scales = [1e-4] * 3
    las.x, las.y, las.z = POINTS.T
    las.intensity = VALUES.astype(np.uint16)
    for suffix in ("las", "laz"):
        las.write(place(f"cloud.{suffix}", f"seed.{suffix}"))
    table.tofile(place("cloud.bin", "seed.bin"))
    np.savetxt(place("cloud.xyz", "seed.xyz"), POINTS, fmt="%.4f")


def _write_logs(place) -> None:
    rows = np.random.default_rng(2).uniform(1.0, 20.0, (6, 90)).round(2)
    lines = ["PARAM robot_front_laser_max 30.0 1.0 host 1.0\n", "# a comment\n"]
    for k, row in enumerate(rows):
        words = ["FLASER", 90, *row.tolist(), k, 0, 0.1, k, 0.1, 0.1, k + 5.0, "host", k]
        lines.append(" ".join(map(str, words)) + "\n")
        words = [1, -1.0, 2.0, 0.02, 30.0, 0.01, 0, 90, *row.tolist(), 0]
        lines.append(" ".join(map(str, ["ROBOTLASER1", *words, *range(11), k, "host", k])) + "\n")
    packers = {"log": bytes, "gz": lambda text: gzip.compress(text, mtime=0), "bz2": bz2.compress}
    flasers = [line for line in lines if not line.startswith("ROBOT")]
    for suffix, pack in packers.items():
        place(f"log.{suffix}", f"seed.{suffix}").write_bytes(pack("".join(flasers).encode()))
    robot = [line for line in lines if not line.startswith("FLASER")]
    place("log.robotlaser", "seed.log").write_text("".join(robot))
    count = len(rows)
    arrays = {
        "ranges_m": rows, "pose": np.zeros((count, 3)), "angle_min": -1.0, "angle_inc": 0.02,
        "range_max": 30.0, "odom": np.cumsum(np.ones((count, 3)), 0) * 0.1,
        "t": np.arange(float(count)), "in_map_split": np.arange(count) % 2 == 0,
    }  # fmt: skip
    np.savez(place("log.npz", "seed.npz"), **arrays)
