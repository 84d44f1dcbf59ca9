"""Read and write files safely.

The content of a file is not trusted.  Its size is checked before it is read, announced sizes are
checked before memory is taken for them, and quotes from it in error texts are short.
"""

import json
import math
import os
import reprlib
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from isovist.errors import FileError, InputError, IsovistError

PathLike = str | os.PathLike[str]
"""A path as a text or a path object."""
MAX_COORDINATE = 1e18
"""Maximum coordinate (m, rad) or time (s); the squares of larger ones may overflow."""

_QUOTE = reprlib.Repr()
_QUOTE.maxlevel, _QUOTE.maxlist, _QUOTE.maxdict, _QUOTE.maxtuple = 2, 6, 3, 6
_QUOTE.maxstring, _QUOTE.maxother, _QUOTE.maxlong = 60, 60, 40


def quote(value: object) -> str:
    """Return a value from a file as a text that is short enough for one line."""
    try:
        return _QUOTE.repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return "a huge integer"


@contextmanager
def as_file_error(path: Path) -> Iterator[None]:
    """Turn an `InputError` about a value from a file into a `FileError` about the file."""
    try:
        yield
    except InputError as error:
        raise FileError(f"{path.name}: {error}") from error


@contextmanager
def decoder_errors(
    path: Path, verdict: str, silent: str = "", max_length: int | None = None
) -> Iterator[None]:
    """Turn any error of a decoder into a `FileError` of one line.

    The reason has at most `max_length` characters.  Without a reason it is `silent`, or else the
    type of the error.
    """
    try:
        yield
    except IsovistError:
        raise
    except MemoryError as error:
        raise FileError(
            f"{path.name} {verdict}: it asks for more memory than there is.", code="too_large"
        ) from error
    except BaseException as error:
        # A panic of a compiled decoder is not an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = first_line(error, max_length) or silent or type(error).__name__
        raise FileError(f"{path.name} {verdict}: {reason}.") from error


def first_line(error: BaseException, max_length: int | None = None) -> str:
    """Return the first line of the text of an error, without its full stop, cut to a length."""
    return (str(error).strip().splitlines() or [""])[0][:max_length].rstrip(". ")


