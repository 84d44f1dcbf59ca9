"""Meshes: rays, watertightness, free space, solids."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.angles import unit_vectors
from tests.support.cells import Ending
from tests.support.errors import refused
from tests.support.meshes import sphere
from tests.support.reference_3d import cast_mesh_twin
from tests.support.workers import in_one_thread
from tests.support.worlds import office_floor

from isovist import MeshMap, MissingExtraError, SegmentMap

small = st.integers(-4, 4)
corner = st.tuples(small, small, small)
ROOM = SegmentMap.room(6.0, 4.0, pillars=[(4.5, 1.5, 5.0, 2.5)])


@pytest.mark.slow
@given(st.lists(st.tuples(corner, corner, corner), min_size=1, max_size=8), corner, corner)
def test_rays_meet_what_the_exact_twin_meets(triangles, origin, direction):
    # Small integers make rays through edges, corners and planes common.
    if not any(direction):
        direction = (1, 2, 3)
    soup = np.array([[(-9, -9, -9), (-9, 8, -9), (-9, -9, 8)], *triangles], dtype=float)
    world = MeshMap.from_triangles(soup)
    hits = world.cast(origin, direction)
    t = cast_mesh_twin(soup, origin, direction)
    if t is None:
        assert hits.ranges == np.inf
        assert hits.walls == -1
        assert hits.endings == Ending.EDGE
    else:
        assert hits.ranges == pytest.approx(float(t) * np.linalg.norm(direction), rel=1e-12)
        assert hits.endings == Ending.WALL
        assert hits.normals @ np.array(direction) < 0.0


@pytest.mark.slow
def test_rays_through_random_soup_meet_what_the_exact_twin_meets():
    rng = np.random.default_rng(3)
    soup = rng.uniform(-2, 2, (60, 1, 3)) + rng.uniform(-1, 1, (60, 3, 3))
    world = MeshMap.from_triangles(soup)
    origins, directions = rng.uniform(-5, 5, (150, 3)), rng.standard_normal((150, 3))
    hits = world.cast(origins, directions)
    for o, d, r in zip(origins, directions, hits.ranges, strict=True):
        t = cast_mesh_twin(soup, o, d)
        assert r == pytest.approx(np.inf if t is None else float(t) * np.linalg.norm(d), rel=1e-9)


def test_no_ray_leaks_through_an_edge_or_a_corner():
    world = MeshMap.from_arrays(*sphere(24))
    for p in np.random.default_rng(0).uniform(-2, 2, (20, 3)):
        targets = [world.vertices, world.vertices[world.edges.ends].mean(axis=1)]
        for share in (0.1, 0.37):
            a, b = (world.vertices[world.edges.ends[:, k]] for k in (0, 1))
            targets.append(a + share * (b - a))
        hits = world.cast(p, np.concatenate(targets) - p)
        assert (hits.walls >= 0).all()


def test_ranges_are_the_same_from_far_away_and_in_large_coordinates():
    vertices, faces = sphere(20)
    near = MeshMap.from_arrays(vertices, faces)
    shift = np.array([5e5, -4e6, 100.0])
    far = MeshMap.from_arrays(vertices + shift, faces)
    rng = np.random.default_rng(1)
    p, d = rng.uniform(-2, 2, (500, 3)), rng.standard_normal((500, 3))
    r = near.cast(p, d)
    np.testing.assert_allclose(far.cast(p + shift, d).ranges, r.ranges, atol=1e-7)
    unit = d / np.linalg.norm(d, axis=1)[:, None]
    back = near.cast(p + 1000.0 * unit, -unit).ranges
    outside = near.cast(p + 20.0 * unit, -unit).ranges
    np.testing.assert_allclose(back - 980.0, outside, atol=1e-9)


def test_more_rays_than_are_sorted_at_once_are_all_answered():
    world = MeshMap.from_arrays(*sphere(6))
    d = np.random.default_rng(5).standard_normal((2**15 + 1000, 3))
    whole, half = in_one_thread(lambda: world.cast(np.zeros(3), d)), len(d) // 2
    for part in (slice(half), slice(half, None)):
        some = world.cast(np.zeros(3), d[part])
        assert np.array_equal(whole.ranges[part], some.ranges)
        assert np.array_equal(whole.walls[part], some.walls)
        assert np.array_equal(whole.normals[part], some.normals)


def test_shapes_broadcast():
    world = MeshMap.box([0, 0, 0], [1, 2, 3])
    hits = world.cast(np.full((4, 1, 3), 0.5), np.eye(3))
    assert hits.ranges.shape == (4, 3)
    assert hits.normals.shape == (4, 3, 3)
    np.testing.assert_allclose(hits.ranges, np.broadcast_to([0.5, 1.5, 2.5], (4, 3)))
    np.testing.assert_array_equal(hits.normals[0], -np.eye(3))


@pytest.mark.slow
@pytest.mark.parametrize("plan", [ROOM, office_floor(3).reality])
def test_an_extruded_plan_has_the_ranges_of_the_plan_at_its_equator(plan):
    world = MeshMap.extrude(plan, -1.0, 1.5)
    rng = np.random.default_rng(0)
    points = rng.uniform(*plan.bounds, (200, 2))
    inside = plan.contains(points)
    assert np.array_equal(world.contains(np.c_[points, np.zeros(200)]), inside)
    assert not world.contains(np.c_[points, np.full(200, 1.6)]).any()
    theta = unit_vectors(rng.uniform(0, 2 * np.pi, 400))
    points = points[inside][:60, None]
    flat = plan.cast(points, theta)
    solid = world.cast(np.concatenate([points, np.zeros_like(points[..., :1])], -1),
                       np.c_[theta, np.zeros(400)])  # fmt: skip
    np.testing.assert_allclose(solid.ranges, flat.ranges, atol=1e-9, rtol=0)
    np.testing.assert_allclose(solid.normals[..., :2], flat.normals, atol=1e-12)


def test_an_extruded_plan_is_tight_and_carries_reflectance():
    plan = SegmentMap.from_segments(
        [[0, 0, 4, 0], [4, 0, 4, 3], [4, 3, 0, 3], [0, 3, 0, 0]], reflectance=[0.1, 0.2, 0.3, 0.4]
    )
    world = MeshMap.extrude(plan, 0.0, 2.0, caps=0.9)
    d = np.random.default_rng(0).standard_normal((20000, 3))
    hits = world.cast([1.0, 1.0, 1.0], d)
    assert (hits.walls >= 0).all()
    seen = world.reflectance[world.cast([1, 1, 1], [[0, -1, 0], [1, 0, 0], [0, 0, 1]]).walls]
    np.testing.assert_array_equal(seen, [0.1, 0.2, 0.9])


def test_an_open_plan_is_extruded_without_caps():
    plan = SegmentMap.from_segments([[0, 0, 1, 0], [3, 0, 3, 5]])
    world = MeshMap.extrude(plan, 0.0, 2.0)
    assert world.free == "everywhere"
    assert len(world.faces) == 4


def test_a_pillar_in_a_room_is_not_free():
    room, pillar = MeshMap.box([0, 0, 0], [4, 4, 3]), MeshMap.box([1, 1, 0.5], [2, 2, 2])
    world = MeshMap.join([room, pillar])
    points = [[0.5, 0.5, 1], [1.5, 1.5, 1], [1.5, 1.5, 2.5], [5, 1, 1], [2.5, 1.5, 1.0]]
    assert world.contains(points).tolist() == [True, False, True, False, True]
    outdoors = MeshMap.join([pillar], free="outside")
    assert outdoors.contains(points).tolist() == [True, False, True, True, True]


def test_points_in_line_with_edges_are_told_apart():
    # Points straight below corners and edges, where some rays say nothing.
    vertices, faces = sphere(12)
    world = MeshMap.from_arrays(vertices, faces)
    assert world.contains(vertices * 0.9).all()
    assert not world.contains(vertices * 1.3).any()


def test_a_box_has_twelve_faces_eighteen_edges_and_its_area():
    box = MeshMap.box([0, 0, 0], [1, 2, 3], reflectance=[1, 2, 3, 4, 5, 6])
    assert len(box.faces) == 12
    assert (box.edges.counts == 2).all()
    assert len(box.edges.ends) == 18
    assert box.areas.sum() == pytest.approx(22.0)
    middle = np.array([0.5, 1.0, 1.5])
    sides = [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]]
    hits = box.cast(middle, sides)
    np.testing.assert_array_equal(box.reflectance[hits.walls], [1, 2, 3, 4, 5, 6])


def test_a_height_field_has_its_heights_as_attribute():
    y, x = np.mgrid[:5, :7] * 0.5
    world = MeshMap.from_heights(0.3 * x - 0.4 * y, 0.5, corner=(10.0, 20.0))
    assert world.free == "everywhere"
    hit = world.cast([11.3, 21.2, 5.0], [0.0, 0.0, -1.0])
    assert hit.ranges == pytest.approx(5.0 - (0.3 * 1.3 - 0.4 * 1.2))
    # On the plane z = 0.3 x − 0.4 y the height grows by 0.5/√1.25 per metre of surface.
    np.testing.assert_allclose(world.slopes, 0.5 / np.sqrt(1.25))


def test_faces_without_area_are_never_met():
    world = MeshMap.from_triangles(
        [[[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 0, 1], [1, 0, 1], [0, 1, 1]]]
    )
    assert world.cast([0.2, 0.0, -1.0], [0.0, 0.0, 1.0]).walls == 1
    assert world.normals[0].tolist() == [0.0, 0.0, 0.0]


def test_open3d_meets_what_our_kernel_meets():
    pytest.importorskip("open3d", exc_type=ImportError)
    vertices, faces = sphere(30)
    own = MeshMap.from_arrays(vertices + np.array([5e4, -2e5, 10.0]), faces)
    other = own.using("open3d")
    rng = np.random.default_rng(0)
    centre = own.bounds.mean(axis=0)
    origins, directions = centre + rng.uniform(-6, 6, (4000, 3)), rng.standard_normal((4000, 3))
    expected, found = own.cast(origins, directions), other.cast(origins, directions)
    same = expected.walls == found.walls
    assert same.mean() > 0.999
    assert np.array_equal(expected.endings[same], found.endings[same])
    hit = same & (expected.walls >= 0)
    np.testing.assert_allclose(found.ranges[hit], expected.ranges[hit], rtol=1e-9)
    np.testing.assert_allclose(found.normals[same], expected.normals[same], atol=1e-15)
    assert np.array_equal(other.contains(origins), own.contains(origins))
    with refused("directions"):
        other.cast(centre, [0.0, 0.0, 0.0])


def test_without_open3d_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "open3d", None)
    with refused("fast-mesh", "missing_extra", MissingExtraError):
        MeshMap.box([0, 0, 0], [1, 1, 1]).using("open3d")
