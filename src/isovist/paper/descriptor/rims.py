"""Compute what a longest range adds to the Jacobian of a signal that jumps there.

An intensity that is 0 beyond the range M jumps on a wall at distance M, and that place moves with
p.  Let c be the distance from p to the line or plane of the wall, n its unit normal pointing away
from p, and φ the angle from n.  Then r = c/cos φ is M at cos φ = c/M. When p moves by δ the rim
opens by n·δ/(M sin φ).  In 2D it is at the angles a = α ± φ on either side of the angle α of n, and
each adds to ∂F_i/∂p

    (f(a⁻) − f(a⁺)) w_i(a) n/(M sin(a − α)).                                  (1)

In 3D it is a circle of directions around n, with dℓ = sin φ dβ, and each face adds

    (f(M⁻) − f(M⁺)) n/M ∫ w_i dβ,                                             (2)

over the arcs on which the face is the first that is met.  A range that is cut off at M goes on
without a jump, and adds nothing.
"""

from dataclasses import dataclass, replace

import numpy as np

from isovist import DirectionalBasis
from isovist.arrays import FloatArray, IntArray
from isovist.paper.descriptor.quadrature import SegmentView
from isovist.paper.descriptor.silhouette import (
    MeshView,
    Panels,
    place_nodes,
    split_evenly,
    sum_curves,
)
from isovist.sensing import Signal


@dataclass(frozen=True, slots=True, eq=False)
class Rims:
    """Directions in which 2D walls pass a range.

    Attributes:
        owner: The point that sees each rim, shape (m,).
        walls: Its wall, shape (m,).
        angles: a in [0, 2π), shape (m,), in rad.
        before: Range just clockwise of it, shorter or longer by a rounding, shape (m,), in m.
        after: Range just counter-clockwise of it.
        moves: ∂a/∂p of equation (1), shape (m, 2), in rad per m.
    """

    owner: IntArray
    walls: IntArray
    angles: FloatArray
    before: FloatArray
    after: FloatArray
    moves: FloatArray


def find_rims(view: SegmentView, limit: float) -> Rims:
    """Find where the visible pieces of wall pass the range `limit` (m)."""
    world, points, pieces = view.world, view.points, view.pieces
    owner, k = view.numbered_pieces()
    walls = pieces.walls[owner, k]
    normals = world.normals[walls]
    c = np.einsum("ij,ij->i", normals, world.walls[walls, :2] - points[owner])
    normals, c = normals * np.where(c < 0.0, -1.0, 1.0)[:, None], np.abs(c)
    # Beyond the middle the wall goes away from the point, before it the wall comes nearer.
    side = np.repeat([-1.0, 1.0], len(owner))
    owner, k, walls, normals, c = (np.concatenate([x, x]) for x in (owner, k, walls, normals, c))
    phi = side * np.arccos(np.minimum(c / limit, 1.0))
    angles = (np.arctan2(normals[:, 1], normals[:, 0]) + phi) % (2.0 * np.pi)
    within = (pieces.angles[owner, k] <= angles) & (angles < pieces.angles[owner, k + 1])
    m = np.flatnonzero(within & (walls >= 0) & (phi != 0.0))
    before, after = (np.nextafter(limit, to * np.inf) for to in (-side[m], side[m]))
    moves = normals[m] / (limit * np.sin(phi[m]))[:, None]
    return Rims(owner[m], walls[m], angles[m], before, after, moves)


def rim_term(view: MeshView, basis: DirectionalBasis, signal: Signal) -> FloatArray:
    """Return the sum over faces of equation (2) at a point, shape (n, 3).

    `silhouette_term` describes the arguments.
    """
    out = np.zeros((len(basis), 3))
    for limit in signal.kinks:
        circles = _Circles(view, limit)
        if len(circles.faces):
            out += sum_curves(circles, basis, signal)
    return out


