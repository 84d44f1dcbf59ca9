"""F and J of meshes face by face, against integrals that know nothing of faces."""

import itertools

import numpy as np
import pytest
from tests.support.paper_parts import EqualArea, Exact

import isovist as iv
from isovist import Descriptor, MeshMap

pytestmark = pytest.mark.slow

BASIS = iv.DirectionalBasis.fibonacci(12, 0.5)
EXACT = Descriptor(BASIS, quadrature=Exact(1e-11))
POINT = np.array([1.3, 1.7, 1.2])
SIZE = np.array([6.0, 4.0, 3.0])
LOW, HIGH = np.array([4.0, 1.0, 0.0]), np.array([4.6, 1.8, 0.9])


def gauss(low, high, panels, order=12):
    """Nodes and coefficients on an interval cut into panels."""
    x, c = np.polynomial.legendre.leggauss(order)
    ends = np.linspace(low, high, panels + 1)
    half = 0.5 * np.diff(ends)
    middle = 0.5 * (ends[:-1] + ends[1:])
    return (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * c).ravel()


def to_box(theta):
    """Range from POINT to the walls of the room, which is convex."""
    with np.errstate(divide="ignore"):
        ways = np.where(theta > 0.0, (SIZE - POINT) / theta, -POINT / theta)
    return ways.min(axis=-1)


def over_rectangle(axis, value, u_range, v_range, f, panels=12):
    """∫ f(x − p, r) w h/r³ dA over a rectangle of a plane x_axis = value, shape (n,)."""
    u, cu = gauss(*u_range, panels)
    v, cv = gauss(*v_range, panels)
    return on_plane(axis, value, np.repeat(u, len(v)), np.tile(v, len(u)), np.outer(cu, cv), f)


def on_plane(axis, value, u, v, area, f):
    """Σ f w h/r³ dA over nodes of a plane x_axis = value, shape (n,)."""
    x = np.insert(np.stack([u, v], axis=1), axis, value, axis=1)
    gap = x - POINT
    r = np.linalg.norm(gap, axis=1)
    theta = gap / r[:, None]
    weight = np.ravel(area) * abs(value - POINT[axis]) / r**3
    return (weight * f(theta, r)) @ BASIS.weights(theta)


def cut_by(low, high, kinks, panels=3):
    """Gauss nodes between the kinks of an integrand."""
    ends = np.unique(np.clip([low, high, *kinks], low, high))
    parts = [gauss(a, b, panels) for a, b in itertools.pairwise(ends)]
    return (np.concatenate(each) for each in zip(*parts, strict=True))


def over_side(axis, value, u_range, v_range, f):
    """`over_rectangle` of what bends where the walls behind the rectangle meet.

    The ray through x meets the wall x_k = b at t (x − p) with t = (b − p_k)/(x_k − p_k), so it
    passes from one wall to another where two of these are equal: lines of the rectangle.
    """
    one, two = (k for k in range(3) if k != axis)

    def walls(k):
        return np.array([-POINT[k], SIZE[k] - POINT[k]])

    def reach(k, x):
        with np.errstate(divide="ignore"):
            t = walls(k) / (x - POINT[k])
        return t[t > 0.0].min(initial=np.inf)

    def where(k, t):
        return POINT[k] + walls(k) / t

    corners = [reach(axis, value), *(reach(two, v) for v in v_range)]
    F = np.zeros(len(BASIS))
    for u, cu in zip(*cut_by(*u_range, np.ravel([where(one, t) for t in corners])), strict=True):
        kinks = np.ravel([where(two, t) for t in (reach(axis, value), reach(one, u))])
        v, cv = cut_by(*v_range, kinks)
        F += on_plane(axis, value, np.full_like(v, u), v, cu * cv, f)
    return F


def box_and_cube():
    """The room by its six walls, less what the cube cuts off in front of them."""
    F = np.zeros(len(BASIS))
    for axis in range(3):
        u, v = (k for k in range(3) if k != axis)
        for value in (0.0, SIZE[axis]):
            F += over_rectangle(axis, value, (0, SIZE[u]), (0, SIZE[v]), lambda _, r: r, 40)

    # From the point three sides of the cube can be seen: x low, z high; y of it spans the point's.
    def cut(theta, r):
        return r - to_box(theta)

    F += over_side(0, LOW[0], (LOW[1], HIGH[1]), (LOW[2], HIGH[2]), cut)
    F += over_side(2, HIGH[2], (LOW[0], HIGH[0]), (LOW[1], HIGH[1]), cut)
    return F


def cube_world():
    return MeshMap.join([MeshMap.box((0, 0, 0), SIZE), MeshMap.box(LOW, HIGH)])


def test_a_box_with_a_cube_agrees_with_an_independent_integral():
    F, _ = EXACT.at(cube_world(), POINT)
    np.testing.assert_allclose(F, box_and_cube(), rtol=0.0, atol=1e-8)


