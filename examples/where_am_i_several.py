"""A corridor whose doors look alike: one scan cannot tell, five joined by odometry can.

python examples/where_am_i_several.py
"""

import numpy as np

import isovist as iv


def corridor() -> iv.SegmentMap:
    """A corridor of 24 m with niches at uneven distances, on one side only."""
    walls = [[(0, 0), (24, 0)], [(0, 0), (0, 2)], [(24, 0), (24, 2)]]
    left = 0.0
    for niche in (2.0, 6.0, 9.0, 14.0, 16.0, 21.0):
        walls += [[(left, 2), (niche, 2)], [(niche, 2), (niche, 2.6)]]
        walls += [[(niche, 2.6), (niche + 1, 2.6)], [(niche + 1, 2.6), (niche + 1, 2)]]
        left = niche + 1.0
    walls.append([(left, 2), (24, 2)])
    return iv.SegmentMap.from_segments(np.array(walls, dtype=float))


def main() -> None:
    world = corridor()
    atlas = iv.build(world)
    lidar = iv.Lidar(field_of_view=np.pi, beams=181, range_max=4.0, noise=0.01)
    random = np.random.default_rng(2)

    # Where the robot was, which it does not know, and what odometry says of the steps between.
    poses = [iv.Pose(3.5 + 1.5 * k, 1.0, 0.0) for k in range(5)]
    scans = [lidar.scan(world, pose, random) for pose in poses]
    motions = [iv.Pose(1.5 + 0.01 * random.normal(), 0.0, 0.0) for _ in poses[1:]]

    alone = iv.locate(atlas, scans[-1])
    print(f"one scan: {alone.verdict}, {len(alone.rivals)} rivals")
    answer = iv.locate(atlas, scans, motions=motions)
    print(f"{len(scans)} scans: {answer.verdict}, {len(answer.rivals)} rivals")
    if answer.best is not None:
        x, y, yaw = answer.best.pose.vector
        print(f"  x {x:.2f} m, y {y:.2f} m, yaw {yaw:.2f} rad")
    print(f"  truth: x {poses[-1].x:.2f} m, y {poses[-1].y:.2f} m, yaw {poses[-1].yaw:.2f} rad")


if __name__ == "__main__":
    main()
