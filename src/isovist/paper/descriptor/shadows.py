"""Compute what moving shadows add to the Jacobian on a map of segments.

f_p jumps at the angle a where a ray passes a corner at distance ρ_a and meets another wall behind
it.  When p moves by δ the direction of the corner turns by (sin a, −cos a)·δ/ρ_a.  The piece before
it gains the angle that the piece after it loses.  So ∂F_i/∂p has, besides ∫ ∇f_p w_i dθ, the shadow
term

    Σ_a (f(a⁻) − f(a⁺)) w_i(a) (sin a, −cos a)/ρ_a,                           (1)

with f(a⁻) just clockwise of the corner and f(a⁺) just counter-clockwise.  A corner in which two
walls meet has no jump of range, though it has one of any signal in which the walls differ.  The
rims at a longest range (`rims`) are jumps like the corners and stand among them.
"""

from dataclasses import dataclass

import numpy as np

from isovist import SegmentMap
from isovist.arrays import FloatArray, IntArray
from isovist.paper.descriptor.quadrature import SegmentView, seen_along
from isovist.paper.descriptor.rims import find_rims
from isovist.poses import unit_vectors
from isovist.sensing import Signal, WallHits


@dataclass(frozen=True, slots=True, eq=False)
class Jumps:
    """Angles at which the view of a point changes at once: corners, then rims.

    Attributes:
        offsets: Where the jumps of each point begin, shape (P + 1,).
        before: What is seen just clockwise of each.
        after: What is seen just counter-clockwise of it.
        moves: ∂a/∂p, how its angle moves with the point, shape (m, 2), in rad per m.
        inside: 1 for jumps strictly inside the view, 0 for others, shape (m,).
    """

    offsets: IntArray
    before: WallHits
    after: WallHits
    moves: FloatArray
    inside: FloatArray


def find_jumps(view: SegmentView, kinks: tuple[float, ...] = ()) -> Jumps:
    """Find the jumps of a signal around points, given the ranges (m) of its kinks."""
    world, points, pieces, intervals = view.world, view.points, view.pieces, view.intervals
    owner, k = view.numbered_pieces()
    angles = pieces.angles[owner, k + 1]
    before = pieces.walls[owner, k]
    after = pieces.walls[owner, (k + 1) % pieces.counts[owner]]
    directions = unit_vectors(angles)
    near = _line_ranges(world, points[owner], directions, before)
    far = _line_ranges(world, points[owner], directions, after)
    tangents = np.stack([directions[:, 1], -directions[:, 0]], axis=1)
    moves = tangents / np.minimum(near, far)[:, None]
    changes = before != after
    for limit in kinks:
        rims = find_rims(view, limit)
        owner = np.concatenate([owner, rims.owner])
        angles = np.concatenate([angles, rims.angles])
        before, after = (np.concatenate([walls, rims.walls]) for walls in (before, after))
        near = np.concatenate([near, rims.before])
        far = np.concatenate([far, rims.after])
        moves = np.concatenate([moves, rims.moves])
        changes = np.concatenate([changes, np.ones(len(rims.owner), np.bool_)])
    strictly = (angles[:, None] > intervals[:, 0]) & (angles[:, None] < intervals[:, 1])
    # The seam between 2π and 0 is inside when the view goes all the way round.
    is_full_circle = bool((intervals[0, 0] <= 0.0) and (intervals[-1, 1] >= 2.0 * np.pi))
    inside = strictly.any(axis=1) | (is_full_circle & ((angles >= 2.0 * np.pi) | (angles <= 0.0)))
    order = np.argsort(owner, kind="stable")
    directions = unit_vectors(angles[order])
    return Jumps(
        np.searchsorted(owner[order], np.arange(len(points) + 1)),
        seen_along(world, points[owner[order]], directions, near[order], before[order]),
        seen_along(world, points[owner[order]], directions, far[order], after[order]),
        moves[order],
        (inside & changes).astype(np.float64)[order],
    )


def jump_terms(signal: Signal, jumps: Jumps) -> FloatArray:
    """Return (f(a⁻) − f(a⁺)) ∂a/∂p of each jump, as in equation (1), shape (m, 2)."""
    jump = signal.values(jumps.before) - signal.values(jumps.after)
    return np.asarray((jump * jumps.inside)[:, None] * jumps.moves)


def _line_ranges(
    world: SegmentMap, points: FloatArray, directions: FloatArray, walls: IntArray
) -> FloatArray:
    """Return the range along each direction to the line of a wall, `inf` for no wall."""
    gap = world.walls[walls, :2] - points
    normals = world.normals[walls]
    along = np.einsum("ij,ij->i", normals, directions)
    height = np.einsum("ij,ij->i", normals, gap)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(walls >= 0, height / along, np.inf)
