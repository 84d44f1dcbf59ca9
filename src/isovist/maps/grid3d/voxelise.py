"""Convert a mesh to the cells of a 3D map.

Every cell that a face touches is occupied.  Faces then separate the cells that are left: each
connected part of them is free as a whole, or not at all.
"""

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import FloatArray
from isovist.maps.cells import Cell
from isovist.maps.grid3d.grids import check_size
from isovist.maps.surfaces.mesh_map import MeshMap

MARGIN = 1.5
"""Cells around the mesh.  The half lets faces at its bounds run through the middle of cells."""


def cells_of_mesh(
    mesh: MeshMap, resolution: float
) -> tuple[NDArray[np.uint8], FloatArray, FloatArray | None]:
    """Return the `Cell` codes of a mesh, their corner in m, and each cell's reflectance."""
    from isovist.compute import mark_cells

    low, high = mesh.bounds
    corner = low - MARGIN * resolution
    shape = tuple(int(k) for k in np.ceil((high - corner) / resolution + MARGIN)[::-1])
    check_size(shape, "mesh")
    counts = np.zeros(shape, dtype=np.int32)
    shines = mesh.reflectance is not None
    sums = np.zeros(shape if shines else (0, 0, 0))
    values = np.zeros(len(mesh.faces)) if mesh.reflectance is None else mesh.reflectance.copy()
    corners = np.ascontiguousarray((mesh.vertices[mesh.faces] - corner) / resolution)
    mark_cells(corners, values, counts, sums)
    cells = np.where(counts > 0, Cell.OCCUPIED, Cell.FREE).astype(np.uint8)
    if mesh.free != "everywhere":
        cells[_not_free(mesh, counts > 0, corner, resolution)] = Cell.UNKNOWN
    return cells, corner, (sums / np.maximum(counts, 1)).ravel() if shines else None


def _not_free(
    mesh: MeshMap, walls: NDArray[np.bool_], corner: FloatArray, resolution: float
) -> NDArray[np.bool_]:
    """Return a mask of the cells outside the free space of a closed mesh, without its walls."""
    from scipy.ndimage import label

    parts, number = label(~walls)
    _, firsts = np.unique(parts, return_index=True)
    places = np.stack(np.unravel_index(firsts[-number:], walls.shape)[::-1], axis=-1)
    free = np.concatenate([[True], mesh.contains(corner + (places + 0.5) * resolution)])
    return np.asarray(~free[parts])
