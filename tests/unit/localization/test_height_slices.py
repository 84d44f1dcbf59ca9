"""The search of 3D maps by the heights at which walls stand."""

import numpy as np
import pytest
from tests.support.fits import USUAL, candidates, sought
from tests.support.reference_space import LIDAR, at, house, house_atlas
from tests.support.worlds import FEW, street, street_atlas, tilt_between

import isovist as iv
from isovist.localization import SliceMap, competitors_of, height_slice_candidates
from isovist.localization.candidates import height_slices as slices
from isovist.maps import floor_levels
from isovist.poses import wrap_angle
from isovist.sensing import fit_ground, level_by_ground

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def town():
    return street()[0], street_atlas()


@pytest.fixture(scope="module")
def high_beams(town):
    """The plan of the street, ends of beams above the ground in squares, and their slices."""
    quarter, atlas = town
    scan, _ = level_by_ground(next(quarter.asks(1, FEW))[1])
    plan = SliceMap.of(atlas)
    return plan, slices._high_beams(scan, fit_ground(scan), 1.0, plan.square)


def near(found, truth):
    """Ranks of the candidates near the truth."""
    away = np.hypot(*(found.poses[:, :2] - truth.vector[:2]).T)
    turned = np.abs(wrap_angle(found.poses[:, 2] - truth.yaw))
    return np.flatnonzero((away < 1.5) & (turned < 0.12))


