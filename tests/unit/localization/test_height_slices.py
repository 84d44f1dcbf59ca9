"""The second door of the search in space: walls by height above the ground."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from tests.support.reference_space import LIDAR, at, house, house_atlas
from tests.support.worlds import FEW, street, street_atlas, tilt_between

import isovist as iv
from isovist import CloudScan, LocalizationSettings, Verdict
from isovist.atlas import SpaceAtlas
from isovist.localization import several, slices
from isovist.localization.search import search
from isovist.localization.slices import Plan, by_slices
from isovist.maps import Cell, floor_levels
from isovist.poses import wrap_angle
from isovist.sensing import levelled

USUAL = LocalizationSettings()


@pytest.fixture(scope="module")
def town():
    return street()[0], street_atlas()


@pytest.fixture(scope="module")
def answers(town):
    """Poses, scans and answers on the street, and of each search whether it was thorough."""
    quarter, atlas = town
    looks, whole = [], several.search

    def search_counted(*given, **named):
        looks.append(named["thorough"])
        return whole(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(several, "search", search_counted)
        asked = [(truth, scan, iv.locate(atlas, scan)) for truth, scan in quarter.asks(4, FEW)]
    return asked, looks


def near(found, truth):
    """Ranks of the candidates near the truth."""
    away = np.hypot(*(found.poses[:, :2] - truth.vector[:2]).T)
    turned = np.abs(wrap_angle(found.poses[:, 2] - truth.yaw))
    return np.flatnonzero((away < 1.5) & (turned < 0.12))


@pytest.mark.slow
def test_bits_say_which_heights_above_the_floor_hold_a_wall_nearby():
    atlas = house_atlas()
    assert isinstance(atlas, SpaceAtlas)
    world, plan = atlas.world, Plan.of(atlas)
    assert plan.unit == pytest.approx(0.4)
    floor = floor_levels(world)
    rng = np.random.default_rng(0)
    level, row, column = np.nonzero(world.cells == Cell.OCCUPIED)
    z = world.corner[2] + (level + 0.5) * world.resolution
    height = z - floor[row, column]
    rows, columns = plan.floor.shape
    for r, c in np.column_stack([rng.integers(0, rows, 15), rng.integers(0, columns, 15)]):
        for codes, reach in zip(plan.bits, (1, 2, 4, 8), strict=True):
            beside = (np.abs(row // 4 - r) <= reach) & (np.abs(column // 4 - c) <= reach)
            tall = height[beside & (height >= slices.SLICES[0])]
            slow = 0
            for h in tall:
                slow |= 1 << int(np.searchsorted(slices.SLICES, h, side="right") - 1)
            assert codes[r + slices.BORDER, c + slices.BORDER] == slow


@pytest.mark.slow
def test_costs_count_the_beams_that_miss(town):
    quarter, atlas = town
    _, scan = next(quarter.asks(1, FEW))
    scan, _ = levelled(scan)
    plan = Plan.of(atlas)
    ends, masks = slices._standing_out(scan, slices.ground_of(scan), 1.0)
    rng = np.random.default_rng(1)
    rows, columns = plan.floor.shape
    some = np.column_stack([
        rng.integers(0, columns // 2, 50), rng.integers(0, rows // 2, 50), rng.integers(0, 40, 50)
    ])  # fmt: skip
    some = some[np.argsort(some[:, 2], kind="stable")]
    costs = slices._misses(plan.within(1), ends / plan.unit, masks, some, 2, 40)
    for (i, j, k), cost in zip(some, costs, strict=True):
        yaw = (k + 0.5) * 2.0 * np.pi / 40
        slow = 0
        for (x, y), mask in zip(ends / plan.unit, masks, strict=True):
            u = int(np.floor(x * np.cos(yaw) - y * np.sin(yaw))) + 2 * i + 1 + slices.BORDER
            v = int(np.floor(x * np.sin(yaw) + y * np.cos(yaw))) + 2 * j + 1 + slices.BORDER
            u = min(max(u, 0), plan.within(1).shape[1] - 1)
            v = min(max(v, 0), plan.within(1).shape[0] - 1)
            slow += int(plan.within(1)[v, u] & mask == 0)
        assert cost == slow


def test_all_boxes_at_once_cost_what_each_costs_alone():
    rng = np.random.default_rng(3)
    codes = np.pad(rng.integers(0, 256, (61, 83), dtype=np.uint8), slices.BORDER)
    codes[:, [0, -1]] = codes[[0, -1]] = 0  # as the rim of a plan
    ends = rng.uniform(-60.0, 60.0, (40, 2))
    masks = (1 << rng.integers(0, 8, 40)).astype(np.uint8)
    places = np.array([[3, 0], [5, 0], [9, 1], [0, 3], [2, 3], [1, 6]])  # rows with gaps, and none
    heads = np.array([0, 7, 8, 79])
    all_at_once = slices._misses_of_all(codes, ends, masks, places, heads)
    for head, counts in zip(heads, all_at_once, strict=True):
        boxes = np.column_stack([places, np.full(len(places), head)])
        alone = slices._misses(codes, ends, masks, boxes, slices.ROUNDS[0][0], slices.TURNS)
        assert counts.tolist() == alone.tolist()
        assert 0 < counts.min() < counts.max() < len(ends)


@pytest.mark.slow
def test_the_first_round_looks_at_all_boxes_at_once(town, monkeypatch):
    quarter, atlas = town
    _, scan = next(quarter.asks(1, FEW))
    flat, _ = levelled(scan)
    alone = []
    each = slices._misses

    def counted(codes, ends, masks, boxes, size, turns, budget=slices.NO_LIMIT):
        alone.append(turns)
        return each(codes, ends, masks, boxes, size, turns, budget)

    monkeypatch.setattr(slices, "_misses", counted)
    assert len(by_slices(atlas, flat, None, USUAL).poses) > 0
    assert alone
    assert slices.TURNS not in alone


@pytest.mark.slow
def test_the_right_place_is_among_the_first_on_a_street_where_descriptors_miss_it(town, answers):
    atlas, missed = town[1], 0
    for truth, scan, answer in answers[0]:
        flat, _ = levelled(scan)
        found = by_slices(atlas, flat, None, USUAL)
        assert near(found, truth)[0] < 20
        missed += near(search(atlas, flat, None, USUAL), truth).size == 0
        assert np.linalg.norm(answer.best.pose.position - truth.position) < 0.5
        assert tilt_between(answer.best.pose, truth) < 1.0
    assert missed > 0


@pytest.mark.slow
def test_a_prior_holds_for_both_doors(town):
    quarter, atlas = town
    truth, scan = next(quarter.asks(1, FEW))
    flat, _ = levelled(scan)
    here = by_slices(atlas, flat, iv.Region.around(truth, 5.0, 0.5), USUAL)
    assert near(here, truth)[0] < 5
    assert (np.hypot(*(here.poses[:, :2] - truth.vector[:2]).T) < 5.0 + 2.0 * atlas.spacing).all()
    nowhere = iv.Region.around(replace_x(truth, 1e4), 5.0)
    assert len(by_slices(atlas, flat, nowhere, USUAL).poses) == 0


def replace_x(pose, x):
    return iv.Pose3(x, pose.y, pose.yaw, pose.z)


def test_where_nothing_stands_out_only_descriptors_are_asked():
    truth = at(5.0, 0.0, 0.7)
    scan = LIDAR.scan(house(), truth, np.random.default_rng(0))
    low = CloudScan(scan.points[scan.points[:, 2] < -0.55])
    assert len(by_slices(house_atlas(), low, None, USUAL).poses) == 0
    found = several.seek(house_atlas(), low, None, USUAL, thorough=True)
    assert len(found.poses) == len(search(house_atlas(), low, None, USUAL, thorough=True).poses)


def test_the_best_lead_of_the_two_doors_counts():
    truth = at(5.0, 0.0, 0.7)
    scan = LIDAR.scan(house(), truth, np.random.default_rng(0))
    both = several.seek(house_atlas(), scan, None, USUAL, thorough=True)
    assert len(both.each) == 2
    assert isinstance(both, several.ManyCandidates)
    leads = [found.lead(truth.vector, 1.0, 0.3) for found, _ in both.each]
    assert both.lead(truth.vector, 1.0, 0.3) == max(leads)


@lru_cache
def twin_houses():
    """An atlas of two houses alike, side by side."""
    cells = house().cells
    twice = np.concatenate([cells, cells], axis=1)
    return iv.build(iv.VoxelMap.from_array(twice, 0.1, (3.0, -2.0, 0.4)))


@pytest.mark.slow
def test_a_house_of_twins_stays_ambiguous():
    atlas = twin_houses()
    scan = replace(LIDAR, rings=32).scan(house(), at(5.0, 0.0, 0.7), np.random.default_rng(0))
    assert iv.locate(atlas, scan).verdict is Verdict.AMBIGUOUS


@pytest.mark.slow
def test_no_box_costs_more_than_one_of_its_halves(town):
    quarter, atlas = town
    _, scan = next(quarter.asks(1, FEW))
    scan, _ = levelled(scan)
    plan = Plan.of(atlas)
    ends, masks = slices._standing_out(scan, slices.ground_of(scan), 1.0)
    rng, turns, size = np.random.default_rng(2), slices.TURNS, 8
    rows, columns = plan.floor.shape
    heads = np.sort(rng.integers(0, turns, 200))
    places = rng.integers(0, [columns // size, rows // size], (200, 2))
    boxes = np.column_stack([places, heads])
    costs = slices._misses(plan.within(8), ends / plan.unit, masks, boxes, size, turns)
    for reach in (4, 1):
        known = {tuple(box): cost for box, cost in zip(boxes, costs, strict=True)}
        boxes, size, turns = slices._halves(np.unique(boxes, axis=0)), size // 2, 2 * turns
        costs = slices._misses(plan.within(reach), ends / plan.unit, masks, boxes, size, turns)
        assert all(c >= known[tuple(box // 2)] for box, c in zip(boxes, costs, strict=True))


@pytest.mark.slow
def test_rivals_are_all_the_places_that_may_explain_a_scan_as_well(town):
    quarter, atlas = town
    for truth, scan in quarter.asks(3, FEW):
        flat, _ = levelled(scan)
        here = (truth @ flat.T_level_robot.inverse).vector
        far = here + np.array([9.0, 4.0, 1.0, 0.0, 0.0, 0.0])
        found = slices.rivals(atlas, flat, None, USUAL, np.stack([here, far]))
        assert (found.poses[:2] == [here, far]).all()
        assert found.lead(here, 1.5, 0.3) >= USUAL.lead
        others = np.hypot(*(found.poses[2:, :2] - here[:2]).T) > 1.5
        assert others.sum() < 20
        # From a wrong place so much may be better that all must be looked at.
        assert slices.rivals(atlas, flat, None, USUAL, far[None]).lead(far, 1.5, 0.3) == 0.0


@pytest.mark.slow
def test_a_twin_is_a_rival():
    atlas, rows = twin_houses(), house().cells.shape[1]
    truth = at(5.0, 0.0, 0.7)
    scan = LIDAR.scan(house(), truth, np.random.default_rng(0))
    found = by_slices(atlas, scan, None, USUAL, thorough=True, known=truth.vector[None])
    if len(found.poses):  # or so much is as good that the door does not tell
        twin = iv.Pose3(truth.x, truth.y + 0.1 * rows, truth.yaw, truth.z)
        assert near(found, truth).size > 0
        assert near(found, twin).size > 0
    else:
        assert found.left_out == 0.0


@pytest.mark.slow
def test_one_place_that_both_doors_find_is_looked_for_no_closer(answers):
    asked, looks = answers
    assert len(looks) >= len(asked)
    for truth, _, answer in asked:
        if answer.verdict is Verdict.UNIQUE:
            assert np.linalg.norm(answer.best.pose.position - truth.position) < 0.5
    assert looks.count(True) < 2
