"""Keep a folder of atlases: open them when needed, close them when memory is short."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from threading import Lock

from isovist.atlas.base import Atlas
from isovist.atlas.data.store import KIND, read_atlas
from isovist.atlas.multimap import MultiMap, check_alike
from isovist.atlas.settings import AtlasSettings
from isovist.errors import FileError, InputError, IsovistError
from isovist.renamed import accept_old_names
from isovist.storage import (
    MANIFEST,
    Manifest,
    PathLike,
    first_line,
    is_folder,
    read_manifest,
    unreadable_error,
)

SUFFIX = ".atlas"
"""Suffix of the folder of an atlas; it is not part of the name of the map."""


@accept_old_names
class Library(Mapping[str, Atlas]):
    """A folder of atlases, as a mapping from map name to atlas.

    `read_library` makes a library.  Atlases are opened when needed.  When memory is short, the
    least recently used ones are closed.

    Attributes:
        paths: Folder of each atlas, by name, in order.
        memory: Maximum memory of open atlases, in bytes; one atlas may be open in any case.
        open_bytes: Memory of the open atlases, in bytes.
        max_maps: Maximum number of maps to search for one scan; no limit when `None`.
    """

    def __init__(
        self, paths: Mapping[str, Path], memory: float, max_maps: int | None = None
    ) -> None:
        self.paths = dict(paths)
        self.memory, self.max_maps = memory, max_maps
        self._open: dict[str, Atlas] = {}
        self._sizes: dict[str, int] = {}
        self.open_bytes = 0
        self._stamps: dict[str, Stamp] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[type["Library"], tuple[Mapping[str, Path], float, int | None]]:
        return Library, (self.paths, self.memory, self.max_maps)  # another process opens its own

    def __getitem__(self, name: str) -> Atlas:
        with self._lock:
            # The atlas that was used last stands last.
            atlas = self._open.pop(name, None)
            if atlas is None:
                atlas = self._read(name)
                self._sizes[name] = bytes_of(atlas)
                self.open_bytes += self._sizes[name]
            self._open[name] = atlas
            while len(self._open) > 1 and self.open_bytes > self.memory:
                oldest = next(iter(self._open))
                del self._open[oldest]
                self.open_bytes -= self._sizes.pop(oldest)
        return atlas

    def _read(self, name: str) -> Atlas:
        self._stamps[name] = stamp_of(self.paths[name])
        return read_atlas(self.paths[name])

    def keep(self, before: "Library") -> None:
        """Take over the open atlases of another library whose files have not changed since."""
        with before._lock:
            atlases = [(name, a) for name, a in before._open.items() if name in self.paths]
        for name, atlas in atlases:
            stamp = before._stamps[name]
            if before.paths[name] == self.paths[name] and stamp == stamp_of(self.paths[name]):
                self._open[name], self._stamps[name] = atlas, stamp
                self._sizes[name] = bytes_of(atlas)
                self.open_bytes += self._sizes[name]

    def __contains__(self, name: object) -> bool:
        return name in self.paths  # without opening it

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def opened(self) -> tuple[str, ...]:
        """The names of the open atlases, least recently used first."""
        return tuple(self._open)

    @cached_property
    def multi_map(self) -> MultiMap:
        """All atlases of the library as one search space; the first use opens each atlas once."""
        return MultiMap.of(self)


Stamp = tuple[int, int, int]
"""Inode, modification time in ns and size in bytes of the manifest of an atlas."""


def stamp_of(path: Path) -> Stamp:
    """Return inode, time and size of the manifest of an atlas, to detect that it was rewritten."""
    try:
        status = (path / MANIFEST).stat()
    except OSError as error:
        raise unreadable_error(path / MANIFEST, error) from error
    return status.st_ino, status.st_mtime_ns, status.st_size


def bytes_of(atlas: Atlas) -> int:
    """Return the memory of an open atlas in bytes, including that of searching it."""
    return sum(array.nbytes for array in atlas.arrays().values()) + atlas.descriptors.size


@accept_old_names
def read_library(
    folder: PathLike, *, memory: float | None = None, max_maps: int | None = None
) -> Library:
    """Read a folder of atlases as several maps, for `locate`.

    This reads only the manifests.  Each atlas is read and checked when it is first needed.  With
    many maps, `locate` searches only maps that a bound does not exclude.  For the bound it opens
    every atlas once, and keeps 64 bytes per node in 2D.

    Args:
        folder: Folder with one folder per atlas.  The name of a map is the name of its folder
            without `.atlas`.
        memory: Maximum memory of open atlases in bytes.  Above it, the least recently used atlas is
            closed.  No limit when `None`.
        max_maps: Maximum number of maps that `locate` searches for one scan, the likeliest first.
            If a map that was left out may explain the scan as well, the answer says so and is not
            unique.  No limit when `None`.

    Returns:
        The library, which functions take in place of an atlas.

    Raises:
        InputError: If a limit is not positive, or the atlases have different settings.
        FileError: If the folder is missing or holds no atlas, or a manifest is damaged.

    Examples:
        >>> from pathlib import Path
        >>> import isovist as iv
        >>> Path("site").mkdir()
        >>> room = iv.SegmentMap.room(6.0, 4.0)
        >>> iv.write_atlas(iv.build(room, spacing=0.5), "site/office.atlas")
        >>> library = iv.read_library("site")
        >>> list(library)
        ['office']
    """
    if max_maps is not None and not max_maps >= 1:
        raise InputError.about("max_maps", f"must be a number of maps, 1 or more, got {max_maps}.")
    check_memory(memory)
    folder = Path(folder)
    if not is_folder(folder):
        raise FileError(f"{folder}: there is no such folder.", code="not_found")
    paths: dict[str, Path] = {}
    for path in _folders(folder):
        before = paths.setdefault(path.name.removesuffix(SUFFIX), path)
        if before is not path:
            raise FileError(f"{before.name} and {path.name} are one map by name. Rename one.")
    if not paths:
        raise FileError(
            f"{folder.name} holds no atlas. Write some: isovist build MAP -o {folder.name}/NAME."
        )
    first = None
    for name, path in paths.items():
        described = (name, *_described(path))
        first = first or described
        check_alike(first, described)
    return Library(paths, float("inf") if memory is None else memory, max_maps)


def check_memory(memory: float | None) -> None:
    """Check that a memory limit in bytes is positive or `None`, which means no limit."""
    if memory is not None and not memory > 0.0:
        raise InputError.about("memory", f"must be a number of bytes above 0, got {memory:g}.")


def is_library(path: PathLike) -> bool:
    """Return whether a path is a folder that is not itself an atlas."""
    return is_folder(path) and not (Path(path) / MANIFEST).exists()


def _folders(folder: Path) -> list[Path]:
    """Return the folders in a folder, in order, without hidden ones."""
    try:
        folders = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    except OSError as error:
        raise unreadable_error(folder, error) from error
    return [path for path in folders if not path.name.startswith(".")]


def _described(path: Path) -> tuple[int, AtlasSettings]:
    """Return the dimension and the settings of an atlas on disk, from its manifest."""
    if not (path / MANIFEST).exists():
        raise FileError(
            f"{path.name} is not an atlas: it has no {MANIFEST}. Build it again, or put it "
            "elsewhere.",
            code="unknown_format",
        )
    manifest: Manifest = read_manifest(path)
    if manifest.kind != KIND:
        raise FileError(
            f"{path.name} is a folder of kind {manifest.kind!r}, not an atlas.",
            code="unknown_format",
        )
    try:
        settings = AtlasSettings.from_json(manifest.meta["settings"])
    except (KeyError, TypeError, IsovistError) as error:
        reason = first_line(error, 80).rstrip(".")
        raise FileError(f"{path.name} is not a whole atlas: {reason}.") from error
    return (3 if manifest.meta.get("dimension") == 3 else 2), settings
