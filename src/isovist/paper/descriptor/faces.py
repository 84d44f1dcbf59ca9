"""Integrals over the directions of space, face by face of a mesh, to a tolerance.

A plane face at distance h from p, with unit normal n, covers the solid angle

    dσ = h dA / r³,      hence   ∫ f w_i dσ = Σ_faces ∫_visible f(r) w_i(θ) h/r³ dA,         (1)

over the part of the face that is seen.  What hides it is found in its plane: the part of every
other triangle between p and the plane is projected from p onto it, and taken away.  What remains
is cut into triangles, halved at their longest edge until they look small from p, and integrated by
a product of Gauss–Legendre rules on the square, collapsed to the triangle: the integrand is
analytic there, and the rule of `quadrature` says how small and how many nodes.

Of faces that lie on each other the first is seen.  Edges of shadows are straight lines of the
plane, so nothing is approximated but the integrals; GEOS finds where lines cross to rounding.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from isovist.arrays import BoolArray, FloatArray, IntArray
from isovist.basis import DirectionalBasis, Softmax
from isovist.errors import InputError
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.paper.descriptor.quadrature import Exact, Nodes
from isovist.sensing.signals import WallHits

_FLAT = 1e-12  # share of the distance by which a face in front must be in front
_GRID = 1e-13  # share of the size of a face to which shapes are rounded when they are cut
_SLIVER = 1e-15  # area of a visible part, as a share of the face, that is not worth a node
_HALVINGS = 40
_CLOSED = 1e-6  # of the whole sphere that may be missing


def place_faces(
    world: MeshMap, point: FloatArray, basis: DirectionalBasis, quadrature: Exact
) -> Nodes:
    """Nodes on everything that is seen from a point, shape (3,), with coefficients h dA/r³."""
    corners, owners = [], []
    for number, parts in visible_parts(world, point):
        corners.append(parts)
        owners.append(np.full(len(parts), number))
    if not corners:
        raise InputError("From this point nothing of the mesh is seen.", code="empty")
    small = 0.9 * min(_reach(basis), 1.0)
    triangles, face = _halved(np.concatenate(corners), np.concatenate(owners), small)
    x, c = _triangle_rule(quadrature)
    a, b, d = (triangles[:, k] for k in range(3))
    at = a[:, None] + x[:, 0, None] * (b - a)[:, None] + x[:, 1, None] * (d - a)[:, None]
    double = np.linalg.norm(np.cross(b - a, d - a), axis=1)
    r = np.linalg.norm(at, axis=2)
    theta = at / r[..., None]
    normals = world.normals[face]
    height = np.abs(np.einsum("ij,ij->i", normals, a))
    weight = (double * height)[:, None] * c / r**3
    count = len(c)
    walls = np.repeat(face, count)
    theta, r = theta.reshape(-1, 3), r.ravel()
    facing = np.repeat(normals, count, axis=0)
    facing *= -np.sign(np.einsum("ij,ij->i", facing, theta))[:, None]
    coefficients = weight.ravel()
    missing = 1.0 - float(coefficients.sum()) / (4.0 * np.pi)
    if abs(missing) > max(_CLOSED, 100.0 * quadrature.tolerance):
        raise InputError(
            f"The mesh is not closed around the point: {missing:.1%} of the directions meet "
            "nothing. Use EqualArea, or close the mesh.",
            code="conflict",
        )
    seen = WallHits(world, theta, r, walls, facing, point)
    return Nodes(np.array([0, len(r)]), seen, coefficients)


def visible_parts(world: MeshMap, point: FloatArray) -> Iterator[tuple[int, FloatArray]]:
    """Faces with the triangles of what is seen of them, shape (k, 3, 3), relative to the point."""
    corners = world.vertices[world.faces] - point
    height = np.einsum("ij,ij->i", world.normals, corners[:, 0])
    scale = np.linalg.norm(corners, axis=2)
    usable = (world.areas > 0.0) & (np.abs(height) > _FLAT * scale.max(axis=1))
    clear = float(_least_distance(corners[usable]))
    toward = world.normals * np.sign(height)[:, None]
    across, up = _axes(toward)
    sides = _sides(corners, scale)
    for face in np.flatnonzero(usable):
        n, h = toward[face], abs(height[face])
        foot = np.stack([across[face], up[face]], axis=1)
        outline = corners[face] @ foot
        extent = float(np.linalg.norm(outline, axis=1).max())
        low = 0.25 * clear * h / (extent + h)
        near = np.flatnonzero(usable & _overlapping(int(face), corners, scale, sides))
        parts = outline[None]
        if len(near):
            parts = _seen_of(outline, _shades(corners, near, int(face), n, h, foot, low))
        if len(parts):
            yield int(face), parts[..., :1] * across[face] + parts[..., 1:] * up[face] + h * n


def _sides(corners: FloatArray, scale: FloatArray) -> FloatArray:
    """Unit normals of the planes through 0 and each edge, pointing inwards, shape (m, 3, 3)."""
    planes = np.cross(corners, np.roll(corners, -1, axis=1))
    size = np.linalg.norm(planes, axis=2)
    planes /= np.where(size > 1e-14 * scale**2, size, np.inf)[..., None]
    inside = np.einsum("ijk,ijk->ij", planes, np.roll(corners, -2, axis=1))
    return np.asarray(planes * np.sign(inside)[..., None])


def _overlapping(face: int, corners: FloatArray, scale: FloatArray, sides: FloatArray) -> BoolArray:
    """Which other faces no plane through 0 and an edge of either parts from a face, shape (m,)."""
    slack = _FLAT * scale
    mine = (corners @ sides[face].T <= slack[..., None]).all(axis=1)
    theirs = (sides @ corners[face].T <= slack[face]).all(axis=2)
    flat = (sides == 0.0).all(axis=2)  # an edge that points at 0 says nothing
    out = ~((mine & ~flat[face]).any(axis=1) | (theirs & ~flat).any(axis=1))
    out[face] = False
    return np.asarray(out)


def _seen_of(outline: FloatArray, shades: NDArray[np.object_]) -> FloatArray:
    """Triangles of what shades leave of a triangle of a plane, shape (k, 3, 2).

    What slivers leave is not always valid to GEOS, which then gives up on it.
    """
    shape = shapely.polygons(outline)
    try:
        seen = _unhidden(shape, shades)
        if seen.is_valid:
            return _triangles(seen, _SLIVER * shape.area)
    except shapely.errors.GEOSException:
        pass
    return _convex_rest(outline, shades, _SLIVER * shape.area)


def _unhidden(seen: BaseGeometry, shades: NDArray[np.object_]) -> BaseGeometry:
    """What shades leave of a shape."""
    x0, y0, x1, y1 = seen.bounds
    pad = 0.1 * (x1 - x0 + y1 - y0)
    shades = shapely.clip_by_rect(shades, x0 - pad, y0 - pad, x1 + pad, y1 + pad)
    areas = shapely.area(shades)
    # One after the other, cut to what matters: unions of long thin shapes lose parts of them.
    # On a grid, too: without one GEOS forgets shades whose edges all but lie on those of the rest.
    grid = _GRID * (x1 - x0 + y1 - y0)
    for k in np.argsort(-areas, kind="stable")[: int((areas > 0.0).sum())]:
        seen = shapely.difference(seen, shades[k], grid_size=grid)
        if seen.is_empty:
            break
    return seen


def _convex_rest(outline: FloatArray, shades: NDArray[np.object_], least: float) -> FloatArray:
    """The same in convex pieces: each shade is convex, so is what lies beyond one edge of it."""
    pieces = [outline]
    for shade in shades:
        ring = shapely.get_coordinates(shapely.orient_polygons(shade))[:-1]
        left = []
        for piece in pieces:
            rest = piece
            for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True):
                if len(rest) < 3:
                    break
                side = (b[0] - a[0]) * (rest[:, 1] - a[1]) - (b[1] - a[1]) * (rest[:, 0] - a[0])
                left.append(_clip(rest, -side))
                rest = _clip(rest, side)
        pieces = [piece for piece in left if len(piece) > 2]
    fans = [
        np.stack([np.broadcast_to(piece[0], piece[2:].shape), piece[1:-1], piece[2:]], axis=1)
        for piece in pieces
    ]
    triangles = np.concatenate([np.empty((0, 3, 2)), *fans])
    return triangles[shapely.area(shapely.polygons(triangles)) > least]


def _shades(
    corners: FloatArray,
    near: IntArray,
    face: int,
    n: FloatArray,
    h: float,
    foot: FloatArray,
    low: float,
) -> NDArray[np.object_]:
    """The part of other faces between 0 and the plane of a face, projected onto it."""
    above, high = corners[near] @ n, h * (1.0 - _FLAT)
    flat = (np.abs(above - h) <= 1e-9 * h).all(axis=1)  # in the same plane: the first is seen
    whole = (above.min(axis=1) >= low) & (above.max(axis=1) <= high) | flat & (near < face)
    part = corners[near[whole]]
    shades = shapely.polygons((part @ foot) * (h / (part @ n))[..., None])
    cut = ~whole & ~flat & (above.max(axis=1) > low) & (above.min(axis=1) < high)
    parts = [
        _clip(_clip(corners[k], heights - low), None, n, high)
        for k, heights in zip(near[cut], above[cut], strict=True)
    ]
    more = [
        shapely.polygons((part @ foot) * (h / (part @ n))[:, None])
        for part in parts
        if len(part) > 2
    ]
    return np.concatenate([shades, np.array(more, dtype=object)])


def _clip(
    polygon: FloatArray, above: FloatArray | None, n: FloatArray | None = None, high: float = np.inf
) -> FloatArray:
    """The part of a polygon where `above` ≥ 0, or, with a normal, where n·x ≤ high."""
    if n is not None:
        above = high - polygon @ n
    assert above is not None
    kept = []
    for k in range(len(polygon)):
        a, b, u, v = polygon[k - 1], polygon[k], above[k - 1], above[k]
        if (u >= 0.0) != (v >= 0.0):
            kept.append(a + (b - a) * (u / (u - v)))
        if v >= 0.0:
            kept.append(b)
    return np.array(kept).reshape(-1, polygon.shape[1])


def _triangles(shape: BaseGeometry, least: float) -> FloatArray:
    """Triangles of a shape of the plane, shape (k, 3, 2)."""
    parts = [g for g in shapely.get_parts(shape) if g.geom_type == "Polygon" and g.area > least]
    if not parts:
        return np.empty((0, 3, 2))
    cut = shapely.get_parts(shapely.constrained_delaunay_triangles(np.array(parts)))
    return shapely.get_coordinates(cut).reshape(-1, 4, 2)[:, :3]


def _halved(triangles: FloatArray, face: IntArray, small: float) -> tuple[FloatArray, IntArray]:
    """Triangles halved at their longest edge until they look smaller than `small` (rad) from 0."""
    done = []
    for _ in range(_HALVINGS):
        edges = np.linalg.norm(np.roll(triangles, -1, axis=1) - triangles, axis=2)
        longest = edges.max(axis=1)
        height = np.abs(_plane_distance(triangles))
        middle = np.linalg.norm(triangles.mean(axis=1), axis=1)
        nearest = np.maximum(height, middle - longest)
        large = longest > small * nearest
        done.append((triangles[~large], face[~large]))
        if not large.any():
            break
        some, k = triangles[large], edges[large].argmax(axis=1)
        rows = np.arange(len(some))
        a, b, c = some[rows, k], some[rows, (k + 1) % 3], some[rows, (k + 2) % 3]
        m = 0.5 * (a + b)
        triangles = np.concatenate([np.stack([a, m, c], axis=1), np.stack([m, b, c], axis=1)])
        face = np.concatenate([face[large], face[large]])
    return np.concatenate([t for t, _ in done]), np.concatenate([f for _, f in done])


def _plane_distance(triangles: FloatArray) -> FloatArray:
    """From 0 to the plane of each triangle."""
    a, b, c = (triangles[:, k] for k in range(3))
    normal = np.cross(b - a, c - a)
    size = np.linalg.norm(normal, axis=1)
    return np.asarray(np.einsum("ij,ij->i", normal, a) / np.where(size > 0.0, size, 1.0))


def _least_distance(corners: FloatArray) -> FloatArray:
    """A lower bound, though no sharp one, on how near a face comes to 0: that of its plane."""
    height = np.abs(_plane_distance(corners))
    middle = np.linalg.norm(corners.mean(axis=1), axis=1)
    radius = np.linalg.norm(corners - corners.mean(axis=1, keepdims=True), axis=2).max(axis=1)
    return np.asarray(np.maximum(height, middle - radius).min())


def _axes(n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two unit vectors across each unit vector, shape (m, 3)."""
    a = np.cross(n, np.eye(3)[np.argmin(np.abs(n), axis=1)])
    size = np.linalg.norm(a, axis=1)
    a /= np.where(size > 0.0, size, 1.0)[:, None]
    return a, np.cross(n, a)


def _reach(basis: DirectionalBasis) -> float:
    """How far from real directions the weights are analytic, in rad (2 of `quadrature`)."""
    if not isinstance(basis.profile, Softmax):
        return 0.25 * basis.profile.support
    epsilon = basis.profile.temperature
    gaps = np.arccos(np.clip(np.sort(basis.directions @ basis.directions.T, axis=1)[:, -2], -1, 1))
    poles = np.arcsinh(np.pi * epsilon / (2.0 * np.sin(0.5 * gaps.max())))
    return float(min(poles, 2.0 * np.sqrt(epsilon)))


@lru_cache(maxsize=8)
def _triangle_rule(quadrature: Exact) -> tuple[FloatArray, FloatArray]:
    """Nodes (s, t) of the triangle 0 ≤ s, t, s + t ≤ 1, shape (k, 2), and coefficients."""
    x, w = np.polynomial.legendre.leggauss(len(quadrature.rules()[2]) - 1)
    u, w = 0.5 * (x + 1.0), 0.5 * w
    s, t = np.meshgrid(u, u, indexing="ij")
    nodes = np.stack([s * (1.0 - t), s * t], axis=-1).reshape(-1, 2)
    return nodes, (np.outer(w * u, w)).ravel()
