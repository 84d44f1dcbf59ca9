"""Read scans with known poses, to make a map of."""

from pathlib import Path

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import FileError
from isovist.io.formats import format_of
from isovist.io.logs.carmen import read_carmen
from isovist.io.logs.read import (
    BAG,
    CARMEN,
    LOG_FORMATS,
    SCAN_SET,
    LogOptions,
    mounting_and_correction,
)
from isovist.io.scans.scan_sets import read_scan_set
from isovist.sensing import Scan
from isovist.storage import PathLike


def read_posed_scans(path: PathLike, prefix: str = "") -> tuple[list[Scan], FloatArray]:
    """Read the scans of a log, and the poses of the sensor: x, y (m) and yaw (rad), shape (m, 3).

    Args:
        path: A CARMEN log with corrected poses, or a set of scans (`.npz`).
        prefix: Beginning of the names of the arrays in an `.npz` file, e.g. "nav_".

    Raises:
        FileError: If the file is no such log, or has odometry but no poses.
    """
    path = Path(path)
    row = BAG if path.is_dir() else format_of(path, LOG_FORMATS)
    LogOptions(prefix=prefix).check(path, row)
    if row is None:
        raise FileError(
            f"{path.name} has no suffix of a log with poses. These are {CARMEN} and {SCAN_SET}.",
            code="unknown_format",
        )
    scans = read_scan_set(path, prefix) if row is SCAN_SET else None
    if row is CARMEN:
        scans = read_carmen(path)
    if scans is None or (row is CARMEN and not mounting_and_correction(scans)[1]):
        raise FileError(
            f"{path.name} has odometry and no poses, and odometry alone makes a bent map. Give a "
            "CARMEN log that a mapper has corrected, or a set of scans (.npz) with `pose`.",
            field="pose",
        )
    index = np.flatnonzero(scans.usable)
    return [scans.scan(int(k)) for k in index], scans.poses[index]
