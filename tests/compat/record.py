"""Write the fixtures anew, from a checkout of the version that they are of.

git worktree add OLD e5bca23
PYTHONPATH=OLD/src:OLD python tests/compat/record.py OLD
"""

import gzip
import io
import json
import logging
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
import trimesh
from PIL import Image
from shared import (
    ATLASES,
    FILES,
    FIXTURES,
    LOGS,
    MAPS,
    MARK,
    PROGRAMS,
    SCANS,
    STATES,
    digest,
    names_of,
    options_of,
    run_example,
    run_page,
)
from typer.main import get_command

import isovist as iv
from isovist.cli.app import app, main
from isovist.maps import grids
from isovist.ros.bag_bus import BagWriter
from isovist.ros.demonstration import TOPICS, odometry_message, scan_message

LINES = (FIXTURES / "lines.txt").read_text(encoding="utf-8").splitlines()
"""Command lines; those joined by ` && ` go on in the same folder."""
PAGES = ("explore", "floors", "nav2", "several", "space", "track", "watchdog")
START = 1_700_000_000
ROOMS = [(0, 0), (9, 0), (9, 2), (12, 2), (12, 7), (6, 7), (6, 5), (4, 5), (4, 8), (0, 8)]
FIRST = [(0, 0), (7, 0), (7, 3), (5, 3), (5, 5), (0, 5)]
WAY = [iv.Pose(1.0 + 0.25 * k, 1.2 + 0.02 * k, 0.1) for k in range(12)]
LIDAR = iv.Lidar(beams=60, range_max=12.0, noise=0.01)
SPINNING = iv.SpinningLidar(6, azimuths=24, range_max=12.0, noise=0.01)
COARSE = iv.AtlasSettings(spacing=1.0, cell=0.2)
SMALL = iv.AtlasSettings(spacing=0.8, channels=16, rings=6, cell=0.2)


def plan(outline):
    return iv.SegmentMap.from_polygons([outline], [[(2, 3), (2.6, 3), (2.6, 3.4), (2, 3.4)]])


def look(world, pose, seed=0):
    lidar = LIDAR if isinstance(pose, iv.Pose) else SPINNING
    return lidar.scan(world, pose, np.random.default_rng(seed))


def write_maps(to):
    """Maps, atlases and scans of them; what is found on them is in the same places."""
    plans = {"ground": plan(ROOMS), "first": plan(FIRST)}
    office = iv.OccupancyMap.from_segments(plans["ground"].walls.reshape(-1, 2, 2), 0.15)
    shiny = iv.SegmentMap.from_segments(
        plans["first"].walls.reshape(-1, 2, 2), reflectance=np.linspace(0.1, 0.9, 10)
    )
    iv.write_map(office, to / "office.yaml")
    iv.write_map(plans["ground"], to / "plan.geojson")
    iv.write_map(shiny, to / "shiny.geojson")
    atlases = {"office": iv.build(office, spacing=0.8)}
    for name, world in plans.items():
        atlases[f"site/{name}"] = iv.build(world, settings=COARSE)
    shines = iv.OccupancyMap.from_segments(
        shiny.walls.reshape(-1, 2, 2), 0.2, reflectance=shiny.reflectance
    )
    atlases["shiny"] = iv.build(shines, spacing=1.2, signal="range+intensity")
    atlases["rose"] = iv.build(plans["first"], settings=COARSE, rose=iv.Rose.circle(24, 0.1))
    solid = iv.MeshMap.extrude(plans["first"], 0.0, 2.6)
    trimesh.Trimesh(solid.vertices, solid.faces, process=False).export(to / "site.stl")
    atlases["solid"] = iv.build(solid, height=1.0, settings=SMALL)
    grids.SMALL = 1  # else only the largest maps are kept by blocks
    atlases["blocks"] = iv.build(solid, height=1.0, settings=replace(SMALL, cell=0.4))
    grids.SMALL = 1 << 27
    (to / "site").mkdir()
    for name, atlas in atlases.items():
        iv.write_atlas(atlas, to / f"{name}.atlas")
    for suffix in ("json", "npz", "csv"):
        iv.write_scan(look(plans["ground"], WAY[5]), to / f"scan.{suffix}")
    iv.write_scan(look(shiny, WAY[5]), to / "shiny.json")
    cloud = look(solid, iv.Pose3(1.5, 1.5, 0.4, 1.0))
    iv.write_scan(cloud, to / "cloud.npz")
    np.column_stack([cloud.points, np.zeros(len(cloud.points))]).astype("<f4").tofile(
        to / "cloud.bin"
    )
    depth = np.full((24, 32), 2500, dtype=np.uint16)
    Image.fromarray(depth).save(to / "view.png")
    (to / "view.json").write_text(json.dumps({"fx": 30.0, "fy": 30.0, "cx": 16.0, "cy": 12.0}))
    return plans, solid, atlases


