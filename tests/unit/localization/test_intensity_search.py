"""A search by ranges and intensities together, in the plane."""

import numpy as np
import pytest
from tests.support.fits import USUAL, candidates
from tests.support.shining import BOTH, HERE, described, rooms, seen, with_strengths

from isovist.atlas import FAR, RAYS, search_rose
from isovist.localization import Floors
from isovist.poses import unit_vectors


@pytest.mark.slow
def test_the_second_ring_is_the_brightness_of_the_walls_that_rays_meet():
    world, both = rooms(), described(BOTH)
    n, dull, bright = both.settings.channels, *both.shine
    rays = unit_vectors(2.0 * np.pi * np.arange(RAYS * n) / (RAYS * n))
    W = search_rose(n).weights(rays)
    worst = []
    for k in np.flatnonzero((both.descriptors < FAR).all(axis=(1, 2)))[::97]:
        hits = world.cast(both.positions[k], rays)
        b = np.clip((world.reflectance[hits.walls] - dull) / (bright - dull), 0.0, 1.0)
        worst.append(np.abs(both.descriptors[k, 1] - b @ W / W.sum(axis=0)))
    assert np.median(worst) < 1e-5
    assert np.quantile(worst, 0.9) < 0.02  # the rest look at corners, where cells err by one


@pytest.mark.slow
def test_a_search_tells_rooms_of_one_shape_apart_by_intensities_alone():
    alone, together = (candidates(described(signal), seen()) for signal in ("range", BOTH))
    assert len(set((alone.poses[:20, 0] // 4.0).astype(int))) == 5
    room = (together.poses[:, 0] // 4.0).astype(int)
    right = int(HERE.x // 4.0)
    assert room[:2].tolist() == [right, right]
    assert together.costs[room != right].min() > 2.0 * together.costs[0]


def test_a_scan_without_intensities_or_in_other_units_is_searched_by_ranges():
    for strengths in (None, 255.0 * seen().intensities):
        quiet = with_strengths(seen(), strengths)
        one, two = (candidates(described(signal), quiet) for signal in ("range", BOTH))
        np.testing.assert_array_equal(one.poses, two.poses)
        np.testing.assert_array_equal(one.costs, two.costs)


def test_floors_of_both_rings_are_below_the_costs():
    both = described(BOTH)
    window = both.window(seen(), USUAL.seen_share[0])
    assert window.values.shape[1] == 2
    allowed = np.ones(2 * both.settings.channels, dtype=np.bool_)
    floors = Floors.make(both).under(window, allowed, USUAL.short)
    found = candidates(both, seen(), thorough=True)
    near = np.argmin(np.hypot(*(both.positions - found.poses[0, :2]).T))
    assert floors[near] <= found.costs[0] < floors.max()
