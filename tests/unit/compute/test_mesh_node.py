"""Both ways to enter a node and to meet faces, and the order in which rays are followed."""

from types import FunctionType
from unittest import mock

import numpy as np
import pytest
from numba import njit
from tests.support.meshes import sphere

from isovist import MeshMap
from isovist.compute import (
    BIG,
    LEAF,
    WIDE,
    WIDER,
    below,
    enter_plain,
    entering,
    meet_plain,
    meet_vector,
    ray_key,
    sort_keys,
)
from isovist.kernels import mesh, mesh_flat

pytestmark = pytest.mark.slow


def vector_twin(places):
    """Both intrinsics for nodes of so many places, as functions."""
    enter, child = entering(places), below(places)

    @njit
    def entered(boxes, node, rows, ray, reach, out):
        return enter(boxes, node, rows, ray, reach, out)

    @njit
    def child_of(boxes, node, s):
        return child(boxes, node, s)

    return entered, child_of


@njit
def meeting_twin(corners, group, axes, sheared, edges):
    return meet_vector(corners, group, axes, sheared, edges)


def rays(count, seed):
    """Origins and directions, some of them along axes and with zeros of either sign."""
    rng = np.random.default_rng(seed)
    origins, directions = rng.uniform(-3, 3, (count, 3)), rng.standard_normal((count, 3))
    directions[::5, 0], directions[1::5, 1] = 0.0, -0.0
    directions[2::5, :2] = 0.0
    return origins, directions


@pytest.mark.parametrize("places", [4, 8])
def test_the_vector_code_enters_what_the_plain_loop_enters(places):
    rng = np.random.default_rng(0)
    vector, child_of = vector_twin(places)
    low = rng.integers(-4, 4, (400, 3, places))
    boxes = np.concatenate([low, low + rng.integers(0, 8, low.shape), low[:, :2]], axis=1)
    boxes = np.ascontiguousarray(boxes, dtype=np.float32)
    boxes[::7, :3, 1], boxes[::7, 3:6, 1] = BIG, -BIG
    numbers = boxes.view(np.int32)[:, 6]
    numbers[:] = rng.integers(-(2**31), 2**31, numbers.shape)
    a, b = np.empty(places, np.int32), np.empty(places, np.int32)
    entered = 0
    for node, (o, d) in enumerate(zip(*rays(400, 1), strict=True)):
        with np.errstate(divide="ignore"):
            inverse = np.where(d == 0.0, np.copysign(1e30, d), 1.0 / d).astype(np.float32)
        rows = tuple(k if up else 3 + k for k, up in enumerate(inverse > 0)) + tuple(
            3 + k if up else k for k, up in enumerate(inverse > 0)
        )
        ray = (*(np.rint(o) if node % 2 else o).astype(np.float32), *inverse, *inverse * WIDER)
        reach = BIG if node % 3 else np.float32(1.5)
        bits = enter_plain(boxes, node, rows, ray, reach, a)
        assert vector(boxes, node, rows, ray, reach, b) == bits
        assert np.array_equal(a.view(np.float32), b.view(np.float32))
        assert (a.view(np.float32) >= 0.0).all()
        assert child_of(boxes, node, node % places) == numbers[node, node % places]
        entered += bits.bit_count()
    assert entered > 100


def test_the_vector_code_meets_the_faces_that_the_plain_loop_meets():
    rng = np.random.default_rng(3)
    corners = rng.integers(-2, 3, (300, 9, LEAF)).astype(float)
    corners[1::2] += 0.1 * rng.standard_normal(corners[1::2].shape)
    a, b = np.empty((6, LEAF)), np.empty((6, LEAF))
    met = 0
    for group in range(len(corners)):
        axes = tuple(int(k) for k in np.roll([0, 1, 2], group))
        sheared = (*rng.integers(-1, 2, 3).astype(float), *rng.choice([0.0, 0.5, -0.3], 2))
        bits = meet_plain(corners, group, axes, sheared, a)
        assert meeting_twin(corners, group, axes, sheared, b) == bits
        assert np.array_equal(a, b)
        met += bits.bit_count()
    assert 100 < met < 1100


def followed(world, origins, directions, **instead):
    """Ranges and faces by `first_face` with other parts than it has."""
    code = mesh.first_face.py_func.__code__
    counted = {"_nrt": mesh.first_face.targetoptions.get("_nrt", True)}
    follow = njit(error_model="numpy", **counted)(FunctionType(code, {**vars(mesh), **instead}))
    centre, half, corners, _, groups, boxes, deepest = world._hierarchy
    scratch = np.empty(deepest, np.int64), np.empty(boxes.shape[2], np.int32), np.empty((6, LEAF))
    both, inverse = np.concatenate([origins - centre, directions], axis=1), np.empty(3)
    found = []
    for i, d in enumerate(directions):
        shift, _ = mesh.enter_mesh(both, i, half, inverse)
        t, face = follow(both, i, inverse, shift, False, corners, groups, boxes, *scratch)
        found.append((t * np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), face))
    return np.array(found).T


def test_rays_meet_the_same_faces_by_the_plain_loops():
    world = MeshMap.from_arrays(*sphere(12))
    origins, directions = rays(300, 2)
    hits = world.cast(origins, directions)
    plain = {"enter_vector": enter_plain, "meet_vector": meet_plain}
    ranges, faces = followed(world, origins, directions, **plain)
    assert np.array_equal(ranges, hits.ranges)
    assert np.array_equal(faces, hits.walls)


def test_rays_meet_the_same_faces_through_nodes_of_the_other_width():
    places = 12 - WIDE  # 4 where this machine has 8, and 8 where it has 4
    vertices, faces = sphere(12)
    origins, directions = rays(300, 3)
    hits = MeshMap.from_arrays(vertices, faces).cast(origins, directions)
    other = MeshMap.from_arrays(vertices, faces)
    narrow = {**vars(mesh_flat), "WIDE": places}
    narrow["_share"] = FunctionType(mesh_flat._share.py_func.__code__, narrow)
    flatten = FunctionType(mesh_flat.flatten_tree.__wrapped__.__code__, narrow)
    with mock.patch.multiple(mesh_flat, WIDE=places, flatten_tree=flatten):
        assert other._hierarchy[5].shape[1:] == (mesh_flat.ROWS, places)
    ways = {"enter_vector": entering(places), "child_of": below(places)}
    ranges, walls = followed(other, origins, directions, **ways)
    assert np.array_equal(ranges, hits.ranges)
    assert np.array_equal(walls, hits.walls)


def test_rays_are_sorted_by_key_and_none_is_lost():
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 1 << 24, 5000) << 32 | np.arange(5000)
    expected = np.sort(keys)
    sort_keys(keys, np.empty_like(keys))
    assert np.array_equal(keys, expected)


def test_keys_have_24_bits_wherever_a_ray_is():
    for p in (-1e300, -1.0, 0.0, 1.0, 1e300):
        for d in (-1e300, -1e-310, 0.0, 1.0, 1e300):
            assert 0 <= ray_key(p, p, -p, d, -d, 0.0, 0.25) < 1 << 24
    # Neighbours share a key, opposite directions do not.
    assert ray_key(0.1, 0.1, 0.1, 1, 0.2, 0.1, 0.25) == ray_key(0.11, 0.1, 0.1, 1, 0.21, 0.1, 0.25)
    assert ray_key(0.1, 0.1, 0.1, 1, 0.2, 0.1, 0.25) != ray_key(0.1, 0.1, 0.1, -1, 0.2, 0.1, 0.25)
