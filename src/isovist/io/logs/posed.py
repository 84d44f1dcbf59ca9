"""Scans whose poses are known, to make a map of."""

from pathlib import Path

import numpy as np

from isovist.errors import FileError
from isovist.io.files import PathLike
from isovist.io.logs.read import BAGS, compose, read_log
from isovist.io.scans.sets import read_scan_set
from isovist.sensing.scan import Scan
from isovist.types import FloatArray


def read_posed(path: PathLike, prefix: str = "") -> tuple[list[Scan], FloatArray]:
    """Scans of a log, and x, y (m) and yaw (rad) of the sensor at each, shape (m, 3).

    Args:
        path: A CARMEN log whose poses somebody corrected, or a set of scans (`.npz`).
        prefix: For `.npz`: what the names of its arrays start with, e.g. "nav_".
    """
    path = Path(path)
    if path.suffix.lower() == ".npz":
        scans = read_scan_set(path, prefix)
        which = np.flatnonzero(scans.usable)
        return [scans.scan(int(k)) for k in which], scans.poses[which]
    bag = path.is_dir() or path.suffix.lower() in BAGS
    log = None if bag else read_log(path, prefix=prefix)
    if log is None or log.truth is None:
        raise FileError(
            f"{path.name} has odometry and no poses, and odometry alone makes a bent map. Give a "
            "CARMEN log that a mapper has corrected, or a set of scans (.npz) with `pose`."
        )
    return [log.scan(k) for k in range(len(log))], compose(log.truth, log.T_robot_sensor)
