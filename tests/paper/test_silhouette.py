"""The Jacobian in space: the silhouette term against differences of a densely integrated F."""

from functools import lru_cache

import numpy as np
import pytest
import shapely
from tests.support.paper_parts import Band, EqualArea, Exact

from isovist import (
    Descriptor,
    DirectionalBasis,
    Intensity,
    MeshMap,
    Range,
    SegmentMap,
    SurfaceGradient,
)
from isovist.paper import MeshView, rim_term, silhouette_term
from isovist.paper.descriptor import faces
from isovist.sensing import WallHits

pytestmark = pytest.mark.slow

BASIS = DirectionalBasis.fibonacci(24)
POINT = np.array([0.1, 0.2, 0.1])


def convex(seed):
    """A random convex room: the hull of points around the origin."""
    from scipy.spatial import ConvexHull

    rng = np.random.default_rng(seed)
    points = rng.standard_normal((14, 3))
    points *= rng.uniform(2.5, 4.0, 14)[:, None] / np.linalg.norm(points, axis=1)[:, None]
    faces = ConvexHull(points).simplices
    return MeshMap.from_arrays(points, faces, reflectance=rng.uniform(0, 1, len(faces)))


def occluding(seed, blocks=4):
    """A room with turned blocks in it."""
    rng = np.random.default_rng(seed)
    parts = [MeshMap.box([-3, -4, -1.5], [4, 3, 1.7], reflectance=rng.uniform(0, 1, 6))]
    for k in range(blocks):
        low, high = -rng.uniform(0.2, 0.4, 3), rng.uniform(0.2, 0.4, 3)
        block = MeshMap.box(low, high, reflectance=rng.uniform(0, 1, 6))
        turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        angle = 1.5 * k + seed
        centre = [1.7 * np.cos(angle), 1.7 * np.sin(angle), rng.uniform(-0.5, 0.5)]
        vertices = block.vertices @ turn.T + centre
        parts.append(MeshMap.from_arrays(vertices, block.faces, reflectance=block.reflectance))
    return MeshMap.join(parts)


def sloping(room):
    level = np.random.default_rng(0).uniform(0, 1, len(room.vertices))
    return MeshMap.from_arrays(
        room.vertices, room.faces, reflectance=room.reflectance, attribute=level
    )


@lru_cache(1)
def dense_rays(terms):
    """Directions, and the weights of the basis with which signals along them are summed."""
    rule = EqualArea(terms).rule()
    return rule.directions, rule.coefficients[0] * BASIS.weights(rule.directions)


@pytest.fixture(scope="module", autouse=True)
def light():
    """No other file needs 80 MB of weights."""
    yield
    dense_rays.cache_clear()


def differences(world, signals, step=0.025, terms=400_000, view=None):
    """Central differences of F for several signals, each (n, 3), from the same dense rays."""
    theta, W = dense_rays(terms)
    if view is not None:
        inside = view.mask(theta)
        theta, W = theta[inside], W[inside]
    slopes = np.zeros((len(signals), len(BASIS), 3))
    for k in range(3):
        for sign in (1.0, -1.0):
            hits = world.cast(POINT + sign * step * np.eye(3)[k], theta)
            seen = WallHits(world, theta, hits.ranges, hits.walls, hits.normals)
            for found, signal in zip(slopes, signals, strict=True):
                found[:, k] += signal.values(seen) @ W * (sign / (2.0 * step))
    return slopes


def errors(world, signals, view=None, **dense):
    """Relative errors of J with and without the silhouette term, for each signal."""
    found = []
    for signal, truth in zip(signals, differences(world, signals, view=view, **dense), strict=True):
        descriptor = Descriptor(BASIS, signal)
        for shadow in (True, False):
            _, J = descriptor.at(world, POINT, jacobian=True, shadow=shadow, view=view)
            found.append(np.linalg.norm(J - truth) / np.linalg.norm(truth))
    return found


@pytest.mark.parametrize("seed", [0, 1])
def test_in_a_convex_room_only_intensities_have_a_silhouette_term(seed):
    world = convex(seed)
    errs = errors(world, [Range(), Intensity()], step=0.05)
    assert errs[0] < 2e-3
    assert errs[1] == pytest.approx(errs[0], rel=1e-6)
    assert np.abs(silhouette_term(MeshView(world, POINT), BASIS, Range())).max() < 1e-6
    # An intensity moves with every edge between unlike faces.
    assert errs[2] < 1.5e-2
    assert errs[3] == pytest.approx(1.0)


