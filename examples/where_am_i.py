"""From a map and one scan to a pose, in memory: what a robot's start-up code does.

python examples/where_am_i.py
"""

from pathlib import Path

import numpy as np

import isovist as iv
from isovist.report.figures.answers import draw_answer
from isovist.report.figures.figures import save
from isovist.simulation.worlds import office_floor


def main() -> None:
    # The map: here a generated floor; yours comes from iv.read_map("office.yaml").
    floor = office_floor(7)
    world = iv.OccupancyMap.from_segments(floor.plan.walls.reshape(-1, 2, 2), 0.05)
    atlas = iv.build(world)

    # The scan: here a simulated one; yours is iv.Scan.from_laserscan(msg.angle_min, …).
    truth = iv.Pose(12.0, 5.4, 2.1)
    lidar = iv.Lidar(field_of_view=np.deg2rad(270.0), beams=811, range_max=12.0, noise=0.02)
    scan = lidar.scan(floor.reality, truth, np.random.default_rng(1))

    answer = iv.locate(atlas, scan)
    print(f"{answer.verdict}: {answer.advice}")
    for estimate in answer.estimates[:3]:
        x, y, yaw = estimate.pose.vector
        print(
            f"  x {x:.3f} m, y {y:.3f} m, yaw {yaw:.3f} rad, probability {estimate.probability:.3f}"
        )
    print(f"  truth: x {truth.x:.3f} m, y {truth.y:.3f} m, yaw {truth.yaw:.3f} rad")

    # What you know already helps: a compass that is good to 20°.
    compass = iv.Region.facing(2.1, np.deg2rad(20.0))
    print(f"with a compass: {iv.locate(atlas, scan, region=compass).verdict}")

    Path("out").mkdir(exist_ok=True)
    save(draw_answer(atlas, scan, answer, truth), Path("out/where_am_i.png"))
    print("picture: out/where_am_i.png")


if __name__ == "__main__":
    main()