def existing_file(path: PathLike, kind: str) -> Path:
    """Check that a path is a readable file that is not empty, and return the path.

    Args:
        path: The file.
        kind: Expected content with its article, such as "a map", for the error text.

    Raises:
        FileError: If the file is missing, empty or not readable.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise FileError(f"{path} is a folder, not {kind}.", code="unknown_format")
        if not path.exists():
            raise FileError(f"{path}: there is no such file.", code="not_found")
        if not path.is_file():
            raise FileError(
                f"{path} is not a regular file, so it cannot be {kind}.", code="file_not_readable"
            )
        with path.open("rb") as stream:  # a file without permission fails here, not in a decoder
            if not stream.read(1):
                raise FileError(
                    f"{display_name(path)} is empty; {kind} was expected.", code="empty"
                )
    except OSError as error:
        raise unreadable_error(path, error) from error
    return path


def display_name(path: Path) -> str:
    """Return the name of a file, with its folder if many files have the name."""
    is_common = path.name in ("manifest.json", "metadata.yaml")
    return f"{path.parent.name}/{path.name}" if is_common else path.name


def is_folder(path: PathLike) -> bool:
    """Return whether a path is a folder.

    Raises:
        FileError: If the system cannot tell.
    """
    try:
        return Path(path).is_dir()
    except OSError as error:  # a name too long, a folder that may not be looked into
        raise unreadable_error(Path(path), error) from error


def unreadable_error(path: Path, error: OSError) -> FileError:
    """Return a `FileError` for a file that the operating system refuses to read."""
    return FileError(f"{path} cannot be read: {error.strerror or error}.", code="file_not_readable")


def read_bytes(path: PathLike, kind: str, limit: int) -> bytes:
    """Read all bytes of a file of at most `limit` bytes."""
    path = existing_file(path, kind)
    check_size(path, kind, limit)
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable_error(path, error) from error


def check_size(path: Path, kind: str, limit: int) -> None:
    """Check that a file has at most `limit` bytes."""
    size = path.stat().st_size
    if size > limit:
        raise FileError(
            f"{display_name(path)} has {size} bytes; {kind} has at most {limit}. "
            "Is it the right file?",
            code="too_large",
        )


def read_json(path: PathLike, kind: str, limit: int) -> Any:
    """Read the content of a JSON file of at most `limit` bytes."""
    data = read_bytes(path, kind, limit)
    try:
        return json.loads(data)
    except RecursionError as error:
        raise FileError(
            f"{Path(path).name} is not {kind}: it is nested too deep.", code="unknown_format"
        ) from error
    except ValueError as error:  # also of bytes that are no text, and of endless integers
        raise FileError(
            f"{Path(path).name} is not JSON: {first_line(error)}.", code="unknown_format"
        ) from error


def read_npz(path: PathLike, kind: str, limit: int) -> dict[str, NDArray[Any]]:
    """Read all arrays of an `.npz` file that unpacks to at most `limit` bytes.

    The directory of the archive and the header of each array are checked before memory is taken, so
    a false header costs none.
    """
    path = existing_file(path, kind)
    arrays: dict[str, NDArray[Any]] = {}
    damaged = decoder_errors(
        path, "is not a sound .npz file", silent="it is cut off", max_length=120
    )
    with damaged, zipfile.ZipFile(path) as archive:
        members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
        total = sum(m.file_size for m in members)
        if total > limit:
            raise FileError(
                f"{path.name} unpacks to {total} bytes; {kind} has at most {limit}. "
                "Is it the right file?",
                code="too_large",
            )
        for member in members:
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as stream:
                arrays[name] = _read_npy(stream, member.file_size)
    return arrays


def _read_npy(stream: Any, size: int) -> NDArray[Any]:
    """Read an array from a stream of `size` bytes; raise `ValueError` for a false header."""
    version = npy.read_magic(stream)
    if version == (1, 0):
        shape, fortran, dtype = npy.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, fortran, dtype = npy.read_array_header_2_0(stream)
    else:
        raise ValueError(f"it has an array of version {version}")
    if dtype.hasobject:
        raise ValueError("it holds Python objects, and only plain numbers are read")
    nbytes = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or nbytes > size:
        raise ValueError(f"it announces an array of shape {shape} that it does not hold")
    data = stream.read(nbytes)
    if len(data) < nbytes:
        raise ValueError("it is cut off")
    return np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if fortran else "C")


def make_folder(path: Path) -> None:
    """Make a folder and its parents, if they do not exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"{path} cannot be written: {error.strerror or error}.", code="file_not_writable"
        ) from error


def replace_file(path: PathLike, data: bytes, *, parents: bool = False) -> None:
    """Replace a file atomically: write it under another name, then rename it.

    With `parents`, missing folders are made.
    """
    replace_files({Path(path): data}, parents=parents)


def replace_files(files: Mapping[Path, bytes], *, parents: bool = False) -> None:
    """Replace a group of files atomically; the last file names the others.

    The last file is removed before the others are replaced.  If the process ends at any moment, a
    reader of the last file finds all old files, all new files, or no last file.
    """
    drafts: dict[Path, Path] = {}
    path = last = list(files)[-1]
    try:
        for path, data in files.items():
            if parents:
                path.parent.mkdir(parents=True, exist_ok=True)
            drafts[path] = path.with_name(f".{path.name}.tmp-{secrets.token_hex(4)}")
            write_synced(drafts[path], data)
        if len(files) > 1:
            last.unlink(missing_ok=True)
        for path, draft in drafts.items():
            draft.replace(path)
    except OSError as error:
        for draft in drafts.values():
            with suppress(OSError):
                draft.unlink()
        raise FileError(
            f"{path} cannot be written: {error.strerror or error}.", code="file_not_writable"
        ) from error


def write_synced(path: Path, *parts: bytes | memoryview) -> None:
    """Write a new file from parts, one after the other, and sync it to disk."""
    with path.open("xb") as stream:
        for part in parts:
            stream.write(part)
        stream.flush()
        os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
