"""The tree that rays are followed through, and how they enter its nodes and meet faces."""

from functools import cache
from types import FunctionType

import numpy as np
import pytest
from numba import njit
from tests.support.meshes import sphere

from isovist import MeshMap
from isovist.compute import (
    CHILD_ROW,
    EMPTY_BOX,
    EXIT_SLACK,
    LEAF_FACES,
    NODE_ROWS,
    NODE_WIDTH,
    build_tree,
    child_intrinsic,
    enter_intrinsic,
    enter_scalar,
    flatten_tree,
    lowest_bit,
    meet_scalar,
    meet_vector,
    move_nodes,
    sort_keys,
)


def areas(low, high):
    x, y, z = (high - low).T
    return x * y + y * z + z * x


def binary(world):
    corners = world.vertices[world.faces]
    m = len(corners)
    order, children = np.empty(m, np.int64), np.empty((2 * m, 2), np.int64)
    low, high = np.empty((2 * m, 3)), np.empty((2 * m, 3))
    used = build_tree(corners.min(axis=1), corners.max(axis=1), order, low, high, children)
    return corners, order, low[:used], high[:used], children[:used]


def hall(boxes=40, seed=0):
    """A large room full of small boxes, whose floor is in the box of whatever is near."""
    rng = np.random.default_rng(seed)
    one, room = MeshMap.box([0, 0, 0], [1, 1, 1]), MeshMap.box([-36, -26, 0], [36, 26, 4])
    place = rng.uniform([-30, -20, 0], [30, 20, 3.5], (boxes, 1, 1, 3))
    size = rng.uniform(0.1, 0.4, (boxes, 1, 1, 3))
    small = place + size * one.vertices[one.faces]
    return MeshMap.from_triangles(np.concatenate([room.vertices[room.faces], *small]))


def soup(count=200, seed=0):
    """Triangles through all of the room, whose boxes all overlap."""
    return MeshMap.from_triangles(np.random.default_rng(seed).uniform(-5, 5, (count, 3, 3)))


def steps(count=400):
    """Faces each a little farther away and larger than the one before: no plane halves them."""
    triangle = np.array([[0, 0, 5], [1, 0, 5.1], [0, 1, 5.2]])
    return MeshMap.from_triangles(1.02 ** np.arange(count)[:, None, None] * triangle)


WORLDS = {"sphere": lambda: MeshMap.from_arrays(*sphere(10)), "hall": hall, "soup": soup,
          "steps": steps, "one": lambda: soup(1), "leaf": lambda: soup(LEAF_FACES)}  # fmt: skip


@pytest.mark.parametrize("name", WORLDS)
def test_nodes_that_move_make_no_box_lost_and_areas_less(name):
    corners, order, low, high, children = binary(WORLDS[name]())
    inner = children[:, 0] >= 0
    before = areas(low, high)[inner].sum()
    move_nodes(low, high, children)
    assert areas(low, high)[inner].sum() <= before * (1.0 + 1e-9)
    if name == "hall":
        assert areas(low, high)[inner].sum() < 0.9 * before
    assert np.array_equal(inner, children[:, 0] >= 0)
    seen, waiting = np.zeros(len(low), bool), [0]
    while waiting:
        node = waiting.pop()
        assert not seen[node]
        seen[node] = True
        left, right = children[node]
        if left < 0:
            faces = corners[order[-1 - left : -1 - left + right]].reshape(-1, 3)
            box = faces.min(axis=0), faces.max(axis=0)
        else:
            box = low[[left, right]].min(axis=0), high[[left, right]].max(axis=0)
            waiting += [left, right]
        assert np.array_equal(box, (low[node], high[node]))
    assert seen.all()


def least_area(children, area):
    """c(root, 1) of `compute.trees.flatten`, as its equation says it."""

    @cache
    def c(node, places):
        left, right = children[node]
        if left < 0:
            return 0.0
        whole = NODE_WIDTH if places == 1 else places
        least = min(c(left, i) + c(right, whole - i) for i in range(1, whole))
        return area[node] + least if places == 1 else min(least, c(node, places - 1))

    return c(0, 1)


