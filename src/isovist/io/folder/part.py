"""One `.npy` file with a checksum for every block of its bytes, header included."""

import io
import math
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from isovist.errors import FileError

BLOCK = 4 << 20
"""Bytes under one checksum."""

_HEADER_BYTES = 65536

_FILE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.\d{3,})?\.npy")

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Part:
    """What a folder knows of one of its files.

    Attributes:
        file: Its name in the folder.
        shape: Of the array in it: a whole one, or some rows of a larger one.
        dtype: Likewise.
        nbytes: Size of the file.
        crc32: Checksum of each block of `BLOCK` bytes, the last one shorter.
    """

    file: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    nbytes: int
    crc32: tuple[int, ...]

    @classmethod
    def write(cls, file: Path, array: Array) -> "Part":
        """Write an array to a new file, down to the disk."""
        # Not np.ascontiguousarray, which would give a single number an axis.
        array = np.asarray(array, order="C")
        header = io.BytesIO()
        npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(array))
        head = header.getvalue()
        data = array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
        crc32, cut = [], BLOCK - len(head)
        with file.open("xb") as stream:
            stream.write(head)
            stream.write(data[:cut])
            crc32.append(zlib.crc32(data[:cut], zlib.crc32(head)))
            for start in range(cut, len(data), BLOCK):
                stream.write(data[start : start + BLOCK])
                crc32.append(zlib.crc32(data[start : start + BLOCK]))
            stream.flush()
            os.fsync(stream.fileno())
        return cls(file.name, array.shape, array.dtype, len(head) + len(data), tuple(crc32))

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "Part":
        """From what `to_json` gave; `ValueError` when it cannot be that."""
        file, shape = str(fields["file"]), tuple(int(n) for n in fields["shape"])
        dtype, size = np.dtype(str(fields["dtype"])), int(fields["bytes"])
        crc32 = tuple(int(text, 16) for text in fields["crc32"])
        sound = _FILE_NAME.fullmatch(file) and min(shape, default=0) >= 0 and size > 0
        if not sound or dtype.hasobject or len(crc32) != -(-size // BLOCK):
            raise ValueError("no part")
        return cls(file, shape, dtype, size, crc32)

    def to_json(self) -> dict[str, Any]:
        """As an entry of a manifest."""
        return {
            "file": self.file,
            "shape": list(self.shape),
            "dtype": self.dtype.str,
            "bytes": self.nbytes,
            "crc32": [f"{value:08x}" for value in self.crc32],
        }

    @property
    def rows(self) -> int:
        """Length of the first axis; 1 for a single number."""
        return self.shape[0] if self.shape else 1

    @property
    def blocks(self) -> range:
        """All blocks."""
        return range(len(self.crc32))

    @property
    def ends(self) -> set[int]:
        """The first and the last block."""
        return {0, len(self.crc32) - 1}

    def blocks_of(self, start: int, stop: int) -> range:
        """The blocks that hold rows `start` to `stop`."""
        data = math.prod(self.shape) * self.dtype.itemsize
        head, row = self.nbytes - data, data // max(self.rows, 1)
        return range((head + start * row) // BLOCK, -(-(head + stop * row) // BLOCK))

    def map(self, folder: int) -> NDArray[np.uint8]:
        """The bytes of the file, mapped into memory; `folder` is an open handle of its folder."""
        try:
            handle = os.open(self.file, os.O_RDONLY, dir_fd=folder)
        except FileNotFoundError as error:
            raise FileError(f"{self.file} is missing.") from error
        except OSError as error:
            raise FileError(f"{self.file} cannot be read: {error.strerror}.") from error
        with os.fdopen(handle, "rb") as stream:
            size = os.fstat(handle).st_size
            if size != self.nbytes:
                how = "cut off" if size < self.nbytes else "too long"
                raise FileError(f"{self.file} is {how}: {size} bytes instead of {self.nbytes}.")
            return np.asarray(np.memmap(stream, np.uint8, "r"))

    def problems(self, data: NDArray[np.uint8], blocks: Iterable[int]) -> Iterator[str]:
        """What is wrong with these blocks of the mapped file, one line each."""
        for block in blocks:
            piece = data[block * BLOCK : (block + 1) * BLOCK]
            if zlib.crc32(piece.data) != self.crc32[block]:
                yield (
                    f"{self.file} is damaged: the checksum of its bytes {block * BLOCK} to "
                    f"{block * BLOCK + len(piece) - 1} differs."
                )

    def array(self, data: NDArray[np.uint8]) -> Array:
        """The array in the mapped file, whose first block should have been checked before."""
        header = io.BytesIO(data[:_HEADER_BYTES].tobytes())
        try:
            version = npy.read_magic(header)
            if version != (1, 0) or npy.read_array_header_1_0(header) != (
                self.shape,
                False,
                self.dtype,
            ):
                raise ValueError
            return data[header.tell() :].view(self.dtype).reshape(self.shape)
        except (ValueError, SyntaxError, TokenError) as error:
            raise FileError(f"{self.file} does not hold the array that it should.") from error
