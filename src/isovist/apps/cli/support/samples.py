"""Write sample files: a map, a scan and a drive in 2D, and a map and a scan in 3D."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from isovist.errors import FileError
from isovist.io import write_map, write_scan
from isovist.maps import MeshMap, OccupancyMap, VoxelMap
from isovist.sensing import CloudScan, Scan
from isovist.simulation import CEILING, office_floor
from isovist.storage import replace_file

RESOLUTION_2D = 0.05
RESOLUTION_3D = 0.1
FILES = ("office.yaml", "office.pgm", "scan.json", "drive.mcap", "building.ply", "cloud.npz")


def write_office(folder: Path, scan: Scan | CloudScan, seed: int) -> list[Path]:
    """Write a map and a scan of the office, and a drive where `rosbags` is installed.

    Args:
        folder: For `office.yaml`, `office.pgm`, `scan.json` and `drive.mcap`. It is made if it is
            missing; files that it holds under these names are replaced.
        scan: A scan that was taken in the office.
        seed: Seed of the office and the drive.

    Returns:
        The files that were written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES[:4]:
        (folder / name).unlink(missing_ok=True)
    plan, drive = folder / "office.yaml", folder / "drive.mcap"
    files = [plan, plan.with_suffix(".pgm"), folder / "scan.json"]
    write_scan(scan, files[2])
    if find_spec("rosbags") is None:
        walls = office_floor(seed).plan.walls.reshape(-1, 2, 2)
        write_map(OccupancyMap.from_segments(walls, RESOLUTION_2D), plan)
        return files
    from isovist.apps.ros import write_demonstration

    write_demonstration(drive, seed=seed, plan=plan)
    return [*files, drive]


def write_building(folder: Path, scan: Scan | CloudScan, seed: int) -> list[Path]:
    """Write a map of the building as a point cloud, and a scan of a 3D lidar in it."""
    floor = office_floor(seed, length=24.0, rows=2)
    mesh = MeshMap.extrude(floor.plan, 0.0, CEILING)
    cells = VoxelMap.from_mesh(mesh, RESOLUTION_3D)
    points = cells.centres(np.flatnonzero(cells.cells == 1)).astype("<f4")
    head = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\n"
    axes = "".join(f"property float {axis}\n" for axis in "xyz")
    cloud, scan_file = folder / "building.ply", folder / "cloud.npz"
    replace_file(cloud, f"{head}{axes}end_header\n".encode() + points.tobytes(), parents=True)
    write_scan(scan, scan_file)
    return [cloud, scan_file]


def check_folder(folder: Path) -> None:
    """Raise an error if the folder for samples is a file."""
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder} is a file. Name a folder.", code="file_exists")
