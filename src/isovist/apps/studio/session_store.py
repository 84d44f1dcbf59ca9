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
    """What is kept has a name."""

    @property
    def name(self) -> str: ...


Thing = TypeVar("Thing")
Kept = TypeVar("Kept", bound=HasName)


@dataclass(frozen=True, eq=False)
class Site:
    """A map, ready to answer.

    Attributes:
        name: Of the file, or of the demonstration.
        atlas: The map, described.
        real: What a virtual sensor sees where that is not the map itself, e.g. with furniture.
    """

    name: str
    atlas: Atlas
    real: Map | None = None

    @cached_property
    def reality(self) -> Map:
        """What a virtual sensor sees."""
        return bare_walls(self.atlas.world) if self.real is None else self.real

    @property
    def plane(self) -> PlaneAtlas:
        """The atlas, where that is of the plane."""
        if not isinstance(self.atlas, PlaneAtlas):
            raise InputError(
                "The map is in space, and this needs one of the plane.", code="wrong_dimension"
            )
        return self.atlas


class GoneError(InputError):
    """Something that is not kept, or no more."""

    code: ErrorCode = "not_found"


class Box(Generic[Kept]):
    """Kepts of a kind by key, so many that may go and any number that stay."""

    def __init__(self, kind: str, most: int) -> None:
        self.kind, self.most = kind, most
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._staying: set[str] = set()
        self._offered: dict[str, tuple[str, Callable[[], Kept]]] = {}
        self._lock = RLock()

    def put(self, key: str, thing: Kept, *, stays: bool = False) -> None:
        """Keep a thing; the one that was asked for longest ago may have to go."""
        with self._lock:
            self._kept[key] = thing
            self._kept.move_to_end(key)
            if stays:
                self._staying.add(key)
            going = [key for key in self._kept if key not in self._staying]
            for old in going[: max(0, len(going) - self.most)]:
                del self._kept[old]

    def offer(self, key: str, name: str, make: Callable[[], Kept]) -> None:
        """Promise a thing that stays and is made when it is first asked for."""
        self._offered[key] = name, make

    def get(self, key: str) -> Kept:
        """The thing of a key."""
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
        """Keys and names: what was dropped, latest first, then what stays."""
        with self._lock:
            offered = [(key, name) for key, (name, _) in self._offered.items()]
            there = [(k, t.name) for k, t in reversed(self._kept.items()) if k not in self._offered]
            return there + offered


@dataclass(frozen=True, eq=False)
class Named(Generic[Thing]):
    """A thing and the name of the file it came in."""

    name: str
    thing: Thing


class Shelf:
    """Everything that the server keeps; a library is the keys of its maps by name."""

    def __init__(self) -> None:
        self.sites: Box[Site] = Box("map", 24)
        self.libraries: Box[Named[dict[str, str]]] = Box("library", 4)
        self.scans: Box[Named[Scan | CloudScan]] = Box("scan", 60)
        self.logs: Box[Named[Log | CloudLog]] = Box("log", 4)

    def library_of(self, site: str) -> str:
        """Key of the library that a map came with; empty where it came alone."""
        keys = (key for key, _ in self.libraries.names())
        return next((k for k in keys if site in self.libraries.get(k).thing.values()), "")

    def maps(self, library: str) -> dict[str, Atlas]:
        """The maps of a library, by name."""
        keys = self.libraries.get(library).thing
        return {name: self.sites.get(key).atlas for name, key in keys.items()}
