"""Two walls that meet at a corner and both lie behind it: the nearer one is seen."""

import numpy as np
import pytest

from isovist import SegmentMap
from isovist.paper import squared_norms


@pytest.mark.slow
def test_every_piece_shows_the_wall_that_a_ray_through_its_middle_hits() -> None:
    room = SegmentMap.room(6, 4, walls=[[[3, 1], [3, 3]]], pillars=[(4.5, 1.5, 5, 2.5)])
    points = np.random.default_rng(1).uniform([0.01, 0.01], [5.99, 3.99], (500, 2))
    points = points[np.asarray(room.contains(points))]
    pieces = room.see(points)
    for p, angles, walls, count in zip(
        points, pieces.angles, pieces.walls, pieces.counts, strict=True
    ):
        middle = 0.5 * (angles[:count] + angles[1 : count + 1])
        hits = room.cast(p, np.stack([np.cos(middle), np.sin(middle)], axis=-1))
        np.testing.assert_array_equal(hits.walls, walls[:count])


def test_a_pillar_seen_from_beside_a_corner_hides_its_own_back() -> None:
    room = SegmentMap.room(6, 4, walls=[[[3, 1], [3, 3]]], pillars=[(4.5, 1.5, 5, 2.5)])
    assert np.isclose(squared_norms(room, [[5.5, 3.5]])[0], 24.6125, rtol=1e-13)
