"""Arrays in a folder: how an atlas lies on disk.

A folder holds one `.npy` file per array, or several parts `NAME.000.npy`, `NAME.001.npy`, …
joined along the first axis (so that many workers can write one array), and `manifest.json`: what
the folder is, its version, a `meta` object, and for every part its shape, its size and the CRC-32
of every block of 4 MiB of the file.  The manifest carries the CRC-32 of itself and is accepted
only in the very bytes that its content is written as.

CRC-32 finds every change within 32 neighbouring bits, so every flipped byte, and is the fastest
checksum of the standard library (2.2 GB/s on one ARM core; SHA-256 1.5, BLAKE2b 0.6).  It is no
protection against forgery, and none is meant.

Reading maps the files into memory.  It checks all of a folder of at most 256 MiB (about 0.1 s),
and of a larger one the sizes, the headers and the first and last block of every file.  Whoever
answers from a larger one calls `verify_array` before the rows count; `check_folder` checks all.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isovist.errors import FileError, InputError
from isovist.io.files import PathLike, quote, unreadable, write_synced
from isovist.io.part import Array, Part
from isovist.io.swap import present, replacing
from isovist.types import readonly

FULL_CHECK_BYTES = 256 << 20
"""A folder up to this size is checked in full whenever it is read."""

MANIFEST = "manifest.json"
_MANIFEST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a folder holds.

    Attributes:
        kind: What it is, e.g. "atlas".
        version: Version of that kind.
        meta: Whatever its writer wants to keep, as JSON.
        arrays: The parts of every array, by name.
    """

    kind: str
    version: int
    meta: dict[str, Any]
    arrays: dict[str, tuple[Part, ...]]

    @property
    def nbytes(self) -> int:
        """Size of all arrays on disk."""
        return sum(part.nbytes for parts in self.arrays.values() for part in parts)

    def encode(self) -> bytes:
        """The one way to write this manifest; it ends with the checksum of what comes before."""
        content = {
            "format": "isovist folder 1",
            "kind": self.kind,
            "version": self.version,
            "meta": self.meta,
            "arrays": {
                name: [part.to_json() for part in parts] for name, parts in self.arrays.items()
            },
        }
        body = json.dumps(content, indent=1, allow_nan=False).encode()[:-2]
        return body + b',\n "crc32": "%08x"\n}\n' % zlib.crc32(body)

    @classmethod
    def decode(cls, data: bytes) -> "Manifest":
        """From what `encode` gave; `ValueError` when a single byte is not as it would write it."""
        content = json.loads(data)
        arrays = {
            str(name): tuple(Part.from_json(part) for part in parts)
            for name, parts in content["arrays"].items()
        }
        manifest = cls(str(content["kind"]), int(content["version"]), content["meta"], arrays)
        if manifest.encode() != data:
            raise ValueError("not as written")
        return manifest


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
        raise InputError(f"`meta` must be plain JSON: {error}.") from error
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
    path = Path(path)
    manifest = read_manifest(path)
    try:
        return manifest.meta, _load(path, manifest, kind, version, full)
    except FileError:
        # A writer may have put a new folder in place between the manifest and an array.
        latest = read_manifest(path)
        if latest == manifest:
            raise
        return latest.meta, _load(path, latest, kind, version, full)


def read_manifest(path: PathLike) -> Manifest:
    """What a folder says it holds; its arrays are not looked at."""
    path = Path(path)
    try:
        folder = present(path)
        if not folder.exists():
            raise FileError(f"{path}: there is no such folder.")
        if not folder.is_dir():
            raise FileError(f"{path} is a file; a folder with a {MANIFEST} was expected.")
        file = folder / MANIFEST
        if not file.exists():
            raise FileError(f"{path} has no {MANIFEST}, so isovist did not write it.")
        if file.stat().st_size > _MANIFEST_BYTES:
            raise FileError(f"{path.name}/{MANIFEST} has more than {_MANIFEST_BYTES} bytes.")
        data = file.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        return Manifest.decode(data)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FileError(
            f"{path.name}/{MANIFEST} is damaged, or a newer isovist wrote it."
        ) from error


def verify_array(path: PathLike, name: str, start: int = 0, stop: int | None = None) -> None:
    """Check every byte of rows `start` to `stop` of an array; about 0.5 s per GB.

    Raises a `FileError` that names the first file and block that changed.
    """
    path = Path(path)
    first = 0
    for part in _parts(path, read_manifest(path), name):
        last = first + part.rows
        low, high = max(start, first), last if stop is None else min(stop, last)
        if low < high:
            _demand(path, part, part.blocks_of(low - first, high - first))
        first = last


def check_folder(path: PathLike) -> list[str]:
    """Everything that is wrong with a folder, one line each; empty when every byte is right."""
    path = Path(path)
    try:
        manifest = read_manifest(path)
    except FileError as error:
        return [str(error)]
    return [
        f"{path.name}/{problem}"
        for parts in manifest.arrays.values()
        for part in parts
        for problem in part.problems(present(path), range(len(part.crc32)))
    ]


def _load(
    path: Path, manifest: Manifest, kind: str, version: int, full: bool | None
) -> dict[str, Array]:
    if manifest.kind != kind:
        raise FileError(f"{path.name} is a folder of kind {quote(manifest.kind)}, not {kind!r}.")
    if manifest.version != version:
        newer = manifest.version > version
        raise FileError(
            f"{path.name} has version {manifest.version} of the {kind} format, and this isovist "
            f"reads version {version}. {'Upgrade isovist' if newer else 'Write it again'}."
        )
    if full is None:
        full = manifest.nbytes <= FULL_CHECK_BYTES
    arrays = {}
    for name, parts in manifest.arrays.items():
        try:
            mapped = [part.map(present(path)) for part in parts]
        except FileError as error:
            raise FileError(f"{path.name}/{error}") from error
        for part in parts:
            _demand(path, part, range(len(part.crc32)) if full else sorted(part.ends))
        arrays[name] = mapped[0] if len(mapped) == 1 else readonly(np.concatenate(mapped))
    return arrays


def _demand(path: Path, part: Part, blocks: Sequence[int]) -> None:
    for problem in part.problems(present(path), blocks):
        raise FileError(f"{path.name}/{problem}")


def _parts(path: Path, manifest: Manifest, name: str) -> tuple[Part, ...]:
    if name not in manifest.arrays:
        known = ", ".join(manifest.arrays) or "none"
        raise FileError(f"{path.name} has no array {quote(name)}. It has: {known}.")
    return manifest.arrays[name]


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