def test_bits_say_which_heights_above_the_floor_hold_a_wall_nearby():
    atlas = house_atlas()
    world, plan = atlas.world, SliceMap.of(atlas)
    assert plan.square == pytest.approx(0.4)
    floor = floor_levels(world)
    rng = np.random.default_rng(0)
    level, row, column = np.nonzero(world.cells == iv.Cell.OCCUPIED)
    z = world.corner[2] + (level + 0.5) * world.resolution
    height = z - floor[row, column]
    rows, columns = plan.floor.shape
    for r, c in np.column_stack([rng.integers(0, rows, 15), rng.integers(0, columns, 15)]):
        for codes, reach in zip(plan.bits, (1, 2, 4, 8), strict=True):
            beside = (np.abs(row // 4 - r) <= reach) & (np.abs(column // 4 - c) <= reach)
            tall = height[beside & (height >= slices.SLICE_EDGES_M[0])]
            slow = 0
            for h in tall:
                slow |= 1 << int(np.searchsorted(slices.SLICE_EDGES_M, h, side="right") - 1)
            assert codes[r + slices.BORDER, c + slices.BORDER] == slow


def test_costs_count_the_beams_that_miss(high_beams):
    plan, beams = high_beams
    rng = np.random.default_rng(1)
    rows, columns = plan.floor.shape
    some = np.column_stack([
        rng.integers(0, columns // 2, 50), rng.integers(0, rows // 2, 50), rng.integers(0, 40, 50)
    ])  # fmt: skip
    some = some[np.argsort(some[:, 2], kind="stable")]
    costs = slices._misses(plan.bits_within(1), beams, some, 2, 40)
    for (i, j, k), cost in zip(some, costs, strict=True):
        yaw = (k + 0.5) * 2.0 * np.pi / 40
        slow = 0
        for (x, y), mask in zip(*beams, strict=True):
            u = int(np.floor(x * np.cos(yaw) - y * np.sin(yaw))) + 2 * i + 1 + slices.BORDER
            v = int(np.floor(x * np.sin(yaw) + y * np.cos(yaw))) + 2 * j + 1 + slices.BORDER
            u = min(max(u, 0), plan.bits_within(1).shape[1] - 1)
            v = min(max(v, 0), plan.bits_within(1).shape[0] - 1)
            slow += int(plan.bits_within(1)[v, u] & mask == 0)
        assert cost == slow


def test_all_boxes_at_once_cost_what_each_costs_alone():
    rng = np.random.default_rng(3)
    codes = np.pad(rng.integers(0, 256, (61, 83), dtype=np.uint8), slices.BORDER)
    codes[:, [0, -1]] = codes[[0, -1]] = 0  # as the rim of a plan
    ends = rng.uniform(-60.0, 60.0, (40, 2))
    beams = slices.HighBeams(ends, (1 << rng.integers(0, 8, 40)).astype(np.uint8))
    places = np.array([[3, 0], [5, 0], [9, 1], [0, 3], [2, 3], [1, 6]])  # rows with gaps, and none
    heads = np.array([0, 7, 8, 79])
    all_at_once = slices._first_misses(codes, beams, places, heads)
    for head, counts in zip(heads, all_at_once, strict=True):
        boxes = np.column_stack([places, np.full(len(places), head)])
        alone = slices._misses(codes, beams, boxes, slices.LEVELS[0].size, slices.FIRST_HEADINGS)
        assert counts.tolist() == alone.tolist()
        assert 0 < counts.min() < counts.max() < len(ends)


def test_the_right_place_is_among_the_first_on_a_street_where_descriptors_miss_it(town):
    (quarter, atlas), missed = town, 0
    for truth, scan in quarter.asks(4, FEW):
        answer, (flat, _) = iv.locate(atlas, scan), level_by_ground(scan)
        found = height_slice_candidates(atlas, flat, None, USUAL)
        assert near(found, truth)[0] < 20
        missed += near(candidates(atlas, flat), truth).size == 0
        assert np.linalg.norm(answer.best.pose.position - truth.position) < 0.5
        assert tilt_between(answer.best.pose, truth) < 1.0
    assert missed > 0


def test_a_region_holds_for_height_slices(town):
    quarter, atlas = town
    truth, scan = next(quarter.asks(1, FEW))
    flat, _ = level_by_ground(scan)
    here = height_slice_candidates(atlas, flat, iv.Region.around(truth, 5.0, 0.5), USUAL)
    assert near(here, truth)[0] < 5
    assert (np.hypot(*(here.poses[:, :2] - truth.vector[:2]).T) < 5.0 + 2.0 * atlas.spacing).all()
    nowhere = iv.Region.circle((1e4, truth.y), 5.0)
    assert len(height_slice_candidates(atlas, flat, nowhere, USUAL).poses) == 0


def test_the_best_ratio_of_both_searches_counts_and_only_descriptors_if_nothing_is_high():
    truth, atlas = at(5.0, 0.0, 0.7), house_atlas()
    scan = LIDAR.scan(house(), truth, np.random.default_rng(0))
    both = sought(atlas, scan, thorough=True)
    leads = [view.candidates.cost_ratio(truth.vector, 1.0, 0.3) for view in both.views]
    assert len(leads) == 2
    assert both.cost_ratio(truth.vector, 1.0, 0.3) == max(leads)
    low = iv.CloudScan(scan.points[scan.points[:, 2] < -0.55])
    assert len(height_slice_candidates(atlas, low, None, USUAL).poses) == 0
    found = sought(atlas, low, thorough=True)
    assert len(found.poses) == len(candidates(atlas, low, is_full=True).poses)


def test_no_box_costs_more_than_one_of_its_halves(high_beams):
    plan, beams = high_beams
    rng, turns, size = np.random.default_rng(2), slices.FIRST_HEADINGS, 8
    rows, columns = plan.floor.shape
    heads = np.sort(rng.integers(0, turns, 200))
    places = rng.integers(0, [columns // size, rows // size], (200, 2))
    boxes = np.column_stack([places, heads])
    costs = slices._misses(plan.bits_within(8), beams, boxes, size, turns)
    for reach in (4, 1):
        known = {tuple(box): cost for box, cost in zip(boxes, costs, strict=True)}
        boxes, size, turns = slices._halves(np.unique(boxes, axis=0)), size // 2, 2 * turns
        costs = slices._misses(plan.bits_within(reach), beams, boxes, size, turns)
        assert all(c >= known[tuple(box // 2)] for box, c in zip(boxes, costs, strict=True))


def test_competitors_are_all_the_places_that_may_explain_a_scan_as_well(town):
    quarter, atlas = town
    for truth, scan in quarter.asks(3, FEW):
        flat, _ = level_by_ground(scan)
        here = (truth @ flat.T_level_robot.inverse).vector
        far = here + np.array([9.0, 4.0, 1.0, 0.0, 0.0, 0.0])
        found = competitors_of(atlas, flat, None, USUAL, np.stack([here, far]))
        assert (found.poses[:2] == [here, far]).all()
        assert found.cost_ratio(here, 1.5, 0.3) >= USUAL.decision.min_cost_ratio
        others = np.hypot(*(found.poses[2:, :2] - here[:2]).T) > 1.5
        assert others.sum() < 20
        # From a wrong place so much may be better that all must be looked at.
        assert competitors_of(atlas, flat, None, USUAL, far[None]).cost_ratio(far, 1.5, 0.3) == 0.0


def test_a_twin_is_a_competitor():
    """Two houses alike stand side by side."""
    cells, truth = house().cells, at(5.0, 0.0, 0.7)
    twice = np.concatenate([cells, cells], axis=1)
    atlas = iv.build(iv.VoxelMap.from_array(twice, 0.1, (3.0, -2.0, 0.4)))
    scan = LIDAR.scan(house(), truth, np.random.default_rng(0))
    found = height_slice_candidates(
        atlas, scan, None, USUAL, thorough=True, known_poses=truth.vector[None]
    )
    twin = iv.Pose3(truth.x, truth.y + 0.1 * cells.shape[1], truth.yaw, truth.z)
    assert near(found, truth).size > 0
    assert near(found, twin).size > 0
