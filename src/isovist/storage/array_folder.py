"""Write and read folders of arrays, the format of an atlas on disk.

A folder has one file `NAME.TOKEN.npy` per array, and `manifest.json`.  The manifest has the kind
and version of the folder, a `meta` object, and for every array its file, shape, size and CRC-32.
Large arrays also have a CRC-32 of every `CHECKSUM_BYTES`, so that partial reads are checked too.
The manifest ends with the CRC-32 of itself.  CRC-32 finds every flipped byte; it is no protection
against forgery.

Writing is atomic.  A writer adds files with its own token beside the old ones, and then replaces
the manifest in one step.  A reader sees the old arrays or the new ones, whenever the writer is
killed, and no file that a manifest names is ever changed.  Then old files are removed.
Files of a killed writer are removed by a write that is an hour later; before that they may be the
draft of a writer at work.  So no lock is needed.
"""

import io
import json
import math
import re
import secrets
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.errors import FileError, InputError
from isovist.storage.files import PathLike, quote, sync_folder, write_synced
from isovist.storage.locations import MANIFEST, Location, location_of

FORMAT = "isovist folder 2"

CHECKSUM_BYTES = 1 << 16
"""Size of the pieces of a file that have checksums, in bytes.  It is small beside the rows that a
part of a map needs.  Checksums of 1 GB take 240 kB of the manifest."""
_ATTEMPTS = 20
_DRAFT_S = 3600.0  # no writer takes so long
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_FILE = re.compile(rf"{_NAME.pattern}\.[0-9a-f]{{8}}\.(npy|json)")

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """The description of one array in a manifest.

    Attributes:
        file: Name of the file in the folder.
        shape: Shape of the array.
        dtype: Type of the numbers as NumPy writes it, e.g. "<f4".
        nbytes: Size of the file, header included.
        crc32: CRC-32 of the file, in hexadecimal.
        pieces: CRC-32 of each piece of `CHECKSUM_BYTES` bytes, for a file with several pieces;
            empty in old manifests.
    """

    file: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    crc32: str
    pieces: tuple[str, ...] = ()

    @classmethod
    def write(cls, file: Path, array: Array) -> "Entry":
        """Write an array to a new file, synced to disk, and return its entry."""
        # Not np.ascontiguousarray, which would give a single number an axis.
        array = np.asarray(array, order="C")
        stream = io.BytesIO()
        header = np.lib.format.header_data_from_array_1_0(array)
        np.lib.format.write_array_header_1_0(stream, header)
        head, data = stream.getbuffer(), array.reshape(-1).view(np.uint8).data
        write_synced(file, head, data)
        nbytes, crc, pieces = len(head) + len(data), 0, []
        for end in range(CHECKSUM_BYTES, nbytes + CHECKSUM_BYTES, CHECKSUM_BYTES):
            begin = head[end - CHECKSUM_BYTES : end]
            rest = data[max(end - CHECKSUM_BYTES - len(head), 0) : max(end - len(head), 0)]
            pieces.append(f"{zlib.crc32(rest, zlib.crc32(begin)):08x}")
            crc = zlib.crc32(rest, zlib.crc32(begin, crc))
        sums = tuple(pieces) if len(pieces) > 1 else ()
        return cls(file.name, array.shape, array.dtype.str, nbytes, f"{crc:08x}", sums)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "Entry":
        """Make an entry from its fields in a manifest.

        Raises:
            ValueError: If a field is not valid.
        """
        file, dtype, crc32 = (str(fields[key]) for key in ("file", "dtype", "crc32"))
        shape = tuple(int(n) for n in fields["shape"])
        if not _FILE.fullmatch(file) or min(shape, default=0) < 0 or np.dtype(dtype).hasobject:
            raise ValueError("no array of a folder")
        nbytes, pieces = int(fields["nbytes"]), tuple(map(str, fields.get("pieces", ())))
        if pieces and len(pieces) != -(-nbytes // CHECKSUM_BYTES):
            raise ValueError("no pieces of that file")
        return cls(file, shape, dtype, nbytes, crc32, pieces)

    def map(self, place: Location) -> Array:
        """Check the bytes of the array and return it, read-only, memory-mapped if on disk.

        Raises:
            FileError: If the checksum is wrong.
        """
        data = place.read(self.file, self.nbytes)
        if f"{zlib.crc32(data.data):08x}" != self.crc32:
            raise FileError(f"{place.name}/{self.file} is damaged: its checksum differs.")
        return self._array(data[self._head :], self.shape, place)

    def rows(self, place: Location, first: int, last: int) -> Array:
        """Check and return rows `first` to `last` − 1 of the array, read-only.

        A large file is not checked if its manifest is from before pieces had checksums.
        """
        each = math.prod(self.shape[1:]) * np.dtype(self.dtype).itemsize
        if self._head < 0:
            raise FileError(f"{place.name}/{self.file} does not have the array of the manifest.")
        if self.nbytes <= CHECKSUM_BYTES:
            return self.map(place)[first:last]
        begin, end = self._head + first * each, self._head + last * each
        start, stop = begin, end
        if self.pieces:
            start, stop = (
                begin // CHECKSUM_BYTES * CHECKSUM_BYTES,
                min(-(-end // CHECKSUM_BYTES) * CHECKSUM_BYTES, self.nbytes),
            )
        data = place.read_range(self.file, self.nbytes, start, stop)
        for k in range(0, len(data), CHECKSUM_BYTES) if self.pieces else ():
            expected = self.pieces[(start + k) // CHECKSUM_BYTES]
            if f"{zlib.crc32(data[k : k + CHECKSUM_BYTES].data):08x}" != expected:
                raise FileError(f"{place.name}/{self.file} is damaged: a checksum differs.")
        part = data[begin - start : end - start]
        return self._array(part, (last - first, *self.shape[1:]), place)

    @property
    def _head(self) -> int:
        """The number of bytes before the numbers."""
        return self.nbytes - math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def _array(self, data: NDArray[np.uint8], shape: tuple[int, ...], place: Location) -> Array:
        try:
            return data.view(self.dtype).reshape(shape)
        except ValueError as error:
            raise FileError(
                f"{place.name}/{self.file} does not have the array of the manifest."
            ) from error


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a folder: its kind, version and arrays.

    Attributes:
        kind: Kind of the content, e.g. "atlas".
        version: Version of the format of that kind.
        meta: Other data of the writer, ready for JSON.
        arrays: The entry of every array, by name.
    """

    kind: str
    version: int
    meta: dict[str, Any]
    arrays: dict[str, Entry]

    def encode(self) -> bytes:
        """Encode the manifest as JSON, which ends with the checksum of all bytes before it."""
        content = {"format": FORMAT, **asdict(self)}
        try:
            return _sealed(json.dumps(content, indent=1, allow_nan=False).encode()[:-2])
        except (TypeError, ValueError) as error:
            text = quote(self.meta)
            raise InputError.about(
                "meta", f"must be JSON without NaN or infinity, got {text}."
            ) from error

    @classmethod
    def decode(cls, data: bytes, name: str) -> "Manifest":
        """Decode the result of `encode`.

        Args:
            data: The encoded manifest.
            name: Name of the manifest, for error texts.

        Raises:
            FileError: If any byte differs.
        """
        try:
            if data != _sealed(data[: -len(_sealed(b""))]):
                raise ValueError("the checksum differs")
            content = json.loads(data)
            format_ = quote(content["format"])
            if content["format"] == FORMAT:
                entries = {key: Entry.from_json(value) for key, value in content["arrays"].items()}
                return cls(str(content["kind"]), int(content["version"]), content["meta"], entries)
        except (ValueError, TypeError, KeyError, AttributeError, SyntaxError) as error:
            raise FileError(f"{name} is damaged, or isovist did not write it.") from error
        raise FileError(
            f"{name} has the format {format_}, and this isovist reads {FORMAT!r}. Write it again.",
            code="outdated_file",
        )


def write_folder(
    path: PathLike, kind: str, version: int, meta: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    """Write arrays as a folder, completely or not at all.

    If the process is killed at any moment, readers find either the old folder or the new one.

    Args:
        path: The folder; an older one from this function is replaced.
        kind: Kind of the content, e.g. "atlas".
        version: Version of the format of that kind, which `read_folder` compares.
        meta: Other data, ready for JSON, without NaN or infinity.
        arrays: Arrays of numbers, by names of letters, digits and _.
    """
    path = Path(path)
    for name, array in arrays.items():
        if not _NAME.fullmatch(name):
            raise InputError(
                f"An array is named with letters, digits and _, got {quote(name)}.", field="name"
            )
        if array.dtype.kind not in "biufc":
            raise InputError.about(name, f"must hold plain numbers, got {quote(str(array.dtype))}.")
    token = secrets.token_hex(4)
    try:
        before, existed = _replaceable(path), path.exists()
        path.mkdir(exist_ok=True)
        try:
            entries = {n: Entry.write(path / f"{n}.{token}.npy", a) for n, a in arrays.items()}
            draft = path / f"manifest.{token}.json"
            write_synced(draft, Manifest(kind, version, dict(meta), entries).encode())
            sync_folder(path)
            draft.replace(path / MANIFEST)
            sync_folder(path)
        finally:
            _sweep(path, token, before)
            if not existed:
                with suppress(OSError):  # it is empty only when nothing was written
                    path.rmdir()
        sync_folder(path.absolute().parent)
    except OSError as error:
        raise FileError(
            f"{path} cannot be written: {error.strerror or error}.", code="file_not_writable"
        ) from error


def read_folder(
    path: PathLike, kind: str, *versions: int
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the metadata and the arrays of a folder of the given kind and versions.

    The arrays are read-only and mapped into memory.  Their checksums are compared.
    """
    place = location_of(path)
    manifest, arrays, problems = _read(place)
    check_kind(manifest, place.name, kind, *versions)
    if problems:
        raise problems[0]
    return manifest.meta, arrays


def check_kind(manifest: Manifest, folder: str, kind: str, *versions: int) -> None:
    """Check that a manifest is of the given kind and has one of the given versions."""
    name, version = f"{folder}/{MANIFEST}", manifest.version
    if manifest.kind != kind:
        raise FileError(
            f"{name} has the kind {quote(manifest.kind)}, and {kind!r} is needed.",
            code="unknown_format",
        )
    if version not in versions:
        raise FileError(
            f"{name} has version {version} of the {kind} format, and this isovist reads version "
            f"{' or '.join(map(str, versions))}. "
            f"{'Upgrade isovist' if version > max(versions) else 'Write it again'}.",
            code="outdated_file",
        )


def read_manifest(path: PathLike) -> Manifest:
    """Read the manifest of a folder without reading its arrays."""
    return manifest_of(location_of(path))


def manifest_of(place: Location) -> Manifest:
    """Read the manifest of a folder at a `Location`."""
    return Manifest.decode(place.manifest(), f"{place.name}/{MANIFEST}")


def check_folder(path: PathLike) -> list[str]:
    """Return a list of all problems of a folder, one line each; empty for a sound folder."""
    try:
        return [str(problem) for problem in _read(location_of(path))[2]]
    except FileError as error:
        return [str(error)]


def _read(place: Location) -> tuple[Manifest, dict[str, Array], list[FileError]]:
    """Return the manifest, the valid arrays and the errors of the others, all of one version."""
    for _ in range(_ATTEMPTS):
        data = place.manifest()
        manifest = Manifest.decode(data, f"{place.name}/{MANIFEST}")
        arrays: dict[str, Array] = {}
        problems: list[FileError] = []
        for name, entry in manifest.arrays.items():
            try:
                arrays[name] = entry.map(place)
            except FileError as error:
                problems.append(error)
        if not problems or place.manifest() == data:
            return manifest, arrays, problems
    raise FileError(
        f"{place.name} was replaced {_ATTEMPTS} times while it was read.", code="file_not_readable"
    )


def _sealed(body: bytes) -> bytes:
    """Return a manifest with this beginning, and its own checksum at the end."""
    return body + b',\n "crc32": "%08x"\n}\n' % zlib.crc32(body)


def _replaceable(path: Path) -> bytes:
    """Return the current manifest; raise an error if this module did not write the folder."""
    if not path.exists():
        return b""
    if path.is_dir():
        before = (path / MANIFEST).read_bytes() if (path / MANIFEST).is_file() else b""
        # The first format called its files NAME.npy.
        ends = (MANIFEST, ".npy") if b"isovist folder" in before[:64] else ()
        if all(_FILE.fullmatch(f.name) or f.name.endswith(ends) for f in path.iterdir()):
            return before
    raise FileError(
        f"{path} exists and is not a folder of arrays. Choose another name.", code="file_exists"
    )


def _sweep(path: Path, token: str, before: bytes) -> None:
    """Remove files that the manifest does not name, except drafts of another writer."""
    with suppress(OSError):
        current = (path / MANIFEST).read_bytes() if (path / MANIFEST).exists() else b""
        clock = path.stat().st_mtime  # time of the file system, since we have just written there
        for file in path.iterdir():
            quoted = f'"{file.name}"'.encode()
            if file.name == MANIFEST or quoted in current:
                continue
            with suppress(OSError):
                is_stale = _FILE.fullmatch(file.name) and file.stat().st_mtime < clock - _DRAFT_S
                if is_stale or quoted in before or f".{token}." in file.name:
                    file.unlink()
