"""Build the atlas of a map of any kind."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from isovist.atlas.base import Atlas
from isovist.atlas.data.atlas2d import SIGNALS, build_plane
from isovist.atlas.data.atlas3d import Height, build_space
from isovist.atlas.description.cluster import connected
from isovist.atlas.description.tiles import Workers
from isovist.atlas.matching.windows import check_basis
from isovist.atlas.settings import AtlasSettings
from isovist.basis import DirectionalBasis
from isovist.compute import use_backend
from isovist.errors import InputError
from isovist.maps import CLOUDS, AnyMap, MeshMap, OccupancyMap, SegmentMap, VoxelMap
from isovist.renamed import accept_old_names
from isovist.settings import checked_settings


@accept_old_names
def build(
    world: AnyMap,
    *,
    spacing: float | None = None,
    height: Height = None,
    basis: DirectionalBasis | None = None,
    signal: str = SIGNALS[0],
    settings: AtlasSettings | None = None,
    progress: Callable[[float], None] | None = None,
    backend: str | None = None,
    cluster: str | None = None,
) -> Atlas:
    """Build the atlas of a map, so that scans can be located on the map.

    An atlas describes the view from a grid of places (nodes) on the map.  Build it once per map and
    store it with `write_atlas`.

    Args:
        world: The map.  A plan of walls or a mesh is turned into cells first.
        spacing: Distance between nodes in m, rounded to whole cells.  When `None`, that of the
            settings, in 3D at least three cells.  `atlas.spacing` is the result.
        height: In 3D, height of the sensor above the floor in m.  For a drone, the lowest and the
            highest height.  When `None`, that of the settings.
        basis: Directions and weights that describe a view.  When `None`, equal steps around the
            circle in 2D, and rings of directions in 3D.
        signal: In 2D, the signal that the search compares: "range", or "range+intensity" on maps
            whose walls differ in reflectance.  Poses are always rated by both.
        settings: Settings of the atlas; the defaults when `None`.
        progress: Function that is called with the finished share of the work, from 0 to 1.
        backend: Device that computes, "cpu" or, for 2D maps, "cuda".  When `None`, the environment
            variable ISOVIST_BACKEND decides.
        cluster: Address of a Dask scheduler whose workers describe the nodes, or "local:4" for four
            workers on this machine.  The atlas is the same.  When `None`, this process works alone.

    Returns:
        The atlas, for `locate`, `check`, `Tracker` and `survey`.

    Raises:
        InputError: If an argument does not suit the map, or the machine has too little memory.

    Examples:
        >>> import isovist as iv
        >>> atlas = iv.build(iv.SegmentMap.room(6.0, 4.0), spacing=0.25)
        >>> atlas.dimension, atlas.spacing
        (2, 0.25)
    """
    if cluster is not None and backend not in (None, "cpu"):
        raise InputError(
            f"A cluster computes on the cores of its workers; leave `backend` out, got {backend}.",
            code="conflict",
        )
    settings = checked_settings(AtlasSettings, settings)
    report = progress or (lambda _share: None)
    cells = as_cells(world, settings)
    if spacing is not None:
        if not 0.0 < spacing <= CLOUDS.max_width_m:
            limits = "a positive length" if not spacing > 0.0 else f"at most {CLOUDS.max_width_m:g}"
            raise InputError.about("spacing", f"must be {limits} in m, got {spacing}.")
        settings = replace(settings, spacing=float(spacing))
    if basis is not None:
        check_basis(basis, cells.dimension)
    if basis is not None and cells.dimension == 2:
        settings = replace(settings, channels=len(basis))
    if isinstance(cells, OccupancyMap):
        if height is not None:
            raise InputError.about(
                "height", "is for 3D maps; this map is 2D.", code="wrong_dimension"
            )
        with use_backend(backend), _workers(cluster) as workers:
            return build_plane(cells, settings, report, basis, workers, signal)
    if signal != SIGNALS[0]:
        raise InputError.about(
            "signal",
            "is for 2D maps; in 3D intensities count where poses are rated.",
            code="wrong_dimension",
        )
    if spacing is None:
        settings = replace(
            settings, spacing=max(settings.spacing, settings.spacing_cells * cells.resolution)
        )
    with _workers(cluster) as workers:
        return build_space(cells, settings, height, report, workers, basis)


def _workers(cluster: str | None) -> AbstractContextManager[Workers | None]:
    return nullcontext() if cluster is None else connected(cluster)


def as_cells(world: AnyMap, settings: AtlasSettings | None = None) -> OccupancyMap | VoxelMap:
    """Return a map as a grid of cells, which an atlas is built from.

    A map of cells is returned unchanged.
    """
    settings = checked_settings(AtlasSettings, settings)
    if isinstance(world, OccupancyMap | VoxelMap):
        return world
    if isinstance(world, SegmentMap):
        walls = world.walls.reshape(-1, 2, 2)
        return OccupancyMap.from_segments(walls, settings.cell, reflectance=world.reflectance)
    if isinstance(world, MeshMap):
        return VoxelMap.from_mesh(world, 2.0 * settings.cell)
    raise InputError(
        "An atlas is built of a SegmentMap, an OccupancyMap, a VoxelMap or a MeshMap, "
        f"got {type(world).__name__}.",
        field="world",
    )
