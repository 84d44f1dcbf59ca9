"""Clouds in a folder that has the layout of KITTI.

It has `velodyne/*.bin` (x, y, z and reflectance, four bytes each), `times.txt` (s), and perhaps
`poses.txt` (T_world_camera, twelve numbers a line), which is the truth.  With `calib.txt` it is
that of the lidar, in the frame of the first one,

    T_first_lidar = T_camera_lidar⁻¹ T_world_camera T_camera_lidar;                         (1)

without it, the poses are those of the lidar as they stand.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import FileError
from isovist.poses import AnyPose, Pose3
from isovist.sensing.cloud_log import CloudLog
from isovist.sensing.cloud_scan import CloudScan
from isovist.storage.files import existing_file, is_folder


def is_kitti(path: Path) -> bool:
    """Return whether a folder has the layout of KITTI."""
    return is_folder(path) and (path / "velodyne").is_dir()


def read_kitti(path: Path, T_robot_sensor: AnyPose | None) -> CloudLog:
    """Read the point clouds of a KITTI folder, with the true poses where there are any.

    There is no odometry.

    Args:
        path: The folder.
        T_robot_sensor: Where the lidar sits; the centre of the robot when `None`.
    """
    log = _of_lidar(path)
    sits = Pose3() if T_robot_sensor is None else Pose3.lifted(T_robot_sensor)
    truth = None if log.truth is None else log.truth @ sits.inverse
    return replace(log, T_robot_sensor=sits, truth=truth)


def _of_lidar(path: Path) -> CloudLog:
    """The log of a robot that is its lidar."""
    files = sorted((path / "velodyne").glob("*.bin"))
    if not files:
        raise FileError(f"{path.name}/velodyne has no .bin file with a cloud.", code="empty")
    times = number_rows(path / "times.txt", 1)[:, 0]
    if len(times) != len(files):
        raise FileError(
            f"{path.name}: times.txt has {len(times)} lines for {len(files)} clouds. It needs one "
            "time in s for each."
        )
    if (np.diff(times) < 0.0).any():
        raise FileError(f"{path.name}: times.txt goes back. The stamps of a log must not.")
    truth = None
    if (path / "poses.txt").exists():
        rows = number_rows(path / "poses.txt", 12).reshape(-1, 3, 4)
        if len(rows) != len(files):
            raise FileError(
                f"{path.name}: poses.txt has {len(rows)} lines for {len(files)} clouds. It needs "
                "one pose for each."
            )
        truth = rigid(path / "poses.txt", rows)
        if (path / "calib.txt").exists():
            camera = _calibration(path / "calib.txt")
            truth = camera.inverse @ truth @ camera
    return CloudLog(
        times=times,
        odometry=None,
        read=lambda number: _bin(files[number]),
        numbers=np.arange(len(files)),
        truth=truth,
    )


def _bin(path: Path) -> CloudScan:
    data = existing_file(path, "a cloud").read_bytes()
    if len(data) % 16:
        raise FileError(
            f"{path.name} has {len(data)} bytes, and a point of KITTI has 16: x, y, z and "
            "reflectance, four each."
        )
    rows = np.frombuffer(data, dtype="<f4").reshape(-1, 4).astype(np.float64)
    try:
        return CloudScan(rows[:, :3], rows[:, 3])
    except ValueError as error:
        raise FileError(f"{path.name}: {error}") from error


def number_rows(path: Path, columns: int) -> FloatArray:
    """Read rows of numbers, `columns` each, from a text file.

    Lines that begin with # are skipped.
    """
    lines = existing_file(path, "a text").read_text(encoding="utf-8", errors="replace").split("\n")
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            row = [float(word) for word in line.split()]
        except ValueError:
            row = []
        if len(row) != columns or not np.isfinite(row).all():
            raise FileError(
                f"{path.name}: line {number} must have {columns} "
                f"number{'s' if columns > 1 else ''}, got {line.strip()[:40]!r}."
            )
        rows.append(row)
    return np.array(rows, dtype=np.float64).reshape(-1, columns)


def _calibration(path: Path) -> Pose3:
    """T_camera_lidar: the line `Tr:` of a calibration."""
    for line in existing_file(path, "a text").read_text(encoding="utf-8").split("\n"):
        name, _, rest = line.partition(":")
        if name.strip() == "Tr":
            words = rest.split()
            if len(words) == 12:
                values = np.array([float(word) for word in words])
                return rigid(path, values.reshape(1, 3, 4))[0]
    raise FileError(f"{path.name} has no line `Tr:` with twelve numbers, T_camera_lidar.")


def rigid(path: Path, rows: FloatArray) -> Pose3:
    """Convert the matrices of a file, shape (m, 3, 4), to poses."""
    R = rows[:, :, :3]
    if not np.allclose(R @ R.swapaxes(1, 2), np.eye(3), atol=1e-3):
        raise FileError(f"{path.name} has a matrix that is no rotation.")
    return Pose3.from_matrix(R, rows[:, :, 3])
