"""Read a part of a 2D atlas, and no more than that part needs.

Arrays lie row after row.  So a band of rows of the map is one range of bytes of each array, and so
are the descriptors of its nodes.  What rays walk on is computed again from the cells.
"""

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.atlas.data.atlas2d import PlaneAtlas
from isovist.atlas.data.surfaces import bare_walls, bridge_gaps
from isovist.atlas.matching.reflectance import ReflectanceRange, nearest_reflectance
from isovist.atlas.matching.windows import basis_from_json
from isovist.atlas.settings import AtlasSettings
from isovist.errors import FileError
from isovist.maps import OccupancyMap
from isovist.poses import Pose
from isovist.storage import Location, Manifest, PathLike, check_kind, location_of, manifest_of

Band = tuple[int, int]
"""First cell, and the one after the last."""


def read_part(path: PathLike, box: FloatArray, kind: str, *versions: int) -> PlaneAtlas:
    """Read the nodes of a 2D atlas in a box, with as much of the map as their rays reach.

    Args:
        path: The folder, or its address in object storage.
        box: Around the nodes: x and y of two corners in m, shape (4,).
        kind: Kind of the folder.
        versions: Versions of that kind that can be read.
    """
    corners = box.reshape(2, 2)
    place = location_of(path)
    manifest = manifest_of(place)
    check_kind(manifest, place.name, kind, *versions)
    meta = manifest.meta
    if meta.get("dimension") == 3:
        raise FileError(
            f"{place.name} is 3D; `box` is for 2D atlases.", code="wrong_dimension", field="box"
        )
    shape = manifest.arrays["cells"].shape
    unit, origin = float(meta["resolution"]), Pose.from_vector(meta["origin"])
    settings = AtlasSettings.from_json(meta["settings"])
    (columns, rows), visible = _bands(corners, origin, unit, shape, settings.reach)
    width = shape[1]
    nodes = manifest.arrays["nodes"].map(place)
    first, last = np.searchsorted(nodes, [rows[0] * width, rows[1] * width])
    row, column = np.divmod(nodes[first:last], width)
    inside = np.flatnonzero((column >= columns[0]) & (column < columns[1]))
    if inside.size == 0:
        corners_text = ", ".join(f"{value:g}" for value in box)
        raise FileError(
            f"{place.name} has no node in `box` ({corners_text}). Its corners are in m.",
            code="empty",
            field="box",
        )
    world = _cells(place, manifest, visible, unit, origin)
    left, low = visible[0][0], visible[1][0]
    walls = manifest.arrays["wall_distance"].rows(place, *visible[1])[:, slice(*visible[0])]
    farthest = np.float32(np.linalg.norm(world.shape))  # walls beyond the part may be nearest
    F = manifest.arrays["descriptors"].rows(place, int(first), int(last))
    return PlaneAtlas(
        world,
        readonly((row[inside] - low) * world.shape[1] + column[inside] - left),
        readonly(F[inside]),
        readonly(np.minimum(walls, farthest)),
        bridge_gaps(world, settings.gap).skip,
        bare_walls(world).skip,
        float(meta["spacing"]),
        settings,
        ReflectanceRange.of(world, settings.reflectance),
        nearest_reflectance(world),
        basis_from_json(meta["rose"], settings.channels) if "rose" in meta else None,
    )


def _bands(
    corners: FloatArray, origin: Pose, unit: float, shape: tuple[int, ...], reach: float
) -> tuple[tuple[Band, Band], tuple[Band, Band]]:
    """Return columns and rows of the cells that a box touches, and those that rays reach."""
    x, y = corners.T
    vertices = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    places = origin.inverse.apply(vertices) / unit
    margin = int(np.ceil(reach / unit)) + 1
    bands = []
    for width in (0, margin):
        low = np.floor(places.min(axis=0)) - width
        high = np.ceil(places.max(axis=0)) + width
        ends = np.clip(np.stack([low, high]), 0, shape[::-1]).astype(int)
        columns, rows = ((int(a), int(b)) for a, b in ends.T)
        bands.append((columns, rows))
    return bands[0], bands[1]


def _cells(
    place: Location, manifest: Manifest, bands: tuple[Band, Band], unit: float, origin: Pose
) -> OccupancyMap:
    """Return the map in bands of columns and rows."""
    columns, rows = bands
    width = manifest.arrays["cells"].shape[1]
    cells = manifest.arrays["cells"].rows(place, *rows)[:, slice(*columns)].copy()
    reflectance = None
    if "reflectance" in manifest.arrays:
        flat = manifest.arrays["reflectance"].rows(place, rows[0] * width, rows[1] * width)
        reflectance = flat.reshape(-1, width)[:, slice(*columns)].ravel()
    corner = origin @ Pose(columns[0] * unit, rows[0] * unit, 0.0)
    return OccupancyMap(cells, unit, corner, reflectance)
