"""Blocks of nodes that are described by themselves have the bits of the whole map."""

import pickle

import numpy as np
import pytest
from tests.support.cells import plane, space

import isovist as iv
from isovist.atlas import around, build_plane, build_space, cut


class Crew:
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


@pytest.mark.slow
@pytest.mark.parametrize(("side", "stride"), [(64, 2), (97, 3), (60, 5)])
def test_blocks_of_the_plane_have_the_bits_of_the_whole(side, stride):
    world = plane(1)
    settings = iv.AtlasSettings(spacing=0.1 * stride, reach=2.5)
    whole, crew = iv.build(world, settings=settings), Crew(side)
    shares = []
    tiled = build_plane(world, settings, shares.append, None, crew)
    assert len(crew.sizes) > 5
    assert max(crew.sizes) < world.cells.size
    assert shares == sorted(shares)
    assert (len(shares), shares[-1]) == (len(crew.sizes) + 1, 1.0)
    for name, array in whole.arrays().items():
        assert tiled.arrays()[name].tobytes() == array.tobytes(), name


@pytest.mark.slow
@pytest.mark.parametrize("side", [17, 40])
def test_blocks_of_space_have_the_bits_of_the_whole(side):
    world = space(1)
    settings = iv.AtlasSettings(spacing=0.4, reach=2.0, channels=32, rings=8)
    whole, crew = iv.build(world, settings=settings), Crew(side)
    shares = []
    tiled = build_space(world, whole.settings, None, shares.append, crew)
    assert len(crew.sizes) > 3
    assert max(crew.sizes) < world.cells.size
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    for name, array in whole.arrays().items():
        assert tiled.arrays()[name].tobytes() == array.tobytes(), name


def test_squares_share_out_the_cells_and_reach_beyond():
    boxes = cut((50, 70), 32)
    held = np.zeros((50, 70), dtype=int)
    for box in boxes:
        held[box] += 1
    assert (held == 1).all()
    assert len(boxes) == 6
    assert around((slice(32, 50), slice(0, 32)), (50, 70), 4.2) == (slice(20, 50), slice(0, 44))
