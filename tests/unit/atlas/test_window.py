"""Scans in the channels of an atlas: kept for those that are asked again, and never changed."""

import numpy as np
import pytest
from tests.support.sites import PLANE, SITES

import isovist as iv
from isovist import LocalizationSettings
from isovist.atlas import windows

SHARES = LocalizationSettings().seen_share


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_scan_that_is_asked_again_has_the_same_channels(site):
    scan, share = site.look(site.places[0]), SHARES[site.atlas.dimension - 2]
    first = site.atlas.window(scan, share)
    assert site.atlas.window(scan, share) is first
    other = site.atlas.window(site.look(site.places[1]), share)
    assert other is not first
    for array in (first.values, first.seen):
        assert not array.flags.writeable
    alike = site.atlas.window(site.look(site.places[0]), share)
    np.testing.assert_array_equal(alike.values, first.values)
    np.testing.assert_array_equal(alike.seen, first.seen)


def test_scans_of_a_sensor_share_the_weights_of_its_beams():
    windows._beam_weights.cache_clear()
    rose = windows.search_rose(PLANE.atlas.settings.channels)
    for k in range(3):
        scan = PLANE.look(PLANE.places[0], seed=k)
        gone = np.arange(len(scan.ranges)) % (k + 2) == 0
        holes = iv.Scan(scan.bearings, np.where(gone, np.nan, scan.ranges))
        window = PLANE.atlas.window(holes, SHARES[0])
        seen = holes.bearings[holes.valid]
        owned = windows._shares(holes.bearings, 2.0 * np.pi / len(rose))[holes.valid]
        W = rose.weights(iv.poses.unit_vectors(seen)) * owned[:, None]
        around = (window.first + np.arange(window.values.shape[-1])) % len(rose)
        values = (np.log1p(holes.ranges[holes.valid]) @ W / W.sum(axis=0))[around]
        known = window.seen[0, 0]
        np.testing.assert_allclose(window.values[0, 0, known], values[known], rtol=1e-6)
    told = windows._beam_weights.cache_info()
    assert (told.misses, told.hits) == (1, 2)
    kept = windows._beam_weights(scan.bearings.tobytes(), rose)
    assert not any(array.flags.writeable for array in kept)
    assert kept[1].shape[-1] < 0.2 * len(rose)  # neighbours overlap, and no others


def test_weights_of_very_many_beams_are_not_kept():
    windows._beam_weights.cache_clear()
    bearings = np.linspace(-3.0, 3.0, windows.MANY + 1)
    PLANE.atlas.window(iv.Scan(bearings, np.full(bearings.shape, 2.0)), SHARES[0])
    assert windows._beam_weights.cache_info().currsize == 0
