"""Read uploaded files: maps, scans and logs.

Files are written to a folder of their own under names that cannot lead out of it, read by the same
readers as at the command line, and removed.
"""

import json
import re
import unicodedata
import zipfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml

import isovist as iv
from isovist.io import (
    LIMITS,
    LOG_FORMATS,
    MAP_FORMATS,
    SCAN_FORMATS,
    format_of,
    has_point_clouds,
    read_cloud_log,
    suffixes_of,
)
from isovist.sensing import CloudLog
from isovist.storage import MANIFEST, quote

if TYPE_CHECKING:
    from starlette.datastructures import FormData
    from starlette.requests import Request

    from isovist.apps.web.settings import Limits

IMAGES = (".pgm", ".png", ".bmp", ".jpg", ".jpeg")
UNSAFE = re.compile(r"[^\w.+ -]")
MAX_NAME_BYTES = 200
BAG_METADATA = "metadata.yaml"
Progress = Callable[[float], None]
"""A function that is called with the finished share of the work, from 0 to 1."""


@asynccontextmanager
async def uploaded_files(
    request: "Request", limits: "Limits"
) -> "AsyncIterator[tuple[dict[str, bytes], FormData]]":
    """Read the form of a request; yield the content of each `file` by its name, and the form."""
    async with request.form(max_files=limits.max_files, max_fields=4) as form:
        files = {
            part.filename or "": await part.read()
            for part in form.getlist("file")
            if not isinstance(part, str)
        }
        yield files, form


