"""Read and write scans; the suffix of the file determines its format (`SCAN_FORMATS`).

`io.scans.fields` has the fields of JSON and NPZ files, `io.scans.csv_scans` the columns of CSV.
3D scans are clouds in the frame of the sensor or depth images.
"""

from dataclasses import replace
from pathlib import Path
from typing import cast

from isovist.errors import FileError, InputError
from isovist.io.bags import BAG_SUFFIXES
from isovist.io.formats import Format, format_of, list_formats
from isovist.io.scans.csv_scans import encode_csv
from isovist.io.scans.fields import encode_json, encode_npz
from isovist.poses import AnyPose, Pose, Pose3
from isovist.sensing import CloudScan, Scan
from isovist.storage import PathLike, as_file_error, existing_file, is_folder, quote, replace_file

CLOUD = Format("point cloud", (".ply", ".pcd", ".bin"), "isovist.io.clouds:read_cloud_scan")
BAG = Format(
    "bag, or a folder with a ROS 2 bag", BAG_SUFFIXES, "isovist.io.scans.bags:read_bag_scan",
    extra="bags",
)  # fmt: skip
SCAN_FORMATS = (
    Format("LaserScan fields", (".json",), "isovist.io.scans.fields:read_json_scan"),
    Format("LaserScan, cloud or depth", (".npz",), "isovist.io.scans.fields:read_npz_scan"),
    Format("bearings and ranges", (".csv",), "isovist.io.scans.csv_scans:read_csv_scan"),
    Format("depth image", (".png",), "isovist.io.scans.depth:read_depth"),
    CLOUD,
    BAG,
)
"""The kinds of files that one scan is read from."""


def read_scan(
    path: PathLike,
    *,
    scan_topic: str | None = None,
    at: float | None = None,
    T_robot_sensor: AnyPose | None = None,
) -> Scan | CloudScan:
    """Read one scan from a file or a bag.

    The suffix of the file determines its format.

    Args:
        path: The file, or the folder of a ROS 2 bag.
        scan_topic: Topic of the scans of a bag; `None` if the bag has only one.
        at: Time of the scan in a bag, in s after the first scan; the nearest scan is read.  `None`
            for the first scan.
        T_robot_sensor: Pose of the sensor on the robot.  `None` takes it from /tf and /tf_static of
            a bag; for other files the sensor is at the centre of the robot.  For a 3D scan a 2D
            pose is level and at height 0.

    Returns:
        A `Scan` in 2D, a `CloudScan` in 3D.

    Raises:
        FileError: If the file is missing, damaged or of another format.
        InputError: If an argument does not suit the file.

    Examples:
        >>> import isovist as iv
        >>> scan = iv.Scan.from_laserscan(-0.5, 0.5, [2.0, 3.0, 2.5], range_max=10.0)
        >>> iv.write_scan(scan, "scan.json")
        >>> iv.read_scan("scan.json").ranges.tolist()
        [2.0, 3.0, 2.5]
    """
    path, row = Path(path), format_of(Path(path), SCAN_FORMATS)
    if is_folder(path) or row is BAG:
        scan = BAG.read(path, scan_topic=scan_topic, at=at, on_robot=T_robot_sensor is None)
    elif scan_topic is not None or at is not None:
        raise InputError.about(
            ("scan_topic", "at"),
            f"choose a scan of a bag, and {path.name} is none.",
            code="conflict",
        )
    elif row is None:
        raise FileError(
            f"{path.name} has no suffix of a scan. Scans are read from "
            f"{list_formats(SCAN_FORMATS)}.",
            code="unknown_format",
        )
    else:
        with as_file_error(existing_file(path, "a scan")):
            scan = row.read(path)
    return _mounted(cast(Scan | CloudScan, scan), T_robot_sensor)


def _mounted(scan: Scan | CloudScan, mounting: AnyPose | None) -> Scan | CloudScan:
    """Return a scan with another pose of its sensor on the robot."""
    if mounting is None:
        return scan
    if isinstance(scan, CloudScan):
        return replace(scan, T_robot_sensor=Pose3.lifted(mounting), frame="robot")
    if not isinstance(mounting, Pose):
        raise InputError.about(
            "T_robot_sensor", "of a 2D scan must be a Pose.", code="wrong_dimension"
        )
    return replace(scan, T_robot_sensor=mounting, frame="robot")


def write_scan(scan: Scan | CloudScan, path: PathLike) -> None:
    """Write a scan to a file, without the pose of the sensor.

    Args:
        scan: The scan.
        path: The file, `.json`, `.npz` or `.csv`; for a 3D scan `.npz`.

    Raises:
        InputError: If the suffix does not suit the scan.
        FileError: If the file cannot be written.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        data = encode_npz(scan)
    elif isinstance(scan, CloudScan):
        raise InputError(
            f"A 3D scan is written as .npz, got {quote(path.name)}.", code="unknown_format"
        )
    elif suffix == ".csv":
        data = encode_csv(scan)
    elif suffix == ".json":
        data = encode_json(scan)
    else:
        raise InputError(
            f"A scan is written as .json, .npz or .csv, got {quote(path.name)}.",
            code="unknown_format",
        )
    replace_file(path, data)
