"""Read poses from text files of TUM or KITTI, with one line for each.

TUM has time (s), x, y, z (m) and the quaternion x, y, z, w; KITTI the twelve numbers of the upper
rows of a matrix.  Empty lines and lines that begin with # are skipped.
"""

import numpy as np

from isovist.errors import FileError
from isovist.io.logs.kitti import number_rows, rigid
from isovist.poses import Pose3
from isovist.storage import PathLike, existing_file

TUM, KITTI = 8, 12
"""Numbers of a line."""


def read_poses(path: PathLike) -> Pose3:
    """Read the poses of a TUM or KITTI file, in the order of the lines.

    The number of values in the first line determines the format.
    """
    file = existing_file(path, "a text")
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    first = next((line for line in map(str.strip, lines) if line and line[0] != "#"), "")
    columns = len(first.split())
    if columns not in (TUM, KITTI):
        raise FileError(
            f"{file.name} must have {TUM} numbers a line (TUM: time, x, y, z and a quaternion) or "
            f"{KITTI} (KITTI: a matrix), got {columns}.",
            code="unknown_format",
        )
    rows = number_rows(file, columns)
    if columns == KITTI:
        return rigid(file, rows.reshape(-1, 3, 4))
    if not (np.abs(np.linalg.norm(rows[:, 4:], axis=1) - 1.0) < 0.01).all():
        raise FileError(f"{file.name} has a quaternion that is no rotation.")
    return Pose3.from_quaternion(rows[:, 4:], rows[:, 1:4])
