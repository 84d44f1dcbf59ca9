"""Keep maps, scans and logs of the studio in memory, up to a limit.

The key of an upload follows from its bytes: the same files uploaded again have the same key, and a
link to them works as long as the studio runs. The least recently used uploads are dropped first;
files from the command line and demonstrations stay.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from typing import Generic, Protocol, TypeVar

import isovist as iv
from isovist.apps.web import Limits, RefusedError
from isovist.atlas import PlaneAtlas, bare_walls
from isovist.maps import Map
from isovist.sensing import CloudLog


class HasName(Protocol):
    """An object with a name."""

    @property
    def name(self) -> str: ...


T = TypeVar("T")
NamedT = TypeVar("NamedT", bound=HasName)


@dataclass(frozen=True, eq=False)
class Site:
    """A map with its atlas, ready to answer requests.

    Attributes:
        name: Name of the file or of the demonstration.
        atlas: Atlas of the map.
        world: The world that a virtual sensor scans, e.g. with furniture; the map when `None`.
    """

    name: str
    atlas: iv.Atlas
    world: Map | None = None

    @cached_property
    def reality(self) -> Map:
        """The world that a virtual sensor scans; by default, the walls of the map."""
        return bare_walls(self.atlas.world) if self.world is None else self.world

    @property
    def atlas2d(self) -> PlaneAtlas:
        """The atlas of a 2D map; an error for a 3D map."""
        if not isinstance(self.atlas, PlaneAtlas):
            raise iv.InputError("This needs a 2D map. Choose one.", code="wrong_dimension")
        return self.atlas


class LruStore(Generic[NamedT]):
    """A cache of uploads of one kind, which drops the least recently used but no pinned ones."""

    def __init__(self, kind: str, max_count: int) -> None:
        self.kind, self.max_count = kind, max_count
        self._entries: OrderedDict[str, NamedT] = OrderedDict()
        self._pinned: set[str] = set()
        self._demos: dict[str, tuple[str, Callable[[], NamedT]]] = {}
        self._lock = RLock()

    def add(self, key: str, value: NamedT, *, is_pinned: bool = False) -> None:
        """Store an object, and drop the least recently used ones above the limit."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            if is_pinned:
                self._pinned.add(key)
            uploads = [upload for upload in self._entries if upload not in self._pinned]
            for upload in uploads[: max(0, len(uploads) - self.max_count)]:
                del self._entries[upload]

    def add_demo(self, key: str, name: str, build: Callable[[], NamedT]) -> None:
        """Register an object that is built when it is first requested, and then pinned."""
        self._demos[key] = name, build

    def get(self, key: str) -> NamedT:
        """Return the object of a key and mark it as used; a demonstration is built on first use."""
        with self._lock:
            if key not in self._entries and key in self._demos:
                self.add(key, self._demos[key][1](), is_pinned=True)
            if key not in self._entries:
                raise RefusedError(
                    404, f"The {self.kind} is no longer stored. Drop its file again."
                )
            self._entries.move_to_end(key)
            return self._entries[key]

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def names(self) -> list[tuple[str, str]]:
        """Return the keys and names of all objects: uploads, latest first, then demonstrations."""
        with self._lock:
            demos = [(key, name) for key, (name, _) in self._demos.items()]
            entries = reversed(self._entries.items())
            return [(key, value.name) for key, value in entries if key not in self._demos] + demos


@dataclass(frozen=True, eq=False)
class Named(Generic[T]):
    """An object, and the name of the file that it was read from."""

    name: str
    value: T


class SessionStore:
    """The maps, scans and logs of the studio; a library holds the keys of its maps by name."""

    def __init__(self, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        self.sites = LruStore[Site]("map", limits.max_stored_maps)
        self.libraries = LruStore[Named[dict[str, str]]]("library", limits.max_stored_logs)
        self.scans = LruStore[Named[iv.Scan | iv.CloudScan]]("scan", limits.max_stored_scans)
        self.logs = LruStore[Named[iv.Log | CloudLog]]("log", limits.max_stored_logs)

    def library_of(self, site: str) -> str:
        """Return the key of the library that a map belongs to, or "" if there is none."""
        keys = (key for key, _ in self.libraries.names())
        return next((k for k in keys if site in self.libraries.get(k).value.values()), "")

    def maps(self, library: str) -> dict[str, iv.Atlas]:
        """Return the atlases of a library, by name."""
        keys = self.libraries.get(library).value
        return {name: self.sites.get(key).atlas for name, key in keys.items()}
