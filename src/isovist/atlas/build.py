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
    """Build the atlas of a map, so that scans can be located on it.

    Args:
        world: The map; a plan of walls and a mesh are turned into cells first (`as_cells`).
        spacing: Distance of the nodes in m, rounded to whole cells (`atlas.spacing` says what it
            became); that of the settings when `None`, in 3D at least three cells.
        height: In 3D, height of the sensor above the floor, in m, or the lowest and the highest of
            a drone; that of the settings when `None`.
        basis: Any directions with any profile, fixed to the map; `None` for the usual ones, in the
            plane as many in equal steps as the settings say, in 3D rings of them.
        signal: In 2D, what the search compares: "range", or "range+intensity" on maps whose
            walls differ in reflectance.  Places are rated by both, whatever is said here.
        settings: How to describe it.
        progress: Called with the share of the work that is done, from 0 to 1.
        backend: What computes, "cpu" or "cuda" (2D maps); what ISOVIST_BACKEND says when
            `None`.
        cluster: Address of a Dask scheduler whose workers describe the nodes, or "local:4" for
            four workers on this machine; the atlas has the same bytes.  This process alone when
            `None`.
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
    """Return a map as the grid of cells that an atlas is built of.

    A map that is made of cells is returned as it is.
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
