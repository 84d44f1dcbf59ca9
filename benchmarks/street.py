"""Where on a street?  Scans of 64 rings among cars that were parked since, tilted by up to 4°.

    python -m benchmarks.street [COUNT [SIZE [SEED [TILT]]]]

The map is the cloud of drives along one lane of every street of a generated quarter of SIZE m
(`benchmarks.worlds.streets`), with a scan every 16 m, in the cells that suit it as
`read_map` takes them; COUNT scans are asked 2 to 10 m from these, each alone, without a prior.
Nobody tells their roll and pitch, up to TILT ° each.  Right is within 0.5 m and 3°.
"""

import sys
import time

import numpy as np

from benchmarks.worlds.streets import HEIGHT, quarter
from isovist.atlas.build import build
from isovist.localization import Verdict
from isovist.localization.locate import locate
from isovist.maps.cloud import Cloud
from isovist.poses import Pose3, wrap_angle


def turn_between(a: Pose3, b: Pose3) -> float:
    """Angle of the rotation from one attitude to another, in °, yaw left out."""
    up = a.rotation[2] @ b.rotation[2]
    return float(np.degrees(np.arccos(np.clip(up, -1.0, 1.0))))


def main() -> None:
    given = [float(v) for v in sys.argv[1:]]
    count, size, seed, tilt = (given + [20.0, 150.0, 0.0, 4.0][len(given) :])[:4]
    town = quarter(int(seed), size=size)
    begin = time.perf_counter()
    cloud = town.cloud()
    driven = time.perf_counter()
    cells = Cloud(cloud).resolution()
    atlas = build(Cloud(cloud).voxels(cells), height=HEIGHT)
    print(
        f"{len(town.drives())} scans, {len(cloud)} points ({driven - begin:.0f} s), cells of "
        f"{cells:g} m, {len(atlas.nodes)} nodes ({time.perf_counter() - driven:.0f} s)"
    )
    right, unique, wrong, gaps, leans, times = 0, 0, 0, [], [], []
    for truth, scan in town.asks(int(count), tilt=float(np.radians(tilt))):
        answer = locate(atlas, scan)
        gap = turn = lean = np.inf
        if answer.best is not None:
            pose = answer.best.pose
            gap = float(np.linalg.norm(pose.position - truth.position))
            turn = float(np.degrees(abs(wrap_angle(pose.yaw - truth.yaw))))
            lean = turn_between(pose, truth)
        good, sure = gap <= 0.5 and turn <= 3.0, answer.verdict is Verdict.UNIQUE
        right, unique, wrong = right + good, unique + sure, wrong + (sure and not good)
        gaps.append(gap)
        leans += [lean] if sure else []
        times.append(1e-3 * answer.timing_ms["total"])
        print(f"{answer.verdict}, {gap:.2f} m, {turn:.1f}°, tilt {lean:.2f}°, {times[-1]:.2f} s")
    leaning = f"{np.median(leans):.2f}° (at most {max(leans):.2f}°)" if leans else "none"
    print(
        f"street: {right} of {int(count)} right, {unique} unique, {wrong} unique and wrong; "
        f"median {np.median(gaps):.3f} m; attitude of unique ones off by {leaning}; "
        f"median {np.median(times):.2f} s"
    )


if __name__ == "__main__":
    main()
