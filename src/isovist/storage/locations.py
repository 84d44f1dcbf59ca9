"""Read folders of arrays on a disk of this machine, or in object storage.

Object storage needs the extra `object-storage`.  Only the manifest and the needed ranges of bytes
of the arrays are fetched.  URLs are those of obstore (s3, gs, az, https, file), which takes
credentials from the environment.
"""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.errors import FileError, MissingExtraError
from isovist.storage.files import PathLike, first_line, is_folder, read_bytes, unreadable_error

MANIFEST = "manifest.json"
"""Name of the file of a manifest."""
MANIFEST_BYTES = 64 << 20
REQUEST_BYTES = 8 << 20
"""Bytes of one request: so many that its latency does not matter."""
MAX_REQUESTS = 8
"""Maximum number of requests at a time."""

Bytes = NDArray[np.uint8]
_URL = re.compile(r"[a-z][a-z0-9+.-]*://")


def is_url(path: PathLike) -> bool:
    """Return whether a path is an address of object storage."""
    return isinstance(path, str) and _URL.match(path) is not None


def location_of(path: PathLike) -> "Location":
    """Return the folder at a path or at an address of object storage."""
    return ObjectStore(str(path)) if is_url(path) else LocalFolder(Path(path))


class Location(ABC):
    """A folder of files, on disk or in object storage.

    Attributes:
        name: Name of the folder, for error texts.
    """

    __slots__ = ("name",)

    name: str

    @abstractmethod
    def manifest(self) -> bytes:
        """Return the bytes of the folder's current manifest."""

    @abstractmethod
    def read(self, file: str, size: int) -> Bytes:
        """Return all bytes of a file, read-only, after a check that it has `size` bytes."""

    @abstractmethod
    def read_range(self, file: str, size: int, first: int, last: int) -> Bytes:
        """Return bytes `first` to `last` − 1 of a file of `size` bytes, read-only."""


class LocalFolder(Location):
    """A folder on a disk of this machine, whose files are mapped into memory.

    Args:
        path: Path of the folder.
    """

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name

    def manifest(self) -> bytes:
        if not is_folder(self.path):
            raise FileError(f"{self.path}: there is no such folder.", code="not_found")
        return read_bytes(self.path / MANIFEST, "a manifest", MANIFEST_BYTES)

    def read(self, file: str, size: int) -> Bytes:
        path, name = self.path / file, f"{self.name}/{file}"
        try:
            if not path.is_file():  # opening a pipe would block
                raise FileError(
                    f"{name} is {'not a file' if path.exists() else 'missing'}.", code="not_found"
                )
            with path.open("rb") as stream:
                actual = os.fstat(stream.fileno()).st_size
                if actual != size:
                    raise FileError(f"{name} has {actual} bytes instead of {size}.")
                return np.asarray(np.memmap(stream, np.uint8, "r"))
        except OSError as error:
            raise unreadable_error(path, error) from error

    def read_range(self, file: str, size: int, first: int, last: int) -> Bytes:
        return self.read(file, size)[first:last]


class ObjectStore(Location):
    """A folder in object storage.

    Args:
        url: URL of the folder, e.g. `s3://bucket/site/office.atlas`.
    """

    __slots__ = ("_store",)

    def __init__(self, url: str) -> None:
        self.name = re.split(r"[?#]", url)[0].rstrip("/").rpartition("/")[2]
        self._store = store_at(url)

    def manifest(self) -> bytes:
        with self._reading(MANIFEST):
            reply = self._store.get(MANIFEST)
            size = int(reply.meta["size"])
            if size > MANIFEST_BYTES:
                raise FileError(
                    f"{MANIFEST} has {size} bytes; a manifest has at most {MANIFEST_BYTES}. "
                    "Is it the right file?",
                    code="too_large",
                )
            return bytes(reply.bytes())

    def read(self, file: str, size: int) -> Bytes:
        with self._reading(file):
            actual = int(self._store.head(file)["size"])
        if actual != size:
            raise FileError(f"{self.name}/{file} has {actual} bytes instead of {size}.")
        return self.read_range(file, size, 0, size)

    def read_range(self, file: str, size: int, first: int, last: int) -> Bytes:
        del size  # asking for it takes as long as fetching the bytes, which have checksums
        out = np.empty(last - first, dtype=np.uint8)

        def fetch(start: int) -> None:
            piece = out[start - first : start - first + REQUEST_BYTES]
            with self._reading(file):
                data = self._store.get_range(file, start=start, end=start + len(piece))
                piece[:] = np.frombuffer(data, dtype=np.uint8)

        with ThreadPoolExecutor(MAX_REQUESTS, thread_name_prefix="isovist-fetch") as pool:
            list(pool.map(fetch, range(first, last, REQUEST_BYTES)))
        out.setflags(write=False)
        return out

    @contextmanager
    def _reading(self, file: str) -> Iterator[None]:
        """Turn any error of a store into a one-line `FileError` of the file."""
        try:
            yield
        except FileNotFoundError as error:
            raise FileError(f"{self.name}/{file} is missing.", code="not_found") from error
        except (OSError, ValueError, _base_error()) as error:
            if isinstance(error, FileError):
                raise
            reason = first_line(error, 200)
            raise FileError(
                f"{self.name}/{file} cannot be read: {reason}.", code="file_not_readable"
            ) from error


def store_at(url: str) -> Any:
    """Return the obstore store whose root is a URL."""
    with MissingExtraError.unless_found("Reading from object storage", "object-storage"):
        from obstore.store import from_url
    try:
        return from_url(url)
    except (ValueError, OSError, _base_error()) as error:
        kind = url.partition("://")[0]  # the rest may be secret
        raise FileError(
            f"An address of {kind}:// cannot be opened. Take s3, gs, az, https or file, or a "
            "folder of this machine.",
            code="unknown_format",
        ) from error


def _base_error() -> type[Exception]:
    from obstore.exceptions import BaseError

    return BaseError
