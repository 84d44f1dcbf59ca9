"""OctoMap files: `.bt` (occupied, free or unknown) and `.ot` (log odds).

The header is text, one word and a value per line, up to `data`; then come the nodes of the tree
(see `compute.grids.octomap`).  The tree is a cube of 2¹⁶ cells around the origin of the world.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.errors import FileError
from isovist.io.maps.ros_map import RESOLUTIONS
from isovist.maps.grid2d.occupancy_map import Cell
from isovist.maps.grid3d.voxel_map import MAX_CELLS, VoxelMap
from isovist.storage.files import PathLike, as_file_error, quote, read_bytes

LIMIT = 1 << 30
_FIRST = {b"# Octomap OcTree binary file": True, b"# Octomap OcTree file": False}
_PAYLOADS = {"OcTree": 4, "ColorOcTree": 7}


def read_octomap(path: PathLike) -> VoxelMap:
    """Read an OctoMap file as a `VoxelMap` around its known cells.

    The other cells are unknown.
    """
    from isovist.compute.grids.octomap import (
        CUT_OFF,
        DEPTH,
        TOO_DEEP,
        TOO_MANY,
        fill_cells,
        read_leaves,
    )

    path = Path(path)
    content = read_bytes(path, "an OctoMap", LIMIT)
    binary, header, data = _parts(path, content)
    resolution = _number(path, header, "res", float, ", the side of a cell in m")
    if not (np.isfinite(resolution) and resolution > 0.0):
        raise FileError(
            f"{path.name}: `res` must be a positive length in m, got {resolution}.", field="res"
        )
    if not RESOLUTIONS[0] <= resolution <= RESOLUTIONS[1]:
        raise FileError(
            f"{path.name}: `res` must be from {RESOLUTIONS[0]} to {RESOLUTIONS[1]:g} m per cell, "
            f"got {resolution:g}.",
            field="res",
        )
    nodes = _number(path, header, "size", int, " of nodes")
    if nodes < 1:
        raise FileError(f"{path.name} holds an empty tree.", code="empty")
    kind = header.get("id", "OcTree")
    if kind not in _PAYLOADS:
        raise FileError(
            f"{path.name}: trees of kind {quote(kind)} are not read, only OcTree.",
            code="unknown_format",
        )
    payload = 0 if binary else _PAYLOADS[kind]
    # A node of a `.bt` has at most eight leaves, and `size` counts leaves as well as nodes.
    most = min(nodes, 4 * len(data) + 8)
    leaves = np.empty((most, 5), np.int64)
    found, read = read_leaves(data, payload, leaves)
    if found == CUT_OFF:
        raise FileError(f"{path.name} is cut off: the tree goes on after its {len(data)} bytes.")
    if found in (TOO_DEEP, TOO_MANY):
        why = f"more than {DEPTH} levels" if found == TOO_DEEP else f"more than {nodes} nodes"
        raise FileError(f"{path.name} is corrupt: its tree has {why}.")
    if read < len(data):
        raise FileError(f"{path.name} is corrupt: {len(data) - read} bytes follow its tree.")
    if found == 0:
        raise FileError(f"{path.name} holds an empty tree.", code="empty")
    leaves = leaves[:found]
    low = leaves[:, :3].min(axis=0)
    size = (leaves[:, :3] + leaves[:, 3:4]).max(axis=0) - low
    if np.prod(size.astype(float)) > MAX_CELLS:
        x, y, z = size
        raise FileError(
            f"{path.name} spans {x} × {y} × {z} cells, and the most is {MAX_CELLS}. Cut it first.",
            code="too_large",
        )
    cells = np.full(tuple(size[::-1]), Cell.UNKNOWN, np.uint8)
    fill_cells(leaves, low, cells)
    corner = (low - (1 << (DEPTH - 1))) * resolution
    with as_file_error(path):
        return VoxelMap.from_array(cells, resolution, corner)


def _parts(path: Path, content: bytes) -> tuple[bool, dict[str, str], NDArray[np.uint8]]:
    """Whether it is a `.bt`, the words of the header, and the bytes of the tree."""
    first = content.split(b"\n", 1)[0].strip()
    if first not in _FIRST:
        raise FileError(
            f"{path.name} is not an OctoMap: it begins with {quote(first[:60])}.",
            code="unknown_format",
        )
    at = content.find(b"\ndata\n", 0, 1 << 16)
    if at < 0:
        raise FileError(
            f"{path.name} is not an OctoMap: its header has no line `data`.", code="unknown_format"
        )
    header: dict[str, str] = {}
    for line in content[:at].decode("ascii", "replace").splitlines():
        if line and not line.startswith("#"):
            word, _, value = line.partition(" ")
            header[word] = value.strip()
    return _FIRST[first], header, np.frombuffer(content[at + 6 :], np.uint8)


def _number(path: Path, header: dict[str, str], word: str, kind: type, what: str) -> Any:
    try:
        return kind(header[word])
    except (KeyError, ValueError) as error:
        raise FileError(
            f"{path.name}: its header has no number `{word}`{what}.", field=word
        ) from error
