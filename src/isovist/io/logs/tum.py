"""Write trajectories in the text format of the TUM benchmark, which `evo` reads.

One line per pose: time (s), x, y, z (m), and the quaternion x, y, z, w of the rotation; in
2D z is 0 and the rotation is about z.
"""

import numpy as np

from isovist.arrays import ArrayLike, as_floats
from isovist.poses import Pose3
from isovist.storage import PathLike, replace_file


def write_tum(path: PathLike, times: ArrayLike, poses: ArrayLike) -> None:
    """Write a trajectory as a TUM file, and create missing folders.

    Args:
        path: The file.
        times: Times in s, shape (m,).
        poses: In 2D x, y (m) and yaw (rad), shape (m, 3).  In 3D also z, roll and pitch, shape (m,
            6).
    """
    stamps = as_floats("times", times, (None,))
    columns = 6 if np.shape(poses)[-1:] == (6,) else 3
    rows = as_floats("poses", poses, (stamps.size, columns))
    lines = ["# time x y z qx qy qz qw"]
    if columns == 3:
        half = rows[:, 2] / 2.0
        flat = zip(stamps, *rows[:, :2].T, np.sin(half), np.cos(half), strict=True)
        lines += [f"{t:.6f} {x:.6f} {y:.6f} 0 0 0 {s:.9f} {c:.9f}" for t, x, y, s, c in flat]
    else:
        way = Pose3.from_vector(rows)
        for t, place, turn in zip(stamps, way.position, way.quaternion, strict=True):
            numbers = [*(f"{v:.6f}" for v in place), *(f"{v:.9f}" for v in turn)]
            lines.append(f"{t:.6f} {' '.join(numbers)}")
    replace_file(path, ("\n".join(lines) + "\n").encode(), parents=True)
