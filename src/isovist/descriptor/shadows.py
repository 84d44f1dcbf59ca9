"""What moving shadows add to the Jacobian on a map of segments.

f_p jumps at the angle a where a ray passes a corner at distance ρ_a and meets another wall behind
it.  When p moves by δ the corner is seen turned by (sin a, −cos a)·δ/ρ_a, the piece before it gains
what the piece after it loses, and ∂F_i/∂p has, besides ∫ ∇f_p w_i dθ, the shadow term

    Σ_a (f(a⁻) − f(a⁺)) w_i(a) (sin a, −cos a)/ρ_a,                           (1)

with f(a⁻) just clockwise of the corner and f(a⁺) just counter-clockwise.  A corner in which two
walls meet has no jump of range, though it has one of any signal in which the walls differ.
"""

from dataclasses import dataclass

import numpy as np

from isovist.descriptor.quadrature import seen_along
from isovist.maps.segments import Pieces, SegmentMap
from isovist.poses import unit_vectors
from isovist.sensing.signals import Seen, Signal
from isovist.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Shadows:
    """Corners at which the view of a point changes from one wall to another.

    Attributes:
        offsets: Where the corners of each point begin, shape (P + 1,).
        before: What is seen just clockwise of each corner.
        after: What is seen just counter-clockwise of it.
        distances: Distance to the corner, shape (m,), in m.
        inside: 1 for corners strictly inside the view, 0 for others, shape (m,).
    """

    offsets: IntArray
    before: Seen
    after: Seen
    distances: FloatArray
    inside: FloatArray


def find_shadows(
    world: SegmentMap, points: FloatArray, pieces: Pieces, view: FloatArray
) -> Shadows:
    """The corners between consecutive pieces around each point, shape (P, 2)."""
    offsets = np.concatenate([[0], np.cumsum(pieces.counts)])
    owner = np.repeat(np.arange(len(points)), pieces.counts)
    k = np.arange(offsets[-1]) - offsets[owner]
    angles = pieces.angles[owner, k + 1]
    before = pieces.walls[owner, k]
    after = pieces.walls[owner, (k + 1) % pieces.counts[owner]]
    directions = unit_vectors(angles)
    near = _line_ranges(world, points[owner], directions, before)
    far = _line_ranges(world, points[owner], directions, after)
    strictly = (angles[:, None] > view[:, 0]) & (angles[:, None] < view[:, 1])
    # The seam between 2π and 0 is inside when the view goes all the way round.
    whole = bool((view[0, 0] <= 0.0) and (view[-1, 1] >= 2.0 * np.pi))
    inside = strictly.any(axis=1) | (whole & (angles >= 2.0 * np.pi))
    return Shadows(
        offsets,
        seen_along(world, directions, near, before),
        seen_along(world, directions, far, after),
        np.minimum(near, far),
        (inside & (before != after)).astype(np.float64),
    )


def shadow_terms(signal: Signal, shadows: Shadows) -> FloatArray:
    """(f(a⁻) − f(a⁺)) (sin a, −cos a)/ρ of equation (1) for each corner, shape (m, 2)."""
    jump = signal.values(shadows.before) - signal.values(shadows.after)
    rate = jump * shadows.inside / shadows.distances
    a = shadows.before.directions
    return np.stack([rate * a[:, 1], -rate * a[:, 0]], axis=1)


def _line_ranges(
    world: SegmentMap, points: FloatArray, directions: FloatArray, walls: IntArray
) -> FloatArray:
    """Range along each direction to the line of a wall, `inf` for no wall."""
    gap = world.walls[walls, :2] - points
    normals = world.normals[walls]
    along = np.einsum("ij,ij->i", normals, directions)
    height = np.einsum("ij,ij->i", normals, gap)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(walls >= 0, height / along, np.inf)