@pytest.mark.parametrize("seed", [2])
def test_behind_obstacles_the_jacobian_needs_the_silhouette_term(seed):
    bounded = Range(maximum=2.5, transform="saturating")
    errs = errors(occluding(seed), [Range(), bounded, Intensity()])
    for with_term, without in (errs[0:2], errs[2:4]):
        assert with_term < 1e-2
        assert without > 10.0 * with_term
        assert without > 0.1
    # Differences of a jumping signal err: with steps of 12 mm and 8 million terms 4e-3 is left.
    assert errs[4] < 3e-2
    assert errs[5] == pytest.approx(1.0)


@pytest.mark.parametrize("seed", [1])
def test_a_signal_that_jumps_at_its_longest_range_needs_its_rims(seed):
    world = sloping(occluding(seed))
    signals = [Intensity(2.2, 0.3), SurfaceGradient(maximum=2.2)]
    truths = differences(world, signals)
    for signal, truth in zip(signals, truths, strict=True):
        _, J = Descriptor(BASIS, signal).at(world, POINT, jacobian=True)
        bare = J - rim_term(MeshView(world, POINT), BASIS, signal)
        # J is small here, and the differences err: 3 million terms halve what is left.
        assert np.linalg.norm(J - truth) < 6e-2 * np.linalg.norm(truth)
        assert np.linalg.norm(bare - truth) > 0.3 * np.linalg.norm(truth)


