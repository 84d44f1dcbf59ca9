"""The kernels in space against their slow twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.reference_space import UNIT, clipped, distance, house, house_cells, rate_beams

from isovist import Pose3, VoxelMap
from isovist.atlas import bare_walls
from isovist.compute import align_3d, distance_3d, score_3d, select_distinct, touches
from isovist.maps import distance_to_walls


def test_poses_above_each_other_are_unlike():
    poses = np.zeros((4, 6))
    poses[:, 3] = 0.0, 0.3, 1.5, 1.6
    chosen = np.empty(4, np.int64)
    assert list(chosen[: select_distinct(poses, 1.0, 0.1, chosen)]) == [0, 2]
    assert select_distinct(np.ascontiguousarray(poses[:, :3]), 1.0, 0.1, chosen) == 1


@pytest.mark.slow
@given(st.floats(-2.0, 8.0), st.floats(-2.0, 8.0), st.floats(-2.0, 8.0))
def test_distances_lie_between_those_of_the_cells_and_have_their_derivatives(x, y, z):
    field = np.random.default_rng(2).uniform(0.0, 5.0, (4, 5, 6)).astype(np.float32)
    p, h = np.array([x, y, z]), 1e-6
    # Away from the planes between cells, where slopes jump.
    p = np.where(np.abs(p - 0.5 - np.round(p - 0.5)) < 1e-3, p + 2e-3, p)
    value, *slopes = distance_3d(field, *p)
    assert value == pytest.approx(distance(field, *p), abs=2e-4)
    if not ((p > 0.6) & (p < np.array([6, 5, 4]) - 0.6)).all():
        return
    for k, step in enumerate(h * np.eye(3)):
        ahead, back = (distance_3d(field, *q)[0] for q in (p + step, p - step))
        assert slopes[k] == pytest.approx((ahead - back) / (2.0 * h), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("fitted", [3, 4, 6])
@pytest.mark.parametrize("held", [0.0, 4.0, np.inf])
def test_a_fit_steps_as_least_squares_say(fitted, held):
    """Beams may end before walls, all by as much, d: a column for d, and a row that holds it."""
    field = distance_to_walls(house().cells)
    rng = np.random.default_rng(5)
    ends = rng.normal(0.0, 12.0, (40, 3)) * [1.0, 1.0, 0.4]
    start = np.array([30.3, 20.2, 0.4, 12.3, 0.03, -0.05])
    sigma, damping, h = 3.0, 0.5, 1e-5
    weight = min(held, 1e12)  # of the row

    def away(pose, q):
        return distance(field, *Pose3(*pose).apply(q))

    def rows_at(pose):
        """Signed distances, and their derivatives by the pose and by d."""
        e = np.array([away(pose, q) for q in ends])
        sign = np.where(np.array([away(pose, (1.0 + h) * q) for q in ends]) > e, 1.0, -1.0)
        J = np.array(
            [[(away(pose + s, q) - away(pose - s, q)) / (2.0 * h) for s in h * np.eye(6)]
             for q in ends]
        )[:, :fitted]  # fmt: skip
        return sign * e, np.column_stack([sign[:, None] * J, -np.ones(len(ends))])

    def normal_equations(e, rows, d):
        """Of steps of the pose and of d, with weights of a d before; and Σ w."""
        w = np.where(abs(e - d) <= 3.5 * sigma, np.exp(-0.5 * ((e - d) / sigma) ** 2), 0.0)
        full = (rows * w[:, None]).T @ rows
        full[-1, -1] += weight
        return full, -(rows * w[:, None]).T @ e, w

    def fit(pose, damping):
        poses, normal, sums = pose[None].copy(), np.zeros((1, 6, 6)), np.empty((1, 2))
        align_3d(field, ends, np.array([sigma]), damping, held, fitted, poses, normal, sums)
        return poses[0], normal[0, :fitted, :fitted], sums[0]

    e, rows = rows_at(start)
    full, downhill, _ = normal_equations(e, rows, 0.0)
    arm = (ends[:, :2] ** 2).sum(axis=1).mean()
    extra = damping * len(ends) * np.array([1.0, 1.0, 0.1 * arm, 1.0, 0.1 * arm, 0.1 * arm])
    damped = full + np.diag(np.append(extra[:fitted], 0.0))
    step = np.linalg.solve(damped, downhill)[:fitted]
    moved, last, _ = fit(start, damping)
    np.testing.assert_allclose(moved[:fitted] - start[:fitted], step, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(moved[fitted:], start[fitted:])
    # So damped that it stays where it is, with the weights of the d that the step found.
    full, _, w = normal_equations(e, rows, downhill[-1] / full[-1, -1])
    d = (w * e).sum() / (w.sum() + weight)
    H = full[:-1, :-1] - np.outer(full[:-1, -1], full[:-1, -1]) / full[-1, -1]
    stayed, found, sums = fit(start, 1e15)
    np.testing.assert_allclose(stayed, start, atol=1e-9)
    np.testing.assert_allclose(np.tril(found), np.tril(H), rtol=1e-4, atol=1e-4)
    squares = (w * (e - d) ** 2).sum() + weight * d * d
    np.testing.assert_allclose(sums, [w.sum(), squares], rtol=1e-9)
    assert (abs(d) > 0.1) == (held < np.inf)
    # The normal matrix is that of the pose which is handed back, not of the one before.
    if held == np.inf:
        np.testing.assert_allclose(last, fit(moved, 1e15)[1], rtol=1e-9, atol=1e-9)
    assert np.abs(last - found).max() > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("shiny", [False, True])
def test_beams_are_rated_as_the_equations_say(shiny):
    cells = house_cells()
    cells[:, :, 56:70][cells[:, :, 56:70] == 0] = 2
    world = VoxelMap.from_array(cells, UNIT)
    bare, field = bare_walls(world), distance_to_walls(world.cells)
    rng = np.random.default_rng(4)
    d = rng.normal(size=(200, 3)) * [1.0, 1.0, 0.3]
    d /= np.linalg.norm(d, axis=1)[:, None]
    pose = np.array([40.2, 17.3, 0.3, 14.1, 0.02, -0.01])
    place = Pose3(*pose)
    to_wall = bare.cast(place.position * UNIT, d @ place.rotation.T).ranges.copy()
    to_wall += rng.normal(0.0, 0.02, 200)
    ends = d * np.where(rng.random(200) < 0.6, to_wall, rng.uniform(0.2, 9.0, 200))[:, None]
    model = np.array([0.07, 30.0, 0.75, 0.06, 0.5, 0.08, 0.5, 0.6, 0.2, 0.2])
    shine = rng.random(cells.size) if shiny else np.empty(0)
    strengths = rng.random(200) if shiny else np.empty(0)
    gloss = np.array([0.2, 1.0, 0.8])
    ratings, kinds = np.empty((1, 200), np.float32), np.empty((1, 200), np.uint8)
    score_3d(
        world.skip.parts, bare.skip.parts, field, UNIT, model, shine, gloss, ends, strengths,
        pose[None], ratings, kinds,
    )  # fmt: skip
    twin, sort = rate_beams(world, bare, field, model, shine, gloss, ends, strengths, pose)
    np.testing.assert_array_equal(kinds[0], sort)
    np.testing.assert_allclose(ratings[0], twin, rtol=1e-4, atol=1e-4)
    assert set(sort) >= {0, 1, 2, 3}


corners = st.lists(st.tuples(*[st.floats(-1.6, 1.6)] * 3), min_size=3, max_size=3)


@pytest.mark.slow
@settings(max_examples=300)
@given(corners)
def test_a_triangle_touches_a_cell_when_something_is_left_of_it(triangle):
    a, b, c = np.array(triangle)
    left = clipped(triangle)
    grown, shrunk = (clipped(np.array(triangle) * s) for s in (1.0 - 1e-6, 1.0 + 1e-6))
    if bool(grown) == bool(shrunk) == bool(left):
        assert touches(a, b, c) == bool(left)