def extruded_twin(plan, point, low, high, panels=6):
    """F of an extruded plan: exact pieces of the plan around, and up and down in three parts."""
    pieces = plan.see(point[None, :2])
    F = np.zeros(len(BASIS))
    for k in range(int(pieces.counts[0])):
        start, stop, wall = pieces.angles[0, k], pieces.angles[0, k + 1], pieces.walls[0, k]
        if stop - start < 1e-15:
            continue
        phi, c = gauss(start, stop, max(panels, int(np.ceil((stop - start) / 0.05))))
        along = np.stack([np.cos(phi), np.sin(phi)], axis=1)
        n = plan.normals[wall]
        flat = (n @ (plan.walls[wall, :2] - point[:2])) / (along @ n)
        ends = np.stack(
            [
                np.full_like(phi, -np.pi / 2),
                np.arctan((low - point[2]) / flat),
                np.arctan((high - point[2]) / flat),
                np.full_like(phi, np.pi / 2),
            ]
        )
        for part in range(3):
            x, cx = gauss(0.0, 1.0, panels)
            el = ends[part][:, None] + (ends[part + 1] - ends[part])[:, None] * x
            r = [
                (low - point[2]) / np.sin(el),
                flat[:, None] / np.cos(el),
                (high - point[2]) / np.sin(el),
            ][part]
            theta = np.stack(
                np.broadcast_arrays(
                    np.cos(el) * along[:, :1], np.cos(el) * along[:, 1:], np.sin(el)
                ),
                axis=-1,
            )
            weight = (c * (ends[part + 1] - ends[part]))[:, None] * cx * np.cos(el) * r
            F += weight.ravel() @ BASIS.weights(theta.reshape(-1, 3))
    return F  # fmt: skip


def office():
    return iv.SegmentMap.room(
        7.0, 5.0, walls=[[(3.0, 0.0), (3.0, 2.0)], [(3.0, 3.0), (3.0, 5.0)]],
        pillars=[(4.5, 1.5, 5.0, 2.5), (1.0, 3.6, 1.5, 4.2)],
    )  # fmt: skip


@pytest.mark.parametrize("place", [(1.3, 1.7, 1.2), (4.1, 3.3, 0.7), (6.2, 0.8, 2.1)])
def test_an_extruded_office_agrees_with_an_independent_integral_to_1e_8(place):
    world = MeshMap.extrude(office(), 0.0, 2.6)
    F, _ = EXACT.at(world, place)
    np.testing.assert_allclose(F, extruded_twin(office(), np.array(place), 0.0, 2.6), atol=1e-8)


@pytest.mark.parametrize("world", [cube_world(), MeshMap.extrude(office(), 0.0, 2.6)])
def test_the_jacobian_agrees_with_differences_to_1e_6(world):
    _, J = EXACT.at(world, POINT, jacobian=True)
    step = 1e-4 * np.eye(3)
    F = EXACT.at(world, np.concatenate([POINT + step, POINT - step]))[0]
    np.testing.assert_allclose(J, ((F[:3] - F[3:]) / 2e-4).T, atol=1e-6)


def test_reflectances_count_face_by_face_too():
    world = MeshMap.box((0, 0, 0), SIZE, reflectance=[0.1, 0.9, 0.4, 0.5, 0.2, 0.7])
    exact = Descriptor(BASIS, iv.Intensity(), Exact(1e-10))
    F, J = exact.at(world, POINT, jacobian=True)
    summed, _ = Descriptor(BASIS, iv.Intensity(), EqualArea(200_000)).at(world, POINT)
    np.testing.assert_allclose(F, summed, atol=2e-4)
    step = 1e-4 * np.eye(3)
    moved = exact.at(world, np.concatenate([POINT + step, POINT - step]))[0]
    np.testing.assert_allclose(J, ((moved[:3] - moved[3:]) / 2e-4).T, atol=1e-6)


def test_faces_that_lie_on_each_other_count_once():
    once = MeshMap.box((0, 0, 0), SIZE)
    twice = MeshMap.from_arrays(once.vertices, np.concatenate([once.faces] * 3))
    np.testing.assert_allclose(EXACT.at(twice, POINT)[0], EXACT.at(once, POINT)[0], atol=1e-10)


def test_the_clearance_of_a_mesh_is_the_distance_to_its_nearest_face():
    world = cube_world()
    rng = np.random.default_rng(0)
    for p in rng.uniform(0.1, 2.9, (20, 3)):
        inside = np.concatenate([p, SIZE - p]).min()
        nearest = np.linalg.norm(np.maximum(np.maximum(LOW - p, p - HIGH), 0.0))
        assert world.clearance(p) == pytest.approx(min(inside, nearest))
