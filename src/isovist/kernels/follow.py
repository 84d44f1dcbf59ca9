"""A group of rays through a grid of cells, all of which take a step at a time, until the last ends.

There are two ways with the same answers but for the last bit: vector code, which is taken, and a
plain loop that says what it does.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from isovist.kernels.occupancy import CLEAR, FREE
from isovist.kernels.threads import NUMBA
from isovist.kernels.vectors import data_of, function_of, spread_out, vector_at

Floats = NDArray[np.float64]

LANES = 4
"""Rays of a group: a register of AVX2, two of NEON."""
DX, DY, PER_X, PER_Y, CX, CY, AROUND, FAR, ASIDE, AT = range(10)
STATE = 10
"""Rows of a group of rays: direction, one over it, cell, how many cells around that are free, −1
where the ray has ended, how far it came, how far from the middle of its cell it entered that, and
the number of its cell."""
RIM = 0.5 - CLEAR


def follow_plain(
    every: NDArray[np.uint8], width: float, x: float, y: float, maximum: float, rays: Floats
) -> None:
    """Follow rays from (x, y) until they end.

    Args:
        every: Cells of a skip grid (`kernels.occupancy`), row after row.
        width: Cells of a row.
        x: In cells, as everything here.
        y: The same.
        maximum: Rays that came farther end.
        rays: Shape (STATE, LANES), of which `AT` need not be set.
    """
    going = True
    while going:
        going = False
        for k in range(rays.shape[1]):
            dx, dy, per_x, per_y, cx, cy, free = rays[: AROUND + 1, k]
            if free < 0.0:
                continue
            sx, sy = math.copysign(1.0, dx), math.copysign(1.0, dy)
            jx, jy = cx + sx * free, cy + sy * free
            tx = (jx + (0.5 + 0.5 * sx) - x) * per_x
            ty = (jy + (0.5 + 0.5 * sy) - y) * per_y
            upright = tx < ty
            reached = tx if upright else ty
            met = y + reached * dy if upright else x + reached * dx
            cell = math.floor(met)
            cx, cy = (jx + sx, cell) if upright else (cell, jy + sy)
            at, aside = int((cy + 1.0) * width + cx + 1.0), abs(met - cell - 0.5)
            around = float(every[at]) - FREE
            goes = around >= 0.0 and reached <= maximum and aside < RIM
            rays[CX:, k] = cx, cy, around if goes else -1.0, reached, aside, at
            going |= goes


@intrinsic
def follow_vector(_typing, every, width, x, y, maximum, rays):
    """As `follow_plain`, in vector code by hand."""

    def code(context, builder, signature, arguments):
        every_, width_, x_, y_, maximum_, rays_ = arguments
        wide, index = ir.VectorType(ir.DoubleType(), LANES), ir.IntType(64)
        whole = ir.VectorType(ir.IntType(32), LANES)
        cells = data_of(context, builder, every_, signature.args[0])
        floor, size = (function_of(builder, name, wide) for name in ("floor", "fabs"))

        def spread(value: Any) -> Any:
            return spread_out(builder, value, wide)

        def number(value: float) -> Any:
            return ir.Constant(wide, [value] * LANES)

        def row(k: int) -> Any:
            offset = ir.Constant(index, k * LANES)
            return vector_at(context, builder, wide, rays_, signature.args[5], offset)

        def ahead(d: Any, o: Any) -> tuple[Any, Any]:
            """±1, and from the origin to the face of cell 0 that lies this way."""
            positive = builder.fcmp_ordered(">", d, number(0.0))
            face = builder.select(positive, number(1.0), number(0.0))
            return builder.select(positive, number(1.0), number(-1.0)), builder.fsub(face, o)

        def plus(a: Any, b: Any, c: Any) -> Any:
            """a + b c, rounded once where the machine can."""
            return builder.fadd(a, builder.fmul(b, c, flags=("contract",)), flags=("contract",))

        dx, dy, per_x, per_y = (builder.load(row(k), align=8) for k in range(4))
        width, x, y, maximum = (spread(v) for v in (width_, x_, y_, maximum_))
        (sx, face_x), (sy, face_y) = ahead(dx, x), ahead(dy, y)
        corner = builder.fadd(width, number(1.0))  # number of the first cell inside the border
        kept = {k: cgutils.alloca_once(builder, wide) for k in range(CX, STATE)}
        for k, place in kept.items():
            builder.store(number(0.0) if k == AT else builder.load(row(k), align=8), place)

        def most(values: Any) -> Any:
            """The largest of a vector."""
            few = [builder.extract_element(values, ir.Constant(index, k)) for k in range(LANES)]
            while len(few) > 1:
                a, b = few.pop(0), few.pop(0)
                larger = builder.fcmp_ordered(">", a, b, flags=("nnan", "nsz"))
                few.append(builder.select(larger, a, b))
            return few[0]

        def go_on() -> Any:
            least = ir.Constant(ir.DoubleType(), 0.0)
            return builder.fcmp_ordered(">=", most(builder.load(kept[AROUND])), least)

        loop, end = (builder.append_basic_block(name) for name in ("stride", "ended"))
        builder.cbranch(go_on(), loop, end)
        builder.position_at_end(loop)
        cx, cy, free, far, aside, at = (builder.load(kept[k]) for k in range(CX, STATE))
        jx, jy = plus(cx, sx, free), plus(cy, sy, free)
        tx = builder.fmul(builder.fadd(jx, face_x), per_x)
        ty = builder.fmul(builder.fadd(jy, face_y), per_y)
        upright = builder.fcmp_ordered("<", tx, ty)
        reached = builder.select(upright, tx, ty)
        met = builder.select(upright, plus(y, reached, dy), plus(x, reached, dx))
        cell = builder.call(floor, [met])
        goes = builder.fcmp_ordered(">=", free, number(0.0))
        u = builder.select(upright, builder.fadd(jx, sx), cell)
        v = builder.select(upright, cell, builder.fadd(jy, sy))
        new = builder.select(goes, plus(builder.fadd(u, corner), v, width), at)
        away = builder.call(size, [builder.fsub(builder.fsub(met, cell), number(0.5))])
        numbers, codes = builder.fptosi(new, whole), ir.Constant(whole, ir.Undefined)
        for k in range(LANES):
            lane = ir.Constant(index, k)
            place = builder.zext(builder.extract_element(numbers, lane), index)
            met_code = builder.zext(builder.load(builder.gep(cells, [place])), ir.IntType(32))
            codes = builder.insert_element(codes, met_code, lane)
        around = builder.fsub(builder.sitofp(codes, wide), number(float(FREE)))
        inside = builder.and_(
            builder.and_(goes, builder.fcmp_ordered(">=", around, number(0.0))),
            builder.and_(
                builder.fcmp_ordered("<=", reached, maximum),
                builder.fcmp_ordered("<", away, number(RIM)),
            ),
        )
        after = {
            CX: u,  # of those that have ended nobody asks
            CY: v,
            AROUND: builder.select(inside, around, number(-1.0)),
            FAR: builder.select(goes, reached, far),
            ASIDE: builder.select(goes, away, aside),
            AT: new,
        }
        for k, value in after.items():
            builder.store(value, kept[k])
        builder.cbranch(go_on(), loop, end)
        builder.position_at_end(end)
        for k in (AROUND, FAR, ASIDE, AT):
            builder.store(builder.load(kept[k]), row(k), align=8)
        return context.get_dummy_value()

    return types.none(every, width, x, y, maximum, rays), code


follow: Any = follow_plain if NUMBA.DISABLE_JIT else follow_vector
