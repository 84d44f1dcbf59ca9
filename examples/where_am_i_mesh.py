"""From a mesh of a building and one scan of a spinning lidar to a pose in space.

python examples/where_am_i_mesh.py
"""

from pathlib import Path

import numpy as np

import isovist as iv
from isovist.report.figures.answers import draw_answer
from isovist.report.figures.figures import save
from isovist.simulation.worlds import office_floor


def main() -> None:
    # The map: here a generated floor with walls of 2.8 m; yours is iv.read_map("building.stl").
    floor = office_floor(5, length=20.0, rows=2)
    world = iv.MeshMap.extrude(floor.plan, 0.0, 2.8)
    atlas = iv.build(world, height=1.0)

    # The scan: here a simulated one, among furniture that the mesh lacks; yours is
    # iv.Scan.from_points(points, roll=imu.roll, pitch=imu.pitch).
    truth = iv.Pose3(8.0, 9.0, 2.1, z=1.0)
    lidar = iv.Lidar.spinning(16, range_max=20.0, noise=0.03, clutter=0.05)
    furnished = iv.MeshMap.extrude(floor.reality, 0.0, 2.8)
    scan = lidar.scan(furnished, truth, np.random.default_rng(1))

    answer = iv.locate(atlas, scan)
    print(f"{answer.verdict}: {answer.advice}")
    for estimate in answer.estimates[:3]:
        x, y, yaw, z = estimate.pose.vector[:4]
        print(
            f"  x {x:.3f} m, y {y:.3f} m, z {z:.3f} m, yaw {yaw:.3f} rad, "
            f"probability {estimate.probability:.3f}"
        )
    print(f"  truth: x {truth.x:.3f} m, y {truth.y:.3f} m, z {truth.z:.3f} m, yaw {truth.yaw:.3f}")

    Path("out").mkdir(exist_ok=True)
    save(draw_answer(atlas, scan, answer, truth), Path("out/where_am_i_mesh.png"))
    print("picture: out/where_am_i_mesh.png")


if __name__ == "__main__":
    main()