class _Circles:
    """Arcs of faces at one distance from a point, each between two of their edges."""

    def __init__(self, view: MeshView, limit: float) -> None:
        self.view, self.limit = view, limit
        world, point = view.world, view.point
        corners = world.vertices[world.faces] - point
        c = np.einsum("ij,ij->i", world.normals, corners[:, 0])
        far = np.einsum("ijk,ijk->ij", corners, corners).max(axis=1) > limit**2
        # A face seen edge-on has no arc to speak of, and one without area none at all.
        f = np.flatnonzero(far & (np.abs(c) < limit) & (np.abs(c) > 0.0) & (world.areas > 0.0))
        normals = world.normals[f] * np.sign(c[f])[:, None]
        foot = np.abs(c[f])[:, None] * normals
        radius = np.sqrt(limit**2 - c[f] ** 2)
        across = corners[f, 1] - corners[f, 0]
        across /= np.linalg.norm(across, axis=1)[:, None]
        up = np.cross(normals, across)
        flat = np.stack([np.einsum("ijk,ik->ij", corners[f] - foot[:, None], axis)
                         for axis in (across, up)], axis=2)  # fmt: skip
        face, low, high = _arcs(flat, radius)
        self.faces, self.low, self.high = f[face], low, high
        self.normals, self.foot = normals[face], foot[face]
        self.across, self.up = ((radius[:, None] * axis)[face] for axis in (across, up))

    def first_panels(self, longest: float) -> tuple[IntArray, FloatArray, FloatArray]:
        """Cut every arc into panels of equal β, none longer than this (rad)."""
        return split_evenly(self.low, self.high, self.high - self.low, longest)

    def integrate(
        self, curve: IntArray, start: FloatArray, stop: FloatArray, signal: Signal
    ) -> Panels:
        """Return (f(M⁻) − f(M⁺)) dβ/M at the nodes of panels."""
        arc, beta, c = place_nodes(curve, start, stop)
        reach = self.foot[arc] + np.cos(beta)[:, None] * self.across[arc]
        reach += np.sin(beta)[:, None] * self.up[arc]
        theta = reach / np.linalg.norm(reach, axis=1)[:, None]
        hits, rays = self.view.look(theta)
        visible = self.view.in_band(theta) & (hits.walls == self.faces[arc])
        inside, outside = (
            signal.values(replace(rays, ranges=np.full(len(arc), r)))
            for r in np.nextafter(self.limit, [0.0, np.inf])
        )
        return Panels(theta, np.where(visible, c * (inside - outside) / self.limit, 0.0))


def _arcs(corners: FloatArray, radius: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Cut circles around 0 by 2D triangles, shapes (k,) and (k, 3, 2).

    Returns the triangle of each part and the angles at which it starts and stops, in rad.
    """
    along = np.roll(corners, -1, axis=1) - corners
    a = np.einsum("ijk,ijk->ij", along, along)
    b = np.einsum("ijk,ijk->ij", along, corners)
    root = b**2 - a * (np.einsum("ijk,ijk->ij", corners, corners) - radius[:, None] ** 2)
    with np.errstate(invalid="ignore"):
        root = np.sqrt(root)
        s = np.stack([(-b - root) / a, (-b + root) / a], axis=2)
    s = np.where((s >= 0.0) & (s <= 1.0), s, np.nan)
    x, y = np.moveaxis(corners[:, :, None] + s[..., None] * along[:, :, None], -1, 0)
    cuts = np.sort(np.arctan2(y, x).reshape(-1, 6), axis=1)
    # Circles that meet no edge are whole; places left over repeat the first, and hold nothing.
    cuts = np.where(np.isnan(cuts[:, :1]), 0.0, np.where(np.isnan(cuts), cuts[:, :1], cuts))
    cuts = np.sort(cuts, axis=1)
    low, high = cuts, np.concatenate([cuts[:, 1:], cuts[:, :1] + 2.0 * np.pi], axis=1)
    middle = 0.5 * (low + high)
    at = radius[:, None, None] * np.stack([np.cos(middle), np.sin(middle)], axis=2)
    gap = at[:, :, None] - corners[:, None]
    side = along[:, None, :, 0] * gap[..., 1] - along[:, None, :, 1] * gap[..., 0]
    inside = (side > 0.0).all(axis=2) | (side < 0.0).all(axis=2)
    face, k = np.nonzero(inside & (high > low))
    return face, low[face, k], high[face, k]
