"""Read and write maps of the ROS map_server: a YAML file that names an image.

With the brightness b of a pixel in [0, 1] (0 is black), its occupancy is

    p = 1 − b,   or p = b when the file says `negate: 1`,                          (1)

and its cell is occupied when p > occupied_thresh, free when p < free_thresh, else unknown.
The three modes of map_server (ROS 1 and Nav2) become an occupancy map as follows:

trinary (the default): equation (1).  As in map_server, an alpha channel is averaged with the three
    of colour.  So an opaque 205, which is usually unknown, is free in an image with alpha.
scale: a pixel that is not fully opaque is unknown; the others follow (1).  The values that
    map_server gives between the thresholds are unknown here.
raw: brightness is not inverted, whatever `negate` is.  The grey value, out of 255, is the
    occupancy in percent, compared with the thresholds; above 100 it is unknown.

The first row of the image is the highest in y.  `origin` is the pose of the lower left corner.
"""

import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from PIL import Image

from isovist.errors import FileError, InputError
from isovist.io.maps.images import Brightness, read_brightness
from isovist.io.plain_yaml import read_yaml
from isovist.io.settings import LIMITS
from isovist.maps import Cell, OccupancyMap
from isovist.poses import Pose
from isovist.storage import MAX_COORDINATE, PathLike, quote, replace_files

MODES = ("trinary", "scale", "raw")

_EXAMPLES = {
    "image": "the name of its image, e.g. `image: office.pgm`",
    "resolution": "it in m per pixel, e.g. `resolution: 0.05`",
    "origin": "x, y (m) and yaw (rad) of its lower left corner, e.g. `origin: [0.0, 0.0, 0.0]`",
    "negate": "`negate: 0`, or 1 when white is occupied",
    "occupied_thresh": "the occupancy above which a cell is a wall, e.g. `occupied_thresh: 0.65`",
    "free_thresh": "the occupancy below which a cell is free, e.g. `free_thresh: 0.196`",
}

_LEVELS = {Cell.FREE: 254, Cell.OCCUPIED: 0, Cell.UNKNOWN: 205}
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class _Header:
    """The content of the YAML file after its checks."""

    image: Path
    resolution: float
    origin: Pose
    negate: bool
    occupied: float
    free: float
    mode: str

    @classmethod
    def from_yaml(cls, path: Path) -> "_Header":
        fields = _load_yaml(path)
        image, negate, mode = fields["image"], fields["negate"], fields.get("mode", "trinary")
        if not isinstance(image, str) or not image or "\0" in image:
            raise _wrong(path, "image", f"must name a file, got {quote(image)}.")
        resolution = _number(path, "resolution", fields["resolution"])
        low, high = LIMITS.min_resolution_m, LIMITS.max_resolution_m
        if not low <= resolution <= high:
            raise _wrong(
                path, "resolution",
                f"must be from {low} to {high:g} m per pixel, got {resolution:g}.",
            )  # fmt: skip
        origin = _origin(path, fields["origin"])
        if not isinstance(negate, int) or negate not in (0, 1):
            raise _wrong(path, "negate", f"must be 0 or 1, got {quote(negate)}.")
        occupied = _number(path, "occupied_thresh", fields["occupied_thresh"])
        free = _number(path, "free_thresh", fields["free_thresh"])
        if not 0.0 <= free < occupied <= 1.0:
            raise _wrong(
                path, "free_thresh",
                "and `occupied_thresh` must satisfy 0 ≤ free_thresh < occupied_thresh ≤ 1, "
                f"got {free:g} and {occupied:g}.",
            )  # fmt: skip
        if mode not in MODES:
            raise _wrong(path, "mode", f"must be trinary, scale or raw, got {quote(mode)}.")
        return cls(path.parent / image, resolution, origin, bool(negate), occupied, free, mode)


def _wrong(path: Path, key: str, rule: str) -> FileError:
    return FileError(f"{path.name}: `{key}` {rule}", field=key)


def _origin(path: Path, value: Any) -> Pose:
    if not isinstance(value, list) or len(value) != 3:
        raise _wrong(
            path, "origin", f"must be three numbers, x, y (m) and yaw (rad), got {quote(value)}."
        )
    x, y, yaw = (_number(path, "origin", number) for number in value)
    if max(abs(x), abs(y)) > MAX_COORDINATE:
        raise _wrong(
            path, "origin",
            f"must have x and y within ±{MAX_COORDINATE:g} m, got {x:g} and {y:g}.",
        )  # fmt: skip
    if abs(yaw) > 2.0 * math.pi:
        raise _wrong(
            path, "origin",
            f"must have a yaw in rad, within ±2π, got {yaw:g}. Is it in degrees?",
        )  # fmt: skip
    return Pose(x, y, yaw)


