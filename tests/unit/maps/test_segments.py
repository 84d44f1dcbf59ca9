import numpy as np
import pytest
import shapely
from benchmarks.fuzz.readers import damage_file
from benchmarks.fuzz.seeds import plan
from hypothesis import given
from hypothesis import strategies as st
from tests.support.angles import unit_vectors
from tests.support.cells import Ending
from tests.support.errors import refused
from tests.support.reference import cast_all, random_point, random_room, see_all
from tests.support.worlds import office_floor

import isovist as iv
from isovist import SegmentMap

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.slow
@given(seeds)
def test_casting_agrees_with_trying_every_wall(seed):
    rng = np.random.default_rng(seed)
    world = random_room(rng)
    p = random_point(rng, world)
    directions = unit_vectors(rng.uniform(0.0, 2.0 * np.pi, 40))
    hits = world.cast(p, directions)
    for k, d in enumerate(directions):
        t, wall = cast_all(world.walls, p, d)
        assert hits.walls[k] == wall
        assert hits.ranges[k] == pytest.approx(t, rel=1e-14)


@pytest.mark.slow
@given(seeds)
def test_normals_face_the_ray_and_stand_on_the_wall(seed):
    rng = np.random.default_rng(seed)
    world = random_room(rng)
    p = random_point(rng, world)
    directions = unit_vectors(rng.uniform(0.0, 2.0 * np.pi, 40))
    hits = world.cast(p, directions)
    assert (np.einsum("ij,ij->i", hits.normals, directions) < 0.0).all()
    ends = world.walls[hits.walls]
    along = ends[:, 2:] - ends[:, :2]
    assert np.abs(np.einsum("ij,ij->i", hits.normals, along)).max() < 1e-12
    assert (hits.endings == Ending.WALL).all()


@pytest.mark.slow
@given(seeds)
def test_visible_pieces_agree_with_rays_between_all_corners(seed):
    rng = np.random.default_rng(seed)
    world = random_room(rng)
    p = random_point(rng, world)
    pieces = world.see(p[None, :])
    count = pieces.counts[0]
    angles, walls = see_all(world, p)
    merged = np.concatenate([[True], pieces.walls[0, 1:count] != pieces.walls[0, : count - 1]])
    np.testing.assert_array_equal(pieces.walls[0, :count][merged], walls)
    np.testing.assert_allclose(pieces.angles[0, :count][merged], angles, atol=1e-12)
    assert pieces.angles[0, count] == 2.0 * np.pi


@pytest.mark.slow
def test_a_ray_through_a_shared_corner_does_not_slip_out():
    k = 12
    ring = unit_vectors(2.0 * np.pi * np.arange(k) / k)
    world = SegmentMap.from_polygons([ring])
    rng = np.random.default_rng(0)
    for p in rng.uniform(-0.6, 0.6, (200, 2)):
        toward = world.corners - p
        hits = world.cast(p, toward / np.linalg.norm(toward, axis=1, keepdims=True))
        np.testing.assert_allclose(hits.ranges, np.linalg.norm(toward, axis=1), rtol=1e-12)


@pytest.mark.slow
def test_the_nearest_corner_of_a_pillar_hides_its_own_back():
    """Both walls at the corner lie to one side of the ray: the one in front must win."""
    world = SegmentMap.room(6.0, 4.0, pillars=[(4.5, 1.5, 5.0, 2.5)])
    for p in np.random.default_rng(3).uniform((0.1, 0.1), (5.9, 3.9), (300, 2)):
        if not world.contains(p):
            continue
        pieces = world.see(p[None, :])
        count = pieces.counts[0]
        middles = unit_vectors(0.5 * (pieces.angles[0, :count] + pieces.angles[0, 1 : count + 1]))
        np.testing.assert_array_equal(world.cast(p, middles).walls, pieces.walls[0, :count])


def test_crossing_touching_and_overlapping_walls_are_split():
    crossing, touching, overlapping = [[2, -1], [2, 1]], [[1, 0], [1, 2]], [[3, 0], [5, 0]]
    world = SegmentMap.from_segments([[[0, 0], [4, 0]], crossing, touching, overlapping])
    expected = {(k, 0, k + 1, 0) for k in range(5)}
    expected |= {(2, -1, 2, 0), (2, 0, 2, 1), (1, 0, 1, 2)}
    assert {tuple(w) for w in world.walls} == expected
    assert len(world.walls) == len(expected)
    for wall, parent in zip(world.walls, world.parents, strict=True):
        assert tuple(wall) != (3, 0, 4, 0) or parent == 0


