"""Scans in the channels of an atlas."""

import numpy as np
import pytest
from tests.support.angles import unit_vectors
from tests.support.atlas_parts import search_basis
from tests.support.sites import PLANE

import isovist as iv
from isovist import LocalizationSettings

SEARCH = LocalizationSettings().search


@pytest.mark.parametrize("count", [200, 4097])
def test_channels_are_means_weighted_by_the_basis_and_the_angle_of_each_beam(count):
    """Also of more beams than have their weights kept, and with beams that are missing."""
    basis = search_basis(PLANE.atlas.settings.channels)
    bearings = np.sort(np.random.default_rng(0).uniform(-3.0, 3.0, count))
    place = PLANE.places[0]
    ranges = PLANE.world.cast(place.position, unit_vectors(bearings + place.yaw)).ranges
    owned = np.minimum(np.gradient(bearings), 2.0 * np.pi / len(basis))
    for k in range(3):
        left = np.arange(count) % (k + 2) > 0
        scan = iv.Scan(bearings, np.where(left, ranges, np.nan))
        window = PLANE.atlas.window(scan, SEARCH.min_seen_share(2))
        W = basis.weights(unit_vectors(bearings[left])) * owned[left, None]
        around = (window.first + np.arange(window.values.shape[-1])) % len(basis)
        values = (np.log1p(ranges[left]) @ W / W.sum(axis=0))[around]
        known = window.seen[0, 0]
        assert known.sum() > 0.3 * len(basis)
        np.testing.assert_allclose(window.values[0, 0, known], values[known], rtol=1e-6)
