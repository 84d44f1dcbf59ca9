"""What the studio keeps in memory: maps, scans and logs that it was given, and no more of them.

The key of a thing follows from its bytes, so the same files dropped again are the same thing, and a
link to it works as long as the server runs.  Of what was dropped the oldest goes first; what was
told at the command line and the demonstrations stay.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from typing import Generic, Protocol, TypeVar

from isovist.atlas.base import Atlas
from isovist.atlas.data.atlas2d import PlaneAtlas
from isovist.atlas.data.surfaces import bare_walls
from isovist.errors import ErrorCode, InputError
from isovist.maps.base import Map
from isovist.sensing.cloud_log import CloudLog
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.log import Log
from isovist.sensing.scan import Scan


class HasName(Protocol):
    """An object with a name."""

    @property
    def name(self) -> str: ...


Thing = TypeVar("Thing")
Kept = TypeVar("Kept", bound=HasName)


@dataclass(frozen=True, eq=False)
class Site:
    """A map with its atlas, ready to answer requests.

    Attributes:
        name: Name of the file or of the demonstration.
        atlas: Atlas of the map.
        real: What a virtual sensor sees where that is not the map itself, e.g. with furniture.
    """

    name: str
    atlas: Atlas
    real: Map | None = None

    @cached_property
    def reality(self) -> Map:
        """The world that a virtual sensor scans, by default the walls of the map."""
        return bare_walls(self.atlas.world) if self.real is None else self.real

    @property
    def plane(self) -> PlaneAtlas:
        """The atlas, if the map is 2D; raises an error for a 3D map."""
        if not isinstance(self.atlas, PlaneAtlas):
            raise InputError(
                "The map is in space, and this needs one of the plane.", code="wrong_dimension"
            )
        return self.atlas


class GoneError(InputError):
    """Raised for a key that is not stored, or no longer."""

    code: ErrorCode = "not_found"


class Box(Generic[Kept]):
    """LRU cache of uploads of one kind; pinned entries are never evicted."""

    def __init__(self, kind: str, most: int) -> None:
        self.kind, self.most = kind, most
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._staying: set[str] = set()
        self._offered: dict[str, tuple[str, Callable[[], Kept]]] = {}
        self._lock = RLock()

    def put(self, key: str, thing: Kept, *, stays: bool = False) -> None:
        """Store an object, and evict the least recently used ones above the limit."""
        with self._lock:
            self._kept[key] = thing
            self._kept.move_to_end(key)
            if stays:
                self._staying.add(key)
            going = [key for key in self._kept if key not in self._staying]
            for old in going[: max(0, len(going) - self.most)]:
                del self._kept[old]

    def offer(self, key: str, name: str, make: Callable[[], Kept]) -> None:
        """Register an object that is built when it is first requested, and then pinned."""
        self._offered[key] = name, make

    def get(self, key: str) -> Kept:
        """Return the object of a key, or raise an error if it is not stored."""
        with self._lock:
            if key not in self._kept and key in self._offered:
                self.put(key, self._offered[key][1](), stays=True)
            if key not in self._kept:
                raise GoneError(f"The {self.kind} is not kept any more. Drop its file again.")
            self._kept.move_to_end(key)
            return self._kept[key]

    def __contains__(self, key: str) -> bool:
        return key in self._kept

    def names(self) -> list[tuple[str, str]]:
        """Return keys and names of all objects: uploads, latest first, then registered ones."""
        with self._lock:
            offered = [(key, name) for key, (name, _) in self._offered.items()]
            there = [(k, t.name) for k, t in reversed(self._kept.items()) if k not in self._offered]
            return there + offered


@dataclass(frozen=True, eq=False)
class Named(Generic[Thing]):
    """An object and the name of the file it came in."""

    name: str
    thing: Thing


class Shelf:
    """Everything that the studio stores; a library holds the keys of its maps by name."""

    def __init__(self) -> None:
        self.sites: Box[Site] = Box("map", 24)
        self.libraries: Box[Named[dict[str, str]]] = Box("library", 4)
        self.scans: Box[Named[Scan | CloudScan]] = Box("scan", 60)
        self.logs: Box[Named[Log | CloudLog]] = Box("log", 4)

    def library_of(self, site: str) -> str:
        """Return the key of the library that a map belongs to, or "" if there is none."""
        keys = (key for key, _ in self.libraries.names())
        return next((k for k in keys if site in self.libraries.get(k).thing.values()), "")

    def maps(self, library: str) -> dict[str, Atlas]:
        """Return the atlases of a library, by name."""
        keys = self.libraries.get(library).thing
        return {name: self.sites.get(key).atlas for name, key in keys.items()}