def _load_yaml(path: Path) -> dict[Any, Any]:
    fields = read_yaml(path, "a ROS map")
    if not isinstance(fields, dict):
        raise FileError(
            f"{path.name} is not a ROS map: it should be a list of `key: value` lines, "
            f"got {quote(fields)}.",
            code="unknown_format",
        )
    for key, example in _EXAMPLES.items():
        if fields.get(key) is None:
            raise _wrong(path, key, f"is missing. A ROS map needs {example}.")
    return fields


def _number(path: Path, key: str, value: object) -> float:
    """Return a finite number; `5e-2` is a string in YAML 1.1, and a number for map_server."""
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        number = float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise _wrong(path, key, f"must be a finite number, got {quote(value)}.")
    return number


def _codes(head: _Header, peak: int) -> NDArray[np.uint8]:
    """Return the `Cell` of every level of brightness from black (0) to white (`peak`)."""
    levels = np.arange(peak + 1)
    if head.mode == "raw":
        occupancy = np.floor(levels * 255 / peak + 0.5) / 100.0
    else:
        occupancy = (levels if head.negate else peak - levels) / peak
    codes = np.full(peak + 1, Cell.UNKNOWN, dtype=np.uint8)
    codes[(occupancy > head.occupied) & (occupancy <= 1.0)] = Cell.OCCUPIED
    codes[occupancy < head.free] = Cell.FREE
    return codes


def _cells(head: _Header, image: Brightness) -> NDArray[np.uint8]:
    """Return cells from the lowest row up, by blocks: an index takes eight bytes a cell."""
    codes = _codes(head, image.peak)
    height, width = image.levels.shape
    cells = np.empty((height, width), dtype=np.uint8)
    rows = max(1, _BLOCK // width)
    for top in range(0, height, rows):
        stop = min(top + rows, height)
        block = codes[image.levels[top:stop]]
        if image.opaque is not None and head.mode == "scale":
            block[~image.opaque[top:stop]] = Cell.UNKNOWN
        cells[height - stop : height - top] = block[::-1]
    return cells


def read_ros_map(path: PathLike) -> OccupancyMap:
    """Read a map of the ROS map_server from its YAML file."""
    path = Path(path)
    head = _Header.from_yaml(path)
    try:
        exists = head.image.exists()
    except OSError:  # a name too long, a folder without permission
        exists = False
    if not exists:
        raise FileError(
            f"{path.name}: `image` names {quote(str(head.image))}, and there is no such file.",
            code="not_found",
            field="image",
        )
    if not head.image.is_file():
        kind = "a folder" if head.image.is_dir() else "not a regular file"
        raise FileError(
            f"{path.name}: `image` names {quote(str(head.image))}, which is {kind}.", field="image"
        )
    cells = _cells(head, read_brightness(head.image, average_alpha=head.mode == "trinary"))
    if not (cells == Cell.FREE).any():
        raise FileError(
            f"{path.name} has no free cell: no pixel of {head.image.name} has an occupancy below "
            f"`free_thresh` = {head.free:g}. Check the thresholds, `negate` and `mode`.",
            code="empty",
        )
    return OccupancyMap(cells, head.resolution, head.origin)


def write_ros_map(world: OccupancyMap, path: PathLike, *, image: str = ".pgm") -> None:
    """Write a map as a YAML file, with an image of the same name beside it.

    Args:
        world: The map.
        path: The YAML file, `.yaml` or `.yml`.
        image: Suffix of the image, `.pgm` or `.png`.

    Raises:
        InputError: If a suffix is wrong.
        FileError: If the files cannot be written.
    """
    path = Path(path)
    if path.suffix not in (".yaml", ".yml"):
        raise InputError(
            f"A ROS map is written as .yaml or .yml, got {quote(path.name)}.", code="unknown_format"
        )
    if image not in (".pgm", ".png"):
        raise InputError.about("image", f"must be '.pgm' or '.png', got {quote(image)}.")
    levels = np.array([_LEVELS[cell] for cell in Cell], dtype=np.uint8)
    # By rows, since an index takes eight bytes a cell.
    pixels = np.stack([levels[line] for line in world.cells[::-1]])
    if image == ".png":
        stream = io.BytesIO()
        Image.fromarray(pixels).save(stream, format="PNG")
        data = stream.getvalue()
    else:
        height, width = pixels.shape
        data = f"P5\n{width} {height}\n255\n".encode() + pixels.tobytes()
    picture = path.with_suffix(image)
    fields = {
        "image": picture.name,
        "mode": "trinary",
        "resolution": float(world.resolution),
        "origin": [float(v) for v in (world.origin.x, world.origin.y, world.origin.yaw)],
        "negate": 0,
        "occupied_thresh": 0.65,
        "free_thresh": 0.196,
    }
    text = yaml.safe_dump(fields, sort_keys=False, default_flow_style=None, allow_unicode=True)
    replace_files({picture: data, path: text.encode()})
