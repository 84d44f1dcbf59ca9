"""The built wheel works without extras, and each missing extra says which `pip install` brings it.

    python .ci/check_wheel.py BIN

BIN is the folder of programs of an environment that holds the wheel alone.  Everything runs in an
empty folder outside the checkout, so that nothing but the wheel can be imported.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

MAKE = """
import numpy as np, isovist as iv
from pathlib import Path
world = iv.SegmentMap.from_polygons([[(0, 0), (7, 0), (7, 3), (4, 3), (4, 5), (0, 5)]])
cells = iv.OccupancyMap.from_segments(world.walls.reshape(-1, 2, 2), 0.05)
iv.write_map(cells, Path("room.yaml"))
scan = iv.Lidar(range_max=10.0).scan(world, iv.Pose(1.3, 1.7, 0.4), np.random.default_rng(0))
iv.write_scan(scan, Path("scan.json"))
rows = []
for k in range(8):
    pose = iv.Pose(1.3 + 0.2 * k, 1.7, 0.1 * k)
    seen = iv.Lidar(field_of_view=np.pi, beams=181, range_max=10.0).scan(
        world, pose, np.random.default_rng(k)
    )
    place = f"{pose.x:.3f} {pose.y:.3f} {pose.yaw:.3f} "
    ranges = " ".join(f"{r:.3f}" for r in seen.ranges)
    rows.append(f"FLASER 181 {ranges} {place}{place}{k}.0 robot {k}.0\\n")
Path("drive.log").write_text("".join(rows))
hall = iv.SegmentMap.from_polygons([[(0, 0), (12, 0), (12, 2), (11, 2), (11, 3), (0, 3)]])
iv.write_map(iv.OccupancyMap.from_segments(hall.walls.reshape(-1, 2, 2), 0.05), Path("hall.yaml"))
for name in ("room.stl", "cloud.pcd", "cloud.las", "run.mcap", "run.bag"):
    Path(name).write_bytes(b"0" * 64)
"""
PICTURE = "import isovist.report.figures.figures as f; f.new_figure(1.0, 1.0)"
OPEN3D = "import isovist as iv; iv.MeshMap.box((0, 0, 0), (1, 1, 1)).using('open3d')"


def main() -> None:
    programs = Path(sys.argv[1]).resolve()
    python, isovist = str(programs / "python"), str(programs / "isovist")
    with tempfile.TemporaryDirectory() as folder:

        def run(*command: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

        def expect(code: int, words: str, *command: str) -> str:
            done = run(*command)
            if done.returncode != code or words not in done.stdout + done.stderr:
                sys.exit(
                    f"{' '.join(command)}\nexit code {done.returncode} (not {code}), or without "
                    f"{words!r}:\n{done.stdout}{done.stderr}"
                )
            return done.stdout

        expect(0, "", python, "-c", MAKE)
        version = expect(0, "isovist ", isovist, "--version").split()[1]
        metadata = "import importlib.metadata as m; print(m.version('isovist'))"
        expect(0, version, python, "-c", metadata)
        expect(0, "pip install 'isovist[figures]'", isovist, "demo")
        expect(0, "nodes", isovist, "build", "room.yaml", "-o", "room.atlas")
        expect(0, "", isovist, "info", "room.atlas", "--check")
        answer = json.loads(expect(0, "", isovist, "locate", "room.atlas", "scan.json", "--json"))
        pose = answer["estimates"][0]
        if abs(pose["x"] - 1.3) + abs(pose["y"] - 1.7) > 0.1:
            sys.exit(f"The wheel locates at {pose}, not at (1.3, 1.7).")
        expect(0, "agrees", isovist, "check", "room.atlas", "scan.json", "1.3", "1.7", "0.4")
        expect(0, "unique", isovist, "track", "room.atlas", "drive.log")
        expect(0, "scans", isovist, "survey", "room.atlas", "--count", "20")
        expect(0, "unique", isovist, "explore", "hall.yaml", "--range-max", "3")
        expect(0, "nearest-node error", isovist, "paper", "tables")
        for extra, code, command in (
            ("figures", 1, (python, "-c", PICTURE)),
            ("figures", 2, (isovist, "locate", "room.atlas", "scan.json", "--figure", "a.png")),
            ("bags", 2, (isovist, "locate", "room.atlas", "run.mcap")),
            ("bags", 2, (isovist, "track", "room.atlas", "run.bag")),
            ("mesh", 2, (isovist, "build", "room.stl", "-o", "a.atlas")),
            ("pointclouds", 2, (isovist, "build", "cloud.pcd", "-o", "a.atlas")),
            ("pointclouds", 2, (isovist, "build", "cloud.las", "-o", "a.atlas")),
            ("ros", 2, (isovist, "ros", "--map", "room.atlas")),
            ("ros", 2, (isovist, "demo", "--bag", "drive.mcap")),
            ("studio", 2, (isovist, "studio", "--no-browser")),
            ("fast-mesh", 1, (python, "-c", OPEN3D)),
        ):
            expect(code, f"pip install 'isovist[{extra}]'", *command)
    print(f"The wheel of {version} works without extras, and says what brings each.")


if __name__ == "__main__":
    main()
