"""One lidar scan found on the map made of another, wherever that map lies.

    python -m benchmarks.pair FOLDER [TRIALS [HEIGHT [LEAN]]]

The folder holds `source.ply`, `target.ply` and `T_target_source.txt` (a 4 × 4 matrix).  In each
trial the target is turned by a random yaw and shifted by up to 20 m, becomes a map of cells of
0.2 m, and the source is located on it, without a prior.  Right is within 0.3 m and 2°.  The sensor
stands HEIGHT m above the ground, 1.7 unless something else is said.  It leans by up to LEAN degrees
of roll and of pitch, which nobody tells: none unless something else is said.
"""

import sys
import time
from pathlib import Path

import numpy as np

from isovist.atlas.build import build
from isovist.io.clouds import read_cloud
from isovist.io.scans.read import read_scan
from isovist.localization import Verdict
from isovist.localization.locate import locate
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.poses import Pose3, wrap_angle
from isovist.sensing.cloud_scan import CloudScan


def main() -> None:
    folder = Path(sys.argv[1])
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    height = float(sys.argv[3]) if len(sys.argv) > 3 else 1.7
    lean = np.radians(float(sys.argv[4])) if len(sys.argv) > 4 else 0.0
    target = read_cloud(folder / "target.ply").returns()
    source = read_scan(folder / "source.ply")
    matrix = np.loadtxt(folder / "T_target_source.txt")
    T_target_source = Pose3.from_matrix(matrix[:3, :3], matrix[:3, 3])
    rng = np.random.default_rng(0)
    right, unique, wrong, errors, turns, times, built = 0, 0, 0, [], [], [], []
    steep: list[float] = []
    for trial in range(trials):
        way, far = rng.uniform(-np.pi, np.pi), 20.0 * np.sqrt(rng.random())
        T_map_target = Pose3(
            far * np.cos(way), far * np.sin(way), rng.uniform(-np.pi, np.pi), rng.uniform(-2.0, 2.0)
        )
        begin = time.perf_counter()
        world = VoxelMap.from_points(T_map_target.apply(target.points), 0.2)
        atlas = build(world, height=height)
        built.append(time.perf_counter() - begin)
        roll, pitch = rng.uniform(-lean, lean, 2)
        tilt = Pose3(roll=float(roll), pitch=float(pitch))
        truth = T_map_target @ T_target_source @ tilt
        answer = locate(atlas, CloudScan(tilt.inverse.apply(source.points)) if lean else source)
        gap = turn = up = np.inf
        if answer.best is not None:
            across = answer.best.pose.rotation[2] @ truth.rotation[2]
            up = float(np.degrees(np.arccos(min(1.0, across))))
            gap = float(
                np.linalg.norm(answer.best.pose.vector[[0, 1, 3]] - truth.vector[[0, 1, 3]])
            )
            turn = float(np.degrees(abs(wrap_angle(answer.best.pose.yaw - truth.yaw))))
        good = gap <= 0.3 and turn <= 2.0
        sure = answer.verdict is Verdict.UNIQUE
        right, unique, wrong = right + good, unique + sure, wrong + (sure and not good)
        errors.append(gap)
        turns.append(turn)
        times.append(answer.timing_ms["total"])
        steep.append(up if sure else 0.0)
        print(
            f"{trial}: {answer.verdict}, {gap:.3f} m, {turn:.2f}°, attitude {up:.2f}°, "
            f"{len(atlas.nodes)} nodes"
        )
    print(
        f"pair: {right} of {trials} right, {unique} unique, {wrong} unique and wrong; median "
        f"{np.median(errors):.3f} m, {np.median(turns):.2f}°, {np.median(times[1:]):.0f} ms; "
        f"attitude of unique ones off by at most {max(steep):.2f}°; "
        f"atlas {np.median(built):.1f} s"
    )


if __name__ == "__main__":
    main()
