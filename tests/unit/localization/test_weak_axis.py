"""How far a place can slide, in the plane and in space."""

import numpy as np
import pytest

import isovist as iv
from isovist import LocalizationSettings
from isovist.localization import slide
from isovist.localization.refine import refit
from isovist.localization.spread import covariances, information

USUAL = LocalizationSettings()


def rough_walls(*, room: bool) -> np.ndarray:
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


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("room", [False, True])
def test_a_place_in_a_corridor_is_as_wide_as_it_can_slide(dimension, room):
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
    beams = atlas.beams(scan, USUAL.beams[1], USUAL.block)
    start = np.asarray((pose @ scan.T_level_robot.inverse).vector)[None]
    fits = refit(atlas, beams, start, USUAL, tilt=False)
    known = information(fits.fit, beams.blocks, atlas.cell(fits.poses), USUAL)
    before = covariances(known, USUAL)[0]
    after = slide.slid(atlas, beams, fits.poses[0], before, USUAL)
    if room:
        np.testing.assert_array_equal(after, before)
        return
    assert np.sqrt(after[0, 0]) > 2.0 * np.sqrt(before[0, 0])
    assert 0.1 < np.sqrt(after[0, 0]) < 0.5
    assert after[1, 1] == pytest.approx(before[1, 1], abs=1e-3)
    np.testing.assert_array_equal(after[2:], before[2:])
    assert np.linalg.eigvalsh(after - before).min() > -1e-9


def test_an_answer_has_the_wider_ellipse(monkeypatch):
    world = iv.OccupancyMap(rough_walls(room=False), 0.1)
    atlas = iv.build(world)
    scan = iv.Lidar(beams=360, range_max=6.0).scan(
        world, iv.Pose(15.0, 1.6, 0.1), np.random.default_rng(1)
    )
    wide = iv.locate(atlas, scan).best
    monkeypatch.setattr(slide, "MUCH", np.inf)
    narrow = iv.locate(atlas, scan).best
    assert wide.pose == narrow.pose
    assert wide.covariance[0, 0] > 4.0 * narrow.covariance[0, 0]
