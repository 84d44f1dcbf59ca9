"""Replacing a folder as a whole, so that whoever looks sees the old one or the new one.

The new folder is written beside the old one as `.NAME.tmp-…`, brought to the disk and put in
place.  Linux exchanges the two names in one step (`renameat2`).  Where that is missing the old
folder is first renamed to `.NAME.old-…`; between that and the second rename there is no NAME, and
readers look at the old folder where it lies.  What a killed writer leaves behind, the next
writer of the same folder removes.
"""

import ctypes
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from isovist.errors import FileError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def present(path: Path) -> Path:
    """Where the folder lies now: `path`, or what a writer killed between two renames put aside."""
    if not path.exists():
        for aside in _siblings(path, "old"):
            return aside
    return path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A fresh folder to fill, which takes the place of `path` when the block ends well."""
    path = path.resolve()
    try:
        with _alone_in(path.parent) as alone:
            if alone:
                _sweep(path)
            draft = _beside(path, "tmp")
            draft.mkdir()
            try:
                yield draft
                sync(draft)
                _swap(draft, path)
                sync(path.parent)
            finally:
                # The draft, or, after the swap, the folder that was replaced.
                shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}.") from error


def sync(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _swap(draft: Path, path: Path) -> None:
    """Give `draft` the name `path`; the folder that had it is then called `draft`, or gone."""
    if not path.exists():
        draft.rename(path)
    elif not exchange(draft, path):
        aside = _beside(path, "old")
        path.rename(aside)
        try:
            draft.rename(path)
        except BaseException:
            aside.rename(path)
            raise
        aside.rename(draft)


def exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; whether the system can."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    names = os.fsencode(one), os.fsencode(other)
    return bool(rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)


def _beside(path: Path, role: str) -> Path:
    return path.with_name(f".{path.name}.{role}-{secrets.token_hex(4)}")


def _siblings(path: Path, role: str) -> list[Path]:
    """What writers of `path` left in that role."""
    start = f".{path.name}.{role}-"
    return sorted(entry for entry in path.parent.iterdir() if entry.name.startswith(start))


def _sweep(path: Path) -> None:
    """Put back what was put aside, and remove what killed writers left."""
    if present(path) != path:
        present(path).rename(path)
    for left in _siblings(path, "tmp") + _siblings(path, "old"):
        shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _alone_in(folder: Path) -> Iterator[bool]:
    """Hold the lock of writers in a folder; whether this file system has one."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        alone = False
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
            alone = True
        yield alone
    finally:
        os.close(handle)
