"""Kernels that choose: each beside a plain twin."""

import numpy as np
import pytest

from isovist import Pose
from isovist.compute import (
    channels_of,
    cheapest,
    cheapest_distinct,
    compose,
    heaviest,
    invert,
    min_cost_near,
    min_cost_within,
    observed_first,
    order_by_place,
    place_poses,
    thin_beams,
)
from isovist.localization import major_axis
from isovist.poses import swing, unit_vectors, wrap_angle


@pytest.fixture
def random():
    return np.random.default_rng(3)


def as_poses(places, nodes, yaws):
    """(x, y, yaw) or (x, y, yaw, z, 0, 0) at nodes."""
    poses = np.zeros((len(nodes), 3 if places.shape[1] == 2 else 6))
    poses[:, :2], poses[:, 2] = places[nodes, :2], yaws
    if places.shape[1] == 3:
        poses[:, 3] = places[nodes, 2]
    return poses


@pytest.mark.parametrize("d", [2, 3])
def test_poses_stand_at_nodes(random, d):
    places, nodes = random.normal(size=(50, d)), random.integers(0, 50, 70)
    yaws, poses = random.normal(size=70), np.full((70, 3 * (d - 1)), np.nan)
    place_poses(places, nodes, yaws, poses)
    np.testing.assert_array_equal(poses, as_poses(places, nodes, yaws))


def alike(pose, others, radius, turn):
    """Return which of `others` are alike `pose`, as (x, y, yaw, …, z)."""
    gaps = np.delete(others - pose, 2, axis=1)
    turns = np.abs(wrap_angle(others[:, 2] - pose[2]))
    return ((gaps**2).sum(axis=1) < radius**2) & (turns < turn)


