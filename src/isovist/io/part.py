"""One `.npy` file with a checksum for every block of its bytes, header included."""

import io
import math
import mmap
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from isovist.errors import FileError
from isovist.types import readonly

BLOCK = 4 << 20
"""Bytes under one checksum."""

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
        sound = _FILE_NAME.fullmatch(file) is not None and min(shape, default=0) >= 0
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
    def ends(self) -> set[int]:
        """The first and the last block."""
        return {0, len(self.crc32) - 1}

    def blocks_of(self, start: int, stop: int) -> range:
        """The blocks that hold rows `start` to `stop`."""
        data = math.prod(self.shape) * self.dtype.itemsize
        head, row = self.nbytes - data, data // max(self.rows, 1)
        return range((head + start * row) // BLOCK, -(-(head + stop * row) // BLOCK))

    def map(self, folder: Path) -> Array:
        """The array, mapped into memory, after its header was checked."""
        with self._open(folder) as stream:
            try:
                if npy.read_magic(stream) != (1, 0):
                    raise ValueError
                shape, fortran, dtype = npy.read_array_header_1_0(stream)
                size = stream.tell() + math.prod(shape) * dtype.itemsize
                if (shape, fortran, dtype, size) != (self.shape, False, self.dtype, self.nbytes):
                    raise ValueError
            except ValueError as error:
                raise FileError(f"{self.file} has a damaged header.") from error
            if math.prod(shape) == 0:
                return readonly(np.empty(shape, dtype))
            return np.asarray(np.memmap(stream, dtype, "r", stream.tell(), shape))

    def problems(self, folder: Path, blocks: Iterable[int]) -> Iterator[str]:
        """What is wrong with these blocks of the file, one line each."""
        try:
            with (
                self._open(folder) as stream,
                mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data,
                memoryview(data) as view,
            ):
                for block in blocks:
                    with view[block * BLOCK : (block + 1) * BLOCK] as piece:
                        if zlib.crc32(piece) != self.crc32[block]:
                            yield (
                                f"{self.file} is damaged: the checksum of its bytes {block * BLOCK}"
                                f" to {block * BLOCK + len(piece) - 1} differs."
                            )
        except FileError as error:
            yield str(error)

    def _open(self, folder: Path) -> Any:
        """The file, of the size it should have."""
        try:
            stream = (folder / self.file).open("rb")
        except FileNotFoundError as error:
            raise FileError(f"{self.file} is missing.") from error
        except OSError as error:
            raise FileError(f"{self.file} cannot be read: {error.strerror}.") from error
        size = os.fstat(stream.fileno()).st_size
        if size != self.nbytes:
            stream.close()
            how = "cut off" if size < self.nbytes else "too long"
            raise FileError(f"{self.file} is {how}: {size} bytes instead of {self.nbytes}.")
        return stream
