"""Norms and inner products of the signals themselves, exactly, on maps of segments.

What the descriptor captures is measured against what there is to capture,

    ‖f_p‖² = ∫ f_p² dθ,        ⟨f_p, f_q⟩ = ∫ f_p f_q dθ.                     (1)

For the range, ½‖r_p‖² is the area seen from p.  A wall at distance c whose normal points to the
angle α is seen at r = c/cos(θ − α).  Over angles from a to b on which p sees one wall and q one
wall, with D = α_q − α_p and T the tangent of θ − α_p,

    ∫ r_p r_q dθ = c_p c_q log(1 + x)/sin D,
    x = sin D (T_b − T_a)/(cos D + sin D T_a),                                (2)

whose limit at D = 0 is c_p c_q (T_b − T_a).
"""

import numpy as np

from isovist.arrays import ArrayLike, FloatArray, IntArray, as_floats
from isovist.basis import DirectionalBasis
from isovist.errors import InputError
from isovist.maps.surfaces.segment_map import Pieces, SegmentMap
from isovist.paper.descriptor.quadrature import Exact, check_free, check_view, place_exact
from isovist.sensing.signals import Range, Signal

_BLOCK = 512  # points held at once


def squared_norms(
    world: SegmentMap,
    points: ArrayLike,
    signal: Signal | None = None,
    *,
    view: ArrayLike | None = None,
) -> FloatArray:
    """‖f_p‖² of each point, shape (P,), over the seen angles `view` (all of them by default)."""
    p = np.ascontiguousarray(as_floats("points", points, (None, 2)))
    check_free(world, p)
    chosen = Range() if signal is None else signal
    angles = check_view(view)
    out = np.empty(len(p))
    for first in range(0, len(p), _BLOCK):
        block = p[first : first + _BLOCK]
        pieces = world.see(block)
        # The basis only sets the length of the pieces; the signal alone is smooth on each wall.
        nodes = place_exact(
            world,
            block,
            pieces,
            DirectionalBasis.circle(8, 0.5),
            Exact(1e-14),
            chosen.kinks,
            angles,
        )
        energy = nodes.coefficients * chosen.values(nodes.seen) ** 2
        out[first : first + _BLOCK] = np.add.reduceat(energy, nodes.offsets[:-1])
    return out


def inner_products(world: SegmentMap, p: ArrayLike, q: ArrayLike) -> FloatArray:
    """⟨r_p, r_q⟩ of the ranges seen from points p and q, each of shape (P, 2); shape (P,)."""
    a = np.ascontiguousarray(as_floats("p", p, (None, 2)))
    b = np.ascontiguousarray(as_floats("q", q, a.shape))
    check_free(world, a)
    check_free(world, b)
    out = np.empty(len(a))
    for first in range(0, len(a), _BLOCK):
        one, two = a[first : first + _BLOCK], b[first : first + _BLOCK]
        out[first : first + _BLOCK] = _products(world, one, world.see(one), two, world.see(two))
    return out


def signal_distances(world: SegmentMap, p: ArrayLike, q: ArrayLike) -> FloatArray:
    """‖r_p − r_q‖ of the ranges seen from points p and q, shape (P,), in m."""
    a = np.ascontiguousarray(as_floats("p", p, (None, 2)))
    b = np.ascontiguousarray(as_floats("q", q, a.shape))
    check_free(world, np.concatenate([a, b]))
    out = np.empty(len(a))
    for first in range(0, len(a), _BLOCK):
        one, two = a[first : first + _BLOCK], b[first : first + _BLOCK]
        seen_one, seen_two = world.see(one), world.see(two)
        squares = _products(world, one, seen_one, one, seen_one)
        squares += _products(world, two, seen_two, two, seen_two)
        squares -= 2.0 * _products(world, one, seen_one, two, seen_two)
        out[first : first + _BLOCK] = np.sqrt(np.maximum(squares, 0.0))
    return out


def visible_feet(
    world: SegmentMap, points: FloatArray, edges: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """What points, shape (P, 2), see between their corners and further angles `edges`, in rad.

    Returns the angles a and b where each part begins and ends, and the distance c and angle α of
    its wall, r = c/cos(θ − α), each of shape (P, m).  Some parts are empty: a = b.
    """
    angles, walls = _padded(world.see(points))
    cuts = np.broadcast_to(edges, (len(points), len(edges)))
    cuts = np.sort(np.concatenate([angles, cuts], axis=1), axis=1)
    a, b = cuts[:, :-1], cuts[:, 1:]
    c, alpha = _feet(world, points, _at(angles, walls, 0.5 * (a + b)))
    return a, b, c, alpha


def _products(
    world: SegmentMap, p: FloatArray, seen_p: Pieces, q: FloatArray, seen_q: Pieces
) -> FloatArray:
    angles_p, walls_p = _padded(seen_p)
    angles_q, walls_q = _padded(seen_q)
    cuts = np.sort(np.concatenate([angles_p, angles_q], axis=1), axis=1)
    a, b = cuts[:, :-1], cuts[:, 1:]
    middle = 0.5 * (a + b)
    c_p, alpha_p = _feet(world, p, _at(angles_p, walls_p, middle))
    c_q, alpha_q = _feet(world, q, _at(angles_q, walls_q, middle))
    sine, cosine = np.sin(alpha_q - alpha_p), np.cos(alpha_q - alpha_p)
    flat = np.abs(sine) < 1e-12
    open_ = b - a > 1e-15
    t_a, t_b = np.tan(np.where(open_, a - alpha_p, 0.0)), np.tan(np.where(open_, b - alpha_p, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(open_, sine * (t_b - t_a) / (cosine + sine * t_a), 0.0)
        bent = np.log1p(x) / np.where(flat, 1.0, sine)
    values = c_p * c_q * np.where(flat, t_b - t_a, bent)
    return np.where(open_, values, 0.0).sum(axis=1)


def _padded(pieces: Pieces) -> tuple[FloatArray, IntArray]:
    """Angles, shape (P, C + 1), padded with 2π, and walls, shape (P, C), with the last wall."""
    most = int(pieces.counts.max())
    spare = np.arange(most + 1) > pieces.counts[:, None]
    last = np.take_along_axis(pieces.walls, pieces.counts[:, None] - 1, axis=1)
    walls = np.where(spare[:, 1:], last, pieces.walls[:, :most])
    return np.where(spare, 2.0 * np.pi, pieces.angles[:, : most + 1]), walls


def _at(angles: FloatArray, walls: IntArray, theta: FloatArray) -> IntArray:
    """The wall that is seen at each angle, shape (P, m)."""
    k = (theta[:, :, None] >= angles[:, None, 1:]).sum(axis=2)
    return np.take_along_axis(walls, np.minimum(k, walls.shape[1] - 1), axis=1)


def _feet(world: SegmentMap, p: FloatArray, walls: IntArray) -> tuple[FloatArray, FloatArray]:
    """Distance c from each point to the line of the wall, and the angle α of its foot."""
    if (walls < 0).any():
        raise InputError(
            "Some directions meet no wall, so the range has no norm. Close the map.", code="empty"
        )
    normals = world.normals[walls]
    c = np.einsum("pmk,pmk->pm", normals, world.walls[walls, :2] - p[:, None, :])
    normals = normals * np.sign(c)[..., None]
    return np.abs(c), np.arctan2(normals[..., 1], normals[..., 0])
