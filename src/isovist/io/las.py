"""Check the header of a LAS or LAZ file against the size of the file.

The decoders trust it: a wrong number of points or chunks makes them take any amount of memory, and
the one for LAZ then ends the process.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from isovist.errors import FileError

RATIO = 1100
"""Largest compression of LAZ; real scans reach 20."""
_HEADER = 227  # bytes of the shortest header, that of LAS 1.0 to 1.2
_RECORD = 54  # bytes of the head of a variable length record
_EXTENDED = 60  # of an extended one


@dataclass(frozen=True, slots=True)
class LasHeader:
    """The numbers of a LAS header that determine the size of the content.

    Attributes:
        packed: Whether the points are compressed.
        points: Number of points.
        record: Bytes of a point.
        start: First byte of the points.
        variable: Number of variable length records before them.
        extended: First byte and number of the extended records.
    """

    packed: bool
    points: int
    record: int
    start: int
    variable: int
    extended: tuple[int, int]

    @classmethod
    def from_bytes(cls, head: bytes) -> "LasHeader":
        """Parse the first 375 bytes of a LAS file.

        Raises `struct.error` when there are too few bytes.
        """
        minor, size = head[25], struct.unpack_from("<H", head, 94)[0]
        start, variable, kind, record = struct.unpack_from("<IIBH", head, 96)
        points = struct.unpack_from("<I", head, 107)[0]
        extended = (0, 0)
        if minor >= 4 and size >= 375:
            extended = struct.unpack_from("<QI", head, 235)
            points = max(points, struct.unpack_from("<Q", head, 247)[0])
        return cls(kind >= 128, points, record, start, variable, extended)


def check_las(path: Path) -> None:
    """Check that a LAS file can hold the points that its header announces.

    Raises:
        FileError: If it cannot, or is no LAS file.
    """
    size, name = path.stat().st_size, path.name
    with path.open("rb") as stream:
        head = stream.read(375)
        if head[:4] != b"LASF" or len(head) < _HEADER:
            raise FileError(
                f"{name} is not a LAS file: it does not begin with `LASF` and a header.",
                code="unknown_format",
            )
        try:
            header = LasHeader.from_bytes(head)
        except struct.error as error:
            raise FileError(
                f"{name} is not a LAS file: its header is cut off.", code="unknown_format"
            ) from error
        start, (first, extended) = header.start, header.extended
        if header.record == 0 or start > size or header.variable * _RECORD > start:
            raise FileError(
                f"{name} is not a LAS file: its header announces points of {header.record} bytes "
                f"at byte {start} after {header.variable} records, in a file of {size}.",
                code="unknown_format",
            )
        if extended and first + extended * _EXTENDED > size:
            raise FileError(
                f"{name} is cut off: {extended} extended records begin at byte {first} of {size}."
            )
        capacity = (size - start) * (RATIO if header.packed else 1)
        if header.points * header.record > capacity:
            raise FileError(
                f"{name} is cut off: it announces {header.points} points, more than its "
                f"{size} bytes can hold."
            )
        if header.packed and header.points:
            stream.seek(start)
            _check_chunks(name, size, start, stream.read(8), stream)


def _check_chunks(name: str, size: int, start: int, place: bytes, stream: IO[bytes]) -> None:
    """Check the position of the chunk table of a LAZ file, and the number of chunks."""
    table = struct.unpack("<q", place)[0] if len(place) == 8 else 0
    if table == -1:  # written to a pipe: the position is at the end
        stream.seek(size - 8)
        table = struct.unpack("<q", stream.read(8))[0]
    if start + 8 <= table <= size - 8:
        stream.seek(table + 4)
        chunks = struct.unpack("<I", stream.read(4))[0]
        if chunks <= size:
            return
        raise FileError(f"{name} is damaged: it announces {chunks} chunks in {size} bytes.")
    raise FileError(f"{name} is damaged: the table of its chunks is at byte {table} of {size}.")
