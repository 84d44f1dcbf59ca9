"""The kernels and the parts of the survey, in the plane and in space, against slow twins."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.fits import reported_sigma
from tests.support.reference_locate import UNIT, building
from tests.support.reference_space import house, house_atlas
from tests.support.reference_survey import FULL, RINGS, compared, normal_of, rough_costs

import isovist as iv
from isovist import Lidar, LocalizationSettings, Pose, SurveyingSettings, build, certify
from isovist.atlas import FAR
from isovist.compute import rank_views, sum_information
from isovist.maps import standing_cells, standing_places
from isovist.surveying import (
    Channels,
    SurveyPlan,
    aliases,
    descriptor_slopes,
    distinctness,
    find_aliases,
    headings_of,
    lattice,
    standing_nodes,
    view_in_2d,
    view_in_3d,
)

pytestmark = pytest.mark.slow

NARROW = Lidar(field_of_view=np.radians(120.0), beams=120, range_max=4.0, noise=0.03)
SETTINGS, LOCALIZATION = SurveyingSettings(), LocalizationSettings()
FEW = SETTINGS.with_values({"visibility.max_views": 320})


@pytest.fixture(scope="module")
def atlas():
    return build(building())


@pytest.fixture(scope="module")
def floor(atlas):
    return floor_of(atlas)


def floor_of(atlas):
    return np.flatnonzero(standing_cells(atlas.world)[atlas.rows_columns])


def look_from(atlas, floor, lidar):
    return view_in_2d(SurveyPlan(atlas, floor, lidar, SETTINGS, LOCALIZATION))


def held(atlas, lidar, places, ranges, blocks, angles, width=2.0):
    normal = np.empty((len(places), len(blocks), 8), dtype=np.float32)
    seen = np.empty((len(places), len(blocks), 2), dtype=np.int16)
    sum_information(
        atlas.wall_distance, places, ranges, angles, blocks, lidar.noise / UNIT, width, normal, seen
    )
    return normal, seen


def test_normal_matrices_agree_with_the_twin_at_every_heading(atlas):
    rng = np.random.default_rng(0)
    places = rng.uniform([20, 20], [90, 60], (4, 2))
    angles = 2 * np.pi * np.arange(24) / 24 + 0.1
    ranges = rng.uniform(3.0, 40.0, (24, 4)).astype(np.float32)
    ranges[rng.random(ranges.shape) < 0.2] = np.inf
    blocks = np.full((2, 24), -1, dtype=np.int16)
    blocks[0] = np.arange(24) // 5
    blocks[1, 3:9] = [0, 0, 1, 1, 1, 4]
    normal, seen = held(atlas, FULL, places, ranges, blocks, angles)
    for i, place in enumerate(places):
        for h, block in enumerate(blocks):
            used = block >= 0
            twin = normal_of(atlas.wall_distance, place, ranges[used, i], angles[used], 0.6, 2.0)
            np.testing.assert_allclose(normal[i, h], twin, rtol=1e-3, atol=1e-2)
            back = used & np.isfinite(ranges[:, i])
            assert seen[i, h, 0] == back.sum()
            assert seen[i, h, 1] == len(set(block[back]))


def test_nodes_are_compared_and_put_in_order_as_by_the_twin():
    rng = np.random.default_rng(1)
    nodes = rng.uniform(0.0, 2.0, (9, 16)).astype(np.float32)
    views = rng.uniform(0.0, 2.0, (3, 16)).astype(np.float32)
    seen = rng.random((3, 16)) < 0.7
    which = np.stack([rng.permutation(9)[:6] for _ in range(3)])
    near = rng.random((9,)) < 0.4
    asked = which.copy()
    costs, turns = np.empty(which.shape, dtype=np.float32), np.empty(which.shape, dtype=np.int64)
    asking = near[which], views[:, None], seen[:, None]
    rank_views(nodes[:, None], *asking, 3, 0.25, 0.5, which, costs, turns)
    for q in range(3):
        twin = {a: compared(nodes[a], near[a], views[q], seen[q], 3, 0.25, 0.5) for a in asked[q]}
        np.testing.assert_allclose(costs[q], sorted(cost for cost, _ in twin.values()), atol=1e-5)
        for a, cost, turn in zip(which[q], costs[q], turns[q], strict=True):
            assert cost == pytest.approx(twin[a][0], abs=1e-5)
            assert turn == twin[a][1]


def test_the_shortlist_holds_the_nodes_nearest_in_rough_channels():
    rng = np.random.default_rng(2)
    known = rng.uniform(0.0, 3.0, (200, 64)).astype(np.float32)
    known[3, 10:30] = 1000.0
    values = rng.uniform(0.0, 2.0, (5, 64)).astype(np.float32)
    seen = np.zeros((5, 64), dtype=np.bool_)
    seen[:, 6:45] = True
    nodes = np.full((200, 2), 100.0)
    views = Channels(values[:, None], seen[:, None], np.zeros((5, 2)))
    chosen = aliases.shortlist(all_of(known, nodes), views, SETTINGS.aliases, 0.5)
    group, most = SETTINGS.aliases.channels_per_group, SETTINGS.aliases.shortlist
    o, _ = aliases._grouped(views, group)
    for q in range(5):
        costs = rough_costs(known, values[q], seen[q], group, o.max() + 0.5)
        assert set(chosen[q]) == set(np.argsort(costs)[:most])


def all_of(values, places):
    return Channels(values[:, None], np.ones((len(values), 1, 64), dtype=np.bool_), places)


def test_the_place_itself_is_no_alias_of_itself():
    rng = np.random.default_rng(3)
    known = rng.uniform(0.0, 3.0, (200, 64)).astype(np.float32)
    nodes = np.column_stack([10.0 * np.arange(200), np.zeros(200)])
    away, here = (
        aliases.shortlist(all_of(known, nodes), all_of(known[:1], place), SETTINGS.aliases, 0.5)
        for place in (np.array([[5000.0, 0.0]]), nodes[:1])
    )
    assert 0 in away
    assert 0 not in here


def test_neighbours_are_the_nodes_within_half_a_step(atlas, drone):
    for site, of_nodes in ((atlas, (300,)), (drone, (20, len(drone.nodes) // 2, -20))):
        places = site.positions
        for node in np.arange(len(places))[list(of_nodes)]:
            around = lattice.neighbours(site, np.array([[node]]), 2)[0]
            near = np.abs(places[:, :2] - places[node, :2]).max(axis=1) <= site.spacing + 1e-9
            if site is drone:
                near &= lattice.lattice_of(site)[:, 0] == lattice.lattice_of(site)[node, 0]
            assert set(around) == set(np.flatnonzero(near))


def test_a_node_takes_its_alias_from_one_that_it_sees(atlas, floor):
    asked, _ = lattice.thinned(atlas, floor, len(floor) // 9)
    take = lattice.in_sight(SurveyPlan(atlas, floor, FULL, SETTINGS, LOCALIZATION), asked)
    here, there = atlas.positions[floor], atlas.positions[floor[asked[take]]]
    away = np.hypot(*(there - here).T)
    assert np.quantile(away, 0.95) < 4 * atlas.spacing
    towards = np.where(away[:, None] > 0, there - here, [1.0, 0.0])
    assert (atlas.world.cast(here, towards).ranges >= away).mean() > 0.97


@given(st.integers(0, 10_000))
def test_mu_is_the_least_singular_value_with_the_heading_taken_out(seed):
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(3, 2, 8)).astype(np.float32)
    in_view = np.array([[True] * 8, [True] * 5 + [False] * 3])
    mu, S = distinctness(J, in_view)
    for i in range(2):
        for h in range(2):
            A = J[:, i, in_view[h]].T.astype(np.float64)
            q = A[:, 2] / np.linalg.norm(A[:, 2])
            P = A[:, :2] - np.outer(q, q @ A[:, :2])
            assert mu[i, h] == pytest.approx(np.linalg.svd(P)[1][-1], abs=1e-3)
            np.testing.assert_allclose(S[i, h], P.T @ P, atol=1e-4)


def test_mu_is_near_that_of_the_certificate(atlas, floor):
    lidar = Lidar(beams=720, range_max=30.0, noise=0.0)
    some = floor[50::150]
    views = look_from(atlas, some, lidar)
    ratios = []
    for k, (x, y) in enumerate(atlas.positions[some]):
        pose = Pose(float(x), float(y), 0.0)
        scan = lidar.scan(atlas.world, pose, np.random.default_rng(0))
        ratios.append(views.mu[k, 0] / certify(atlas.world, scan, pose, []).mu)
    assert np.median(ratios) == pytest.approx(1.0, abs=0.25)


def test_sigma_is_what_an_answer_reports_in_the_plane_and_in_space(atlas, floor):
    house, rng = house_atlas(), np.random.default_rng(0)
    standing, some = standing_nodes(house), floor[20::120]
    views = view_in_3d(SurveyPlan(house, standing, RINGS, FEW, LOCALIZATION))
    asked = views.viewpoints[::4]
    assert (views.witnesses >= LOCALIZATION.decision.min_groups).all()
    for site, lidar, places, sigmas in (
        (atlas, FULL, atlas.positions[some], look_from(atlas, some, FULL).sigma[:, 0]),
        (house, RINGS, house.positions[standing[asked]], views.sigma[asked, 0]),
    ):
        ratios = []
        for (x, y, *z), sigma in zip(places, sigmas, strict=True):
            pose = iv.Pose3(x, y, 0.0, *z) if z else Pose(x, y)
            scan = lidar.scan(site.world, pose, rng)
            ratios.append(sigma / reported_sigma(site, scan, pose))
        assert np.median(ratios) == pytest.approx(1.0, abs=0.2)


def test_a_narrow_view_has_several_headings_that_share_the_circle():
    headings, blocks = headings_of(NARROW, 256, 8, np.radians(10.0))
    assert len(headings) == 8
    share = (blocks >= 0).sum(axis=1) / 256
    np.testing.assert_allclose(share, 1 / 3, atol=1 / 256)
    assert (blocks >= 0).any(axis=0).all()
    assert blocks.max() == 11
    assert len(headings_of(FULL, 256, 8, np.radians(10.0))[0]) == 1


def test_a_narrow_view_sees_a_part_of_the_full_one(atlas, floor):
    some = floor[::40]
    wide = look_from(atlas, some, Lidar(range_max=4.0, noise=0.03))
    narrow = look_from(atlas, some, NARROW)
    assert (narrow.beams <= wide.beams).all()
    assert (narrow.mu <= wide.mu + 1e-9).all()
    assert (np.median(narrow.sigma, axis=1) >= wide.sigma[:, 0]).all()


def test_a_turned_map_turns_the_weakest_direction(atlas, floor):
    origin = Pose(3.0, -7.0, np.pi / 2)
    turned = build(building(origin))
    some = floor[::60]
    one, other = look_from(atlas, some, FULL), look_from(turned, some, FULL)
    along = np.abs(np.sum(one.weakest @ origin.rotation.T * other.weakest, axis=1))
    assert np.median(along) == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(other.mu, one.mu, rtol=0.05, atol=0.02)


def test_slopes_are_differences_between_neighbouring_nodes():
    atlas = house_atlas()
    mu, weakest = descriptor_slopes(atlas)
    places = atlas.positions
    F = atlas.descriptors.reshape(len(places), -1).astype(float)
    h = atlas.spacing
    checked = 0
    for k in range(0, len(places), 37):
        columns = []
        for axis in (0, 1):
            step = np.zeros(3)
            step[axis] = h
            a = np.flatnonzero(np.linalg.norm(places - places[k] - step, axis=1) < 1e-6)
            b = np.flatnonzero(np.linalg.norm(places - places[k] + step, axis=1) < 1e-6)
            if a.size == 0 or b.size == 0:
                break
            both = (F[a[0]] < FAR) & (F[b[0]] < FAR)
            columns.append(np.where(both, F[a[0]] - F[b[0]], 0.0) / (2.0 * h))
        if len(columns) == 2:
            _, s, V = np.linalg.svd(np.stack(columns, axis=1), full_matrices=False)
            assert mu[k] == pytest.approx(s[1], rel=1e-6, abs=1e-6)
            assert abs(V[1] @ weakest[k]) == pytest.approx(1.0, abs=1e-4)
            checked += 1
    assert checked > 3


def test_a_sensor_that_sees_for_ever_is_one_that_sees_far(atlas):
    floor = np.arange(5)
    far, for_ever = (look_from(atlas, floor, replace(FULL, range_max=r)) for r in (1e6, 1e308))
    np.testing.assert_array_equal(far.ranges, for_ever.ranges)
    np.testing.assert_array_equal(far.sigma, for_ever.sigma)


@pytest.fixture(scope="module")
def drone():
    """An atlas with nodes at three heights."""
    return build(house(), height=(0.8, 1.4))


def test_nodes_above_each_other_share_their_floor(drone):
    every = np.arange(len(drone.nodes))
    shares = lattice.shares_of_columns(drone, every)
    assert shares.sum() * drone.spacing**2 == pytest.approx(drone.area)
    assert shares.min() == pytest.approx(1 / 3)
    one = house_atlas()
    assert (lattice.shares_of_columns(one, np.arange(len(one.nodes))) == 1.0).all()


def test_columns_are_thinned_and_heights_are_kept(drone):
    count = len(drone.nodes)
    kept, step = lattice.thinned(drone, np.arange(count), count // 3)
    assert step == 2
    assert 0.15 < len(kept) / count < 0.35
    assert set(lattice.lattice_of(drone)[kept, 0]) == {0, 1, 2}


@pytest.mark.parametrize("atlas", ["house", "drone"])
def test_nodes_with_room_are_where_a_sensor_can_stand(atlas, request):
    atlas = house_atlas() if atlas == "house" else request.getfixturevalue("drone")
    floor = standing_nodes(atlas)
    assert 0 < len(floor) < len(atlas.nodes)
    low, high = atlas.heights
    stands = [
        standing_places(atlas.world, height=h) for h in np.arange(low, high + 1e-9, atlas.spacing)
    ]
    gap = np.linalg.norm(atlas.positions[floor][:, None] - np.concatenate(stands), axis=2)
    assert (gap.min(axis=1) <= atlas.world.resolution).all()


def test_a_view_looks_like_its_own_node_at_every_heading():
    atlas = house_atlas()
    floor = standing_nodes(atlas)
    narrow = iv.SpinningLidar(rings=8, azimuths=90, range_max=12.0, noise=0.0, field_of_view=np.pi)
    few = SETTINGS.with_values({"visibility.max_views": 640})
    plan = SurveyPlan(atlas, floor, narrow, few, LOCALIZATION)
    views = view_in_3d(plan)
    assert views.sigma.shape == (len(floor), 8)
    nodes = floor[views.viewpoints]
    for heading in range(8):
        values, seen, _ = views.channels(plan, heading)
        assert values.shape == seen.shape == (len(nodes), *atlas.descriptors.shape[1:])
        own = np.abs(values - atlas.descriptors[nodes])[seen]
        other = np.abs(values - atlas.descriptors[np.roll(nodes, 7)])[seen]
        assert np.median(own) < 0.5 * np.median(other)
    plan = SurveyPlan(atlas, floor, RINGS, FEW, LOCALIZATION)
    full = view_in_3d(plan)
    assert full.headings.tolist() == [0.0]
    found = find_aliases(plan, full)
    assert np.isfinite(found.place).all()
    gap = np.hypot(*(found.place[:, 0] - atlas.positions[floor, :2]).T)
    here = np.isin(np.arange(len(floor)), full.viewpoints)
    turned = (
        np.abs(found.turn[:, 0]) > FEW.aliases.min_turn_rad - 2.0 * np.pi / atlas.settings.channels
    )
    assert ((gap >= FEW.aliases.min_distance_m - 1e-9) | turned)[here].all()
