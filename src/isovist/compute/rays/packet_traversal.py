"""A group of rays through a grid of cells, all of which take a step at a time, until the last ends.

They are followed in singles, counting from the cell that they begin in.  At a distance r these err
by less than ε₀ + ε r (`ERROR`), so that a ray which meets a face nearer to its rim than that may
have come to the wrong cell: it ends, and whoever asked follows it otherwise.

There are two ways with the same answers but for the last bits: vector code, which is taken, and a
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

from isovist.compute.infra.compiled import within
from isovist.compute.infra.simd import Lanes, data_of, spread_out, vector_at
from isovist.compute.infra.threads import NUMBA
from isovist.compute.rays.grid2d import FREE

Singles = NDArray[np.float32]

RAYS = 32
"""Rays of a group.  A step waits for what it reads of the map, and a group for the last of its
rays: of 8, 16, 32 and 64 a ray takes least with 32 (intel and fhw, x86-64)."""
DX, DY, PER_X, PER_Y, CX, CY, AROUND, FAR, ASIDE = range(9)
STATE = 9
"""Rows of what is known of rays: direction, one over it, cell, how many cells around that are free,
below 0 where the ray has ended, how far it came, and how far from the middle of its cell it entered
that, with what that may be off by."""
SLANT = 1e-3
"""Rays nearer to an axis than this, in rad, are for others to follow."""
ERROR = (1e-4, 1e-6)
"""ε₀ in cells: a place in a cell is rounded by 6e-8, and 1/`SLANT` times that along a ray; and ε:
seven roundings of singles in a row err by 4e-7."""
RIM = float(np.float32(0.5 - ERROR[0]))


def follow_plain(
    every: NDArray[np.uint8], begin: int, width: int, place: tuple[float, ...], first: int,
    rays: Singles, at: NDArray[np.int32],
) -> None:  # fmt: skip
    """Follow a group of rays until they end.

    Args:
        every: Cells of a skip grid (`compute.rays.grid2d`), row after row.
        begin: Number of the cell in which they begin.
        width: Cells of a row.
        place: x and y in that cell, and the range beyond which rays end; in cells.
        first: The first of the group.
        rays: Shape (STATE, m).
        at: Output, number of the cell of each ray less `begin`, shape (m,).
    """
    x, y, maximum = place
    group = range(first, first + RAYS)
    going, at[first : first + RAYS] = True, 0
    while going:
        going = False
        for k in group:
            dx, dy, per_x, per_y, cx, cy, free = (float(v) for v in rays[: AROUND + 1, k])
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
            at[k] = int(cy) * width + int(cx)
            aside = abs(met - cell - 0.5) + ERROR[1] * reached
            around = float(every[begin + at[k]]) - FREE
            goes = around >= 0.0 and reached <= maximum and aside < RIM
            rays[CX:, k] = cx, cy, around if goes else min(around, -1.0), reached, aside
            going |= goes


@intrinsic
def follow_vector(_typing, every, begin, width, place, first, rays, at):
    """As `follow_plain`, in vector code by hand."""

    def code(context, builder, signature, arguments):
        every_, begin_, width_, place_, first_, rays_, at_ = arguments
        wide, index = ir.VectorType(ir.FloatType(), RAYS), ir.IntType(64)
        whole = ir.VectorType(ir.IntType(32), RAYS)
        cells = builder.gep(data_of(context, builder, every_, signature.args[0]), [begin_])

        def spread(value: Any) -> Lanes:
            return Lanes(builder, spread_out(builder, value, wide))

        known = cgutils.create_struct_proxy(signature.args[5])(context, builder, value=rays_)
        _rows, count = cgutils.unpack_tuple(builder, known.shape, 2)

        def row(k: int) -> Any:
            offset = builder.add(builder.mul(count, ir.Constant(index, k)), first_)
            return vector_at(context, builder, wide, rays_, signature.args[5], offset)

        def load(k: int) -> Lanes:
            return Lanes(builder, builder.load(row(k), align=4))

        singles = (builder.extract_value(place_, k) for k in range(3))
        x, y, maximum = (spread(builder.fptrunc(one, ir.FloatType())) for one in singles)
        width = spread_out(builder, builder.trunc(width_, ir.IntType(32)), whole)

        def ahead(d: Lanes, o: Lanes) -> tuple[Lanes, Lanes]:
            """±1, and from the origin to the face of cell 0 that lies this way."""
            positive = d > 0.0
            face = positive.where(d.of(1.0), d.of(0.0)) - o
            return positive.where(d.of(1.0), d.of(-1.0)), face

        dx, dy, per_x, per_y = (load(k) for k in range(4))
        (sx, face_x), (sy, face_y) = ahead(dx, x), ahead(dy, y)
        kept = {k: cgutils.alloca_once(builder, wide) for k in range(CX, STATE)}
        for k, where in kept.items():
            builder.store(load(k).value, where)
        number = cgutils.alloca_once(builder, whole)
        builder.store(ir.Constant(whole, [0] * RAYS), number)

        def go_on() -> Any:
            return (Lanes(builder, builder.load(kept[AROUND])) > -0.5).any()

        loop, end = (builder.append_basic_block(name) for name in ("stride", "ended"))
        builder.cbranch(go_on(), loop, end)
        builder.position_at_end(loop)
        cx, cy, free, far, aside = (Lanes(builder, builder.load(kept[k])) for k in range(CX, STATE))
        jx, jy = sx * free + cx, sy * free + cy
        tx, ty = (jx + face_x) * per_x, (jy + face_y) * per_y
        upright, goes = tx < ty, free > -0.5
        reached = upright.where(tx, ty)
        met = upright.where(reached * dy + y, reached * dx + x)
        cell = met.call("floor")
        u, v = upright.where(jx + sx, cell), upright.where(cell, jy + sy)
        new = builder.add(builder.mul(v.whole().value, width), u.whole().value)
        new = builder.select(goes.value, new, builder.load(number))
        codes = ir.Constant(ir.VectorType(ir.IntType(8), RAYS), ir.Undefined)
        for lane in (ir.Constant(index, k) for k in range(RAYS)):
            place = builder.sext(builder.extract_element(new, lane), index)
            met_code = builder.load(builder.gep(cells, [place]))
            codes = builder.insert_element(codes, met_code, lane)
        around = Lanes(builder, builder.uitofp(codes, wide)) - float(FREE)
        away = (met - cell - 0.5).call("fabs") + reached * ERROR[1]
        ended = around.of(-1.0)
        around = (reached > maximum).where(ended, (away < RIM).where(around, ended))
        after = {
            CX: u,  # of those that have ended nobody asks
            CY: v,
            AROUND: goes.where(around, ended),
            FAR: goes.where(reached, far),
            ASIDE: goes.where(away, aside),
        }
        for k, value in after.items():
            builder.store(value.value, kept[k])
        builder.store(new, number)
        builder.cbranch(go_on(), loop, end)
        builder.position_at_end(end)
        for k in (AROUND, FAR, ASIDE):
            builder.store(builder.load(kept[k]), row(k), align=4)
        out = vector_at(context, builder, whole, at_, signature.args[6], first_)
        builder.store(builder.load(number), out, align=4)
        return context.get_dummy_value()

    return types.none(every, begin, width, place, first, rays, at), code


@within
def in_groups(m: int) -> int:
    """Rays with those that fill the last group."""
    return (m + RAYS - 1) // RAYS * RAYS


follow: Any = follow_plain if NUMBA.DISABLE_JIT else follow_vector
