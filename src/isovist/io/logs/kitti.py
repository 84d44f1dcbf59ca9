"""Read point clouds from a folder in the layout of KITTI.

It has `velodyne/*.bin` (x, y, z and reflectance, four bytes each), `times.txt` (s), and perhaps
`poses.txt` (T_world_camera, twelve numbers a line), which is the truth.  With `calib.txt` it is
that of the lidar, in the frame of the first one,

    T_first_lidar = T_camera_lidar⁻¹ T_world_camera T_camera_lidar;                         (1)

without it, the poses are those of the lidar as they are.
"""

from pathlib import Path

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import FileError
from isovist.io.clouds import read_bin
from isovist.poses import AnyPose, Pose3
from isovist.sensing import CloudLog, CloudScan
from isovist.storage import as_file_error, existing_file, is_folder


def is_kitti(path: Path) -> bool:
    """Return whether a folder has the layout of KITTI."""
    return is_folder(path) and (path / "velodyne").is_dir()


def read_kitti(path: Path, T_robot_sensor: AnyPose | None) -> CloudLog:
    """Read the point clouds of a KITTI folder, with true poses if it has them, without odometry.

    Args:
        path: The folder.
        T_robot_sensor: Pose of the lidar on the robot; the centre of the robot when `None`.

    Raises:
        FileError: If a file is missing or damaged.
    """
    files = sorted((path / "velodyne").glob("*.bin"))
    if not files:
        raise FileError(f"{path.name}/velodyne has no .bin file with a cloud.", code="empty")
    times = _rows_for_clouds(path, "times.txt", 1, len(files))[:, 0]
    if (np.diff(times) < 0.0).any():
        raise FileError(f"{path.name}: times.txt goes back. The stamps of a log must not.")
    mounting = Pose3() if T_robot_sensor is None else Pose3.lifted(T_robot_sensor)
    truth = _lidar_poses(path, len(files))
    return CloudLog(
        times=times,
        odometry=None,
        read=lambda number: _read_scan(files[number]),
        numbers=np.arange(len(files)),
        T_robot_sensor=mounting,
        truth=None if truth is None else truth @ mounting.inverse,
    )


def _rows_for_clouds(folder: Path, name: str, columns: int, count: int) -> FloatArray:
    rows = number_rows(folder / name, columns)
    if len(rows) != count:
        raise FileError(
            f"{folder.name}: {name} has {len(rows)} lines for {count} clouds. It needs one each."
        )
    return rows


def _lidar_poses(folder: Path, count: int) -> Pose3 | None:
    """Read the true poses of the lidar by (1), or return `None` without them."""
    if not (folder / "poses.txt").exists():
        return None
    rows = _rows_for_clouds(folder, "poses.txt", 12, count)
    poses = rigid(folder / "poses.txt", rows.reshape(-1, 3, 4))
    if not (folder / "calib.txt").exists():
        return poses
    camera = _calibration(folder / "calib.txt")
    return camera.inverse @ poses @ camera


def _read_scan(path: Path) -> CloudScan:
    columns = read_bin(path)
    with as_file_error(path):
        return CloudScan(np.stack([columns[k] for k in "xyz"], axis=1), columns["intensity"])


def number_rows(path: Path, columns: int) -> FloatArray:
    """Read rows of `columns` numbers from a text file; lines that begin with # are skipped.

    Raises:
        FileError: If a line has other numbers.
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
    """Read T_camera_lidar from the line `Tr:` of a calibration."""
    for line in existing_file(path, "a text").read_text(encoding="utf-8").split("\n"):
        name, _, numbers = line.partition(":")
        words = numbers.split()
        if name.strip() == "Tr" and len(words) == 12:
            return rigid(path, np.array(words, dtype=np.float64).reshape(1, 3, 4))[0]
    raise FileError(f"{path.name} has no line `Tr:` with twelve numbers, T_camera_lidar.")


def rigid(path: Path, rows: FloatArray) -> Pose3:
    """Convert the matrices of a file, shape (m, 3, 4), to poses."""
    R = rows[:, :, :3]
    if not np.allclose(R @ R.swapaxes(1, 2), np.eye(3), atol=1e-3):
        raise FileError(f"{path.name} has a matrix that is not a rotation.")
    return Pose3.from_matrix(R, rows[:, :, 3])
