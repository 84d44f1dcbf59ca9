"""A site that repeats itself: every copy of a place is found, however few candidates there are."""

from dataclasses import replace

import numpy as np
import pytest

import isovist as iv
from isovist import Lidar, LocalizationSettings, OccupancyMap, build
from isovist.localization.complete import complete
from isovist.localization.copies import ROUGHLY, copies
from isovist.localization.refine import refine
from isovist.maps import Cell
from isovist.poses import wrap_angle

USUAL = LocalizationSettings()
TILE = (5.45, 6.7)
"""Height and width of a room in m: no multiples of the spacing, so nodes lie otherwise in each."""


def rooms(down: int, across: int) -> OccupancyMap:
    """Equal rooms of no symmetry, walled off from each other."""
    height, width = (round(side / 0.05) for side in TILE)
    cells = np.full((height, width), Cell.FREE, dtype=np.uint8)
    cells[:2], cells[-2:], cells[:, :2], cells[:, -2:] = (Cell.OCCUPIED,) * 4
    cells[2:30, 60:64] = cells[70:90, 20:40] = cells[60:64, 100:] = Cell.OCCUPIED
    return OccupancyMap(np.tile(cells, (down, across)), 0.05)


@pytest.fixture(scope="module")
def site():
    return build(rooms(3, 3))


@pytest.fixture(scope="module")
def scan(site):
    lidar = Lidar(1.5 * np.pi, 180, 12.0, 0.02, clutter=0.1)
    return lidar.scan(site.world, iv.Pose(2.1, 1.9, 0.7), np.random.default_rng(3))


def listed(poses: np.ndarray) -> int:
    """How many of the nine copies are among poses."""
    found = 0
    for k in range(9):
        gap = poses[:, :2] - [2.1 + TILE[1] * (k % 3), 1.9 + TILE[0] * (k // 3)]
        near = np.hypot(*gap.T) <= 0.5
        found += bool((near & (np.abs(wrap_angle(poses[:, 2] - 0.7)) <= 0.17)).any())
    return found


@pytest.mark.slow
def test_copies_are_found_from_one_of_them(site, scan):
    one = refine(site, scan, np.array([[2.0, 2.0, 0.7]]), USUAL, keep=1)
    assert listed(one.poses) == 1
    assert listed(copies(site, scan, one, USUAL)) == 9


@pytest.mark.slow
def test_every_copy_is_listed_where_candidates_are_few(site, scan):
    few = replace(USUAL, seeds=(400, 4), listed=1000)
    answer = iv.locate(site, scan, settings=few)
    poses = np.stack([estimate.pose.vector for estimate in answer.estimates])
    assert answer.verdict is iv.Verdict.AMBIGUOUS
    assert listed(poses) == 9


@pytest.mark.slow
def test_a_search_of_some_headings_is_that_of_all_there(site, scan):
    beams = site.beams(scan, (40, 0.2), USUAL.block)
    model, rng = site.model(USUAL.model), np.random.default_rng(5)
    yaws = np.array([0.7, 2.1])
    found = complete(site, beams, model, 2.0, ROUGHLY, yaws=yaws)
    assert found.complete
    turned = np.abs(wrap_angle(found.boxes[:, 2, None] - yaws)).min(axis=1)
    assert (turned <= found.boxes[:, 4] + 1e-9).all()
    # No pose of these headings that rates so high is outside the boxes.
    places = rng.uniform([0.0, 0.0], [3 * TILE[1], 3 * TILE[0]], (20_000, 2))
    poses = np.column_stack([places, rng.choice(yaws, 20_000)])[site.world.contains(places)]
    ratings = site.rate(beams, poses, USUAL.model)[0].mean(axis=1)
    good = site.to_cells(poses[ratings >= 2.0])
    assert len(good) > 20
    inside = np.abs(good[:, None, :2] - found.boxes[:, :2]) <= found.boxes[:, 3, None] + 1e-9
    assert inside.all(axis=2).any(axis=1).all()


@pytest.mark.slow
def test_space_and_several_scans_have_none(site, scan):
    one = refine(site, scan, np.array([[2.0, 2.0, 0.7]]), USUAL, keep=1)
    assert copies(site, replace(scan, sigmas=np.full(180, 0.01)), one, USUAL).shape == (0, 3)
    assert copies(site, scan, one.select(np.array([], dtype=int)), USUAL).shape == (0, 3)
