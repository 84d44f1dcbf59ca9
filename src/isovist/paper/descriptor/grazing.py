"""Integrate the interior of the Jacobian on faces that are seen at a grazing angle.

The gradient of the range, −n/(n·θ), is large where a face is seen nearly edge-on, in few
directions: a sum over directions hardly meets them.  Over the area A of the face the same integral
is tame, since

    dσ = |n·θ| dA / r²,   hence   ∫ ∇r w_i dσ = ∓ n ∫_visible w_i / r² dA.                 (1)

So faces that are large in view and nearly edge-on are cut into small triangles. One ray to the
middle of each decides whether it is visible. The rest is left to the sum over directions.
"""

import numpy as np

from isovist import DirectionalBasis, MeshMap
from isovist.arrays import FloatArray, IntArray
from isovist.paper.descriptor.quadrature import sum_all
from isovist.paper.descriptor.silhouette import MeshView
from isovist.paper.settings import GrazingSettings
from isovist.sensing import Signal, WallHits
from isovist.settings import default_of

_MAX_HALVINGS = 24
_MAX_TRIANGLES = 2_000_000


def grazing_faces(world: MeshMap, point: FloatArray, spacing: float) -> IntArray:
    """Return faces seen nearly edge-on from a point, shape (3,), and wider than `spacing` (rad)."""
    limits = default_of(GrazingSettings)
    corners = world.vertices[world.faces] - point
    height = np.abs(np.einsum("ij,ij->i", world.normals, corners[:, 0]))
    places = np.concatenate([corners, corners.mean(axis=1, keepdims=True)], axis=1)
    nearest = np.linalg.norm(places, axis=2).min(axis=1)
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    wide = edges.max(axis=1) > limits.min_width * spacing * nearest
    return np.flatnonzero((height < limits.max_cosine * nearest) & wide & (world.areas > 0.0))


def grazing_term(
    view: MeshView, faces: IntArray, basis: DirectionalBasis, signal: Signal, spacing: float
) -> FloatArray:
    """Return ∫ ∇f w_i dσ over some faces by equation (1), shape (n, 3).

    Args:
        view: The mesh and the point of view.
        faces: Numbers of the faces.
        basis: The weights.
        signal: The signal on the directions.
        spacing: Distance of the directions in rad; the triangles are about as wide.
    """
    world, point = view.world, view.point
    width = default_of(GrazingSettings).triangle_width * spacing
    triangles = world.vertices[world.faces[faces]] - point
    corners, face = _halve_triangles(triangles, faces, width)
    middles = corners.mean(axis=1)
    reach = np.linalg.norm(middles, axis=1)
    theta = middles / reach[:, None]
    a, b, c = (corners[:, k] for k in range(3))
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    hits = world.cast(point, theta)
    visible = view.in_band(theta) & (hits.walls == face)
    theta, reach, areas = theta[visible], reach[visible], areas[visible]
    rays = WallHits(world, theta, reach, face[visible], hits.normals[visible], point)
    solid_angles = np.abs(np.einsum("ij,ij->i", rays.normals, theta)) * areas / reach**2
    return sum_all(basis, theta, solid_angles[:, None] * signal.gradients(rays))


def _halve_triangles(
    corners: FloatArray, face: IntArray, size: float
) -> tuple[FloatArray, IntArray]:
    """Halve triangles, shape (k, 3, 3), at their longest edge until they look small from 0.

    Returns the triangles and the face of each.
    """
    finished = []
    for _ in range(_MAX_HALVINGS):
        gap = corners[:, [1, 2, 0]] - corners
        a, b, c = np.einsum("ijk,ijk->ji", gap, gap)
        middle = corners.sum(axis=1) / 3.0
        longest = np.maximum(np.maximum(a, b), c)
        large = longest > size**2 * np.einsum("ij,ij->i", middle, middle)
        if not large.any() or len(corners) > _MAX_TRIANGLES:
            break
        finished.append((corners[~large], face[~large]))
        edge = np.where(a >= longest, 0, np.where(b >= longest, 1, 2))[large]
        turn = (edge[:, None] + np.arange(3)) % 3
        a, b, c = np.moveaxis(np.take_along_axis(corners[large], turn[..., None], axis=1), 1, 0)
        m = 0.5 * (a + b)
        corners = np.concatenate([np.stack([a, m, c], axis=1), np.stack([m, b, c], axis=1)])
        face = np.tile(face[large], 2)
    finished.append((corners, face))
    return np.concatenate([t for t, _ in finished]), np.concatenate([f for _, f in finished])