def write_drives(to, plans, solid):
    """The same drive in every format of a log."""
    looks = [look(plans["ground"], pose, k) for k, pose in enumerate(WAY)]
    writer = BagWriter(to / "run.mcap")
    for k, (pose, scan) in enumerate(zip(WAY, looks, strict=True)):
        at = START + 0.5 * k
        moved = odometry_message(WAY[0].inverse @ pose, at, "odom", "base")
        writer.write(TOPICS["odom"], round(1e9 * at), moved)
        writer.write(TOPICS["scan"], round(1e9 * at), scan_message(scan, at, "base"))
    writer.close()
    ranges = [np.where(scan.valid, scan.ranges, 12.0) for scan in looks]
    poses = [pose.vector for pose in WAY]
    np.savez_compressed(
        to / "log.npz", pose=poses, odom=poses, t=0.5 * np.arange(12.0), range_max=12.0,
        ranges_m=ranges, in_map_split=np.arange(12) % 2 == 0, angle_min=looks[0].bearings[0],
        angle_inc=np.diff(looks[0].bearings)[0],
    )  # fmt: skip
    for name, world in plans.items():
        half = iv.Lidar(field_of_view=np.pi * 179 / 180, beams=180, range_max=12.0, noise=0.01)
        rows = []
        for k, pose in enumerate(2 * WAY):
            scan = half.scan(world, pose, np.random.default_rng(k))
            seen = " ".join(f"{r:.2f}" for r in np.where(scan.valid, scan.ranges, 12.5))
            where, odometry = (
                " ".join(f"{v:.4f}" for v in p.vector) for p in (pose, WAY[0].inverse @ pose)
            )
            rows.append(f"FLASER 180 {seen} {where} {odometry} {k} robot {k}\n")
        (to / f"{name}.log.gz").write_bytes(gzip.compress("".join(rows).encode(), mtime=0))
    kitti = to / "sequences/00/velodyne"
    kitti.mkdir(parents=True)
    for k in range(3):
        points = look(solid, iv.Pose3(1.5 + 0.3 * k, 1.5, 0.4, 1.0), k).points
        np.column_stack([points, np.zeros(len(points))]).astype("<f4").tofile(
            kitti / f"{k:06d}.bin"
        )
    (kitti.parent / "times.txt").write_text("0.0\n0.5\n1.0\n")
    (to / "lifts.yaml").write_text("- ground: [1.5, 4.0, 0.0]\n  first: [1.5, 4.0, 0.0]\n")


def plain(belief):
    """What a belief says, as the program prints it."""
    names = ("verdict", "advice", "least", "travelled", "map")
    told = {name: getattr(belief, name) for name in names}
    return told | {"places": [[*e.pose.vector, e.probability] for e in belief.estimates]}


