"""Identify maps, and prepare a node for the first scan on one."""

import hashlib
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from isovist.atlas import Atlas, PlaneAtlas, is_library, read_atlas, read_library
from isovist.atlas.build import build
from isovist.errors import InputError
from isovist.io import read_map
from isovist.localization import AnyMaps, compile_kernels, search_space_of
from isovist.maps import OccupancyMap
from isovist.poses import Pose
from isovist.sensing import Lidar
from isovist.storage import is_folder
from isovist.tracking import Tracker

log = logging.getLogger("isovist.ros")


def map_digest(world: OccupancyMap) -> str:
    """Return a hash of the content of a map, which does not depend on its time stamp."""
    geometry = f"{world.cells.shape} {world.resolution} {world.origin.vector.tolist()}"
    return hashlib.sha256(geometry.encode() + world.cells.tobytes()).hexdigest()


def warm_up(atlas: AnyMaps) -> None:
    """Process a simulated scan once, so that the first real scan need not wait for compilation."""
    compile_kernels(search_space_of(atlas))
    first = next(iter(atlas.values())) if isinstance(atlas, Mapping) else atlas
    if isinstance(first, PlaneAtlas):
        x, y = first.positions[len(first.nodes) // 2]
        with suppress(InputError):  # nothing is in view from there
            scan = Lidar().scan(first.world, Pose(float(x), float(y)), np.random.default_rng(0))
            Tracker(atlas).update(Pose(), scan)


def log_quarters() -> Callable[[float], None]:
    """Return a progress function that logs every quarter of the work on a map."""
    logged = [0]

    def advance(share: float) -> None:
        quarter = int(4.0 * share)
        if quarter > logged[0]:
            logged[0] = quarter
            log.info("built %d %% of the atlas", 25 * quarter)

    return advance


def open_map(path: Path) -> Atlas | Mapping[str, Atlas]:
    """Open an atlas, a folder of atlases by name, or a map, which is built first."""
    if is_library(path):
        return read_library(path)
    return read_atlas(path) if is_folder(path) else build(read_map(path))
