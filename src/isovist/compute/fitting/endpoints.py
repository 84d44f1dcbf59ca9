"""Look up the distances from the ends of many beams to the nearest wall, in float32.

Two versions give the same answers but for the last bits: vector code, which runs, and a plain
loop that defines it. Arrays over beams are padded to a multiple of `FLOAT_LANES`
(`padded_beams`); coordinates count from the cell of the pose, so that singles are as good far from
the corner of the map as near it.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from isovist.compute.infra.compiled import inline
from isovist.compute.infra.simd import (
    FLOAT_LANES,
    FloatVector,
    broadcast,
    data_pointer,
    decay,
    loop,
    vector_pointer,
)
from isovist.compute.infra.threads import numba_config

# Beams farther from walls than this many σ get the weight 0.
CUTOFF_SIGMAS = 3.5
# Exponent of a weight at that distance.
MAX_EXPONENT = 0.5 * CUTOFF_SIGMAS**2
# Places farther outside the grid than this, in cells, count as outside.
OUTSIDE_MARGIN = 1e-5
# Ends are clipped to this distance, in cells: float32 coordinates fail beyond it.
MAX_COORDINATE = 1e9
SUM_COUNT = 11


@inline
def padded_beams(m):
    """Return the number of beams after filling the last vector."""
    return (m + FLOAT_LANES - 1) // FLOAT_LANES * FLOAT_LANES


@inline
def _value_inside(field, x, y):
    """Interpolate the value and gradient at the point of the grid nearest to (x, y).

    The last two are the way from that point to (x, y).
    """
    height, width = field.shape
    u, v = x - 0.5, y - 0.5
    # NaN is looked up in the first cell, and the result is NaN.
    u = min(u, width - 1.000001) if u > 0.0 else 0.0
    v = min(v, height - 1.000001) if v > 0.0 else 0.0
    column, row = np.int32(u), np.int32(v)
    a, b = u - column, v - row
    i, j = np.uint64(column), np.uint64(row)
    right, above = i + np.uint64(1), j + np.uint64(1)
    low = np.float64(field[j, right]) - np.float64(field[j, i])
    high = np.float64(field[above, right]) - np.float64(field[above, i])
    lower = field[j, i] + a * low
    upper = field[above, i] + a * high
    value = lower + b * (upper - lower)
    return value, (1.0 - b) * low + b * high, upper - lower, x - 0.5 - u, y - 0.5 - v


@inline
def distance_at(field, x, y):
    """Interpolate the distance and its gradient bilinearly at (x, y), in cells.

    Values sit at the centres of cells.

    Outside the grid: the value at the nearest point of it, plus the distance to that point.  A map
    may be cut at its walls, and beams end a little behind them.
    """
    value, slope_x, slope_y, out_x, out_y = _value_inside(field, x, y)
    if not abs(out_x) + abs(out_y) <= OUTSIDE_MARGIN:
        out = math.sqrt(out_x * out_x + out_y * out_y)
        value += out
        slope_x, slope_y = out_x / out, out_y / out
    return value, slope_x, slope_y


def sum_ends_scalar(field, ends, at, place, scale, share, sums):
    """Sum the normal equations of `fitting.align2d` over the beams.

    Σ w J Jᵀ as xx, xy, xa, yy, ya, aa, then Σ w, Σ w e² and Σ w J e.

    Args:
        field: D in cells, shape (height, width).
        ends: q in cells, shape (2, m).
        at: Column and row of a cell of the grid, the one of the pose where that is inside.
        place: x and y of the pose from the corner of that cell in cells, cosine and sine of yaw.
        scale: 1/2σ_k² of each beam, shape (m,).
        share: σ²/σ_k² of each beam, 0 of those that only fill up.
        sums: Output, shape (SUM_COUNT,).
    """
    sums[:] = 0.0
    x, y, c, s = place
    for k in range(len(scale)):
        rx, ry = c * ends[0, k] - s * ends[1, k], s * ends[0, k] + c * ends[1, k]
        e, dx, dy = distance_at(field, at[0] + x + rx, at[1] + y + ry)
        t, da = e * e * scale[k], dy * rx - dx * ry
        w = share[k] * math.exp(-t) if t < MAX_EXPONENT else 0.0
        terms = dx * dx, dx * dy, dx * da, dy * dy, dy * da, da * da
        for j, term in enumerate((*terms, 1.0, e * e, dx * e, dy * e, da * e)):
            sums[j] += w * term


def end_distances_scalar(field, ends, at, place, near):
    """Write D at the end of each beam into `near` (m,).

    The other arguments are those of `sum_ends_scalar`.
    """
    x, y, c, s = place
    for k in range(len(near)):
        rx, ry = c * ends[0, k] - s * ends[1, k], s * ends[0, k] + c * ends[1, k]
        near[k] = distance_at(field, at[0] + x + rx, at[1] + y + ry)[0]


class _EndLookup:
    """Emit code that looks up D at the ends of a vector of beams, all from one pose."""

    def __init__(self, context, builder, kinds, arguments):
        self.context, self.builder, self.kinds = context, builder, kinds
        self.vector_type, self.index = ir.VectorType(ir.FloatType(), FLOAT_LANES), ir.IntType(64)
        field, self.ends, at, place = arguments[:4]
        grid = cgutils.create_struct_proxy(kinds[0])(context, builder, value=field)
        height, self.width = cgutils.unpack_tuple(builder, grid.shape, 2)
        column, row = (builder.extract_value(at, k) for k in range(2))
        start = builder.add(builder.mul(row, self.width), column)
        self.cells = builder.gep(data_pointer(context, builder, field, kinds[0]), [start])
        x, y, c, s = (builder.extract_value(place, k) for k in range(4))
        self.x, self.y = self.spread(x) - 0.5, self.spread(y) - 0.5
        self.c, self.s = self.spread(c), self.spread(s)
        unit = ir.Constant(self.index, 1)
        self.low = [self._from_int(builder.neg(k)) for k in (column, row)]
        sizes = (self.width, column), (height, row)
        self.high = [self._from_int(builder.sub(builder.sub(n, unit), k)) for n, k in sizes]
        self.last = [limit - 1.0 for limit in self.high]
        ends = cgutils.create_struct_proxy(kinds[1])(context, builder, value=self.ends)
        _two, self.count = cgutils.unpack_tuple(builder, ends.shape, 2)

    def spread(self, value):
        """Broadcast a float64 to all lanes as float32."""
        single = self.builder.fptrunc(value, ir.FloatType())
        return FloatVector(self.builder, broadcast(self.builder, single, self.vector_type))

    def _from_int(self, value):
        return self.spread(self.builder.sitofp(value, ir.DoubleType()))

    def place(self, array, kind, k):
        """Return the pointer to the numbers of an array from k on."""
        return vector_pointer(self.context, self.builder, self.vector_type, array, kind, k)

    def load(self, array, kind, k):
        """Load the numbers of an array from k on."""
        return FloatVector(self.builder, self.builder.load(self.place(array, kind, k), align=4))

    def _pairs(self, cells):
        """Load the values of some cells, and of the cell to the right of each."""
        builder, two = self.builder, ir.VectorType(ir.FloatType(), 2)
        parts = [builder.load(builder.bitcast(c, two.as_pointer()), align=4) for c in cells]
        while len(parts) > 1:
            n = 2 * parts[0].type.count
            mask = ir.Constant(ir.VectorType(ir.IntType(32), n), list(range(n)))
            halves = zip(parts[::2], parts[1::2], strict=True)
            parts = [builder.shuffle_vector(a, b, mask) for a, b in halves]
        pairs, columns = parts[0], []
        for side in range(2):
            picked = list(range(side, 2 * FLOAT_LANES, 2))
            mask = ir.Constant(ir.VectorType(ir.IntType(32), FLOAT_LANES), picked)
            columns.append(FloatVector(builder, builder.shuffle_vector(pairs, pairs, mask)))
        return columns[0], columns[1]

    def sample(self, k):
        """Return R q of the beams from k on, and D and its gradient there."""
        builder = self.builder
        qx = self.load(self.ends, self.kinds[1], k)
        qy = self.load(self.ends, self.kinds[1], builder.add(self.count, k))
        rx, ry = self.c * qx - self.s * qy, self.s * qx + self.c * qy
        p, q = rx + self.x, ry + self.y
        u, v = (
            coordinate.at_least(low).at_most(high)
            for coordinate, low, high in zip((p, q), self.low, self.high, strict=True)
        )
        column, row = u.call("floor").at_most(self.last[0]), v.call("floor").at_most(self.last[1])
        a, b = u - column, v - row
        columns, rows = column.to_int().value, row.to_int().value
        lower, upper = [], []
        # Products of 32 bits, which processors with NEON compute three times as fast.
        narrow = builder.sext(builder.trunc(self.width, ir.IntType(32)), self.index)
        for lane in (ir.Constant(self.index, n) for n in range(FLOAT_LANES)):
            i, j = (
                builder.sext(builder.extract_element(indices, lane), self.index)
                for indices in (columns, rows)
            )
            lower.append(builder.gep(self.cells, [builder.add(builder.mul(j, narrow), i)]))
            upper.append(builder.gep(lower[-1], [self.width]))
        (c00, c01), (c10, c11) = self._pairs(lower), self._pairs(upper)
        low, high = c01 - c00, c11 - c10
        below, above = a * low + c00, a * high + c10
        dy = above - below
        values = [b * dy + below, b * (high - low) + low, dy]
        slots = [cgutils.alloca_once(builder, self.vector_type) for _ in values]
        for value, where in zip(values, slots, strict=True):
            builder.store(value.value, where)
        ox, oy = p - u, q - v
        outside = ~((ox.call("fabs") + oy.call("fabs")) < OUTSIDE_MARGIN)
        with builder.if_then(outside.any(), likely=False):
            out = (ox * ox + oy * oy).call("sqrt")
            outside_values = values[0] + out, ox / out, oy / out
            for value, outside_value, where in zip(values, outside_values, slots, strict=True):
                builder.store(outside.choose(outside_value, value).value, where)
        return (rx, ry, *(FloatVector(builder, builder.load(where)) for where in slots))


@intrinsic
def sum_ends_vector(_typing, field, ends, at, place, scale, share, sums):
    """Compute `sum_ends_scalar` in vector code."""

    def code(context, builder, signature, arguments):
        kinds, of = signature.args, _EndLookup(context, builder, signature.args, arguments)
        scale_, share_, sums_ = arguments[4:]
        slots = [cgutils.alloca_once(builder, of.vector_type) for _ in range(SUM_COUNT)]
        zero = ir.Constant(of.vector_type, [0.0] * FLOAT_LANES)
        for where in slots:
            builder.store(zero, where)
        with loop(builder, of.count, FLOAT_LANES) as (k, _):
            rx, ry, e, dx, dy = of.sample(k)
            t = e * e * of.load(scale_, kinds[4], k)
            w = of.load(share_, kinds[5], k) * decay(t.at_most(MAX_EXPONENT))
            w = (t < MAX_EXPONENT).choose(w, w.constant(0.0))
            da = dy * rx - dx * ry
            wx, wy, wa, we = w * dx, w * dy, w * da, w * e
            terms = [
                *(wx * dx, wx * dy, wx * da, wy * dy, wy * da, wa * da),
                *(w, we * e, we * dx, we * dy, we * da),
            ]
            for where, term in zip(slots, terms, strict=True):
                sum_ = FloatVector(builder, builder.load(where)) + term
                builder.store(sum_.value, where)
        data = data_pointer(context, builder, sums_, kinds[6])
        for n, where in enumerate(slots):
            total = FloatVector(builder, builder.load(where)).total()
            builder.store(total, builder.gep(data, [ir.Constant(of.index, n)]))
        return context.get_dummy_value()

    return types.none(field, ends, at, place, scale, share, sums), code


@intrinsic
def end_distances_vector(_typing, field, ends, at, place, near):
    """Compute `end_distances_scalar` in vector code."""

    def code(context, builder, signature, arguments):
        of = _EndLookup(context, builder, signature.args, arguments)
        with loop(builder, of.count, FLOAT_LANES) as (k, _):
            e = of.sample(k)[2]
            where = of.place(arguments[4], signature.args[4], k)
            builder.store(e.value, where, align=4)
        return context.get_dummy_value()

    return types.none(field, ends, at, place, near), code


_sum: Any = sum_ends_scalar if numba_config.DISABLE_JIT else sum_ends_vector
_near: Any = end_distances_scalar if numba_config.DISABLE_JIT else end_distances_vector


@inline
def _nearest_cell(field, x, y):
    """Return the cell of the grid nearest to (x, y); the first one for NaN."""
    height, width = field.shape
    column = int(min(x, width - 1.0)) if x > 0.0 else 0
    row = int(min(y, height - 1.0)) if y > 0.0 else 0
    return column, row


@inline
def sum_ends(field, ends, x, y, yaw, scale, share, sums):
    """Sum the normal equations (`sum_ends_scalar`) for a pose at (x, y) in cells.

    The field has at least two cells each way.
    """
    at = _nearest_cell(field, x, y)
    place = (x - at[0], y - at[1], math.cos(yaw), math.sin(yaw))
    _sum(field, ends, at, place, scale, share, sums)


@inline
def end_distances(field, ends, x, y, yaw, near):
    """Write D at the end of each beam (`end_distances_scalar`) for a pose at (x, y) in cells."""
    at = _nearest_cell(field, x, y)
    _near(field, ends, at, (x - at[0], y - at[1], math.cos(yaw), math.sin(yaw)), near)


@inline
def pack_ends(ends, unit, out):
    """Write ends (m, 2) in m into `out` (2, `padded_beams`) in cells."""
    out[:] = 0.0
    for k in range(len(ends)):
        out[0, k] = min(max(ends[k, 0] / unit, -MAX_COORDINATE), MAX_COORDINATE)
        out[1, k] = min(max(ends[k, 1] / unit, -MAX_COORDINATE), MAX_COORDINATE)
