"""Trajectories as text of the TUM benchmark, which `evo` reads.

One line per pose: time (s), x, y, z (m), and the quaternion x, y, z, w of the rotation; here z is 0
and the rotation is about z.
"""

import numpy as np

from isovist.io.files import PathLike, replace_file
from isovist.types import ArrayLike, as_floats


def write_tum(path: PathLike, times: ArrayLike, poses: ArrayLike) -> None:
    """Write a trajectory; missing folders are made.

    Args:
        path: The file.
        times: In s, shape (m,).
        poses: x, y (m) and yaw (rad), shape (m, 3).
    """
    stamps = as_floats("times", times, (None,))
    rows = as_floats("poses", poses, (stamps.size, 3))
    half = rows[:, 2] / 2.0
    lines = ["# time x y z qx qy qz qw"]
    lines += [
        f"{t:.6f} {x:.6f} {y:.6f} 0 0 0 {s:.9f} {c:.9f}"
        for t, x, y, s, c in zip(stamps, *rows[:, :2].T, np.sin(half), np.cos(half), strict=True)
    ]
    replace_file(path, ("\n".join(lines) + "\n").encode(), parents=True)