def safe_path(name: str) -> Path:
    """Return a relative path of a file, with at most one folder, without unsafe characters."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    parts = tuple(part for part in parts if part not in ("/", ".."))
    names = [_safe_name(part) for part in parts[-2:]]
    if not names or any(part.strip(". ") == "" for part in names):
        raise iv.FileError(f"{quote(name)} is not a file name. Rename the file.")
    return Path(*names)


def _safe_name(name: str) -> str:
    """Keep letters of all scripts, in one spelling; cut the beginning of a long name."""
    safe = UNSAFE.sub("_", unicodedata.normalize("NFC", name))
    return safe.encode("utf-8", "replace")[-MAX_NAME_BYTES:].decode("utf-8", "ignore")


def write_uploads(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write uploaded files into a folder; raise an error if two have the same name."""
    paths = []
    for name, data in files.items():
        path = folder / safe_path(name)
        if path.exists() or path.parent.is_file():
            raise iv.FileError(
                f"Two files are called {quote(path.name)}. Rename one.", code="file_exists"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        paths.append(path)
    return paths


def main_file(folder: Path) -> Path:
    """Return the main file of an upload, or its folder for an atlas or a KITTI log."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if (folder / "velodyne").is_dir():
        return _kitti_folder(folder, files)
    manifest = next((path for path in files if path.name in (MANIFEST, BAG_METADATA)), None)
    if manifest is not None:
        inner = manifest.parent if manifest.parent != folder else _gather(folder)
        if manifest.name == BAG_METADATA:
            _check_bag(inner)
        return inner
    mains = [path for path in files if path.suffix.lower() not in IMAGES]
    if not mains:
        names = ", ".join(path.name for path in files[:3])
        raise iv.FileError(f"{names}: a map needs its .yaml file too. Drop both together.")
    if len(mains) > 1:
        raise iv.FileError(
            f"These {len(mains)} files do not belong together. Drop one map, scan or log at a time."
        )
    (main,) = mains
    if main.suffix.lower() in (".yaml", ".yml"):
        _link_image(main, files)
    return main


def _read_yaml(path: Path, max_bytes: int) -> Any:
    """Return the content of a YAML file, or `None` for a file that its reader will refuse."""
    if path.stat().st_size > max_bytes:
        return None
    try:
        return yaml.safe_load(path.read_bytes())
    except (yaml.YAMLError, TypeError, RecursionError, ValueError):
        return None


def _link_image(main: Path, files: list[Path]) -> None:
    """Let a ROS map name the image that was uploaded with it, wherever it was on the disk.

    A map that names any other file is refused: that would be a file of this machine.
    """
    fields = _read_yaml(main, LIMITS.yaml_bytes)
    image = fields.get("image") if isinstance(fields, dict) else None
    if not isinstance(image, str) or not image:
        return  # the reader says what is wrong
    name = safe_path(image).name
    path = next((path for path in files if path.name == name), None)
    if path is None:
        raise iv.FileError(f"{main.name}: its image {quote(name)} is missing. Drop both together.")
    path.rename(main.parent / name)
    main.write_text(yaml.safe_dump({**fields, "image": name}), encoding="utf-8")


def _check_bag(folder: Path) -> None:
    """Raise an error if a ROS 2 bag names files outside its own folder."""
    fields = _read_yaml(folder / BAG_METADATA, LIMITS.bag_metadata_bytes)
    try:
        names = fields["rosbag2_bagfile_information"]["relative_file_paths"]
        is_inside = all(Path(str(name)).name == str(name) for name in names)
    except (TypeError, KeyError, ValueError):
        return  # the reader says what is wrong
    if not is_inside:
        raise iv.FileError(f"{folder.name} names files outside of its folder.")


def _kitti_folder(folder: Path, files: list[Path]) -> Path:
    """Restore the layout of a KITTI log, of whose paths only the last two parts were kept."""
    texts = [path for path in files if path.suffix.lower() == ".txt"]
    inner = next((path.parent for path in texts if path.parent != folder), folder / "clouds")
    inner.mkdir(exist_ok=True)
    for path in [*texts, folder / "velodyne"]:
        path.rename(inner / path.name)
    return inner


def _gather(folder: Path) -> Path:
    """Move the files of an atlas that were uploaded without their folder into one."""
    inner = folder / "atlas"
    inner.mkdir(exist_ok=True)
    for path in sorted(folder.iterdir()):
        if path.is_file():
            path.rename(inner / path.name)
    return inner


def kind_of(main: Path) -> str:
    """Return "map", "scan" or "log" for a file, by its suffix or its content.

    A point cloud may be a map or a scan; here it is a map.
    """
    if main.is_dir():
        return "map" if (main / MANIFEST).exists() else "log"
    suffix = main.suffix.lower()
    if suffix == ".json":
        return "map" if _is_geojson(main) else "scan"
    if suffix == ".npz":
        return "log" if _has_many_scans(main) else "scan"
    tables = {"map": MAP_FORMATS, "log": LOG_FORMATS, "scan": SCAN_FORMATS}
    for kind, formats in tables.items():
        if format_of(main, formats) is not None:
            return kind
    suffixes = "; ".join(f"{kind}: {' '.join(suffixes_of(rows))}" for kind, rows in tables.items())
    raise iv.FileError(
        f"{main.name} is neither an atlas nor one of these. {suffixes}.", code="unknown_format"
    )


def _is_geojson(path: Path) -> bool:
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and isinstance(content.get("type"), str)


def _has_many_scans(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            return any(name.endswith(("ranges_m", "ranges_cm", "ranges_mm")) for name in names)
    except (ValueError, OSError, EOFError, NotImplementedError, zipfile.BadZipFile):
        return False


def read_log_or_clouds(
    path: Path,
    scan_topic: str | None = None,
    odometry_topic: str | None = None,
    progress: Progress | None = None,
) -> iv.Log | CloudLog:
    """Read a log of 2D scans or of 3D point clouds."""
    if has_point_clouds(path, scan_topic):
        return read_cloud_log(path, scan_topic=scan_topic, odometry_topic=odometry_topic)
    return iv.read_log(
        path, scan_topic=scan_topic, odometry_topic=odometry_topic, progress=progress
    )


def read_atlas_or_map(path: Path, progress: Progress | None = None) -> iv.Atlas:
    """Read the atlas of a folder, or build one from a map file."""
    if path.is_dir():
        return iv.read_atlas(path)
    return iv.build(iv.read_map(path), progress=progress)