def slowly_apart(costs, headings, nodes, places, yaws, dearest, radius, turn, most):
    """Poses and costs of the cheapest, one by one."""
    flat, chosen = costs.ravel(), []
    order = np.argsort(flat, kind="stable")
    order = order[np.isfinite(flat[order]) & (flat[order] <= dearest)]
    poses = as_poses(places, nodes[order // costs.shape[1]], yaws[headings.ravel()[order]])
    for k, pose in enumerate(poses):
        if len(chosen) == most:
            break
        if not alike(pose, poses[chosen], radius, turn).any():
            chosen.append(k)
    return poses[chosen], flat[order[chosen]]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("dearest", [np.inf, 1.2, -1.0])
def test_the_cheapest_come_first_and_none_is_alike_one_before(random, d, dearest):
    # Nodes of a lattice, in no order, some of which share squares far apart.
    axes = np.meshgrid(*[0.3 * np.arange(-12, 12)] * d)
    places = np.stack(axes, axis=-1).reshape(-1, d)
    places[len(places) // 2 :, 0] += 4000.0
    nodes = random.permutation(len(places))[:150]
    # Many are equal, and their bits differ in each of the three parts that are sorted by.
    some = random.choice([0.0, 1e-6, 0.5, 1.0, 1.0 + 2**-20, 1.5, 900.0], (150, 4))
    for drawn in (some, np.ones((150, 4)), random.uniform(0.2, 0.3, (150, 4))):
        costs = np.sort(drawn).astype(np.float32)
        costs[random.random(costs.shape) < 0.2] = np.inf
        for count, radius, turn in ((128, 0.4, 0.2), (100, 1.0, 4.0), (7, 0.7, 1.0), (64, 0.0, 1)):
            yaws = 2.0 * np.pi * np.arange(count) / count + 0.3
            headings = random.integers(0, count, costs.shape).astype(np.int32)
            given = costs, costs.view(np.uint32).ravel(), headings, nodes, places, yaws, dearest
            lattice = costs, headings, nodes, places, yaws
            slow_poses, slow_costs = slowly_apart(*lattice, dearest, radius, turn, 600)
            for few, most in ((1, 1), (40, 37), (1000, 600)):
                poses, known = np.empty((most, 3 * (d - 1))), np.empty(most)
                found = cheapest_distinct(*given, radius, turn, few, poses, known)
                assert found == min(most, len(slow_poses))
                np.testing.assert_array_equal(known[:found], slow_costs[:found])
                np.testing.assert_array_equal(poses[:found], slow_poses[:found])


@pytest.mark.parametrize(("tried", "most"), [(0, 3), (2, 0), (2, 3)])
def test_nothing_is_chosen_where_nothing_was_tried(tried, most):
    costs, nodes = np.full((tried, 4), np.inf, np.float32), np.arange(tried)
    given = costs, costs.view(np.uint32).ravel(), np.zeros((tried, 4), np.int32), nodes
    asked = np.zeros((9, 2)), np.arange(8.0), 9.0, 0.4, 0.2, 5, np.empty((most, 3)), np.empty(most)
    assert cheapest_distinct(*given, *asked) == 0


@pytest.mark.parametrize("turn", [0.4, 4.0, np.inf])
def test_the_least_cost_near_a_pose(random, turn):
    """Of other poses, or of nodes, which have no heading."""
    rows = random.uniform([-3.0, -3.0, -9.0], [3.0, 3.0, 9.0], (400, 3))
    nodes, costs, found = random.permutation(400)[:300], random.uniform(size=300).astype("f4"), 0
    for pose in random.uniform(-5.0, 5.0, (60, 3)):
        near = np.hypot(*(rows[nodes, :2] - pose[:2]).T) < 0.7
        near &= np.abs(wrap_angle(rows[nodes, 2] - pose[2])) < turn
        least = costs[near].min(initial=np.inf)
        if turn == np.inf:
            assert min_cost_near(rows[:, :2].copy(), nodes, costs, pose, 0.7) == least
        assert min_cost_within(rows[nodes], costs.astype(float), pose, 0.7, turn) == least
        found += np.isfinite(least)
    assert 10 < found < 60


def test_neighbours_come_together_and_nobody_is_left_out(random):
    poses = random.uniform(-900.0, 2500.0, (700, 3))
    order = np.empty(700, dtype=np.int64)
    order_by_place(poses, 100.0, order)
    np.testing.assert_array_equal(np.sort(order), np.arange(700))
    squares = np.floor(poses[order, :2] / 100.0) % 32
    runs = 1 + np.count_nonzero((squares[1:] != squares[:-1]).any(axis=1))
    assert runs == len(np.unique(squares, axis=0)) < 700


def test_the_heaviest_are_in_order_and_of_equal_ones_the_first(random):
    many = random.integers(0, 12, 60) / 3.0
    for most in range(70):
        slow = np.sort(np.argsort(-many, kind="stable")[:most])
        np.testing.assert_array_equal(heaviest(many, most), slow)
        lightest = np.sort(np.argsort(many, kind="stable")[:most])
        if most <= 60:
            np.testing.assert_array_equal(cheapest(many.astype(np.float32), most), lightest)


@pytest.mark.parametrize("n", [3, 4, 6])
def test_small_matrices_are_inverted(random, n):
    half = random.normal(size=(40, n, n)) * 10.0 ** random.uniform(-1.0, 1.0, (40, 1, n))
    known, least = half @ half.swapaxes(1, 2), np.diag(random.uniform(0.01, 1.0, n))
    floor, out = np.diag(random.uniform(0.0, 1.0, n)), np.empty((40, n, n))
    invert(known, least, floor, out)
    twin = np.linalg.inv(known + least) + floor
    np.testing.assert_allclose(out, twin, rtol=1e-9, atol=1e-9 * np.abs(twin).max())
    np.testing.assert_array_equal(out, out.swapaxes(1, 2))


def test_the_longest_axis_is_that_of_the_largest_eigenvalue(random):
    for _ in range(200):
        half = random.normal(size=(3, 3)) * 10.0 ** random.uniform(-3.0, 1.0)
        spread = half @ half.T
        values, vectors = np.linalg.eigh(spread[:2, :2])
        variance, axis = major_axis(spread)
        assert variance == pytest.approx(values[1], rel=1e-12)
        assert abs(axis @ vectors[:, 1]) == pytest.approx(1.0, abs=1e-9)
    variance, axis = major_axis(np.eye(3))
    assert (variance, np.linalg.norm(axis)) == (1.0, 1.0)


def blocks_of(bearings, ends, width, length):
    """Where blocks begin among beams, and columns among blocks, one beam after the other."""
    starts, columns, before, begun = [], [], None, 0
    for k, bearing in enumerate(bearings):
        number = int(np.floor((bearing - bearings[0]) / width + 1e-9))
        if number == before:
            continue
        if k == 0 or np.hypot(*(ends[k] - ends[begun])) >= length:
            columns.append(len(starts))
            begun = k
        starts.append(k)
        before = number
    return starts, columns


@pytest.mark.parametrize("share", [1.0, 0.6, 0.02, 0.0])
def test_valid_beams_are_chosen_evenly_in_blocks_and_columns(random, share):
    for count, most in ((360, 36), (360, 180), (50, 180), (1, 4)):
        bearings = np.sort(random.uniform(-np.pi, np.pi, count))
        ranges, valid = random.uniform(0.5, 9.0, count), random.random(count) < share
        ranges[~valid] = np.nan
        index, ends = np.empty(most, np.int64), np.empty((most, 2))
        begins, counts = np.empty((2, most), np.int64), np.empty(3, np.int64)
        along = unit_vectors(bearings)
        thin_beams(ranges, bearings, along, valid, 0.17, 0.75, index, ends, begins, counts)
        m, blocks, things = counts.tolist()
        chosen = np.flatnonzero(valid)
        if len(chosen) > most:
            chosen = chosen[np.arange(most) * len(chosen) // most]
        np.testing.assert_array_equal(index[:m], chosen)
        np.testing.assert_array_equal(ends[:m], ranges[chosen, None] * along[chosen])
        starts, columns = blocks_of(bearings[chosen], ends[:m], 0.17, 0.75)
        assert begins[0, :blocks].tolist() == starts
        assert begins[1, :things].tolist() == columns


def shortest_arc(known):
    """First channel and length of the shortest arc that holds all known ones, by trying all."""
    n = len(known)
    if not known.any():
        return 0, 0
    arcs = []
    for first in np.flatnonzero(known):
        held = known[(first + np.arange(n)) % n]
        arcs.append((int(np.flatnonzero(held)[-1]) + 1, int(first)))
    length = min(arcs)[0]
    return {first for m, first in arcs if m == length}, length


def test_channels_that_were_seen_come_first(random):
    for share in (0.0, 0.4, 1.0):
        seen = random.random((2, 3, 40)) < share
        channels, counts = np.empty(seen.shape, np.int32), np.empty((2, 3), np.int32)
        observed_first(seen, channels, counts)
        np.testing.assert_array_equal(channels, np.argsort(~seen, axis=-1, kind="stable"))
        np.testing.assert_array_equal(counts, seen.sum(axis=-1))


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_channels_are_cut_to_what_was_seen(random, rows, share):
    n, phases, beams, width = 16, 2, 40, 3
    for _ in range(20):
        signals, valid = random.uniform(1.0, 2.0, (rows, beams)), random.random(beams) < share
        signals[:, ~valid] = np.nan
        firsts = random.integers(0, n, (phases, beams))
        weights = random.uniform(0.1, 1.0, (phases, beams, width))
        sums = np.zeros((phases, 1 + rows, n))
        for p, k, j in np.ndindex(weights.shape):
            if valid[k]:
                at = (firsts[p, k] + j) % n
                sums[p, :, at] += weights[p, k, j] * np.append(1.0, signals[:, k])
        values, seen = np.empty(phases * rows * n, "f4"), np.empty(phases * rows * n, np.bool_)
        arc, known = np.empty(2, np.int64), sums[:, 0] >= 1.5
        for cut in (False, True):
            least = np.full(n, 1.5)
            channels_of(signals, valid, firsts, weights, least, cut, values, seen, arc)
            first, m = arc.tolist()
            if cut:
                firsts, length = shortest_arc(known.any(axis=0))
                assert m == length
                assert length == 0 or first in firsts
            else:
                assert (first, m) == (0, n)
            around = (first + np.arange(m)) % n
            mass = np.where(known, sums[:, 0], 1.0)[:, None]
            means = np.where(known[:, None], sums[:, 1:] / mass, 0.0)[..., around]
            size = phases * rows * m
            np.testing.assert_allclose(values[:size], means.ravel(), rtol=1e-6)
            told_seen = np.repeat(known[:, None, around], rows, axis=1)
            np.testing.assert_array_equal(seen[:size], told_seen.ravel())


def test_what_is_fixed_to_poses_goes_along(random):
    poses = Pose.from_vector(random.normal(size=(40, 3)) * [3.0, 3.0, 4.0])
    half = random.normal(size=(40, 3, 3))
    spreads = half @ half.swapaxes(1, 2)
    for mount in (Pose(), Pose(0.3, -1.2, 2.5)):
        carried, out = np.empty((40, 3)), np.empty((40, 3, 3))
        compose(poses.vector, mount.vector, spreads, carried, out)
        twin = poses @ mount
        np.testing.assert_allclose(carried, twin.vector, rtol=1e-12, atol=1e-12)
        J = swing(poses, twin, 3)
        np.testing.assert_allclose(out, J @ spreads @ J.swapaxes(1, 2), rtol=1e-12, atol=1e-12)
