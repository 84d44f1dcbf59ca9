"""What the channels of nodes and of scans hold, in the plane and in space."""

import numpy as np
import pytest
from tests.support.atlas_parts import FAR, search_rings
from tests.support.reference_locate import building
from tests.support.reference_space import LIDAR, at, house, house_atlas

import isovist as iv

SETTINGS = iv.AtlasSettings()


def test_channels_that_look_into_unknown_space_are_far():
    cells = np.full((60, 80), iv.Cell.UNKNOWN)
    cells[10:50, 10:50] = iv.Cell.FREE
    cells[10:50, 9] = cells[9, 10:50] = cells[50, 10:50] = iv.Cell.OCCUPIED
    atlas = iv.build(iv.OccupancyMap(cells, 0.1), spacing=0.5)
    places = np.stack(atlas.rows_columns, axis=1)
    middle = np.argmin(np.abs(places - [30, 30]).sum(axis=1))
    row, column = places[middle]
    described = atlas.descriptors[middle, 0]
    assert described[0] == FAR
    assert described[32] == pytest.approx(np.log1p((column + 0.5 - 10) * 0.1), abs=0.02)
    assert described[16] == pytest.approx(np.log1p((50 - row - 0.5) * 0.1), abs=0.02)


def test_a_window_is_the_arc_that_the_scan_saw():
    scan = iv.Scan(np.radians(np.arange(-45.0, 46.0)), np.full(91, 2.0))
    window = iv.build(building()).window(scan, 0.3)
    assert 16 <= window.values.shape[2] <= 18
    np.testing.assert_allclose(window.values[window.seen], np.log(3.0), rtol=1e-6)


def test_rings_between_those_that_a_sensor_sees_are_not_seen():
    scan = LIDAR.scan(house(), at(5.0, 0.0, 0.7), np.random.default_rng(1))
    rise = np.arctan2(scan.points[:, 2], np.hypot(scan.points[:, 0], scan.points[:, 1]))
    outer = iv.CloudScan(scan.points[np.abs(rise) > np.radians(8.0)])
    rings = house_atlas().window(outer, 0.4).seen.any(axis=(0, 2))
    assert rings[0]
    assert rings[-1]
    assert not rings.all()


@pytest.mark.slow
def test_channels_of_a_cloud_are_weighted_means_of_its_bins():
    scan = LIDAR.scan(house(), at(4.2, 1.2, 3.0), np.random.default_rng(9))
    window, (rings, around) = house_atlas().window(scan, 0.4), (SETTINGS.rings, 64)
    assert SETTINGS.channels == around
    p, columns, rows = scan.points, 4 * around, 8 * rings
    column = np.floor(np.arctan2(p[:, 1], p[:, 0]) / (2.0 * np.pi) * columns).astype(int) % columns
    rise = np.arcsin(p[:, 2] / np.linalg.norm(p, axis=1))
    row = np.floor((rise / np.pi + 0.5) * rows).astype(int)
    signal = np.log1p(np.linalg.norm(p, axis=1))
    bins = np.unique(np.stack([row, column]), axis=1)
    means = np.array([signal[(row == r) & (column == c)].mean() for r, c in bins.T])
    elevation = ((bins[0] + 0.5) / rows - 0.5) * np.pi
    azimuth = 2.0 * np.pi * (bins[1] + 0.5) / columns
    flat = np.cos(elevation)
    for phase in range(2):
        turned = azimuth + phase * np.pi / around
        d = np.stack([flat * np.cos(turned), flat * np.sin(turned), np.sin(elevation)], axis=1)
        W = search_rings(rings, around).weights(d).reshape(len(d), rings, around)
        W = W[:, 2:14][:, window.ring : window.ring + 4]
        W *= flat[:, None, None]
        exact = np.einsum("b,brc->rc", means, W) / np.maximum(W.sum(axis=0), 1e-12)
        seen = window.seen[phase]
        assert seen.any(axis=1).sum() == 4
        np.testing.assert_allclose(window.values[phase][seen], exact[seen], rtol=1e-4)
