"""The nodes of an atlas as a lattice: every few of them, those around one, those in sight.

In space there may be several nodes above each other; a lattice is thinned by its columns.
"""

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import FloatArray, IntArray
from isovist.atlas.base import Atlas
from isovist.atlas.data.atlas2d import PlaneAtlas


def lattice_of(atlas: Atlas) -> IntArray:
    """Return the row and column of each node in the lattice of nodes, shape (N, 2).

    In 3D the shape is (N, 3): the first number is how many nodes lie below it in its column.
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


def shares_of_columns(atlas: Atlas, chosen: IntArray) -> FloatArray:
    """Return the share of its column that each chosen node stands for, shape (k,).

    It is 1 in 2D.
    """
    _, column, count = np.unique(
        lattice_of(atlas)[chosen, -2:], axis=0, return_inverse=True, return_counts=True
    )
    return np.asarray(1.0 / count[column.ravel()])


def thinned(atlas: Atlas, chosen: IntArray, most: int) -> tuple[IntArray, int]:
    """Return which of some nodes lie on a coarser lattice, about `most`, and its step."""
    step = max(1, int(np.ceil(np.sqrt(len(chosen) / most))))
    lattice = lattice_of(atlas)[chosen, -2:]
    kept = np.flatnonzero((lattice % step == 0).all(axis=1))
    return (kept, step) if kept.size else (np.arange(0, len(chosen), step * step), step)


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
    found = table[(*below, row + reach[:, None], column + reach)]
    return np.where(found < 0, nodes[..., None, None], found).reshape(len(nodes), -1)


def in_sight(atlas: Atlas, floor: IntArray, asked: IntArray) -> NDArray[np.int64]:
    """Return which of the nodes `asked` is the nearest one that each floor node sees.

    Where it sees none, it is the nearest of all.
    """
    from scipy.spatial import cKDTree

    here = atlas.positions[floor]
    there = here[asked]
    count = min(6, len(asked))
    index = cKDTree(there).query(here, count)[1].reshape(len(here), count)
    towards = there[index] - here[:, None]
    away = np.linalg.norm(towards, axis=-1)
    towards[away == 0.0, 0] = 1.0
    free = atlas.world.cast(here[:, None], towards).ranges >= away
    return np.asarray(index[np.arange(len(here)), np.argmax(free, axis=1)])
