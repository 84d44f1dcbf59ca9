"""How far a place can slide, in the plane and in space."""

from functools import lru_cache

import numpy as np
import pytest
from tests.support.errors import known_fault
from tests.support.fits import USUAL, fits_at

import isovist as iv
from isovist.localization import covariances, information, slid


def rough_walls(*, room):
    """A corridor of 30 m × 2.4 m along x, or a room of 4 m × 2.4 m, in cells of 0.1 m."""
    random = np.random.default_rng(3)
    cells = np.ones((32, 300), dtype=np.uint8)
    cells[4:28] = 0
    for row in (3, 28):  # of walls that a robot has mapped one cell in four is a cell too far off
        cells[row, random.random(300) < 0.25] = 0
    if room:
        cells = cells[:, 128:172]
        cells[:, :2] = cells[:, -2:] = 1
    return cells


@lru_cache
def case(dimension, room):
    """An atlas, a scan in its middle, and the covariance of a fit before and after (`slide`)."""
    cells = rough_walls(room=room)
    middle = 0.05 * cells.shape[1]
    if dimension == 2:
        world, sensor = iv.OccupancyMap(cells, 0.1), iv.Lidar(beams=360, range_max=6.0)
        pose = iv.Pose(middle, 1.6, 0.1)
    else:
        solid = np.concatenate([np.ones_like(cells[None]), np.repeat(cells[None], 24, axis=0)])
        solid = np.concatenate([solid, np.zeros_like(solid[:1])])
        world, sensor = iv.VoxelMap.from_array(solid, 0.1), iv.SpinningLidar(16, range_max=6.0)
        pose = iv.Pose3(middle, 1.6, 0.1, 1.2)
    atlas = iv.build(world)
    scan = sensor.scan(world, pose, np.random.default_rng(1))
    fits = fits_at(atlas, scan, [pose @ scan.T_level_robot.inverse])
    known = information(fits.fit, fits.beams.blocks, atlas.cell(fits.poses), USUAL)
    before = covariances(known, USUAL)[0]
    return atlas, scan, before, slid(atlas, fits.beams, fits.poses[0], before, USUAL)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("room", [False, True])
def test_a_place_in_a_corridor_is_as_wide_as_it_can_slide(dimension, room):
    _, _, before, after = case(dimension, room)
    if room:
        np.testing.assert_array_equal(after, before)
        return
    assert np.sqrt(after[0, 0]) > 2.0 * np.sqrt(before[0, 0])
    assert 0.1 < np.sqrt(after[0, 0]) < 0.5
    assert after[1, 1] == pytest.approx(before[1, 1], abs=1e-3)
    np.testing.assert_array_equal(after[2:], before[2:])
    assert np.linalg.eigvalsh(after - before).min() > -1e-9


IN_SPACE = known_fault("the last fit in space replaces the widened covariance")


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, pytest.param(3, marks=IN_SPACE)])
def test_an_answer_has_the_wider_covariance(dimension):
    atlas, scan, before, after = case(dimension, False)
    wide = np.sqrt(iv.locate(atlas, scan).best.covariance[0, 0])
    assert wide > 2.0 * np.sqrt(before[0, 0])
    assert wide == pytest.approx(np.sqrt(after[0, 0]), rel=0.2)
