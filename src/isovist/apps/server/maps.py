"""The folder of atlases that is served: what comes in is there as a whole or not at all.

A library is replaced, never changed: requests that are under way keep the one they began with, so
that none is lost when a map is written anew.
"""

import logging
import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Any

from isovist.apps.server.handlers import find
from isovist.apps.web.errors import RefusedError, unknown
from isovist.apps.web.uploads import MOST_FILES, kind_of, main_file, read_site, write_upload
from isovist.atlas.base import Atlas
from isovist.atlas.data.store import atlas_info, write_atlas
from isovist.atlas.library import SUFFIX, Library, Stamp, check_memory, read_library, stamp_of
from isovist.atlas.multimap import check_alike
from isovist.errors import FileError, InputError
from isovist.storage.files import quote, sync_folder
from isovist.storage.locations import MANIFEST

log = logging.getLogger("isovist.serve")
NAME = re.compile(r"\w[\w. -]{0,99}")
DRAFT = ".incoming-"
"""How folders begin that are not yet, or no more, maps."""


class Maps:
    """The maps in a folder, kept up to date with the files.

    Attributes:
        folder: The folder of the maps; created if it is missing.
        memory: Bytes that open atlases may take; no limit when `None`.
    """

    def __init__(self, folder: Path, memory: float | None = None) -> None:
        self.folder, self.memory = folder, memory
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for draft in folder.glob(f"{DRAFT}*"):  # of a server that was killed
                shutil.rmtree(draft, ignore_errors=True)
        except OSError as error:
            raise FileError(
                f"{folder} cannot be written: {error.strerror or error}.", code="file_not_writable"
            ) from error
        self._lock = RLock()
        self._library: Library | None = None
        self._stamps: dict[str, Stamp] = {}
        check_memory(memory)
        self.refresh()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the maps, in order."""
        return () if self._library is None else tuple(self._library)

    @property
    def library(self) -> Library:
        """Library of all maps; raises an error if there is no map."""
        if self._library is None:
            raise RefusedError(404, "There is no map yet. POST /maps brings one.")
        return self._library

    def get(self, name: str) -> Atlas | Library:
        """Return the map of a name; for "", the only map, or the library if there are several."""
        return find(self.library, name)

    def refresh(self) -> bool:
        """Read the folder again if a map was added, changed or removed; return whether one was.

        What cannot be read leaves everything as it was.
        """
        with self._lock:
            stamps = self._seen()
            if stamps == self._stamps:
                return False
            fresh = read_library(self.folder, memory=self.memory) if stamps else None
            if fresh is not None and self._library is not None:
                fresh.keep(self._library)
            self._library, self._stamps = fresh, stamps
            return True

    def _seen(self) -> dict[str, Stamp]:
        paths = (p for p in self.folder.iterdir() if p.is_dir() and not p.name.startswith("."))
        return {path.name: stamp_of(path) for path in paths if (path / MANIFEST).exists()}

    def told(self) -> list[dict[str, Any]]:
        """Return what is known of each map without opening it, ready for JSON."""
        library = self._library
        rows = []
        for name, path in () if library is None else library.paths.items():
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

    def put(self, name: str, files: dict[str, bytes]) -> bool:
        """Store a map under a name, as an atlas; return whether the name is new."""
        if not NAME.fullmatch(name) or name != name.strip(". ") or name.endswith(SUFFIX):
            raise InputError(
                "The name of a map has letters, digits, spaces, `.`, `_` and `-`, and at most 100 "
                f"of them, got {quote(name)}.",
                field="name",
            )
        if not 1 <= len(files) <= MOST_FILES:
            raise InputError(
                f"A map has from 1 to {MOST_FILES} files, got {len(files)}.", field="files"
            )
        with TemporaryDirectory(prefix="isovist-serve-") as place:
            for given, data in files.items():
                write_upload(Path(place), given, data)
            main = main_file(Path(place))
            if kind_of(main) != "map":
                raise FileError(f"{main.name} is not a map.", code="unknown_format")
            atlas = read_site(main, lambda _share: None)
            with self._lock:
                return self._keep(name, atlas)

    def _keep(self, name: str, atlas: Atlas) -> bool:
        self.refresh()
        others = [other for other in self.names if other != name]
        if others and self._library is not None:
            first = self._library[others[0]]
            check_alike(
                (others[0], first.dimension, first.settings),
                (name, atlas.dimension, atlas.settings),
            )
        known = self._library is not None and name in self._library
        if known and self._library is not None:
            write_atlas(atlas, self._library.paths[name])  # all or nothing by itself
        else:
            # A folder without its manifest is no map, so it comes under its name when it is whole.
            draft = self.folder / f"{DRAFT}{secrets.token_hex(8)}"
            try:
                write_atlas(atlas, draft)
                draft.rename(self.folder / f"{name}{SUFFIX}")
                sync_folder(self.folder)
            except OSError as error:
                raise FileError(
                    f"{self.folder} cannot be written: {error.strerror or error}.",
                    code="file_not_writable",
                ) from error
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        self.refresh()
        return not known

    def remove(self, name: str) -> None:
        """Remove a map from the folder; requests in progress can still use it."""
        with self._lock:
            self.refresh()
            if self._library is None or name not in self._library:
                raise unknown(name)
            gone = self.folder / f"{DRAFT}{secrets.token_hex(8)}"
            self._library.paths[name].rename(gone)
            sync_folder(self.folder)
            with suppress(OSError):
                shutil.rmtree(gone)
            self.refresh()
