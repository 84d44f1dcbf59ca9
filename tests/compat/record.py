"""Write the fixtures anew, from a checkout of the version that they are of.

git worktree add OLD e5bca23 && PYTHONPATH=OLD/src python tests/compat/record.py OLD
"""

import gzip
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import shared
import trimesh
from isovist.cli.app import main
from isovist.ros.bag_bus import BagWriter
from isovist.ros.demonstration import TOPICS, odometry_message, scan_message
from shared import FILES, FIXTURES, PROGRAMS, STATES

import isovist as iv
from isovist.maps import grids

LINES = (FIXTURES / "lines.txt").read_text(encoding="utf-8").splitlines()
"""Command lines; those joined by ` && ` go on in the same folder."""
HOW_TO = ("explore", "floors", "nav2", "several", "space", "track", "watchdog")
PAGES = ("README.md", "docs/index.md", *(f"docs/how-to/{name}.md" for name in HOW_TO))
ROOMS = [(0, 0), (9, 0), (9, 2), (12, 2), (12, 7), (6, 7), (6, 5), (4, 5), (4, 8), (0, 8)]
FIRST = [(0, 0), (7, 0), (7, 3), (5, 3), (5, 5), (0, 5)]
CRATE = [(2, 3), (2.6, 3), (2.6, 3.4), (2, 3.4)]
GROUND, UPPER = (iv.SegmentMap.from_polygons([outline], [CRATE]) for outline in (ROOMS, FIRST))
PLANS = {"ground": GROUND, "first": UPPER}
HUT = iv.SegmentMap.from_polygons([[(0, 0), (4.5, 0), (4.5, 2), (3, 2), (3, 3.5), (0, 3.5)]])
SOLID = iv.MeshMap.extrude(HUT, 0.0, 2.2)
WAY = [iv.Pose(1.0 + 0.25 * k, 1.2 + 0.02 * k, 0.1) for k in range(12)]
LEVEL = [iv.Pose3(1.0 + 0.3 * k, 1.2, 0.4, 1.0) for k in range(3)]
LEANING = [pose @ iv.Pose3(0.0, 0.0, 0.0, 0.0, 0.05, -0.04) for pose in LEVEL]
LIFT = iv.Pose(1.5, 4.0, 0.0)
COARSE = iv.AtlasSettings(spacing=1.0, cell=0.2)
SMALL = iv.AtlasSettings(spacing=0.8, channels=16, rings=6, cell=0.2)
LIDAR = iv.Lidar(beams=60, range_max=12.0, noise=0.01)
SPINNING = iv.SpinningLidar(6, azimuths=24, range_max=12.0, noise=0.01)
HALF = replace(LIDAR, field_of_view=np.pi * 179 / 180, beams=180)


def look(world, pose, seed=0):
    lidar = LIDAR if isinstance(pose, iv.Pose) else SPINNING
    return lidar.scan(world, pose, np.random.default_rng(seed))


def write_bin(path, cloud):
    np.pad(cloud.points, ((0, 0), (0, 1))).astype("<f4").tofile(path)


def write_maps(to):
    """Maps, atlases and scans; return the atlases."""
    walls, upper = (plan.walls.reshape(-1, 2, 2) for plan in (GROUND, UPPER))
    office, shine = iv.OccupancyMap.from_segments(walls, 0.15), np.linspace(0.1, 0.9, 10)
    shiny = iv.SegmentMap.from_segments(upper, reflectance=shine)
    shines = iv.OccupancyMap.from_segments(upper, 0.2, reflectance=shine)
    iv.write_map(office, to / "office.yaml")
    iv.write_map(GROUND, to / "plan.geojson")
    iv.write_map(shiny, to / "shiny.geojson")
    trimesh.Trimesh(SOLID.vertices, SOLID.faces, process=False).export(to / "site.stl")
    atlases = {
        "office": iv.build(office, spacing=1.0),
        "shiny": iv.build(shines, spacing=1.2, signal="range+intensity"),
        "rose": iv.build(UPPER, settings=COARSE, rose=iv.Rose.circle(24, 0.1)),
        "solid": iv.build(SOLID, height=1.0, settings=SMALL),
        **{f"site/{name}": iv.build(plan, settings=COARSE) for name, plan in PLANS.items()},
    }
    grids.SMALL, usual = 1, grids.SMALL  # else only the largest maps are kept by blocks
    atlases["blocks"] = iv.build(SOLID, height=1.0, settings=replace(SMALL, cell=0.4))
    grids.SMALL = usual
    (to / "site").mkdir()
    for name, atlas in atlases.items():
        iv.write_atlas(atlas, to / f"{name}.atlas")
    for suffix in ("json", "npz", "csv"):
        iv.write_scan(look(GROUND, WAY[5]), to / f"scan.{suffix}")
    iv.write_scan(look(shiny, WAY[5]), to / "shiny.json")
    iv.write_scan(look(SOLID, LEVEL[0]), to / "cloud.npz")
    write_bin(to / "cloud.bin", look(SOLID, LEVEL[0]))
    return atlases


