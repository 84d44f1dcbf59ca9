"""Treat the nodes of an atlas as a lattice: thin it, find neighbours and nodes in sight.

In 3D there may be several nodes above each other; a lattice is thinned by its columns.
"""

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import FloatArray, IntArray
from isovist.atlas import Atlas, PlaneAtlas
from isovist.surveying.plan import SurveyPlan


def lattice_of(atlas: Atlas) -> IntArray:
    """Return the row and the column of each node in the grid of nodes, shape (N, 2).

    In 3D the shape is (N, 3), and the first number counts the nodes below in the same column.
    """
    stride = round(atlas.spacing / atlas.world.resolution)
    if isinstance(atlas, PlaneAtlas):
        return np.stack(atlas.rows_columns, axis=-1) // stride
    _, rows, columns = np.unravel_index(atlas.nodes, atlas.world.shape)
    order = np.lexsort((atlas.nodes, columns, rows))
    first = np.flatnonzero(np.diff(rows[order], prepend=-1) | np.diff(columns[order], prepend=-1))
    below = np.empty(len(order), dtype=np.int64)
    below[order] = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
    return np.stack([below, rows // stride, columns // stride], axis=-1)


def shares_of_columns(atlas: Atlas, nodes: IntArray) -> FloatArray:
    """Return 1 over the number of nodes in the column of each node, shape (k,).

    It is 1 in 2D.
    """
    _, column, count = np.unique(
        lattice_of(atlas)[nodes, -2:], axis=0, return_inverse=True, return_counts=True
    )
    return np.asarray(1.0 / count[column.ravel()])


def thinned(atlas: Atlas, nodes: IntArray, count: int) -> tuple[IntArray, int]:
    """Return which of the nodes lie on a coarser lattice, about `count`, and its step."""
    step = max(1, int(np.ceil(np.sqrt(len(nodes) / count))))
    lattice = lattice_of(atlas)[nodes, -2:]
    index = np.flatnonzero((lattice % step == 0).all(axis=1))
    return (index, step) if index.size else (np.arange(0, len(nodes), step * step), step)


def neighbours(atlas: Atlas, nodes: IntArray, step: int) -> IntArray:
    """Return the lattice nodes around each node, within half a step, shape (Q, K · m).

    Where there is none, the node itself takes its place.
    """
    reach = np.arange(-(step // 2), step // 2 + 1)
    lattice = lattice_of(atlas)
    lattice[:, -2:] += step
    size = lattice.max(axis=0) + 1
    size[-2:] += step
    table = np.full(size, -1, dtype=np.int64)
    table[tuple(lattice.T)] = np.arange(len(lattice))
    *below, row, column = np.moveaxis(lattice[nodes], -1, 0)[..., None, None]
    number = table[(*below, row + reach[:, None], column + reach)]
    return np.where(number < 0, nodes[..., None, None], number).reshape(len(nodes), -1)


def in_sight(plan: SurveyPlan, viewpoints: IntArray) -> NDArray[np.int64]:
    """Return which of the viewpoints is the nearest one that each node of a plan sees.

    Where it sees none, it is the nearest of all.
    """
    from scipy.spatial import cKDTree

    places = plan.places
    targets = places[viewpoints]
    count = min(plan.settings.visibility.neighbours, len(viewpoints))
    index = cKDTree(targets).query(places, count)[1].reshape(len(places), count)
    directions = targets[index] - places[:, None]
    distances = np.linalg.norm(directions, axis=-1)
    directions[distances == 0.0, 0] = 1.0
    is_free = plan.atlas.world.cast(places[:, None], directions).ranges >= distances
    return np.asarray(index[np.arange(len(places)), np.argmax(is_free, axis=1)])
