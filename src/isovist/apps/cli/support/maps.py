"""Read or build the maps and atlases that a command line names, with a progress bar."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isovist.atlas import Atlas, read_atlas
from isovist.errors import InputError
from isovist.storage import is_folder, make_folder

if TYPE_CHECKING:
    from isovist.maps import AnyMap, SegmentMap


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Options for building an atlas from a map; `None` stands for the default.

    Attributes:
        height: Height of the sensor above the floor of a 3D map, in m.
        max_height: Maximum height of the sensor of a drone, in m; `height` is the minimum.
        spacing: Distance between nodes, in m.
        resolution: Side of the cells that a point cloud becomes, in m.
        signal: Signal that a 2D search compares: "range" or "range+intensity".
        basis: File of the directions of the basis, for a 2D map.
        cluster: Address of a Dask scheduler whose workers build the atlas.
    """

    height: float | None = None
    max_height: float | None = None
    spacing: float | None = None
    resolution: float | None = None
    signal: str = "range"
    basis: Path | None = None
    cluster: str | None = None

    def read(self, path: Path) -> "AnyMap":
        """Read a map."""
        from isovist.io import read_map

        return read_map(path, resolution=self.resolution)

    def build(self, world: "AnyMap") -> Atlas:
        """Build the atlas of a map."""
        from isovist.apps.cli.support.progress import bar
        from isovist.atlas.build import build
        from isovist.paper import read_basis

        height, max_height = self.height, self.max_height
        if max_height is not None and height is None:
            raise InputError.about(
                "max_height", "needs `--height`, the minimum height of the sensor.", code="missing"
            )
        with bar("Building the atlas") as advance:
            return build(
                world,
                spacing=self.spacing,
                height=height if height is None or max_height is None else (height, max_height),
                basis=None if self.basis is None else read_basis(self.basis, world),
                signal=self.signal,
                progress=advance,
                cluster=self.cluster,
            )

    def build_floors(self, path: Path, output: Path) -> list[tuple[Path, Atlas]]:
        """Build an atlas of each floor of a 3D map; return their folders in `output`, too."""
        from isovist.atlas import SUFFIX, as_cells
        from isovist.maps import VoxelMap, building_floors

        cells = as_cells(self.read(path))
        if not isinstance(cells, VoxelMap):
            raise InputError.about(
                "floors", "is for 3D maps; this map is 2D.", code="wrong_dimension"
            )
        floors = building_floors(cells)
        make_folder(output)
        return [(output / f"{name}{SUFFIX}", self.build(floor)) for name, floor in floors.items()]


def read_plan(path: Path) -> "SegmentMap":
    """Read a map of wall segments."""
    from isovist.io import read_map
    from isovist.maps import SegmentMap

    world = read_map(path)
    if not isinstance(world, SegmentMap):
        raise InputError(
            f"{path.name}: this needs a plan of walls (.geojson). "
            "A ROS map becomes one with `isovist map convert`.",
            code="unknown_format",
        )
    return world


def open_atlas(path: Path, options: BuildOptions | None = None) -> Atlas:
    """Read the atlas of a folder, or build one from a map."""
    options = options or BuildOptions()
    if is_folder(path):
        if options.height is not None:
            raise InputError.about(
                "height", "is for building an atlas; this one is built already.", code="conflict"
            )
        return read_atlas(path)
    world = options.read(path)
    if options.height is not None and world.dimension == 2:
        raise InputError.about("height", "is for 3D maps; this map is 2D.", code="wrong_dimension")
    return options.build(world)


def open_atlases(
    paths: Sequence[Path], options: BuildOptions | None = None
) -> "Atlas | Mapping[str, Atlas]":
    """Return one atlas, or atlases by name if several maps or a folder of atlases are given."""
    from isovist.atlas import is_library, read_library

    if len(paths) == 1:
        return read_library(paths[0]) if is_library(paths[0]) else open_atlas(paths[0], options)
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"The map {name} is given twice. Give each map once.", code="conflict")
    return {name: open_atlas(path, options) for name, path in zip(names, paths, strict=True)}
