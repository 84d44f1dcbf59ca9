"""Distances of the ends of beams to the nearest wall, many at once, in singles.

There are two ways with the same answers but for the last bits: vector code, which is taken, and a
plain loop that says what it does.  Arrays over beams are padded to a multiple of `SINGLES`
(`padded`); coordinates count from the cell of the pose, so that singles are as good far from the
corner of the map as near it.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from isovist.compute.infra.compiled import within
from isovist.compute.infra.simd import SINGLES, Lanes, data_of, decay, loop, spread_out, vector_at
from isovist.compute.infra.threads import NUMBA

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# Beyond this many σ a beam has no weight worth its time.
REACH = 3.5
# Half its square: the exponent of a weight beyond which it is 0.
FAINT = 0.5 * REACH**2
# What is farther outside the grid than this, in cells, is outside.
INSIDE = 1e-5
# Ends are not farther away than this, in cells: beyond it singles would not do.
FAR = 1e9
SUMS = 11


@within
def padded(m: int) -> int:
    """Beams with those that fill the last vector."""
    return (m + SINGLES - 1) // SINGLES * SINGLES


@within
def _value_inside(field: Singles, x: float, y: float):  # type: ignore[no-untyped-def]
    """Bilinear value and gradient at the point of the grid nearest to (x, y), and what is left.

    The last two are the way from that point to (x, y).
    """
    height, width = field.shape
    u, v = x - 0.5, y - 0.5
    # What is no number stands in the first cell and comes out as it is.
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


@within
def distance_at(field: Singles, x: float, y: float) -> tuple[float, float, float]:
    """Bilinear value and gradient at (x, y), in cells; values sit at the centres of cells.

    Outside the grid: the value at the nearest point of it, plus the distance to that point.  A map
    may be cut at its walls, and beams end a little behind them.
    """
    value, slope_x, slope_y, out_x, out_y = _value_inside(field, x, y)
    if not abs(out_x) + abs(out_y) <= INSIDE:
        out = math.sqrt(out_x * out_x + out_y * out_y)
        value += out
        slope_x, slope_y = out_x / out, out_y / out
    return value, slope_x, slope_y


def sum_plain(
    field: Singles, ends: Singles, at: tuple[int, int], place: tuple[float, ...], scale: Singles,
    share: Singles, sums: Floats,
) -> None:  # fmt: skip
    """Σ w J Jᵀ as xx, xy, xa, yy, ya, aa, then Σ w, Σ w e² and Σ w J e, of `fitting.align2d`.

    Args:
        field: D in cells, shape (height, width).
        ends: q in cells, shape (2, m).
        at: Column and row of a cell of the grid, the one of the pose where that is inside.
        place: x and y of the pose from the corner of that cell in cells, cosine and sine of yaw.
        scale: 1/2σ_k² of each beam, shape (m,).
        share: σ²/σ_k² of each beam, 0 of those that only fill up.
        sums: Output, shape (SUMS,).
    """
    sums[:] = 0.0
    x, y, c, s = place
    for k in range(len(scale)):
        rx, ry = c * ends[0, k] - s * ends[1, k], s * ends[0, k] + c * ends[1, k]
        e, dx, dy = distance_at(field, at[0] + x + rx, at[1] + y + ry)
        t, da = e * e * scale[k], dy * rx - dx * ry
        w = share[k] * math.exp(-t) if t < FAINT else 0.0
        terms = dx * dx, dx * dy, dx * da, dy * dy, dy * da, da * da
        for j, term in enumerate((*terms, 1.0, e * e, dx * e, dy * e, da * e)):
            sums[j] += w * term


def near_plain(
    field: Singles, ends: Singles, at: tuple[int, int], place: tuple[float, ...], near: Singles
) -> None:
    """D at the end of each beam into `near` (m,); the rest as for `sum_plain`."""
    x, y, c, s = place
    for k in range(len(near)):
        rx, ry = c * ends[0, k] - s * ends[1, k], s * ends[0, k] + c * ends[1, k]
        near[k] = distance_at(field, at[0] + x + rx, at[1] + y + ry)[0]


class _Ends:
    """Code that looks up D at the ends of a vector of beams, all from one pose."""

    def __init__(self, context: Any, builder: Any, kinds: Any, given: Any) -> None:
        self.context, self.builder, self.kinds = context, builder, kinds
        self.wide, self.index = ir.VectorType(ir.FloatType(), SINGLES), ir.IntType(64)
        field, self.ends, at, place = given[:4]
        grid = cgutils.create_struct_proxy(kinds[0])(context, builder, value=field)
        height, self.width = cgutils.unpack_tuple(builder, grid.shape, 2)
        column, row = (builder.extract_value(at, k) for k in range(2))
        start = builder.add(builder.mul(row, self.width), column)
        self.cells = builder.gep(data_of(context, builder, field, kinds[0]), [start])
        x, y, c, s = (builder.extract_value(place, k) for k in range(4))
        self.x, self.y = self.spread(x) - 0.5, self.spread(y) - 0.5
        self.c, self.s = self.spread(c), self.spread(s)
        one = ir.Constant(self.index, 1)
        self.low = [self._whole(builder.neg(k)) for k in (column, row)]
        sizes = (self.width, column), (height, row)
        self.high = [self._whole(builder.sub(builder.sub(n, one), k)) for n, k in sizes]
        self.last = [most - 1.0 for most in self.high]
        ends = cgutils.create_struct_proxy(kinds[1])(context, builder, value=self.ends)
        _two, self.count = cgutils.unpack_tuple(builder, ends.shape, 2)

    def spread(self, value: Any) -> Lanes:
        """A double in all lanes, as a single."""
        single = self.builder.fptrunc(value, ir.FloatType())
        return Lanes(self.builder, spread_out(self.builder, single, self.wide))

    def _whole(self, value: Any) -> Lanes:
        return self.spread(self.builder.sitofp(value, ir.DoubleType()))

    def place(self, array: Any, kind: Any, k: Any) -> Any:
        """Where the numbers of an array from k on are."""
        return vector_at(self.context, self.builder, self.wide, array, kind, k)

    def load(self, array: Any, kind: Any, k: Any) -> Lanes:
        """Those numbers."""
        return Lanes(self.builder, self.builder.load(self.place(array, kind, k), align=4))

    def _pairs(self, cells: list[Any]) -> tuple[Lanes, Lanes]:
        """What each of some cells holds, and the cell to the right of each."""
        builder, two = self.builder, ir.VectorType(ir.FloatType(), 2)
        parts = [builder.load(builder.bitcast(c, two.as_pointer()), align=4) for c in cells]
        while len(parts) > 1:
            n = 2 * parts[0].type.count
            mask = ir.Constant(ir.VectorType(ir.IntType(32), n), list(range(n)))
            halves = zip(parts[::2], parts[1::2], strict=True)
            parts = [builder.shuffle_vector(a, b, mask) for a, b in halves]
        both, found = parts[0], []
        for side in range(2):
            picked = list(range(side, 2 * SINGLES, 2))
            mask = ir.Constant(ir.VectorType(ir.IntType(32), SINGLES), picked)
            found.append(Lanes(builder, builder.shuffle_vector(both, both, mask)))
        return found[0], found[1]

    def look(self, k: Any) -> tuple[Lanes, ...]:
        """R q of the beams from k on, D and its gradient there."""
        builder = self.builder
        qx = self.load(self.ends, self.kinds[1], k)
        qy = self.load(self.ends, self.kinds[1], builder.add(self.count, k))
        rx, ry = self.c * qx - self.s * qy, self.s * qx + self.c * qy
        p, q = rx + self.x, ry + self.y
        u, v = (
            given.at_least(low).at_most(high)
            for given, low, high in zip((p, q), self.low, self.high, strict=True)
        )
        column, row = u.call("floor").at_most(self.last[0]), v.call("floor").at_most(self.last[1])
        a, b = u - column, v - row
        columns, rows = column.whole().value, row.whole().value
        lower, upper = [], []
        # Products of 32 bits, which NEON's machines have three times as fast.
        narrow = builder.sext(builder.trunc(self.width, ir.IntType(32)), self.index)
        for lane in (ir.Constant(self.index, n) for n in range(SINGLES)):
            i, j = (
                builder.sext(builder.extract_element(some, lane), self.index)
                for some in (columns, rows)
            )
            lower.append(builder.gep(self.cells, [builder.add(builder.mul(j, narrow), i)]))
            upper.append(builder.gep(lower[-1], [self.width]))
        (c00, c01), (c10, c11) = self._pairs(lower), self._pairs(upper)
        low, high = c01 - c00, c11 - c10
        below, above = a * low + c00, a * high + c10
        dy = above - below
        found = [b * dy + below, b * (high - low) + low, dy]
        kept = [cgutils.alloca_once(builder, self.wide) for _ in found]
        for one, where in zip(found, kept, strict=True):
            builder.store(one.value, where)
        ox, oy = p - u, q - v
        outside = ~((ox.call("fabs") + oy.call("fabs")) < INSIDE)
        with builder.if_then(outside.any(), likely=False):
            out = (ox * ox + oy * oy).call("sqrt")
            others = found[0] + out, ox / out, oy / out
            for one, other, where in zip(found, others, kept, strict=True):
                builder.store(outside.where(other, one).value, where)
        return (rx, ry, *(Lanes(builder, builder.load(where)) for where in kept))


@intrinsic
def sum_vector(_typing, field, ends, at, place, scale, share, sums):
    """As `sum_plain`, in vector code by hand."""

    def code(context, builder, signature, arguments):
        kinds, of = signature.args, _Ends(context, builder, signature.args, arguments)
        scale_, share_, sums_ = arguments[4:]
        kept = [cgutils.alloca_once(builder, of.wide) for _ in range(SUMS)]
        zero = ir.Constant(of.wide, [0.0] * SINGLES)
        for where in kept:
            builder.store(zero, where)
        with loop(builder, of.count, SINGLES) as (k, _):
            rx, ry, e, dx, dy = of.look(k)
            t = e * e * of.load(scale_, kinds[4], k)
            w = of.load(share_, kinds[5], k) * decay(t.at_most(FAINT))
            w = (t < FAINT).where(w, w.of(0.0))
            da = dy * rx - dx * ry
            wx, wy, wa, we = w * dx, w * dy, w * da, w * e
            terms = [
                *(wx * dx, wx * dy, wx * da, wy * dy, wy * da, wa * da),
                *(w, we * e, we * dx, we * dy, we * da),
            ]
            for where, term in zip(kept, terms, strict=True):
                sum_ = Lanes(builder, builder.load(where)) + term
                builder.store(sum_.value, where)
        data = data_of(context, builder, sums_, kinds[6])
        for n, where in enumerate(kept):
            total = Lanes(builder, builder.load(where)).total()
            builder.store(total, builder.gep(data, [ir.Constant(of.index, n)]))
        return context.get_dummy_value()

    return types.none(field, ends, at, place, scale, share, sums), code


@intrinsic
def near_vector(_typing, field, ends, at, place, near):
    """As `near_plain`, in vector code by hand."""

    def code(context, builder, signature, arguments):
        of = _Ends(context, builder, signature.args, arguments)
        with loop(builder, of.count, SINGLES) as (k, _):
            e = of.look(k)[2]
            where = of.place(arguments[4], signature.args[4], k)
            builder.store(e.value, where, align=4)
        return context.get_dummy_value()

    return types.none(field, ends, at, place, near), code


_sum: Any = sum_plain if NUMBA.DISABLE_JIT else sum_vector
_near: Any = near_plain if NUMBA.DISABLE_JIT else near_vector


@within
def _cell_of(field: Singles, x: float, y: float) -> tuple[int, int]:
    """The cell of a place, or the nearest one; the first one of what is no number."""
    height, width = field.shape
    column = int(min(x, width - 1.0)) if x > 0.0 else 0
    row = int(min(y, height - 1.0)) if y > 0.0 else 0
    return column, row


@within
def sum_ends(
    field: Singles, ends: Singles, x: float, y: float, yaw: float, scale: Singles, share: Singles,
    sums: Floats,
) -> None:  # fmt: skip
    """As `sum_plain`, from (x, y) in cells, of a field with at least two cells each way."""
    at = _cell_of(field, x, y)
    place = (x - at[0], y - at[1], math.cos(yaw), math.sin(yaw))
    _sum(field, ends, at, place, scale, share, sums)


@within
def near_ends(field: Singles, ends: Singles, x: float, y: float, yaw: float, near: Singles) -> None:
    """As `near_plain`, likewise."""
    at = _cell_of(field, x, y)
    _near(field, ends, at, (x - at[0], y - at[1], math.cos(yaw), math.sin(yaw)), near)


@within
def lay_out(ends: Floats, unit: float, out: Singles) -> None:
    """Ends (m, 2) in m, or in cells with a unit of 1, into `out` (2, `padded`) in cells."""
    out[:] = 0.0
    for k in range(len(ends)):
        out[0, k] = min(max(ends[k, 0] / unit, -FAR), FAR)
        out[1, k] = min(max(ends[k, 1] / unit, -FAR), FAR)
