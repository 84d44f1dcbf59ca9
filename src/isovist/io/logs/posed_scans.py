"""Scans whose poses are known, to make a map of."""

from pathlib import Path

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import FileError
from isovist.io.logs.carmen import read_carmen
from isovist.io.logs.read import BAGS, CARMEN, check_prefix, mount_or_truth
from isovist.io.scans.scan_sets import read_scan_set
from isovist.sensing.scan import Scan
from isovist.storage.files import PathLike


def read_posed_scans(path: PathLike, prefix: str = "") -> tuple[list[Scan], FloatArray]:
    """Read the scans of a log, and the sensor poses x, y (m) and yaw (rad), shape (m, 3).

    Args:
        path: A CARMEN log whose poses somebody corrected, or a set of scans (`.npz`).
        prefix: For `.npz`: what the names of its arrays start with, e.g. "nav_".
    """
    path = Path(path)
    check_prefix(path, prefix)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        scans = read_scan_set(path, prefix)
    elif suffix in CARMEN and mount_or_truth(scans := read_carmen(path))[1]:
        pass
    elif suffix in (*CARMEN, *BAGS) or path.is_dir():
        raise FileError(
            f"{path.name} has odometry and no poses, and odometry alone makes a bent map. Give a "
            "CARMEN log that a mapper has corrected, or a set of scans (.npz) with `pose`.",
            field="pose",
        )
    else:
        raise FileError(
            f"{path.name} has no suffix of a log with poses. These are {', '.join(CARMEN)} of "
            "CARMEN, and .npz with a set of scans.",
            code="unknown_format",
        )
    which = np.flatnonzero(scans.usable)
    return [scans.scan(int(k)) for k in which], scans.poses[which]
