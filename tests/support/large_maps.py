"""Maps in space whose cells come by blocks, as those of large buildings do."""

from contextlib import contextmanager

import numpy as np
import pytest

import isovist as iv
from isovist.maps import BlockGrid


def by_blocks(cells):
    """Cells of 1 m, by blocks whatever their number."""
    return iv.VoxelMap(BlockGrid.from_array(cells), 1.0, np.zeros(3))


def is_by_blocks(world):
    return isinstance(world.grid, BlockGrid)


@contextmanager
def counted_as_large():
    """While this lasts, every map in space is made by blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("isovist.maps.grid3d.grids.MAX_DENSE_CELLS", 0)
        yield
