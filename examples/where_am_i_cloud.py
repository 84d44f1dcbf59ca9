"""A map made of a few lidar scans, and a later scan found on it.

python examples/where_am_i_cloud.py
"""

from pathlib import Path

import numpy as np

import isovist as iv
from isovist.report.figures.answers import draw_answer
from isovist.report.figures.figures import save
from isovist.simulation.worlds import office_floor


def main() -> None:
    floor = office_floor(2, length=20.0, rows=2)
    building = iv.MeshMap.extrude(floor.reality, 0.0, 2.8)
    rng = np.random.default_rng(0)

    # A surveyor drives through and keeps all points in one frame; yours is iv.read_map("site.pcd").
    low, high = building.bounds
    places = rng.uniform(low, high, (400, 3)) * [1.0, 1.0, 0.0] + [0.0, 0.0, 1.2]
    roomy = building.contains(places) & (floor.reality.clearance(places[:, :2]) > 0.4)
    surveyor = iv.Lidar.spinning(32, low=-0.6, high=0.6, noise=0.02)
    cloud = []
    for place in places[roomy][:60]:
        pose = iv.Pose3(place[0], place[1], z=place[2])
        cloud.append(pose.apply(surveyor.scan(building, pose, rng).points))
    world = iv.VoxelMap.from_points(np.concatenate(cloud), 0.1)
    atlas = iv.build(world, height=1.2)

    # Later a robot wakes up somewhere, with a smaller lidar.
    x, y, z = places[roomy][70]
    truth = iv.Pose3(x, y, -1.0, z)
    lidar = iv.Lidar.spinning(16, range_max=20.0, noise=0.03, clutter=0.1)
    scan = lidar.scan(building, truth, rng)
    answer = iv.locate(atlas, scan)
    print(f"{answer.verdict}: {answer.advice}")
    if answer.best is not None:
        found = answer.best.pose
        print(f"  found: x {found.x:.3f} m, y {found.y:.3f} m, yaw {found.yaw:.3f} rad")
    print(f"  truth: x {truth.x:.3f} m, y {truth.y:.3f} m, yaw {truth.yaw:.3f} rad")

    Path("out").mkdir(exist_ok=True)
    save(draw_answer(atlas, scan, answer, truth), Path("out/where_am_i_cloud.png"))
    print("picture: out/where_am_i_cloud.png")


if __name__ == "__main__":
    main()
