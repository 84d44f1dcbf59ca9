"""Norms and distances of the signals themselves, exactly, on maps of segments.

What the descriptor captures is measured against what there is to capture,

    ‖f_p‖² = ∫ f_p² dθ,        ⟨f_p, f_q⟩ = ∫ f_p f_q dθ.                     (1)

For the range, ½‖r_p‖² is the area seen from p.  A wall at distance c whose normal points to the
angle α is seen at r = c/cos(θ − α).  Over angles from a to b on which p sees one wall and q one
wall, with D = α_q − α_p and T the tangent of θ − α_p,

    ∫ r_p r_q dθ = c_p c_q log(1 + x)/sin D,
    x = sin D (T_b − T_a)/(cos D + sin D T_a),                                (2)

whose limit at D = 0 is c_p c_q (T_b − T_a).
"""

from collections.abc import Callable

import numpy as np

from isovist import DirectionalBasis, InputError, Range, SegmentMap
from isovist.arrays import ArrayLike, FloatArray, IntArray, as_floats
from isovist.maps import Pieces
from isovist.paper.descriptor.quadrature import Exact, SegmentView, check_free, place_exact
from isovist.sensing import Signal

_BLOCK = 512  # points held at once


def squared_norms(
    world: SegmentMap,
    points: ArrayLike,
    signal: Signal | None = None,
    *,
    view: ArrayLike | None = None,
) -> FloatArray:
    """Return ‖f_p‖² of each point, shape (P,), over the angles `view` (all by default)."""
    p = np.ascontiguousarray(as_floats("points", points, (None, 2)))
    check_free(world, p)
    f = Range() if signal is None else signal

    def energies(block: FloatArray) -> FloatArray:
        # The basis only sets the length of the pieces; the signal alone is smooth on each wall.
        basis = DirectionalBasis.circle(8, 0.5)
        nodes = place_exact(SegmentView.of(world, block, view), basis, Exact(1e-14), f.kinks)
        energy = nodes.coefficients * f.values(nodes.rays) ** 2
        return np.asarray(np.add.reduceat(energy, nodes.offsets[:-1]))

    return _in_blocks(energies, p)


def signal_distances(world: SegmentMap, p: ArrayLike, q: ArrayLike) -> FloatArray:
    """Return ‖r_p − r_q‖ of the ranges seen from points p and q, shape (P,), in m."""

    def distances(a: FloatArray, b: FloatArray) -> FloatArray:
        seen_a, seen_b = world.see(a), world.see(b)
        squares = _products(world, a, seen_a, a, seen_a)
        squares += _products(world, b, seen_b, b, seen_b)
        squares -= 2.0 * _products(world, a, seen_a, b, seen_b)
        return np.sqrt(np.maximum(squares, 0.0))

    a = np.ascontiguousarray(as_floats("p", p, (None, 2)))
    b = np.ascontiguousarray(as_floats("q", q, a.shape))
    check_free(world, np.concatenate([a, b]))
    return _in_blocks(distances, a, b)


def _in_blocks(values: Callable[..., FloatArray], *points: FloatArray) -> FloatArray:
    """Return values of points, each of shape (P, 2), block by block, shape (P,)."""
    out = np.empty(len(points[0]))
    for start in range(0, len(out), _BLOCK):
        block = slice(start, start + _BLOCK)
        out[block] = values(*(p[block] for p in points))
    return out


def visible_walls(
    world: SegmentMap, points: FloatArray, edges: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Find the walls that points, shape (P, 2), see between corners and further angles (rad).

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
    """Pad angles, shape (P, C + 1), with 2π, and walls, shape (P, C), with the last wall."""
    max_corners = int(pieces.counts.max())
    spare = np.arange(max_corners + 1) > pieces.counts[:, None]
    last = np.take_along_axis(pieces.walls, pieces.counts[:, None] - 1, axis=1)
    walls = np.where(spare[:, 1:], last, pieces.walls[:, :max_corners])
    return np.where(spare, 2.0 * np.pi, pieces.angles[:, : max_corners + 1]), walls


def _at(angles: FloatArray, walls: IntArray, theta: FloatArray) -> IntArray:
    """Return the visible wall at each angle, shape (P, m)."""
    k = (theta[:, :, None] >= angles[:, None, 1:]).sum(axis=2)
    return np.take_along_axis(walls, np.minimum(k, walls.shape[1] - 1), axis=1)


def _feet(world: SegmentMap, p: FloatArray, walls: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the distance c from each point to the line of a wall, and the angle α of its foot."""
    if (walls < 0).any():
        raise InputError(
            "Some directions meet no wall, so the range has no norm. Close the map.", code="empty"
        )
    normals = world.normals[walls]
    c = np.einsum("pmk,pmk->pm", normals, world.walls[walls, :2] - p[:, None, :])
    normals = normals * np.sign(c)[..., None]
    return np.abs(c), np.arctan2(normals[..., 1], normals[..., 0])
