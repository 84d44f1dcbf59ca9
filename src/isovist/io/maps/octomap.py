"""Read OctoMap files: `.bt` (occupied, free or unknown) and `.ot` (log odds).

The header is text, one word and a value per line, up to `data`; then come the nodes of the tree
(see `compute.grids.octomap`).  The tree is a cube of 2¹⁶ cells around the origin of the world.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import IntArray
from isovist.errors import FileError
from isovist.io.settings import LIMITS
from isovist.maps import MAX_CELLS, Cell, VoxelMap
from isovist.storage import PathLike, as_file_error, quote, read_bytes

_FIRST_LINES = {b"# Octomap OcTree binary file": True, b"# Octomap OcTree file": False}
_PAYLOAD_BYTES = {"OcTree": 4, "ColorOcTree": 7}


def read_octomap(path: PathLike) -> VoxelMap:
    """Read an OctoMap file as a `VoxelMap` that encloses its free and occupied cells.

    All other cells are unknown.

    Raises:
        FileError: If the file is not an OctoMap, or is damaged, empty or too large.
    """
    from isovist.compute import TREE_DEPTH, fill_cells

    tree = _Tree.read(Path(path))
    leaves = tree.leaves()
    low = leaves[:, :3].min(axis=0)
    size = (leaves[:, :3] + leaves[:, 3:4]).max(axis=0) - low
    if np.prod(size.astype(float)) > MAX_CELLS:
        x, y, z = size
        raise FileError(
            f"{tree.path.name} spans {x} × {y} × {z} cells, and the most is {MAX_CELLS}. Cut it "
            "first.",
            code="too_large",
        )
    cells = np.full(tuple(size[::-1]), Cell.UNKNOWN, np.uint8)
    fill_cells(leaves, low, cells)
    corner = (low - (1 << (TREE_DEPTH - 1))) * tree.resolution
    with as_file_error(tree.path):
        return VoxelMap.from_array(cells, tree.resolution, corner)


@dataclass(frozen=True, slots=True, eq=False)
class _Tree:
    """An OctoMap file after a check of its header.

    Attributes:
        path: The file.
        data: The bytes of the nodes.
        resolution: Side of a cell in m.
        nodes: Number of nodes by the header.
        payload: Bytes of a node besides its children; 0 in a `.bt`.
    """

    path: Path
    data: NDArray[np.uint8]
    resolution: float
    nodes: int
    payload: int

    @classmethod
    def read(cls, path: Path) -> "_Tree":
        is_binary, header, data = _parts(path, read_bytes(path, "an OctoMap", LIMITS.octomap_bytes))
        resolution = _number(path, header, "res", float, ", the side of a cell in m")
        low, high = LIMITS.min_resolution_m, LIMITS.max_resolution_m
        if not low <= resolution <= high:
            raise FileError(
                f"{path.name}: `res` must be from {low} to {high:g} m per cell, got {resolution}.",
                field="res",
            )
        nodes = _number(path, header, "size", int, " of nodes")
        if nodes < 1:
            raise FileError(f"{path.name} has an empty tree.", code="empty")
        kind = header.get("id", "OcTree")
        if kind not in _PAYLOAD_BYTES:
            raise FileError(
                f"{path.name}: trees of kind {quote(kind)} are not read, only OcTree.",
                code="unknown_format",
            )
        return cls(path, data, resolution, nodes, 0 if is_binary else _PAYLOAD_BYTES[kind])

    def leaves(self) -> IntArray:
        """Return the leaves of the tree as x, y, z, size and code in cells, shape (k, 5)."""
        from isovist.compute import CUT_OFF, TOO_DEEP, TOO_MANY, TREE_DEPTH, read_leaves

        name, size = self.path.name, len(self.data)
        # A node of a `.bt` has at most eight leaves, and `nodes` counts leaves as well as nodes.
        leaves = np.empty((min(self.nodes, 4 * size + 8), 5), np.int64)
        count, end = read_leaves(self.data, self.payload, leaves)
        if count == CUT_OFF:
            raise FileError(f"{name} is cut off: the tree goes on after its {size} bytes.")
        if count == TOO_DEEP:
            raise FileError(f"{name} is corrupt: its tree has more than {TREE_DEPTH} levels.")
        if count == TOO_MANY:
            raise FileError(f"{name} is corrupt: its tree has more than {self.nodes} nodes.")
        if end < size:
            raise FileError(f"{name} is corrupt: {size - end} bytes follow its tree.")
        if count == 0:
            raise FileError(f"{name} has an empty tree.", code="empty")
        return leaves[:count]


def _parts(path: Path, content: bytes) -> tuple[bool, dict[str, str], NDArray[np.uint8]]:
    """Return whether it is a `.bt`, the words of the header, and the bytes of the tree."""
    first = content.split(b"\n", 1)[0].strip()
    if first not in _FIRST_LINES:
        raise FileError(
            f"{path.name} is not an OctoMap: it begins with {quote(first[:60])}.",
            code="unknown_format",
        )
    end = content.find(b"\ndata\n", 0, 1 << 16)
    if end < 0:
        raise FileError(
            f"{path.name} is not an OctoMap: its header has no line `data`.", code="unknown_format"
        )
    header: dict[str, str] = {}
    for line in content[:end].decode("ascii", "replace").splitlines():
        if line and not line.startswith("#"):
            word, _, value = line.partition(" ")
            header[word] = value.strip()
    return _FIRST_LINES[first], header, np.frombuffer(content[end + 6 :], np.uint8)


def _number(path: Path, header: dict[str, str], word: str, kind: type, meaning: str) -> Any:
    try:
        return kind(header[word])
    except (KeyError, ValueError) as error:
        raise FileError(
            f"{path.name}: its header has no number `{word}`{meaning}.", field=word
        ) from error