@pytest.mark.parametrize("world", [soup(24), soup(100, 1), hall(9)])
def test_the_nodes_that_stay_have_the_least_area(world):
    _, _, low, high, children = binary(world)
    move_nodes(low, high, children)
    boxes = world._tree.boxes
    nodes = boxes.view(np.int32)[:, CHILD_ROW] >= 0
    sides = (boxes[:, :3].swapaxes(1, 2)[nodes], boxes[:, 3:6].swapaxes(1, 2)[nodes])
    area = areas(low, high)
    assert area[0] + areas(*sides).sum() == pytest.approx(least_area(children, area), rel=1e-4)


@pytest.mark.parametrize("world", [soup(24), hall(9)])
def test_compiled_code_makes_the_nodes_that_plain_python_makes(world):
    _, order, low, high, children = binary(world)
    names = dict(flatten_tree.__wrapped__.__globals__)
    names["_split_places"] = getattr(names["_split_places"], "py_func", names["_split_places"])
    plain = FunctionType(flatten_tree.__wrapped__.__code__, names)

    def flat(make):
        boxes = np.zeros((len(low), NODE_ROWS, NODE_WIDTH), np.float32)
        groups = np.zeros((len(low), LEAF_FACES), np.int64)
        tree = low, high, children, order, world.bounds.mean(axis=0), 1e-6
        used = make(*tree, boxes, boxes.view(np.int32), groups)
        return used, boxes.tobytes(), groups.tolist()

    assert flat(flatten_tree) == flat(plain)


def vector_twin(places):
    """Both intrinsics for nodes of so many places, as functions."""
    enter, child = enter_intrinsic(places), child_intrinsic(places)

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


@njit
def first_bit(bits):
    return lowest_bit(bits)


def rays(count, seed):
    """Origins and directions, some of them along axes and with zeros of either sign."""
    rng = np.random.default_rng(seed)
    origins, directions = rng.uniform(-3, 3, (count, 3)), rng.standard_normal((count, 3))
    directions[::5, 0], directions[1::5, 1] = 0.0, -0.0
    directions[2::5, :2] = 0.0
    return origins, directions


@pytest.mark.slow
@pytest.mark.parametrize("places", [4, 8])
def test_the_vector_code_enters_what_the_plain_loop_enters(places):
    rng = np.random.default_rng(0)
    vector, child_of = vector_twin(places)
    low = rng.integers(-4, 4, (400, 3, places))
    boxes = np.concatenate([low, low + rng.integers(0, 8, low.shape), low[:, :2]], axis=1)
    boxes = np.ascontiguousarray(boxes, dtype=np.float32)
    boxes[::7, :3, 1], boxes[::7, 3:6, 1] = EMPTY_BOX, -EMPTY_BOX
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
        ray = (*(np.rint(o) if node % 2 else o).astype(np.float32), *inverse, *inverse * EXIT_SLACK)
        reach = EMPTY_BOX if node % 3 else np.float32(1.5)
        bits = enter_scalar(boxes, node, rows, ray, reach, a)
        assert vector(boxes, node, rows, ray, reach, b) == bits
        assert np.array_equal(a.view(np.float32), b.view(np.float32))
        assert (a.view(np.float32) >= 0.0).all()
        assert child_of(boxes, node, node % places) == numbers[node, node % places]
        entered += bits.bit_count()
    assert entered > 100


@pytest.mark.slow
def test_the_vector_code_meets_the_faces_that_the_plain_loop_meets():
    rng = np.random.default_rng(3)
    corners = rng.integers(-2, 3, (300, 9, LEAF_FACES)).astype(float)
    corners[1::2] += 0.1 * rng.standard_normal(corners[1::2].shape)
    a, b = np.empty((6, LEAF_FACES)), np.empty((6, LEAF_FACES))
    met = 0
    for group in range(len(corners)):
        axes = tuple(int(k) for k in np.roll([0, 1, 2], group))
        sheared = (*rng.integers(-1, 2, 3).astype(float), *rng.choice([0.0, 0.5, -0.3], 2))
        bits = meet_scalar(corners, group, axes, sheared, a)
        assert meeting_twin(corners, group, axes, sheared, b) == bits
        assert np.array_equal(a, b)
        met += bits.bit_count()
    assert 100 < met < 1100


@pytest.mark.slow
def test_rays_are_sorted_by_key_and_none_is_lost():
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 1 << 24, 5000) << 32 | np.arange(5000)
    expected = np.sort(keys)
    sort_keys(keys, np.empty_like(keys))
    assert np.array_equal(keys, expected)
