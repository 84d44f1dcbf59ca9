"""Files that were dropped on the page: what they are, and what is in them.

They are written to a folder of their own under names that cannot lead out of it, read by the same
readers as at the command line, and removed.
"""

import json
import re
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from isovist.atlas.build import build
from isovist.atlas.data.store import read_atlas
from isovist.errors import FileError
from isovist.io.formats import format_of, suffixes_of
from isovist.io.logs.cloud_logs import has_point_clouds, read_cloud_log
from isovist.io.logs.read import LOG_FORMATS, read_log
from isovist.io.maps.read import MAP_FORMATS, read_map
from isovist.io.scans.read import SCAN_FORMATS
from isovist.io.settings import LIMITS
from isovist.sensing.cloud_log import CloudLog
from isovist.sensing.log import Log
from isovist.storage.files import quote

MOST_FILES = 500
"""Of one drop: a library is a hundred, and a folder of clouds has one for each."""
_IMAGES = (".pgm", ".png", ".bmp", ".jpg", ".jpeg")
_ODD = re.compile(r"[^\w.+ -]")
_NAME_BYTES = 200
"""Longest name of a file on common file systems, with room for what is added to it."""
Progress = Callable[[float], None]


def safe_path(name: str) -> Path:
    """Return a relative path of at most one folder and a file, without unsafe characters."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    parts = tuple(part for part in parts if part not in ("/", ".."))
    clean = [_clean_name(part) for part in parts[-2:]]
    if not clean or any(part.strip(". ") == "" for part in clean):
        raise FileError(f"{quote(name)} is no name of a file.")
    return Path(*clean)


def _clean_name(name: str) -> str:
    """Keep letters of all scripts, in one spelling; cut the beginning of what is too long."""
    clean = _ODD.sub("_", unicodedata.normalize("NFC", name))
    return clean.encode("utf-8", "replace")[-_NAME_BYTES:].decode("utf-8", "ignore")


def write_upload(folder: Path, name: str, data: bytes) -> Path:
    """Write an uploaded file into a folder; raise an error if its name is taken."""
    path = folder / safe_path(name)
    if path.exists() or path.parent.is_file():
        raise FileError(f"Two files are called {quote(path.name)}. Rename one.", code="file_exists")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def main_file(folder: Path) -> Path:
    """Return the main file of an upload, or its folder if it has a manifest or is a KITTI log."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if (folder / "velodyne").is_dir():
        return _kitti(folder, files)
    manifests = [path for path in files if path.name in ("manifest.json", "metadata.yaml")]
    if manifests:
        inner = manifests[0].parent if manifests[0].parent != folder else _gathered(folder)
        if manifests[0].name == "metadata.yaml":
            _check_bag(inner)
        return inner
    known = [path for path in files if path.suffix.lower() not in _IMAGES]
    if len(known) != 1:
        images = ", ".join(path.name for path in files[:3])
        if not known:
            raise FileError(
                f"{images}: an image is no map by itself. Drop the .yaml of the map with it."
            )
        raise FileError(
            f"{len(known)} files that do not belong together: drop one map, one scan or one log "
            "at a time."
        )
    (main,) = known
    if main.suffix.lower() in (".yaml", ".yml"):
        _bring_image(main, files)
    return main


def _bring_image(main: Path, files: list[Path]) -> None:
    """Let a ROS map name the image that was dropped with it, wherever that lay on its disk.

    A map that names any other file is refused: it would be one of this machine.
    """
    if main.stat().st_size > LIMITS.yaml_bytes:
        return  # the reader says what is wrong
    try:
        fields = yaml.safe_load(main.read_bytes())
        image = fields["image"]
    except (yaml.YAMLError, TypeError, KeyError, RecursionError, ValueError):
        return  # the reader says what is wrong
    if not isinstance(image, str) or not image:
        return
    name = safe_path(image).name
    found = next((path for path in files if path.name == name), None)
    if found is None:
        raise FileError(f"{main.name}: its image {quote(name)} is missing. Drop both together.")
    found.rename(main.parent / name)
    main.write_text(yaml.safe_dump({**fields, "image": name}), encoding="utf-8")


def _check_bag(folder: Path) -> None:
    """An error unless a ROS 2 bag names files of its own folder only."""
    if (folder / "metadata.yaml").stat().st_size > LIMITS.bag_metadata_bytes:
        return  # the reader says what is wrong
    try:
        told = yaml.safe_load((folder / "metadata.yaml").read_bytes())
        names = told["rosbag2_bagfile_information"]["relative_file_paths"]
        inside = all(Path(str(name)).name == str(name) for name in names)
    except (yaml.YAMLError, TypeError, KeyError, RecursionError, ValueError):
        return  # the reader says what is wrong
    if not inside:
        raise FileError(f"{folder.name} names files outside of its folder.")


def _kitti(folder: Path, files: list[Path]) -> Path:
    """A folder in the layout of KITTI again, of whose names only the last two parts are left."""
    texts = [path for path in files if path.suffix.lower() == ".txt"]
    inner = next((path.parent for path in texts if path.parent != folder), folder / "clouds")
    inner.mkdir(exist_ok=True)
    for path in [*texts, folder / "velodyne"]:
        path.rename(inner / path.name)
    return inner


def _gathered(folder: Path) -> Path:
    """A folder of its own for the files of an atlas that were dropped without theirs."""
    inner = folder / "atlas"
    inner.mkdir(exist_ok=True)
    for path in sorted(folder.iterdir()):
        if path.is_file():
            path.rename(inner / path.name)
    return inner


def kind_of(main: Path) -> str:
    """Return "map", "scan" or "log" for a file, from its suffix or, if unclear, its content.

    A point cloud may be a map or a scan; here it is a map.
    """
    if main.is_dir():
        return "map" if (main / "manifest.json").exists() else "log"
    suffix = main.suffix.lower()
    if suffix == ".json":
        return "map" if _is_plan(main) else "scan"
    if suffix == ".npz":
        return "log" if _is_set(main) else "scan"
    tables = {"map": MAP_FORMATS, "log": LOG_FORMATS, "scan": SCAN_FORMATS}
    for kind, formats in tables.items():
        if format_of(main, formats) is not None:
            return kind
    known = "; ".join(f"{kind}: {' '.join(suffixes_of(rows))}" for kind, rows in tables.items())
    raise FileError(
        f"{main.name} is neither an atlas nor one of these. {known}.", code="unknown_format"
    )


def _is_plan(path: Path) -> bool:
    """Whether a JSON file is GeoJSON."""
    try:
        head = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    return isinstance(head, dict) and isinstance(head.get("type"), str)


def _is_set(path: Path) -> bool:
    """Whether an .npz file holds many scans."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            return any(name.endswith(("ranges_m", "ranges_cm", "ranges_mm")) for name in names)
    except (ValueError, OSError, EOFError, NotImplementedError, zipfile.BadZipFile):
        return False


def read_drive(
    path: Path,
    scan_topic: str | None = None,
    odometry_topic: str | None = None,
    progress: Progress | None = None,
) -> Log | CloudLog:
    """Read a log of 2D scans or of 3D point clouds."""
    if has_point_clouds(path, scan_topic):
        return read_cloud_log(path, scan_topic=scan_topic, odometry_topic=odometry_topic)
    return read_log(path, scan_topic=scan_topic, odometry_topic=odometry_topic, progress=progress)


def read_site(path: Path, progress: Progress) -> Any:
    """Read the atlas of a folder, or build one from a map file."""
    if path.is_dir():
        return read_atlas(path)
    return build(read_map(path), progress=progress)
