"""Manage the folder of atlases that is served. An uploaded map appears as a whole or not at all.

A library is replaced, never changed: requests in progress keep the one they began with.
"""

import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Any

import isovist as iv
from isovist.apps.web import (
    RefusedError,
    kind_of,
    main_file,
    read_atlas_or_map,
    unknown_map,
    write_uploads,
)
from isovist.atlas import SUFFIX, Stamp, atlas_info, check_alike, check_memory, stamp_of
from isovist.storage import MANIFEST, quote, sync_folder

NAME = re.compile(r"\w[\w. -]{0,99}")
DRAFT_PREFIX = ".incoming-"


class Maps:
    """The maps in a folder, kept up to date with the files.

    Attributes:
        folder: The folder of the maps; created if it is missing.
        memory: Memory in bytes that open atlases may take; no limit when `None`.
    """

    def __init__(self, folder: Path, memory: float | None = None) -> None:
        self.folder, self.memory = folder, memory
        with self._writing():
            folder.mkdir(parents=True, exist_ok=True)
            for draft in folder.glob(f"{DRAFT_PREFIX}*"):  # of a server that was killed
                shutil.rmtree(draft, ignore_errors=True)
        self._lock = RLock()
        self._library: iv.Library | None = None
        self._stamps: dict[str, Stamp] = {}
        check_memory(memory)
        self.refresh()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the maps, in order."""
        return () if self._library is None else tuple(self._library)

    @property
    def library(self) -> iv.Library:
        """The library of all maps; an error if there is no map."""
        if self._library is None:
            raise RefusedError(404, "There is no map yet. Upload one with POST /maps/NAME.")
        return self._library

    def refresh(self) -> bool:
        """Read the folder again if a map was added, changed or removed; return whether this was so.

        If a map cannot be read, an error is raised and all maps stay as before.
        """
        with self._lock:
            folders = (p for p in self.folder.iterdir() if p.is_dir() and p.name[0] != ".")
            stamps = {path.name: stamp_of(path) for path in folders if (path / MANIFEST).exists()}
            if stamps == self._stamps:
                return False
            library = iv.read_library(self.folder, memory=self.memory) if stamps else None
            if library is not None and self._library is not None:
                library.keep(self._library)
            self._library, self._stamps = library, stamps
            return True

    def rows(self) -> list[dict[str, Any]]:
        """Describe each map without opening it, ready for JSON."""
        paths = {} if self._library is None else self._library.paths
        rows = []
        for name, path in paths.items():
            info = atlas_info(path)
            rows.append(
                {
                    "name": name,
                    "dimension": len(info.shape),
                    "resolution": info.resolution,
                    "free_area_m2": info.free_area,
                    "nodes": info.nodes,
                    "bytes": info.nbytes,
                    "map_checksum": info.map_checksum,
                }
            )
        return rows

    def add(self, name: str, files: Mapping[str, bytes]) -> bool:
        """Store a map under a name, as an atlas; return whether the name is new."""
        if not NAME.fullmatch(name) or name != name.strip(". ") or name.endswith(SUFFIX):
            raise iv.InputError(
                "The name of a map has at most 100 letters, digits, spaces, `.`, `_` and `-`, got "
                f"{quote(name)}.",
                field="name",
            )
        if not files:
            raise iv.InputError("The form has no `file`. Send the files of the map.", field="files")
        with TemporaryDirectory(prefix="isovist-serve-") as folder:
            write_uploads(Path(folder), files)
            main = main_file(Path(folder))
            if kind_of(main) != "map":
                raise iv.FileError(f"{main.name} is not a map.", code="unknown_format")
            atlas = read_atlas_or_map(main)
            with self._lock:
                return self._store(name, atlas)

    def _store(self, name: str, atlas: iv.Atlas) -> bool:
        self.refresh()
        paths = {} if self._library is None else self._library.paths
        other = next((other for other in paths if other != name), None)
        if other is not None:
            first = self.library[other]
            check_alike(
                (other, first.dimension, first.settings), (name, atlas.dimension, atlas.settings)
            )
        if name in paths:
            iv.write_atlas(atlas, paths[name])  # as a whole or not at all
        else:
            # A folder without a manifest is no map, so it gets its name when it is complete.
            draft = self._draft()
            try:
                with self._writing():
                    iv.write_atlas(atlas, draft)
                    draft.rename(self.folder / f"{name}{SUFFIX}")
                    sync_folder(self.folder)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        self.refresh()
        return name not in paths

    def remove(self, name: str) -> None:
        """Remove a map from the folder; requests in progress can still use it."""
        with self._lock:
            self.refresh()
            if name not in self.names:
                raise unknown_map(name)
            draft = self._draft()
            self.library.paths[name].rename(draft)
            sync_folder(self.folder)
            with suppress(OSError):
                shutil.rmtree(draft)
            self.refresh()

    def _draft(self) -> Path:
        return self.folder / f"{DRAFT_PREFIX}{secrets.token_hex(8)}"

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Raise errors of the file system as errors about the folder."""
        try:
            yield
        except OSError as error:
            raise iv.FileError(
                f"{self.folder} cannot be written: {error.strerror or error}.",
                code="file_not_writable",
            ) from error
