"""Integrate over the directions of 3D space, face by face of a mesh, to a tolerance.

A plane face at distance h from p, with unit normal n, covers the solid angle

    dσ = h dA / r³,      hence   ∫ f w_i dσ = Σ_faces ∫_visible f(r) w_i(θ) h/r³ dA,         (1)

over the visible part of the face.  What hides it is computed in its plane: the part of every other
triangle between p and the plane is projected from p onto it, and taken away.  The rest is cut into
triangles, which are halved at their longest edge until they look small from p.  They are integrated
by a product of Gauss–Legendre rules on the square, collapsed to the triangle.  The integrand is
analytic there, and the rule of `quadrature` determines the size and the number of nodes.

If faces coincide, the first one is visible.  Edges of shadows are straight lines of the plane, so
nothing is approximated but the integrals; GEOS finds where lines cross to rounding.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from isovist import DirectionalBasis, InputError, MeshMap
from isovist.arrays import BoolArray, FloatArray, IntArray
from isovist.basis import Softmax
from isovist.paper.descriptor.quadrature import Exact, Nodes
from isovist.sensing import WallHits

_FLAT = 1e-12  # share of the distance by which a face in front must be in front
_GRID = 1e-13  # share of the size of a face to which shapes are rounded when they are cut
_SLIVER = 1e-15  # area of a visible part, as a share of the face, that is not worth a node
_HALVINGS = 40
_CLOSED = 1e-6  # of the whole sphere that may be missing


def place_faces(
    world: MeshMap, point: FloatArray, basis: DirectionalBasis, quadrature: Exact
) -> Nodes:
    """Return nodes on all visible faces from a point, shape (3,), with coefficients h dA/r³."""
    corners, owners = [], []
    for number, parts in _visible_parts(world, point):
        corners.append(parts)
        owners.append(np.full(len(parts), number))
    if not corners:
        raise InputError("No face of the mesh is visible from this point.", code="empty")
    small = 0.9 * min(_reach(basis), 1.0)
    triangles, face = _halve_triangles(np.concatenate(corners), np.concatenate(owners), small)
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
    rays = WallHits(world, theta, r, walls, facing, point)
    return Nodes(np.array([0, len(r)]), rays, coefficients)


def _visible_parts(world: MeshMap, point: FloatArray) -> Iterator[tuple[int, FloatArray]]:
    """Yield faces with the triangles of their visible part, (k, 3, 3), relative to the point."""
    corners = world.vertices[world.faces] - point
    height = np.einsum("ij,ij->i", world.normals, corners[:, 0])
    scale = np.linalg.norm(corners, axis=2)
    usable = (world.areas > 0.0) & (np.abs(height) > _FLAT * scale.max(axis=1))
    clear = float(_min_distance(corners[usable]))
    toward = world.normals * np.sign(height)[:, None]
    across, up = _axes(toward)
    sides = _sides(corners, scale)
    for face in np.flatnonzero(usable):
        plane = _Plane(toward[face], abs(height[face]), np.stack([across[face], up[face]], axis=1))
        outline = corners[face] @ plane.axes
        extent = float(np.linalg.norm(outline, axis=1).max())
        low = 0.25 * clear * plane.height / (extent + plane.height)
        near = np.flatnonzero(usable & _overlapping(int(face), corners, scale, sides))
        parts = outline[None]
        if len(near):
            parts = _visible_triangles(outline, _shades(corners[near], near < face, plane, low))
        if len(parts):
            foot = plane.height * plane.normal
            yield int(face), parts[..., :1] * across[face] + parts[..., 1:] * up[face] + foot


@dataclass(frozen=True, slots=True, eq=False)
class _Plane:
    """The plane of a face, relative to the point of view.

    Attributes:
        normal: Unit normal pointing away from the point, shape (3,).
        height: Distance of the plane in m.
        axes: Two unit vectors along the plane, shape (3, 2).
    """

    normal: FloatArray
    height: float
    axes: FloatArray

    def project(self, corners: FloatArray) -> FloatArray:
        """Project places from the point of view onto the plane, shape (..., 2)."""
        return (corners @ self.axes) * (self.height / (corners @ self.normal))[..., None]


def _sides(corners: FloatArray, scale: FloatArray) -> FloatArray:
    """Return unit normals of the planes through 0 and each edge, pointing inwards, (m, 3, 3)."""
    planes = np.cross(corners, np.roll(corners, -1, axis=1))
    size = np.linalg.norm(planes, axis=2)
    planes /= np.where(size > 1e-14 * scale**2, size, np.inf)[..., None]
    inside = np.einsum("ijk,ijk->ij", planes, np.roll(corners, -2, axis=1))
    return np.asarray(planes * np.sign(inside)[..., None])


def _overlapping(face: int, corners: FloatArray, scale: FloatArray, sides: FloatArray) -> BoolArray:
    """Return which other faces may overlap a face as seen from 0, shape (m,).

    Two faces do not overlap if a plane through 0 and an edge of either separates them.
    """
    slack = _FLAT * scale
    mine = (corners @ sides[face].T <= slack[..., None]).all(axis=1)
    theirs = (sides @ corners[face].T <= slack[face]).all(axis=2)
    flat = (sides == 0.0).all(axis=2)  # an edge that points at 0 says nothing
    out = ~((mine & ~flat[face]).any(axis=1) | (theirs & ~flat).any(axis=1))
    out[face] = False
    return np.asarray(out)


def _visible_triangles(outline: FloatArray, shades: NDArray[np.object_]) -> FloatArray:
    """Return the triangles that shades leave of a triangle of a plane, shape (k, 3, 2).

    Shapes with slivers are not always valid to GEOS, which then gives up on them.
    """
    shape = shapely.polygons(outline)
    min_area = _SLIVER * shape.area
    try:
        visible = _subtract_shades(shape, shades)
        if visible.is_valid:
            return _triangles(visible, min_area)
    except shapely.errors.GEOSException:
        pass
    return _convex_rest(outline, shades, min_area)


def _subtract_shades(shape: BaseGeometry, shades: NDArray[np.object_]) -> BaseGeometry:
    """Return a shape without its shades."""
    x0, y0, x1, y1 = shape.bounds
    pad = 0.1 * (x1 - x0 + y1 - y0)
    shades = shapely.clip_by_rect(shades, x0 - pad, y0 - pad, x1 + pad, y1 + pad)
    areas = shapely.area(shades)
    # One after the other, cut to what matters: unions of long thin shapes lose parts of them.
    # On a grid, too: without one GEOS forgets shades whose edges all but lie on those of the rest.
    grid = _GRID * (x1 - x0 + y1 - y0)
    for k in np.argsort(-areas, kind="stable")[: int((areas > 0.0).sum())]:
        shape = shapely.difference(shape, shades[k], grid_size=grid)
        if shape.is_empty:
            break
    return shape


def _convex_rest(outline: FloatArray, shades: NDArray[np.object_], min_area: float) -> FloatArray:
    """Subtract convex shades from a convex outline, as convex pieces."""
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
    return triangles[shapely.area(shapely.polygons(triangles)) > min_area]


def _shades(
    corners: FloatArray, is_earlier: BoolArray, plane: _Plane, low: float
) -> NDArray[np.object_]:
    """Project the parts of triangles between 0 and a plane onto the plane.

    Args:
        corners: The triangles, shape (k, 3, 3).
        is_earlier: Whether each hides the face where both lie in one plane, shape (k,).
        plane: The plane.
        low: Height above 0 from which a triangle counts, in m.
    """
    h = plane.height
    above, high = corners @ plane.normal, h * (1.0 - _FLAT)
    is_flat = (np.abs(above - h) <= 1e-9 * h).all(axis=1)
    is_between = (above.min(axis=1) >= low) & (above.max(axis=1) <= high) | is_flat & is_earlier
    shades = shapely.polygons(plane.project(corners[is_between]))
    is_crossing = ~is_between & ~is_flat & (above.max(axis=1) > low) & (above.min(axis=1) < high)
    clipped = zip(corners[is_crossing], above[is_crossing] - low, strict=True)
    parts = (_clip(triangle, heights) for triangle, heights in clipped)
    parts = (_clip(part, high - part @ plane.normal) for part in parts)
    crossing = [shapely.polygons(plane.project(part)) for part in parts if len(part) > 2]
    return np.concatenate([shades, np.array(crossing, dtype=object)])


def _clip(polygon: FloatArray, above: FloatArray) -> FloatArray:
    """Return the part of a polygon where `above`, given at its corners, is not negative."""
    corners = []
    for k in range(len(polygon)):
        a, b, u, v = polygon[k - 1], polygon[k], above[k - 1], above[k]
        if (u >= 0.0) != (v >= 0.0):
            corners.append(a + (b - a) * (u / (u - v)))
        if v >= 0.0:
            corners.append(b)
    return np.array(corners).reshape(-1, polygon.shape[1])


def _triangles(shape: BaseGeometry, min_area: float) -> FloatArray:
    """Cut a 2D shape into triangles, shape (k, 3, 2)."""
    parts = [g for g in shapely.get_parts(shape) if g.geom_type == "Polygon" and g.area > min_area]
    if not parts:
        return np.empty((0, 3, 2))
    cut_parts = shapely.get_parts(shapely.constrained_delaunay_triangles(np.array(parts)))
    return shapely.get_coordinates(cut_parts).reshape(-1, 4, 2)[:, :3]


def _halve_triangles(
    triangles: FloatArray, face: IntArray, small: float
) -> tuple[FloatArray, IntArray]:
    """Halve triangles at their longest edge until they look smaller than `small` (rad) from 0."""
    finished = []
    for _ in range(_HALVINGS):
        edges = np.linalg.norm(np.roll(triangles, -1, axis=1) - triangles, axis=2)
        longest = edges.max(axis=1)
        height = np.abs(_plane_distance(triangles))
        middle = np.linalg.norm(triangles.mean(axis=1), axis=1)
        nearest = np.maximum(height, middle - longest)
        large = longest > small * nearest
        finished.append((triangles[~large], face[~large]))
        if not large.any():
            break
        turn = (edges[large].argmax(axis=1)[:, None] + np.arange(3)) % 3
        a, b, c = np.take_along_axis(triangles[large], turn[..., None], axis=1).swapaxes(0, 1)
        m = 0.5 * (a + b)
        triangles = np.concatenate([np.stack([a, m, c], axis=1), np.stack([m, b, c], axis=1)])
        face = np.concatenate([face[large], face[large]])
    return np.concatenate([t for t, _ in finished]), np.concatenate([f for _, f in finished])


def _plane_distance(triangles: FloatArray) -> FloatArray:
    """Return the signed distance from 0 to the plane of each triangle."""
    a, b, c = (triangles[:, k] for k in range(3))
    normal = np.cross(b - a, c - a)
    size = np.linalg.norm(normal, axis=1)
    return np.asarray(np.einsum("ij,ij->i", normal, a) / np.where(size > 0.0, size, 1.0))


def _min_distance(corners: FloatArray) -> FloatArray:
    """Return a lower bound on the distance from 0 to the nearest of some faces."""
    height = np.abs(_plane_distance(corners))
    middle = np.linalg.norm(corners.mean(axis=1), axis=1)
    radius = np.linalg.norm(corners - corners.mean(axis=1, keepdims=True), axis=2).max(axis=1)
    return np.asarray(np.maximum(height, middle - radius).min())


def _axes(n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two unit vectors perpendicular to each unit vector, shape (m, 3)."""
    a = np.cross(n, np.eye(3)[np.argmin(np.abs(n), axis=1)])
    size = np.linalg.norm(a, axis=1)
    a /= np.where(size > 0.0, size, 1.0)[:, None]
    return a, np.cross(n, a)


def _reach(basis: DirectionalBasis) -> float:
    """Return how far from real directions the weights are analytic, in rad (2 of `quadrature`)."""
    if not isinstance(basis.profile, Softmax):
        return 0.25 * basis.profile.support
    epsilon = basis.profile.temperature
    gaps = np.arccos(np.clip(np.sort(basis.directions @ basis.directions.T, axis=1)[:, -2], -1, 1))
    poles = np.arcsinh(np.pi * epsilon / (2.0 * np.sin(0.5 * gaps.max())))
    return float(min(poles, 2.0 * np.sqrt(epsilon)))


@lru_cache(maxsize=8)
def _triangle_rule(quadrature: Exact) -> tuple[FloatArray, FloatArray]:
    """Return nodes (s, t) of the triangle 0 ≤ s, t, s + t ≤ 1, shape (k, 2), and coefficients."""
    x, w = np.polynomial.legendre.leggauss(len(quadrature.rules()[2]) - 1)
    u, w = 0.5 * (x + 1.0), 0.5 * w
    s, t = np.meshgrid(u, u, indexing="ij")
    nodes = np.stack([s * (1.0 - t), s * t], axis=-1).reshape(-1, 2)
    return nodes, (np.outer(w * u, w)).ravel()
