"""The files and names that the code of the pages speaks of: a small office, and a drive in it."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from PIL import Image
from tests.support.bag_writer import odometry, scan, write_bag
from tests.support.worlds import office_floor, twofold_hall

import isovist as iv

TRUTH = iv.Pose(4.1, 2.6, 0.4)
LIDAR = iv.Lidar(beams=180, range_max=12.0, noise=0.02)


def plan() -> iv.SegmentMap:
    return office_floor(2, length=15.0, rows=2).plan


def write_files(folder: Path) -> None:
    """Every file that a page names, by the name that it has there."""
    import trimesh

    walls = plan()
    office = iv.OccupancyMap.from_segments(walls.walls.reshape(-1, 2, 2), 0.1)
    atlas = iv.build(office)
    iv.write_map(office, folder / "office.yaml")
    iv.write_map(office, folder / "map.yaml")
    iv.write_map(walls, folder / "room.geojson")
    iv.write_map(twofold_hall(8.0, 6.0, resolution=0.1), folder / "warehouse.yaml")
    iv.write_atlas(atlas, folder / "office.atlas")
    (folder / "site").mkdir()
    for name in ("ground", "first"):
        iv.write_atlas(atlas, folder / "site" / f"{name}.atlas")
    iv.write_scan(seen(walls), folder / "scan.json")
    (folder / "isovist-demo").mkdir()
    iv.write_map(office, folder / "isovist-demo" / "office.yaml")
    iv.write_scan(seen(walls), folder / "isovist-demo" / "scan.json")
    messages, poses = [], []
    for k in range(16):
        pose = iv.Pose(TRUTH.x + 0.1 * k, TRUTH.y, TRUTH.yaw)
        look = seen(walls, pose, k)
        ranges = np.where(look.valid, look.ranges, np.inf).astype(np.float32)
        step = float(look.bearings[1] - look.bearings[0])
        fields = {"angle_min": float(look.bearings[0]), "angle_increment": step,
                  "range_max": 12.0, "frame": "base"}  # fmt: skip
        messages += [odometry(0.5 * k, (0.1 * k, 0.0, 0.0)), scan(0.5 * k, ranges, **fields)]
        poses.append([*pose.vector])
    write_bag(folder, messages, "bag", "drive")
    made = write_bag(folder, messages, "mcap", "made")
    made.joinpath("made.mcap").replace(folder / "run.mcap")
    looks = [seen(walls, iv.Pose(*pose), k) for k, pose in enumerate(poses)]
    np.savez(
        folder / "log.npz", pose=poses, odom=poses, t=0.5 * np.arange(16.0), range_max=12.0,
        ranges_m=[np.where(look.valid, look.ranges, 12.0) for look in looks],
        angle_min=looks[0].bearings[0], angle_inc=looks[0].bearings[1] - looks[0].bearings[0],
    )  # fmt: skip
    hut = iv.SegmentMap.from_polygons([[(0, 0), (7, 0), (7, 3), (5, 3), (5, 5), (0, 5)]])
    solid = iv.MeshMap.extrude(hut, 0.0, 2.6)
    trimesh.Trimesh(solid.vertices, solid.faces, process=False).export(folder / "site.stl")
    cloud = iv.SpinningLidar(8, azimuths=180, range_max=15.0).scan(
        solid, iv.Pose3(TRUTH.x, TRUTH.y, TRUTH.yaw, 1.0), np.random.default_rng(0)
    )
    write_pcd(cloud.points, folder / "scan.pcd")
    iv.write_atlas(iv.build(solid, spacing=0.8, height=1.0), folder / "site.atlas")
    kitti = folder / "sequences/00/velodyne"
    kitti.mkdir(parents=True)
    for k in range(2):
        points = np.column_stack([cloud.points, np.zeros(len(cloud.points))])
        points.astype(np.float32).tofile(kitti / f"{k:06d}.bin")
    (kitti.parent / "times.txt").write_text("0.0\n0.1\n")
    depth = np.full((24, 32), 2500, dtype=np.uint16)
    Image.fromarray(depth).save(folder / "view.png")
    lens = {"fx": 30.0, "fy": 30.0, "cx": 16.0, "cy": 12.0}
    (folder / "view.json").write_text(json.dumps(lens))


def write_pcd(points, path: Path) -> None:
    import pypcd4

    cloud = pypcd4.PointCloud.from_xyz_points(points.astype(np.float32))
    cloud.save(path, encoding=pypcd4.Encoding.BINARY)


def seen(world, pose=TRUTH, seed=0) -> iv.Scan:
    return LIDAR.scan(world, pose, np.random.default_rng(seed))


class LaserScan:
    """The message of ROS, with the fields that the pages use."""

    angle_min, angle_increment, range_min, range_max = -np.pi, np.pi / 90.0, 0.0, 12.0
    ranges = (2.0,) * 180


class Anything(SimpleNamespace):
    """A message of ROS that has whatever is asked of it."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        part = Anything()
        setattr(self, name, part)
        return part


def names() -> dict[str, object]:
    """What the pages speak of and do not define."""
    from isovist import Descriptor, DirectionalBasis, Gram

    world, basis = plan(), DirectionalBasis.circle(32)
    points = np.array([[1.3, 1.7], [1.5, 2.0]])
    F, _ = Descriptor(basis).at(world, points)
    look = seen(world)
    return {
        "iv": iv, "world": world, "points": points, "basis": basis, "F": F[0], "F2": F[1],
        "squared_norm": 60.0, "Descriptor": Descriptor, "Gram": Gram,
        "DirectionalBasis": DirectionalBasis,
        "scan": look, "odometry": iv.Pose(), "stamp": 0.0, "covariance": 0.01 * np.eye(3),
        "atlas": iv.build(world), "LaserScan": LaserScan, "msg": LaserScan(),
        "PoseWithCovarianceStamped": Anything,
        "publisher": SimpleNamespace(publish=repr),
    }  # fmt: skip


def without_sentences(text):
    """What a page shows, without the sentence after a verdict, which tests of sentences know."""
    return re.sub(r"^(unique|ambiguous|lost)(?: -|:) .*$", r"\1", text, flags=re.M)