def test_the_rim_on_a_plane_has_the_integral_of_its_circle():
    # From the middle, 1 m above a floor that is cut into many faces, a circle in full.
    floor = MeshMap.from_heights(np.zeros((21, 23)), 0.25, (-2.7, -2.4))
    world = MeshMap.from_arrays(
        floor.vertices, floor.faces, reflectance=np.full(len(floor.faces), 0.8), free="everywhere"
    )
    term = rim_term(MeshView(world, np.array([0.0, 0.0, 1.0])), BASIS, Intensity(2.0, 0.3))
    beta = 2.0 * np.pi * np.arange(4000) / 4000
    flat = np.sqrt(0.75)
    theta = np.stack([flat * np.cos(beta), flat * np.sin(beta), np.full(4000, -0.5)], axis=1)
    expected = 0.5 / 2.0 * 2.0 * np.pi * BASIS.weights(theta).mean(axis=0)
    np.testing.assert_allclose(term[:, 2], -expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(term[:, :2], 0.0, atol=1e-12)
    assert np.abs(rim_term(MeshView(world, POINT), BASIS, Range(maximum=2.0))).max() < 1e-12


def edge_on():
    """A block whose upper side is 1 cm below the eye: sums over directions hardly meet it."""
    block = MeshMap.box([0.6, -0.5, -1.0], [1.8, 0.9, POINT[2] - 0.01])
    return MeshMap.join([MeshMap.box([-3, -4, -1.5], [4, 3, 1.7]), block])


@pytest.mark.parametrize(
    ("world", "signal", "options", "limit", "worse"),
    [
        (edge_on(), Range(), {"step": 0.005}, 1e-2, 10.0),
        (occluding(4), Range(), {"view": Band(np.deg2rad(-25), np.deg2rad(20))}, 2e-2, 5.0),
        (sloping(convex(1)), SurfaceGradient(), {"step": 0.05}, 2e-2, 40.0),
    ],
    ids=["edge on", "within a band", "slopes"],
)
def test_whatever_is_seen_has_the_silhouettes_of_what_is_in_view(
    world, signal, options, limit, worse
):
    with_term, without = errors(world, [signal], **options)
    assert with_term < limit
    assert without > worse * with_term


def test_the_term_does_not_depend_on_how_the_faces_are_cut():
    coarse = occluding(2)
    corners = coarse.vertices[coarse.faces]
    a, b, c = (corners[:, k] for k in range(3))
    ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
    parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    fine = MeshMap.from_triangles(np.concatenate([np.stack(part, axis=1) for part in parts]))
    expected = silhouette_term(MeshView(coarse, POINT), BASIS, Range())
    found = silhouette_term(MeshView(fine, POINT), BASIS, Range())
    assert np.linalg.norm(found - expected) < 1e-3 * np.linalg.norm(expected)


def test_an_extruded_plan_has_the_silhouettes_of_its_free_standing_wall():
    plan = SegmentMap.room(6.0, 4.0, walls=[[[3.0, 1.0], [3.0, 3.0]]])
    world = MeshMap.extrude(plan, -1.0, 1.0)
    band = Band(-0.05, 0.05)
    basis = DirectionalBasis.rings(1, 12, temperature=0.3)
    _, J = Descriptor(basis, quadrature=EqualArea(400_000)).at(
        world, [1.5, 1.5, 0.0], jacobian=True, view=band
    )
    flat = DirectionalBasis.circle(12, temperature=0.3)
    _, expected = Descriptor(flat, quadrature=Exact()).at(plan, [1.5, 1.5], jacobian=True)
    # A thin band around the equator is 0.1 rad times the circle.
    assert np.linalg.norm(J[:, :2] / 0.1 - expected) < 0.02 * np.linalg.norm(expected)


def test_a_surface_gradient_is_that_of_the_face_or_the_wall():
    heights = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    world = MeshMap.from_heights(heights, 1.0)
    down = [[0.5, 0.4, 9.0], [1.5, 0.4, 9.0]]
    hits = world.cast(down, [0.0, 0.0, -1.0])
    tangents = SurfaceGradient("height").of_walls(world)[hits.walls]
    np.testing.assert_allclose(tangents, [0.0, 1.0])
    along = SurfaceGradient().of_walls(world)[hits.walls]
    np.testing.assert_allclose(along, [0.0, np.sqrt(0.5)])
    steep = SurfaceGradient("height", steepest=0.7).of_walls(world)[hits.walls]
    np.testing.assert_allclose(steep, [0.0, 0.7])
    square = [[0, 0, 2, 0], [2, 0, 2, 4], [2, 4, 0, 4], [0, 4, 0, 0], [-1, 2, 3, 2]]
    plan = SegmentMap.from_segments(square, attribute=[[0, 1], [1, 3], [3, 3], [3, 0], [0, 2]])
    slopes = {tuple(parent): set(np.round(plan.slopes[plan.parents == k], 12))
              for k, parent in enumerate(square)}  # fmt: skip
    assert list(slopes.values()) == [{0.5}, {0.5}, {0.0}, {0.75}, {0.5}]


def test_a_band_is_a_mask_and_its_area():
    band = Band(np.deg2rad(-15), np.deg2rad(15))
    rule = EqualArea(50_000).rule()
    inside = band.mask(rule.directions)
    assert inside.mean() * 4 * np.pi == pytest.approx(band.area, rel=1e-3)
    assert Band().mask(rule.directions).all()


def test_convex_pieces_are_what_is_left_where_shapes_get_invalid():
    rng = np.random.default_rng(5)
    for _ in range(40):
        outline = rng.uniform(-1.0, 1.0, (3, 2))
        shades = shapely.polygons(rng.uniform(-1.0, 1.0, (int(rng.integers(1, 6)), 3, 2)))
        left = shapely.difference(shapely.polygons(outline), shapely.union_all(shades))
        for parts in (
            faces._convex_rest(outline, shades, 0.0),
            faces._visible_triangles(outline, shades),
        ):
            pieces = shapely.polygons(parts)
            assert shapely.area(pieces).sum() == pytest.approx(left.area, abs=1e-12)
            assert shapely.union_all(pieces).symmetric_difference(left).area < 1e-12


def test_a_shade_whose_edge_all_but_lies_on_that_of_the_rest_is_not_forgotten():
    x, y = -0.834694216120455, -0.4400939266390179
    rest = shapely.Polygon([
        (-1.2396210448670149, y), (x, 0.2657871986613328), (x, 0.265787198661425),
        (0.4321411785972071, 2.333321427371119), (0.581771854063582, 2.1431361841026932),
        (0.58177185406585, 2.1431361841026932), (0.7186207737314615, 2.6472614171146334),
        (0.7186207737314615, 2.800869438136143), (1.329612353202195, 3.7980360860499225),
        (1.329612353202195, -1.8833919312133034), (-2.15155569947929, -1.8833919312133034),
        (-1.267207101071244, y),
    ])  # fmt: skip
    shade = shapely.Polygon([
        (x, 0.2657871986613329), (-1.2396210448670149, y), (x, -0.2963356072699914),
    ])  # fmt: skip
    left = faces._subtract_shades(rest, np.array([shade]))
    assert left.area == pytest.approx(rest.area - shade.area, abs=1e-11)


def test_what_geos_gives_up_on_is_cut_into_convex_pieces(monkeypatch):
    """A hole beside its shell came out of the cubes of `benchmarks.static_bound_3d`, seed 0."""
    shell = shapely.box(0.0, 0.0, 4.0, 3.0).exterior
    wrong = shapely.Polygon(shell, [shapely.box(5.0, 0.0, 6.0, 1.0).exterior])
    outline = np.array([(0.0, 0.0), (4.0, 0.0), (0.0, 4.0)])
    shades = shapely.box([1.0], 1.0, 2.0, 2.0)
    monkeypatch.setattr(faces, "_subtract_shades", lambda *_: wrong)
    area = shapely.area(shapely.polygons(faces._visible_triangles(outline, shades))).sum()
    assert area == pytest.approx(7.0)
