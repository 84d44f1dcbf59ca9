"""The interior of the Jacobian on faces that are seen at a grazing angle.

The gradient of the range, −n/(n·θ), is large where a face is seen nearly edge-on, in few
directions: a sum over directions hardly meets them.  Over the area A of the face the same integral
is tame, since

    dσ = |n·θ| dA / r²,   hence   ∫ ∇r w_i dσ = ∓ n ∫_visible w_i / r² dA.                 (1)

So faces that are large in view and nearly edge-on are cut into small triangles, each with one ray
to its middle to see whether it is visible; the rest is left to the sum over directions.
"""

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.basis import Band, DirectionalBasis
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.paper.descriptor.quadrature import sum_all
from isovist.sensing.signals import Signal, WallHits

_GRAZING = 0.3  # largest |n·θ| of a corner or the middle
_SMALL = 3.0  # spacings of the directions; smaller faces are met too seldom to matter
_COARSE = 2.0  # spacings of the directions; the triangles
_CUTS = 24
_MOST = 2_000_000  # triangles


def grazing_faces(world: MeshMap, point: FloatArray, spacing: float) -> IntArray:
    """Faces seen nearly edge-on from a point, shape (3,), and wider than `spacing` (rad)."""
    corners = world.vertices[world.faces] - point
    height = np.abs(np.einsum("ij,ij->i", world.normals, corners[:, 0]))
    places = np.concatenate([corners, corners.mean(axis=1, keepdims=True)], axis=1)
    nearest = np.linalg.norm(places, axis=2).min(axis=1)
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    wide = edges.max(axis=1) > _SMALL * spacing * nearest
    return np.flatnonzero((height < _GRAZING * nearest) & wide & (world.areas > 0.0))


def grazing_term(
    world: MeshMap,
    point: FloatArray,
    faces: IntArray,
    basis: DirectionalBasis,
    signal: Signal,
    *,
    spacing: float,
    seen: Band | None = None,
) -> FloatArray:
    """∫ ∇f w_i dσ over some faces by equation (1), shape (n, 3).

    Args:
        world: The mesh.
        point: Where, shape (3,), in m.
        faces: Which faces.
        basis: The weights.
        signal: What is put on the directions.
        spacing: Distance of the directions in rad; the triangles are `_COARSE` times as wide.
        seen: The directions that count, all by default.
    """
    corners, face = _cut(world.vertices[world.faces[faces]] - point, faces, _COARSE * spacing)
    middles = corners.mean(axis=1)
    reach = np.linalg.norm(middles, axis=1)
    theta = middles / reach[:, None]
    a, b, c = (corners[:, k] for k in range(3))
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    hits = world.cast(point, theta)
    visible = hits.walls == face
    if seen is not None:
        visible &= seen.mask(theta)
    theta, reach, areas = theta[visible], reach[visible], areas[visible]
    view = WallHits(world, theta, reach, face[visible], hits.normals[visible], point)
    solid = np.abs(np.einsum("ij,ij->i", view.normals, theta)) * areas / reach**2
    return sum_all(basis, theta, solid[:, None] * signal.gradients(view))


def _cut(corners: FloatArray, face: IntArray, size: float) -> tuple[FloatArray, IntArray]:
    """Triangles, shape (k, 3, 3), halved at their longest edge until they look small from 0.

    Also the face that each is of.
    """
    done = []
    for _ in range(_CUTS):
        gap = corners[:, [1, 2, 0]] - corners
        a, b, c = np.einsum("ijk,ijk->ji", gap, gap)
        middle = corners.sum(axis=1) / 3.0
        longest = np.maximum(np.maximum(a, b), c)
        large = longest > size**2 * np.einsum("ij,ij->i", middle, middle)
        if not large.any() or len(corners) > _MOST:
            break
        done.append((corners[~large], face[~large]))
        edge = np.where(a >= longest, 0, np.where(b >= longest, 1, 2))[large]
        turn = (edge[:, None] + np.arange(3)) % 3
        a, b, c = np.moveaxis(np.take_along_axis(corners[large], turn[..., None], axis=1), 1, 0)
        m = 0.5 * (a + b)
        corners = np.concatenate([np.stack([a, m, c], axis=1), np.stack([m, b, c], axis=1)])
        face = np.tile(face[large], 2)
    done.append((corners, face))
    return np.concatenate([t for t, _ in done]), np.concatenate([f for _, f in done])
