"""Kernels of the complete search against plain Python and against rays, one by one."""

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.complete import USUAL, holds, random_cells, random_site, rated

from isovist import Cell, OccupancyMap, ProofSettings
from isovist.compute import meets_wall, use_backend
from isovist.localization import PoseProblem, pack_lines, search_pose_boxes
from isovist.maps import Ending


@pytest.mark.slow
def test_rays_that_are_said_to_meet_a_wall_do():
    rng = np.random.default_rng(3)
    said = 0
    for _ in range(8):
        cells = random_cells(rng, *rng.integers(30, 130, 2))
        world = OccupancyMap(cells, 1.0)
        walls = pack_lines(cells == Cell.OCCUPIED, fill=False)
        unknown = pack_lines(cells == Cell.UNKNOWN, fill=True)
        height, width = cells.shape
        for _ in range(40):
            x, y = rng.uniform(0, width), rng.uniform(0, height)
            a, b = rng.choice([0.25, 0.5, 1.0, 2.0]), rng.choice([0.005, 0.02, 0.05])
            angle, reach = rng.uniform(0, 2 * math.pi), rng.uniform(0, 60)
            if not meets_wall(walls, unknown, world.skip, x, y, a, b, angle, reach):
                continue
            said += 1
            for i, j, k in [(0, 0, 0), *rng.choice([-1.0, 1.0, 0.3, -0.6], (8, 3))]:
                px, py, turn = x + i * a, y + j * a, angle + k * b
                inside = 0 <= px < width and 0 <= py < height
                if inside and cells[int(py), int(px)] == Cell.FREE:
                    hit = world.cast([px, py], [math.cos(turn), math.sin(turn)], maximum=1e9)
                    assert hit.endings == Ending.WALL
                    assert hit.ranges <= reach
    assert said > 25


@pytest.mark.slow
def test_what_is_seen_through_walls_drops_boxes_but_not_the_right_one():
    atlas, scan, truth = random_site(np.random.default_rng(4))
    beams = atlas.beams(scan, (16, 0.1), USUAL.scoring.group)
    floor = float(rated(atlas, beams, truth[None])[0])
    cell = atlas.world.resolution
    blind = replace(
        ProofSettings(), max_box_m=4 * cell, max_box_rad=0.4, min_box_m=2 * cell, max_ray_box_m=0.0
    )
    kept = [
        search_pose_boxes(PoseProblem(atlas, beams, atlas.model(USUAL.model), floor), settings)
        for settings in (blind, replace(blind, max_ray_box_m=2 * cell))
    ]
    assert all(found.complete and holds(atlas, found, truth) for found in kept)
    assert len(kept[1].boxes) < len(kept[0].boxes)
    assert kept[1].wedges > 0


def test_beams_are_followed_for_as_long_as_there_is_time():
    """Boxes that time does not reach are kept."""
    atlas, scan, truth = random_site(np.random.default_rng(4))
    beams = atlas.beams(scan, (16, 0.1), USUAL.scoring.group)
    cell = atlas.world.resolution
    settings = replace(
        ProofSettings(), max_box_m=2 * cell, max_box_rad=0.4, min_box_m=cell, max_ray_box_m=2 * cell
    )
    floor = float(rated(atlas, beams, truth[None])[0])
    problem = PoseProblem(atlas, beams, atlas.model(USUAL.model), floor)
    with use_backend("cpu"):
        whole = search_pose_boxes(problem, settings)
        late = search_pose_boxes(problem, settings, seconds=0.0)
    assert whole.complete
    assert not late.complete
    assert 0 < late.wedges < whole.wedges
    assert holds(atlas, late, truth)
