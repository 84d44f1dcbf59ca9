"""Read the vertices of a PLY file, as text or in both binary forms.

Elements before the vertices must have a fixed size; other elements are skipped.
"""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isovist.errors import FileError
from isovist.io.settings import LIMITS
from isovist.storage import PathLike, quote, read_bytes

_TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
    "float": "f4", "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2",
    "int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8",
}  # fmt: skip
_ORDERS = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}


@dataclass(frozen=True, slots=True)
class _Element:
    """A table of the file: its name, its rows and its columns, `None` for a list."""

    name: str
    rows: int
    columns: list[tuple[str, str | None]]


def has_faces(path: PathLike) -> bool:
    """Return whether a PLY file holds a mesh and not a point cloud."""
    _, elements, _ = _header(Path(path), read_bytes(path, "a PLY file", LIMITS.cloud_bytes))
    return any(element.name == "face" and element.rows > 0 for element in elements)


def read_vertices(path: PathLike) -> dict[str, NDArray[np.float64]]:
    """Read the vertex columns of a PLY file by name, each of shape (vertices,)."""
    path = Path(path)
    content = read_bytes(path, "a PLY file", LIMITS.cloud_bytes)
    form, elements, start = _header(path, content)
    skipped = 0
    for element in elements:
        if element.name == "vertex":
            break
        if any(kind is None for _, kind in element.columns):
            raise FileError(f"{path.name}: a list stands before the vertices, which is not read.")
        skipped += element.rows * (1 if form == "ascii" else _row(element, form).itemsize)
    else:
        raise FileError(f"{path.name} has no vertices.", code="empty")
    if not element.rows:
        raise FileError(f"{path.name} has no vertices.", code="empty")
    if any(kind is None for _, kind in element.columns):
        raise FileError(f"{path.name}: its vertices hold a list, which is not read.")
    names = [name for name, _ in element.columns]
    if form == "ascii":
        lines = content[start:].splitlines()[skipped : skipped + element.rows]
        if len(lines) < element.rows:
            raise FileError(f"{path.name} is cut off: {len(lines)} of {element.rows} vertices.")
        try:
            table = np.loadtxt(io.BytesIO(b"\n".join(lines)), ndmin=2)
        except ValueError as error:
            raise FileError(f"{path.name}: its vertices are not rows of numbers.") from error
        if table.shape != (element.rows, len(names)):
            raise FileError(f"{path.name}: a vertex must have {len(names)} numbers.")
        return {name: table[:, k] for k, name in enumerate(names)}
    row = _row(element, form)
    if len(content) - start - skipped < element.rows * row.itemsize:
        count = (len(content) - start - skipped) // row.itemsize
        raise FileError(f"{path.name} is cut off: {count} of {element.rows} vertices.")
    data = np.frombuffer(content, row, count=element.rows, offset=start + skipped)
    with np.errstate(invalid="ignore"):  # NaN of a damaged file may be a signalling one
        return {name: data[name].astype(np.float64) for name in names}


def _row(element: _Element, form: str) -> np.dtype:
    return np.dtype([(name, _ORDERS[form] + str(kind)) for name, kind in element.columns])


def _header(path: Path, content: bytes) -> tuple[str, list[_Element], int]:
    """Return the form of the numbers, the elements, and the first byte of the data."""
    if not content.startswith(b"ply"):
        raise FileError(
            f"{path.name} is not a PLY file: it does not begin with `ply`.", code="unknown_format"
        )
    end = content.find(b"end_header", 0, 1 << 20)
    if end < 0:
        raise FileError(
            f"{path.name} is not a PLY file: its header does not end.", code="unknown_format"
        )
    start = content.find(b"\n", end) + 1
    form, elements = "", []
    for line in content[:end].decode("ascii", "replace").splitlines()[1:]:
        words = line.split()
        try:
            if words[:1] == ["format"]:
                form = words[1]
            elif words[:1] == ["element"]:
                elements.append(_Element(words[1], int(words[2]), []))
            elif words[:1] == ["property"]:
                kind = None if words[1] == "list" else _TYPES[words[1]]
                elements[-1].columns.append((words[-1], kind))
        except (IndexError, KeyError, ValueError) as error:
            raise FileError(f"{path.name}: a line of its header is {quote(line)}.") from error
    if form not in _ORDERS or any(element.rows < 0 for element in elements):
        raise FileError(f"{path.name}: its numbers are in the form {quote(form)}, not a PLY one.")
    for element in elements:
        if len({name for name, _ in element.columns}) < len(element.columns):
            raise FileError(f"{path.name}: two columns of {quote(element.name)} have one name.")
    return form, elements, start
