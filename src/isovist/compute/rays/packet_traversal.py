"""Trace a packet of rays through a 2D grid, one step of all rays at a time, until the last ends.

Rays are traced in float32, relative to the cell that they begin in.  At a distance r these err
by less than ε₀ + ε r (`BASE_ERROR`, `ERROR_PER_CELL`), so that a ray which meets a face nearer to
its rim than that may
have come to the wrong cell: it ends, and the caller casts it by `compute.rays.grid2d`.

Two versions give the same answers but for the last bits: vector code, which runs, and a plain
loop that defines it.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from isovist.compute.infra.compiled import inline
from isovist.compute.infra.simd import FloatVector, broadcast, data_pointer, vector_pointer
from isovist.compute.infra.threads import numba_config
from isovist.compute.rays.grid2d import FREE

PACKET_SIZE = 32
"""Rays of a packet. A step waits for its reads of the map, and a packet for the last of its rays:
of 8, 16, 32 and 64, the time per ray is least with 32 (maps intel and fhw, x86-64)."""
DX, DY, PER_X, PER_Y, CELL_X, CELL_Y, FREE_CELLS, DISTANCE, OFFSET = range(9)
STATE_ROWS = 9
"""Rows of the state of rays: direction, inverse direction, cell, free cells around it (below 0 when
the ray has ended), distance so far, and the offset from the middle of the face at which it entered
the cell, plus the error of that."""
MIN_SLANT = 1e-3
"""Rays nearer to an axis than this, in rad, are cast one by one."""
BASE_ERROR = 1e-4
"""ε₀ in cells: a place in a cell is rounded by 6e-8, and 1/`MIN_SLANT` times that along a ray."""
ERROR_PER_CELL = 1e-6
"""ε: seven roundings of singles in a row err by 4e-7."""
MAX_OFFSET = float(np.float32(0.5 - BASE_ERROR))


def trace_scalar(cells, begin, width, place, first, rays, at):
    """Trace a packet of rays until they end.

    Args:
        cells: Codes of a skip grid (`compute.rays.grid2d`), row after row.
        begin: Index of the cell in which the rays begin.
        width: Cells of a row.
        place: x and y in that cell, and the range at which rays end; in cells.
        first: Index of the first ray of the packet.
        rays: State of the rays, shape (STATE_ROWS, m).
        at: Output, index of the cell of each ray less `begin`, shape (m,).
    """
    x, y, maximum = place
    group = range(first, first + PACKET_SIZE)
    is_going, at[first : first + PACKET_SIZE] = True, 0
    while is_going:
        is_going = False
        for k in group:
            dx, dy, per_x, per_y, cx, cy, free_cells = (float(v) for v in rays[: FREE_CELLS + 1, k])
            if free_cells < 0.0:
                continue
            sx, sy = math.copysign(1.0, dx), math.copysign(1.0, dy)
            jx, jy = cx + sx * free_cells, cy + sy * free_cells
            tx = (jx + (0.5 + 0.5 * sx) - x) * per_x
            ty = (jy + (0.5 + 0.5 * sy) - y) * per_y
            upright = tx < ty
            reached = tx if upright else ty
            met = y + reached * dy if upright else x + reached * dx
            cell = math.floor(met)
            cx, cy = (jx + sx, cell) if upright else (cell, jy + sy)
            at[k] = int(cy) * width + int(cx)
            offset = abs(met - cell - 0.5) + ERROR_PER_CELL * reached
            new_free = float(cells[begin + at[k]]) - FREE
            goes = new_free >= 0.0 and reached <= maximum and offset < MAX_OFFSET
            rays[CELL_X:, k] = cx, cy, new_free if goes else min(new_free, -1.0), reached, offset
            is_going |= goes


@intrinsic
def trace_vector(_typing, skip_cells, begin, width, place, first, rays, at):
    """Compute `trace_scalar` in vector code."""

    def code(context, builder, signature, arguments):
        cells_, begin_, width_, place_, first_, rays_, at_ = arguments
        float_vector, index = ir.VectorType(ir.FloatType(), PACKET_SIZE), ir.IntType(64)
        int_vector = ir.VectorType(ir.IntType(32), PACKET_SIZE)
        cells = builder.gep(data_pointer(context, builder, cells_, signature.args[0]), [begin_])

        def spread(value):
            return FloatVector(builder, broadcast(builder, value, float_vector))

        struct = cgutils.create_struct_proxy(signature.args[5])(context, builder, value=rays_)
        _rows, count = cgutils.unpack_tuple(builder, struct.shape, 2)

        def row(k):
            offset = builder.add(builder.mul(count, ir.Constant(index, k)), first_)
            return vector_pointer(context, builder, float_vector, rays_, signature.args[5], offset)

        def load(k):
            return FloatVector(builder, builder.load(row(k), align=4))

        singles = (builder.extract_value(place_, k) for k in range(3))
        x, y, maximum = (spread(builder.fptrunc(single, ir.FloatType())) for single in singles)
        width = broadcast(builder, builder.trunc(width_, ir.IntType(32)), int_vector)

        def toward(d, o):
            """Return ±1, and the distance from the origin to the face of cell 0 on that side."""
            positive = d > 0.0
            face = positive.choose(d.constant(1.0), d.constant(0.0)) - o
            return positive.choose(d.constant(1.0), d.constant(-1.0)), face

        dx, dy, per_x, per_y = (load(k) for k in range(4))
        (sx, face_x), (sy, face_y) = toward(dx, x), toward(dy, y)
        slots = {k: cgutils.alloca_once(builder, float_vector) for k in range(CELL_X, STATE_ROWS)}
        for k, where in slots.items():
            builder.store(load(k).value, where)
        number = cgutils.alloca_once(builder, int_vector)
        builder.store(ir.Constant(int_vector, [0] * PACKET_SIZE), number)

        def go_on():
            return (FloatVector(builder, builder.load(slots[FREE_CELLS])) > -0.5).any()

        loop, end = (builder.append_basic_block(name) for name in ("stride", "ended"))
        builder.cbranch(go_on(), loop, end)
        builder.position_at_end(loop)
        cx, cy, free_cells, far, offset = (
            FloatVector(builder, builder.load(slots[k])) for k in range(CELL_X, STATE_ROWS)
        )
        jx, jy = sx * free_cells + cx, sy * free_cells + cy
        tx, ty = (jx + face_x) * per_x, (jy + face_y) * per_y
        upright, goes = tx < ty, free_cells > -0.5
        reached = upright.choose(tx, ty)
        met = upright.choose(reached * dy + y, reached * dx + x)
        cell = met.call("floor")
        u, v = upright.choose(jx + sx, cell), upright.choose(cell, jy + sy)
        new = builder.add(builder.mul(v.to_int().value, width), u.to_int().value)
        new = builder.select(goes.value, new, builder.load(number))
        codes = ir.Constant(ir.VectorType(ir.IntType(8), PACKET_SIZE), ir.Undefined)
        for lane in (ir.Constant(index, k) for k in range(PACKET_SIZE)):
            place = builder.sext(builder.extract_element(new, lane), index)
            met_code = builder.load(builder.gep(cells, [place]))
            codes = builder.insert_element(codes, met_code, lane)
        new_free = FloatVector(builder, builder.uitofp(codes, float_vector)) - float(FREE)
        new_offset = (met - cell - 0.5).call("fabs") + reached * ERROR_PER_CELL
        ended = new_free.constant(-1.0)
        new_free = (reached > maximum).choose(
            ended, (new_offset < MAX_OFFSET).choose(new_free, ended)
        )
        after = {
            CELL_X: u,  # not read for rays that have ended
            CELL_Y: v,
            FREE_CELLS: goes.choose(new_free, ended),
            DISTANCE: goes.choose(reached, far),
            OFFSET: goes.choose(new_offset, offset),
        }
        for k, value in after.items():
            builder.store(value.value, slots[k])
        builder.store(new, number)
        builder.cbranch(go_on(), loop, end)
        builder.position_at_end(end)
        for k in (FREE_CELLS, DISTANCE, OFFSET):
            builder.store(builder.load(slots[k]), row(k), align=4)
        out = vector_pointer(context, builder, int_vector, at_, signature.args[6], first_)
        builder.store(builder.load(number), out, align=4)
        return context.get_dummy_value()

    return types.none(skip_cells, begin, width, place, first, rays, at), code


@inline
def padded_rays(m):
    """Return the number of rays after filling the last packet."""
    return (m + PACKET_SIZE - 1) // PACKET_SIZE * PACKET_SIZE


trace_packet: Any = trace_scalar if numba_config.DISABLE_JIT else trace_vector