def write_drives(to):
    """The same drive in every format of a log."""
    looks = [look(GROUND, pose, k) for k, pose in enumerate(WAY)]
    moved = [WAY[0].inverse @ pose for pose in WAY]
    writer = BagWriter(to / "run.mcap")
    for k, (pose, scan) in enumerate(zip(moved, looks, strict=True)):
        at = 1_700_000_000 + 0.5 * k
        odometry = odometry_message(pose, at, "odom", "base")
        writer.write(TOPICS["odom"], round(1e9 * at), odometry)
        writer.write(TOPICS["scan"], round(1e9 * at), scan_message(scan, at, "base"))
    writer.close()
    poses, bearings = [pose.vector for pose in WAY], looks[0].bearings
    np.savez_compressed(
        to / "log.npz", pose=poses, odom=poses, t=0.5 * np.arange(12.0), range_max=12.0,
        ranges_m=[np.where(scan.valid, scan.ranges, 12.0) for scan in looks],
        in_map_split=np.arange(12) % 2 == 0, angle_min=bearings[0], angle_inc=np.diff(bearings)[0],
    )  # fmt: skip
    for name, world in PLANS.items():
        rows = []
        for k, (pose, odometry) in enumerate(zip(2 * WAY, 2 * moved, strict=True)):
            scan = HALF.scan(world, pose, np.random.default_rng(k))
            seen = " ".join(f"{r:.2f}" for r in np.where(scan.valid, scan.ranges, 12.5))
            where = " ".join(f"{v:.4f}" for v in (*pose.vector, *odometry.vector))
            rows.append(f"FLASER 180 {seen} {where} {k} robot {k}\n")
        (to / f"{name}.log.gz").write_bytes(gzip.compress("".join(rows).encode(), mtime=0))
    kitti = to / "sequences/00/velodyne"
    kitti.mkdir(parents=True)
    for k, pose in enumerate(LEVEL):
        write_bin(kitti / f"{k:06d}.bin", look(SOLID, pose, k))
    (kitti.parent / "times.txt").write_text("0.0\n0.5\n1.0\n")
    (to / "lifts.yaml").write_text("- ground: [1.5, 4.0, 0.0]\n  first: [1.5, 4.0, 0.0]\n")


def write_states(to, atlases):
    """States of trackers in the midst of drives, and what each says of the next scan."""
    maps, links = {n: atlases[f"site/{n}"] for n in PLANS}, [iv.Link("ground", LIFT, "first", LIFT)]
    office, solid, drift = atlases["office"], atlases["solid"], iv.Drift(along=0.1)
    cases = {
        "plane": (iv.Tracker(office), WAY[:4]),
        "unaided": (iv.Tracker(office, drift=drift), WAY[:4]),
        "standing": (iv.Tracker(office), [WAY[0]] * 4),
        "new": (iv.Tracker(office, prior=iv.Region.facing(0.1, 0.5)), WAY[:1]),
        "maps": (iv.Tracker(maps, links=links, prior={"ground": None}), WAY[:4]),
        "space": (iv.Tracker(solid), LEVEL),
        "tilt": (iv.Tracker(solid, tilt=True), LEANING),
        "attitude": (iv.Tracker(solid, any_attitude=True), LEANING),
    }
    said = {}
    for name, (tracker, way) in cases.items():
        world = GROUND if isinstance(way[0], iv.Pose) else SOLID
        steps = [
            (None if name == "unaided" else way[0].inverse @ pose, look(world, pose, k), 0.5 * k)
            for k, pose in enumerate(way)
        ]
        for odometry, scan, time in steps[:-1]:
            tracker.update(odometry, scan, time=time)
        (to / f"{name}.json").write_text(json.dumps(tracker.state()))
        odometry, scan, time = steps[-1]
        iv.write_scan(scan, to / f"{name}.npz")
        belief = tracker.update(odometry, scan, time=time)
        told = {key: getattr(belief, key) for key in ("verdict", "map", "least", "travelled")}
        told["places"] = [[*e.pose.vector, e.probability] for e in belief.estimates]
        moved = None if odometry is None else odometry.vector.tolist()
        said[name] = {"odometry": moved, "time": time, "belief": told}
    return said


def short(value):
    """Numbers to nine digits; of many objects the first and last, and how many more."""
    if isinstance(value, dict):
        return {key: short(v) for key, v in value.items()}
    if isinstance(value, list):
        many = len(value) > 2 and isinstance(value[0], dict)
        cut = [value[0], value[-1], f"and {len(value) - 2} more"] if many else value
        return [*map(short, cut)]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def run(line):
    """Exit code and output of a command line, or of several, the last one's."""
    for part in line.split(" && "):
        sys.argv, out = ["isovist", *shlex.split(part)[1:]], io.StringIO()
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            try:
                main()
            except SystemExit as end:
                code = end.code or 0
    return {"exit": code, "said": short(shared.parsed(out.getvalue()))}


def write_programs(to, old):
    """The examples, and the Python of the pages; return what they find out, if files will do."""
    found = {}
    for path in sorted((old / "examples").glob("*.py")):
        (to / f"{path.stem}.txt").write_text(path.read_text())
        if path.stem not in ("ask_server", "fit_a_wall"):
            found[path.stem] = shared.run_example(path.stem)
    for page in map(Path, PAGES):
        blocks = re.findall(r"^```python\n(.*?)^```", (old / page).read_text(), re.M | re.S)
        (to / f"{page.name}.txt").write_text(shared.MARK.join(blocks))
        found[page.name] = shared.run_page(page.name)
    return found


def write(name, rows):
    """JSON with one line for each entry."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
    (FIXTURES / f"{name}.json").write_text(f"{{\n{lines}\n}}\n")


def record(old):
    for folder in (FILES, STATES, PROGRAMS):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    atlases = write_maps(FILES)
    write_drives(FILES)
    shutil.copy(old / "ros2/isovist_ros/config/isovist.yaml", FILES)
    for list_of in ("api.txt", "command-line.md"):
        shutil.copy(old / "docs/reference" / list_of, FIXTURES)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        shutil.copytree(FILES, folder, dirs_exist_ok=True)
        write("lines", {line: run(line) for line in LINES})
        for made in ("rose.json", "calibration.jsonl"):
            shutil.copy(made, FILES)
        write("programs", write_programs(PROGRAMS, old))
        os.chdir(old)
    write("states", write_states(STATES, atlases))


if __name__ == "__main__":
    record(Path(sys.argv[1]).resolve())