@pytest.mark.slow
@given(seeds)
def test_after_splitting_walls_meet_only_at_ends(seed):
    rng = np.random.default_rng(seed)
    segments = rng.uniform(0.0, 5.0, (12, 2, 2))
    world = SegmentMap.from_segments(segments)
    lines = shapely.linestrings(world.walls.reshape(-1, 2, 2))
    for i, a in enumerate(lines):
        for j in range(i + 1, len(lines)):
            if a.crosses(lines[j]):
                meeting = shapely.get_coordinates(a.intersection(lines[j]))
                ends = np.concatenate([world.walls[i].reshape(2, 2), world.walls[j].reshape(2, 2)])
                assert np.linalg.norm(meeting[0] - ends, axis=1).min() < 1e-9
    total = shapely.length(shapely.linestrings(segments)).sum()
    assert shapely.length(lines).sum() == pytest.approx(total, rel=1e-12)


def test_free_space_is_what_walls_enclose():
    world = SegmentMap.from_segments([[[0, 0], [2, 0]], [[2, 0], [1, 2]], [[1, 2], [0, 0]]])
    np.testing.assert_array_equal(
        world.contains([[1.0, 0.5], [0.0, 1.5], [1.0, 0.0]]), [True, False, False]
    )
    open_map = SegmentMap.from_segments([[[0, 0], [2, 0]]])
    np.testing.assert_array_equal(open_map.contains([[1.0, 0.5], [1.0, 0.0]]), [True, False])


def test_a_ray_that_meets_nothing_is_infinite():
    world = SegmentMap.from_segments([[[1, -1], [1, 1]]])
    hits = world.cast([0.0, 0.0], [[1.0, 0.0], [-1.0, 0.0]])
    np.testing.assert_array_equal(hits.ranges, [1.0, np.inf])
    np.testing.assert_array_equal(hits.walls, [0, -1])
    np.testing.assert_array_equal(hits.normals, [[-1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(hits.endings, [Ending.WALL, Ending.EDGE])


def test_clearance_is_the_distance_to_the_nearest_wall():
    world = SegmentMap.room(6.0, 4.0, pillars=[(4.5, 1.5, 5.0, 2.5)])
    np.testing.assert_allclose(world.clearance([[1.0, 2.0], [4.0, 2.0]]), [1.0, 0.5])


@pytest.mark.slow
def test_an_office_floor_is_the_same_for_the_same_seed_and_all_of_it_can_be_reached():
    floor, again = office_floor(5), office_floor(5)
    np.testing.assert_array_equal(floor.reality.walls, again.reality.walls)
    assert len(floor.reality.walls) > len(floor.plan.walls)
    # Doors join everything: free space minus the walls, fattened, is one region.
    walls = shapely.union_all(shapely.linestrings(floor.plan.walls.reshape(-1, 2, 2))).buffer(0.2)
    rooms = floor.plan.free.difference(walls)
    assert rooms.geom_type == "Polygon"


def test_a_wall_that_is_drawn_many_times_is_one():
    room = SegmentMap.room(6, 4).walls.reshape(-1, 2, 2)
    cross = np.array([[[1.0, 1.0], [5.0, 3.0]], [[1.0, 3.0], [5.0, 1.0]]])
    walls = np.concatenate([room, cross])
    once = SegmentMap.from_segments(walls)
    again = np.concatenate([walls, np.tile(walls[:, ::-1], (2000, 1, 1))])
    many = SegmentMap.from_segments(again)
    np.testing.assert_array_equal(many.walls, once.walls)
    np.testing.assert_array_equal(many.parents, once.parents)


@pytest.mark.slow
def test_walls_that_enclose_slivers_are_mended_or_refused(tmp_path, monkeypatch):
    home = tmp_path / "plan.walls"
    home.mkdir()
    path = home / "seed.geojson"
    iv.write_map(plan(), path)
    damage_file(home, path, np.random.default_rng([301, 3152, *b"plan.walls"]))
    world = iv.read_map(path)
    walls = world.walls.reshape(-1, 2, 2)
    with pytest.raises(shapely.errors.GEOSException):
        shapely.union_all(shapely.polygonize(shapely.linestrings(walls)).geoms)
    assert 100.0 < world.free.area < 300.0
    monkeypatch.setattr(shapely, "make_valid", lambda shapes: shapes)
    with refused(code="invalid_file", kind=iv.FileError):
        iv.read_map(path)
