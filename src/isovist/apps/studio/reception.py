"""Read files that were dropped on the page, and store them for the session."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import isovist as iv
from isovist.apps.studio.session_store import Named, SessionStore, Site
from isovist.apps.web import (
    Progress,
    kind_of,
    main_file,
    read_atlas_or_map,
    read_log_or_clouds,
    write_uploads,
)
from isovist.atlas import SUFFIX, MultiMap
from isovist.sensing import CloudLog
from isovist.storage import MANIFEST, quote


@dataclass(frozen=True, slots=True)
class Upload:
    """Files that were uploaded together.

    Attributes:
        files: Content of each file by its name, which may include a folder.
        kind: "map", "scan" or "log", or "" to find it out from the files.
        scan_topic: Topic of the scans, for a bag with several; "" for the only one.
    """

    files: Mapping[str, bytes]
    kind: str = ""
    scan_topic: str = ""


def receive(store: SessionStore, upload: Upload, progress: Progress) -> dict[str, Any]:
    """Read uploaded files, store the map, scan or log, and return its kind, key and name.

    Args:
        store: Store for the upload.
        upload: The files.
        progress: Called with the share of the work that is done.
    """
    if not upload.files:
        raise iv.FileError("The upload has no files. Drop at least one.", code="invalid_value")
    with TemporaryDirectory(prefix="isovist-studio-") as folder:
        top = Path(folder)
        files = dict(sorted(upload.files.items()))
        digest = hashlib.sha256(upload.scan_topic.encode())
        for path, data in zip(write_uploads(top, files), files.values(), strict=True):
            digest.update(f"{path.relative_to(top)}:{len(data)}:".encode() + data)
        key = digest.hexdigest()[:16]
        atlases = sorted(path.parent for path in top.glob(f"*/{MANIFEST}"))
        if len(atlases) > 1:
            return store_library(store, key, atlases)
        main = main_file(top)
        kind = upload.kind or kind_of(main)
        if kind == "map":
            if key not in store.sites:
                store.sites.add(key, Site(main.name, read_atlas_or_map(main, progress)))
        elif kind == "log":
            log = read_log_or_clouds(main, upload.scan_topic or None, progress=progress)
            log = log.in_memory() if isinstance(log, CloudLog) else log
            store.logs.add(key, Named(main.name, log))
        else:
            store.scans.add(key, Named(main.name, iv.read_scan(main)))
    return {"kind": kind, "key": key, "name": main.name}


def store_library(store: SessionStore, key: str, folders: Sequence[Path]) -> dict[str, Any]:
    """Store several atlases that were uploaded together as one library of maps."""
    sites: dict[str, str] = {}
    for k, folder in enumerate(folders):
        name = folder.name.removesuffix(SUFFIX)
        if name in sites:
            raise iv.FileError(f"Two atlases are called {quote(name)}. Rename one.")
        sites[name] = f"{key}-{k}"
        store.sites.add(sites[name], Site(name, iv.read_atlas(folder)))
    name = f"{len(sites)} maps"
    store.libraries.add(key, Named(name, sites))
    MultiMap.of(store.maps(key))  # raises an error if they cannot be compared
    return {"kind": "library", "key": key, "name": name, "sites": list(sites.values())}
