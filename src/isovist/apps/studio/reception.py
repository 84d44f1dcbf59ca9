"""Files that were dropped on the page: they are read, and kept in the session."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from isovist.apps.studio.session_store import Named, Shelf, Site
from isovist.apps.web.uploads import (
    MOST_FILES,
    Progress,
    kind_of,
    main_file,
    read_drive,
    read_site,
    write_upload,
)
from isovist.atlas.data.store import read_atlas
from isovist.atlas.library import SUFFIX
from isovist.atlas.multimap import MultiMap
from isovist.errors import FileError
from isovist.io.scans.read import read_scan
from isovist.sensing.cloud_log import CloudLog
from isovist.storage.files import quote
from isovist.storage.locations import MANIFEST


def receive(
    shelf: Shelf,
    files: Mapping[str, bytes],
    wanted: str,
    progress: Progress,
    scan_topic: str | None = None,
) -> dict[str, Any]:
    """Read uploaded files, store the map, scan or log, and return its kind, key and name.

    Args:
        shelf: Store that the upload is put in.
        files: Content of each file by its name, which may include a folder.
        wanted: "map", "scan" or "log", or "" when the files say it themselves.
        progress: Told the share of the work that is done.
        scan_topic: Topic of the scans, for a bag that has several.
    """
    if not 1 <= len(files) <= MOST_FILES:
        raise FileError(
            f"Drop from 1 to {MOST_FILES} files at a time, got {len(files)}.", code="invalid_value"
        )
    seal = hashlib.sha256((scan_topic or "").encode())
    with TemporaryDirectory(prefix="isovist-studio-") as folder:
        top = Path(folder)
        for name, data in sorted(files.items()):
            path = write_upload(top, name, data)
            seal.update(f"{path.relative_to(top)}:{len(data)}:".encode() + data)
        key = seal.hexdigest()[:16]
        atlases = sorted(path.parent for path in top.glob(f"*/{MANIFEST}"))
        if len(atlases) > 1:
            return keep_library(shelf, key, atlases)
        main = main_file(top)
        kind = wanted or kind_of(main)
        name = main.name
        if kind == "map":
            if key not in shelf.sites:
                shelf.sites.put(key, Site(name, read_site(main, progress)))
        elif kind == "log":
            log = read_drive(main, scan_topic, progress=progress)
            shelf.logs.put(key, Named(name, log.held() if isinstance(log, CloudLog) else log))
        else:
            shelf.scans.put(key, Named(name, read_scan(main)))
    return {"kind": kind, "key": key, "name": name}


def keep_library(shelf: Shelf, key: str, folders: list[Path]) -> dict[str, Any]:
    """Store several atlases that were uploaded together as one library of maps."""
    sites: dict[str, str] = {}
    for k, folder in enumerate(folders):
        name = folder.name.removesuffix(SUFFIX)
        if name in sites:
            raise FileError(f"Two atlases are called {quote(name)}. Rename one.")
        sites[name] = f"{key}-{k}"
        shelf.sites.put(sites[name], Site(name, read_atlas(folder)))
    name = f"{len(sites)} maps"
    shelf.libraries.put(key, Named(name, sites))
    MultiMap.of(shelf.maps(key))  # an error where they cannot be compared
    return {"kind": "library", "key": key, "name": name, "sites": list(sites.values())}
