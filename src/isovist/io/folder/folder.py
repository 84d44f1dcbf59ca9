"""Arrays in a folder: how an atlas lies on disk.

A folder holds one `.npy` file per array, or several parts `NAME.000.npy`, `NAME.001.npy`, …
joined along the first axis (so that many workers can write one array), and `manifest.json`: what
the folder is, its version, a `meta` object, and for every part its shape, its size and the CRC-32
of every block of 4 MiB of the file.  The manifest ends with the CRC-32 of itself.

CRC-32 finds every change within 32 neighbouring bits, so every flipped byte, and is the fastest
checksum of the standard library (2.2 GB/s on one ARM core; SHA-256 1.5, BLAKE2b 0.6).  It is no
protection against forgery, and none is meant.

Reading maps the files into memory.  It checks all of a folder of at most 256 MiB (about 0.1 s),
and of a larger one the sizes, the headers and the first and last block of every file.  Whoever
answers from a larger one calls `verify` of `open_folder` before the rows count; `check_folder`
checks all.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from isovist.errors import FileError, InputError
from isovist.io.files import PathLike, quote, unreadable, write_synced
from isovist.io.folder.manifest import Manifest
from isovist.io.folder.part import Array, Part
from isovist.io.folder.swap import present, replacing
from isovist.types import readonly

FULL_CHECK_BYTES = 256 << 20
"""A folder up to this size is checked in full whenever it is read."""

MANIFEST = "manifest.json"
_MANIFEST_BYTES = 64 << 20
_ATTEMPTS = 20

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class OpenFolder:
    """A folder whose files are mapped into memory.

    Attributes:
        path: Where it was found.
        manifest: What it holds.
        arrays: Its arrays, by name.  Read-only.
        files: The bytes behind them, one entry per part.
    """

    path: Path
    manifest: Manifest
    arrays: dict[str, Array]
    files: dict[str, tuple[NDArray[np.uint8], ...]]

    def verify(self, name: str, start: int = 0, stop: int | None = None) -> None:
        """Check every byte of rows `start` to `stop` of an array; about 0.5 s per GB.

        Raises a `FileError` that names the file and the first block that changed.
        """
        first = 0
        for part, data in zip(self.manifest.arrays[name], self.files[name], strict=True):
            last = first + part.rows
            low, high = max(start, first), last if stop is None else min(stop, last)
            if low < high:
                for problem in part.problems(data, part.blocks_of(low - first, high - first)):
                    raise FileError(f"{self.path.name}/{problem}")
            first = last


def write_folder(
    path: PathLike,
    kind: str,
    version: int,
    meta: Mapping[str, Any],
    arrays: Mapping[str, Array | Sequence[Array]],
) -> None:
    """Write arrays as a folder, all or nothing.

    At whatever moment the process is killed, `path` is what it was before, or the new folder.

    Args:
        path: The folder; one that this function wrote before is replaced.
        kind: What it is, e.g. "atlas".
        version: Version of that kind, for `read_folder` to compare.
        meta: Anything that JSON can hold, without NaN or infinity.
        arrays: Arrays of plain numbers; a sequence of arrays is kept as parts along axis 0.
    """
    path = Path(path)
    _check_replaceable(path)
    pieces = {name: _pieces(name, value) for name, value in arrays.items()}
    try:
        kept = json.loads(json.dumps(dict(meta), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"`meta` must be plain JSON without NaN or infinity, got {quote(meta)}."
        ) from error
    with replacing(path) as draft:
        written = {
            name: tuple(Part.write(draft / file, piece) for file, piece in files.items())
            for name, files in pieces.items()
        }
        write_synced(draft / MANIFEST, Manifest(kind, version, kept, written).encode())


def read_folder(
    path: PathLike, kind: str, version: int, *, full: bool | None = None
) -> tuple[dict[str, Any], dict[str, Array]]:
    """The meta object and the arrays of a folder, mapped into memory and read-only.

    An array in several parts is joined in memory.

    Args:
        path: The folder.
        kind: What it must be.
        version: The version it must have.
        full: Check every byte now; `None` stands for a folder of at most `FULL_CHECK_BYTES`.
    """
    folder = open_folder(path, kind, version, full=full)
    return folder.manifest.meta, folder.arrays


def open_folder(path: PathLike, kind: str, version: int, *, full: bool | None = None) -> OpenFolder:
    """Like `read_folder`, for a folder whose rows are verified when they are used."""
    path = Path(path)

    def load(handle: int, manifest: Manifest) -> OpenFolder:
        _check_kind(manifest, kind, version)
        every = manifest.nbytes <= FULL_CHECK_BYTES if full is None else full
        files, arrays = {}, {}
        for name, parts in manifest.arrays.items():
            files[name] = tuple(part.map(handle) for part in parts)
            for part, data in zip(parts, files[name], strict=True):
                for problem in part.problems(data, part.blocks if every else sorted(part.ends)):
                    raise FileError(problem)
            pieces = [part.array(data) for part, data in zip(parts, files[name], strict=True)]
            arrays[name] = pieces[0] if len(pieces) == 1 else readonly(np.concatenate(pieces))
        return OpenFolder(path, manifest, arrays, files)

    return _with_folder(path, load)


def read_manifest(path: PathLike) -> Manifest:
    """What a folder says it holds; its arrays are not looked at."""
    return _with_folder(Path(path), lambda _handle, manifest: manifest)


def check_folder(path: PathLike) -> list[str]:
    """Everything that is wrong with a folder, one line each; empty when every byte is right."""
    path = Path(path)

    def check(handle: int, manifest: Manifest) -> list[str]:
        problems: list[str] = []
        for part in (part for parts in manifest.arrays.values() for part in parts):
            try:
                problems += part.problems(part.map(handle), part.blocks)
            except FileError as error:
                problems.append(str(error))
        if problems and not _is_still(path, handle):
            raise FileError("replaced")
        return [f"{path.name}/{problem}" for problem in problems]

    try:
        return _with_folder(path, check)
    except FileError as error:
        return [str(error)]


def _with_folder(path: Path, act: Callable[[int, Manifest], T]) -> T:
    """Act on an open handle of the folder and its manifest; again if it was replaced meanwhile.

    A handle stays with the folder that it was opened on, so nothing is mixed of two.
    """
    for attempt in range(_ATTEMPTS):
        try:
            handle = os.open(present(path), os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError as error:
            if attempt < 3:  # a writer may be between its two renames
                continue
            raise FileError(f"{path}: there is no such folder.") from error
        except NotADirectoryError as error:
            raise FileError(
                f"{path} is a file; a folder with a {MANIFEST} was expected."
            ) from error
        except OSError as error:
            raise unreadable(path, error) from error
        try:
            manifest = _manifest(handle)
            return act(handle, manifest)
        except FileError as error:
            if _is_still(path, handle):
                raise FileError(f"{path.name}/{error}") from error
        finally:
            os.close(handle)
    raise FileError(f"{path} was replaced {_ATTEMPTS} times while it was read.")


def _is_still(path: Path, handle: int) -> bool:
    """Whether the folder under that name is still the one that was opened."""
    try:
        now, then = present(path).stat(), os.fstat(handle)
    except OSError:
        return False
    return (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino)


def _manifest(handle: int) -> Manifest:
    try:
        with os.fdopen(os.open(MANIFEST, os.O_RDONLY, dir_fd=handle), "rb") as stream:
            data = stream.read(_MANIFEST_BYTES)
    except FileNotFoundError as error:
        raise FileError(f"{MANIFEST} is missing, so isovist did not write this folder.") from error
    except OSError as error:
        raise FileError(f"{MANIFEST} cannot be read: {error.strerror}.") from error
    try:
        return Manifest.decode(data)
    except (ValueError, TypeError, KeyError, AttributeError, SyntaxError) as error:
        raise FileError(f"{MANIFEST} is damaged, or a newer isovist wrote it.") from error


def _check_kind(manifest: Manifest, kind: str, version: int) -> None:
    if manifest.kind != kind:
        raise FileError(f"{MANIFEST} says kind {quote(manifest.kind)}, where {kind!r} is needed.")
    if manifest.version != version:
        newer = manifest.version > version
        raise FileError(
            f"{MANIFEST} says version {manifest.version} of the {kind} format, and this isovist "
            f"reads version {version}. {'Upgrade isovist' if newer else 'Write it again'}."
        )


def _pieces(name: str, value: Array | Sequence[Array]) -> dict[str, Array]:
    """The files of an array: one, or one per part."""
    if not name.isidentifier() or not name.isascii() or name.startswith("_"):
        raise InputError(f"An array is named with letters, digits and _, got {quote(name)}.")
    if isinstance(value, np.ndarray):
        files = {f"{name}.npy": value}
    else:
        files = {f"{name}.{k:03d}.npy": np.asarray(piece) for k, piece in enumerate(value)}
    tails = {(piece.dtype, piece.shape[1:], piece.ndim) for piece in files.values()}
    if len(tails) != 1 or (len(files) > 1 and tails.pop()[2] == 0):
        raise InputError(f"The parts of `{name}` must be rows of one array, alike but in number.")
    dtype = next(iter(files.values())).dtype
    if dtype.kind not in "biufc":
        raise InputError(f"`{name}` must hold plain numbers, got {quote(str(dtype))}.")
    return files


def _check_replaceable(path: Path) -> None:
    """Only a folder that `write_folder` made, or an empty one, is replaced: nobody's data."""
    if not path.exists():
        return
    entries = [entry.name for entry in path.iterdir()] if path.is_dir() else [path.name]
    ours = MANIFEST in entries and all(e == MANIFEST or e.endswith(".npy") for e in entries)
    if entries and not ours:
        raise FileError(f"{path} exists and is not a folder of arrays. Choose another name.")