def write_states(to, plans, solid, atlases):
    """States of trackers in the midst of drives, and what each says of the next scan."""
    maps = {name: atlases[f"site/{name}"] for name in plans}
    lift = iv.Pose(1.5, 4.0, 0.0)
    way3 = [iv.Pose3(1.5 + 0.3 * k, 1.5, 0.4, 1.0) for k in range(3)]
    leaning = [iv.Pose3(1.5 + 0.3 * k, 1.5, 0.4, 1.0, 0.05, -0.04) for k in range(3)]
    ground = plans["ground"]
    drift = iv.Drift(along=0.1, heading=0.1)
    cases = {
        "plane": (iv.Tracker(atlases["office"]), ground, WAY[:4], True),
        "unaided": (iv.Tracker(atlases["office"], drift=drift), ground, WAY[:4], False),
        "standing": (iv.Tracker(atlases["office"]), ground, [WAY[0]] * 4, True),
        "new": (iv.Tracker(atlases["office"], prior=iv.Region.facing(0.1, 0.5)), ground, WAY[:1],
                True),
        "maps": (iv.Tracker(maps, links=[iv.Link("ground", lift, "first", lift)],
                            prior={"ground": None}), ground, WAY[:4], True),
        "space": (iv.Tracker(atlases["solid"]), solid, way3, True),
        "tilt": (iv.Tracker(atlases["solid"], tilt=True), solid, leaning, True),
        "attitude": (iv.Tracker(atlases["solid"], any_attitude=True), solid, leaning, True),
    }  # fmt: skip
    said = {}
    for name, (tracker, world, way, aided) in cases.items():
        steps = [(way[0].inverse @ pose if aided else None, look(world, pose, k))
                 for k, pose in enumerate(way)]  # fmt: skip
        for k, (odometry, scan) in enumerate(steps[:-1]):
            tracker.update(odometry, scan, time=0.5 * k)
        state = json.dumps(tracker.state())
        (to / f"{name}.json").write_text(state)
        odometry, scan = steps[-1]
        iv.write_scan(scan, to / f"{name}.npz")
        belief = plain(tracker.update(odometry, scan, time=0.5 * len(way)))
        moved = None if odometry is None else [*odometry.vector]
        said[name] = {"odometry": moved, "time": 0.5 * len(way), "belief": belief}
    (to / "said.json").write_text(json.dumps(said, indent=1))


def short(value):
    """Numbers to nine digits; of many objects the first and last, and how many more."""
    if isinstance(value, dict):
        return {key: short(v) for key, v in value.items()}
    if isinstance(value, list):
        cut = [value[0], value[-1]] if len(value) > 2 and isinstance(value[0], dict) else value
        more = [f"and {len(value) - 2} more"] if cut is not value else []
        return [*map(short, cut), *more]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def run(line):
    """Exit code and output of a command line, or of several, the last one's."""
    for part in line.split(" && "):
        sys.argv = ["isovist", *shlex.split(part)[1:]]
        out, notes = io.StringIO(), logging.getLogger("isovist")
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            try:
                code = main()
            except SystemExit as end:
                code = end.code
        notes.handlers.clear()
    text = out.getvalue()
    try:
        said = [json.loads(text)]
    except json.JSONDecodeError:
        said = [json.loads(row) for row in text.splitlines()] if "--json" in line else None
    return {"exit": code or 0, "said": short(said)}


def write_programs(to, old):
    """The examples, and the Python of the pages."""
    for path in sorted((old / "examples").glob("*.py")):
        (to / f"{path.stem}.txt").write_text(path.read_text())
    for page in ["README.md", "docs/index.md", *(f"docs/how-to/{name}.md" for name in PAGES)]:
        blocks = re.findall(r"^```python\n(.*?)^```", (old / page).read_text(), re.M | re.S)
        (to / f"{Path(page).name}.txt").write_text(MARK.join(blocks))


def run_programs():
    """What each example prints and each page finds out; those left out need more than files."""
    left_out = ("ask_server", "fit_a_wall")
    names = sorted(path.stem for path in PROGRAMS.iterdir() if path.stem not in left_out)
    return {n: run_page(n) if n.endswith(".md") else run_example(n) for n in names}


def write_rows(path, rows):
    """JSON with one line for each entry."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
    path.write_text(f"{{\n{lines}\n}}\n")


def record(old):
    for folder in (FILES, STATES, PROGRAMS):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    plans, solid, atlases = write_maps(FILES)
    write_drives(FILES, plans, solid)
    write_states(STATES, plans, solid, atlases)
    write_programs(PROGRAMS, old)
    shutil.copy(old / "ros2/isovist_ros/config/isovist.yaml", FILES)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        shutil.copytree(FILES, folder, dirs_exist_ok=True)
        write_rows(FIXTURES / "lines.json", {line: run(line) for line in LINES})
        for made in ("rose.json", "calibration.jsonl", "way.tum"):
            shutil.copy(made, FILES)
        write_rows(FIXTURES / "programs.json", run_programs())
        names = (*ATLASES, *SCANS, *MAPS, *LOGS)
        write_rows(FIXTURES / "files.json", {name: digest(name) for name in names})
        os.chdir(old)
    write_rows(FIXTURES / "options.json", options_of(get_command(app)))
    write_rows(FIXTURES / "names.json", names_of(iv))


if __name__ == "__main__":
    record(Path(sys.argv[1]).resolve())
