"""Blocks of nodes that are described by themselves have the bits of the whole map."""

import pickle

import numpy as np
import pytest
from tests.support.cells import plane, space

import isovist as iv
from isovist.atlas import around, build_plane, build_space, squares


class Workers:
    """Blocks of squares of some side, described from the last to the first, as they travel."""

    def __init__(self, side):
        self.width, self.sizes = side, []

    def side(self, *_numbers):
        return self.width

    def describe(self, blocks):
        for block in reversed(list(blocks)):
            away = pickle.loads(pickle.dumps(block))
            self.sizes.append(away.clear.cells.size)
            yield block.slots, away.describe(lambda _share: None)


def of_plane(stride, tell, workers):
    settings = iv.AtlasSettings(spacing=0.1 * stride, reach=2.5)
    return iv.build(plane(1), settings=settings), build_plane(
        plane(1), settings, tell, None, workers
    )


def of_space(_stride, tell, workers):
    settings = iv.AtlasSettings(spacing=0.4, reach=2.0, channels=32, rings=8)
    whole = iv.build(space(1), settings=settings)
    return whole, build_space(space(1), whole.settings, None, tell, workers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "side", "stride"),
    [(of_plane, 64, 2), (of_plane, 97, 3), (of_plane, 60, 5), (of_space, 17, 2)],
)
def test_blocks_have_the_bits_of_the_whole(made, side, stride):
    workers, shares = Workers(side), []
    whole, tiled = made(stride, shares.append, workers)
    assert len(workers.sizes) > 3
    assert max(workers.sizes) < whole.world.cells.size
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert made is of_space or len(shares) == len(workers.sizes) + 1
    for name, array in whole.arrays().items():
        assert tiled.arrays()[name].tobytes() == array.tobytes(), name


def test_squares_share_out_the_cells_and_reach_beyond():
    boxes = squares((50, 70), 32)
    held = np.zeros((50, 70), dtype=int)
    for box in boxes:
        held[box] += 1
    assert (held == 1).all()
    assert len(boxes) == 6
    assert around((slice(32, 50), slice(0, 32)), (50, 70), 4.2) == (slice(20, 50), slice(0, 44))
