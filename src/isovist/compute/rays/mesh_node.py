"""Where a ray enters the boxes of a node of `compute.trees.flatten`, and which faces it meets.

There are two ways with the same answers to the last bit: vector code, which is taken, and a plain
loop that says what it does.
"""

from functools import partial

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from isovist.compute.infra.compiled import inner
from isovist.compute.infra.simd import data_of, spread_out, vector_at
from isovist.compute.infra.threads import NUMBA
from isovist.compute.trees.build import LEAF
from isovist.compute.trees.flatten import CHILD, ROWS, WIDE

WIDER = np.float32(1.0 + 1e-6)  # of the distance at which a ray leaves a box


@intrinsic
def bits_of(_typing, number):
    """Bits of a float32 as an integer."""
    if number != types.float32:
        return None

    def code(_context, builder, _signature, arguments):
        bits = builder.bitcast(arguments[0], ir.IntType(32))
        return builder.sext(bits, ir.IntType(64))

    return types.int64(number), code


@inner
def enter_plain(boxes, node, rows, ray, reach, out):
    """Where a ray enters the boxes of a node, written to out (WIDE,) as bits of float32 numbers.

    They are not negative, so that their bits, as int32, are in the same order.  boxes
    (w, ROWS, WIDE); rows: six rows of the node in the order near x, y, z, far x, y, z; ray:
    (ox, oy, oz, ix, iy, iz, wx, wy, wz) with the inverses of the direction, and those times
    `WIDER`, all float32; reach: no box beyond it counts.  Returns a bit for each box that is
    entered; of others out has no meaning.
    """
    ox, oy, oz, ix, iy, iz, wx, wy, wz = ray
    zero = np.float32(0.0)
    entered = 0
    for s in range(boxes.shape[2]):
        x, far_x = (boxes[node, rows[0], s] - ox) * ix, (boxes[node, rows[3], s] - ox) * wx
        y, far_y = (boxes[node, rows[1], s] - oy) * iy, (boxes[node, rows[4], s] - oy) * wy
        z, far_z = (boxes[node, rows[2], s] - oz) * iz, (boxes[node, rows[5], s] - oz) * wz
        near = max(x, y, z, zero)
        out[s] = bits_of(near)
        entered |= (near <= min(far_x, far_y, far_z, reach)) << s
    return entered


def entering(places):
    """`enter_plain` for nodes of so many places, in vector code.

    It is written by hand: compilers do not find it in so short a loop.
    """

    @intrinsic
    def enter_vector(_typing, boxes, node, rows, ray, reach, out):
        def code(context, builder, signature, arguments):
            boxes_, node_, rows_, ray_, reach_, out_ = arguments
            wide = ir.VectorType(ir.FloatType(), places)
            index = ir.IntType(64)
            at = partial(vector_at, context, builder, wide)

            def of(numbers, k):
                return spread_out(builder, builder.extract_value(numbers, k), wide)

            def extreme(sign, x, y):
                chosen = builder.fcmp_ordered(sign, x, y, flags=("nnan", "nsz"))
                return builder.select(chosen, x, y)

            larger, smaller = partial(extreme, ">"), partial(extreme, "<")
            start = builder.mul(node_, ir.Constant(index, ROWS * places))
            t = []
            for k in range(6):
                row = builder.mul(builder.extract_value(rows_, k), ir.Constant(index, places))
                place = at(boxes_, signature.args[0], builder.add(start, row))
                gap = builder.fsub(builder.load(place, align=4), of(ray_, k % 3))
                t.append(builder.fmul(gap, of(ray_, 3 + k)))
            near = larger(larger(t[0], t[1]), larger(t[2], ir.Constant(wide, [0.0] * places)))
            far = smaller(smaller(t[3], t[4]), smaller(t[5], spread_out(builder, reach_, wide)))
            place = data_of(context, builder, out_, signature.args[5])
            builder.store(near, builder.bitcast(place, wide.as_pointer()), align=4)
            met = builder.fcmp_ordered("<=", near, far)
            return builder.zext(builder.bitcast(met, ir.IntType(places)), index)

        return types.int64(boxes, node, rows, ray, reach, out), code

    return enter_vector


def below(places):
    """What is in one of so many places of a node: a node, or a leaf; see `compute.trees.flatten`.

    Numba would multiply to find it, and the next node waits for this.
    """

    @intrinsic
    def child_of(_typing, boxes, node, s):
        def code(context, builder, signature, arguments):
            boxes_, node_, s_ = arguments
            index = ir.IntType(64)
            start = builder.mul(node_, ir.Constant(index, ROWS * places))
            place = builder.add(start, builder.add(s_, ir.Constant(index, CHILD * places)))
            data = data_of(context, builder, boxes_, signature.args[0])
            whole = builder.bitcast(data, ir.IntType(32).as_pointer())
            return builder.sext(builder.load(builder.gep(whole, [place])), index)

        return types.int64(boxes, node, s), code

    return child_of


enter_vector, child_of = entering(WIDE), below(WIDE)


@inner
def meet_plain(corners, group, axes, sheared, edges):
    """Edge functions (1) of `rays.mesh` and the sheared z of the corners of a group of faces.

    corners (g, 9, LEAF); axes: kx, ky, kz; sheared: the origin along these, and the shears of x
    and y; edges (6, LEAF), written: e_a, e_b, e_c, then z of a, b, c.  Returns a bit for each face
    of which no two e differ in sign.
    """
    kx, ky, kz = axes
    qx, qy, qz, sx, sy = sheared
    met = 0
    for s in range(LEAF):
        az = corners[group, kz, s] - qz
        bz = corners[group, 3 + kz, s] - qz
        cz = corners[group, 6 + kz, s] - qz
        ax, ay = corners[group, kx, s] - qx - sx * az, corners[group, ky, s] - qy - sy * az
        bx, by = corners[group, 3 + kx, s] - qx - sx * bz, corners[group, 3 + ky, s] - qy - sy * bz
        cx, cy = corners[group, 6 + kx, s] - qx - sx * cz, corners[group, 6 + ky, s] - qy - sy * cz
        edges[0, s] = ea = cx * by - cy * bx
        edges[1, s] = eb = ax * cy - ay * cx
        edges[2, s] = ec = bx * ay - by * ax
        edges[3, s], edges[4, s], edges[5, s] = az, bz, cz
        met |= (not min(ea, eb, ec) < 0.0 < max(ea, eb, ec)) << s
    return met


@intrinsic
def meet_vector(_typing, corners, group, axes, sheared, edges):
    """As `meet_plain`, in vector code by hand."""

    def code(context, builder, signature, arguments):
        corners_, group_, axes_, sheared_, edges_ = arguments
        wide = ir.VectorType(ir.DoubleType(), LEAF)
        index = ir.IntType(64)
        at = partial(vector_at, context, builder, wide)
        zero = ir.Constant(wide, [0.0] * LEAF)
        qx, qy, qz, sx, sy = (
            spread_out(builder, builder.extract_value(sheared_, k), wide) for k in range(5)
        )
        start = builder.mul(group_, ir.Constant(index, 9 * LEAF))

        def along(corner, axis):
            row = builder.add(builder.extract_value(axes_, axis), ir.Constant(index, 3 * corner))
            place = builder.add(start, builder.mul(row, ir.Constant(index, LEAF)))
            return builder.load(at(corners_, signature.args[0], place), align=8)

        def cross(p, q, r, s):
            return builder.fsub(builder.fmul(p, q), builder.fmul(r, s))

        x, y, z = [], [], []
        for corner in range(3):
            z.append(builder.fsub(along(corner, 2), qz))
            for axis, q, shear, out in ((0, qx, sx, x), (1, qy, sy, y)):
                gap = builder.fsub(along(corner, axis), q)
                out.append(builder.fsub(gap, builder.fmul(shear, z[-1])))
        e = [
            cross(x[2], y[1], y[2], x[1]),
            cross(x[0], y[2], y[0], x[2]),
            cross(x[1], y[0], y[1], x[0]),
        ]
        for k, value in enumerate(e + z):
            place = at(edges_, signature.args[4], ir.Constant(index, k * LEAF))
            builder.store(value, place, align=8)

        def some(sign):
            a, b, c = (builder.fcmp_ordered(sign, value, zero) for value in e)
            return builder.or_(builder.or_(a, b), c)

        met = builder.not_(builder.and_(some("<"), some(">")))
        return builder.zext(builder.bitcast(met, ir.IntType(LEAF)), index)

    return types.int64(corners, group, axes, sheared, edges), code


@intrinsic
def lowest_bit(_typing, bits):
    """Number of the lowest bit that is set, of an int64 that is not 0."""

    def code(_context, builder, _signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(bits), code


def _bits_of(number):
    return int(np.float32(number).view(np.int32))


def _lowest_bit(bits):
    return (int(bits) & -int(bits)).bit_length() - 1


def _child_of(boxes, node, s):
    return int(boxes.view(np.int32)[node, CHILD, s])


def _quietly(loop):
    """Compiled code tells of no overflow, and is right about it: what is too far counts as far."""

    def call(*given):
        with np.errstate(all="ignore"):
            return loop(*given)

    return call


if NUMBA.DISABLE_JIT:  # there is no vector code in plain Python
    enter_vector, meet_vector = _quietly(enter_plain), _quietly(meet_plain)
    child_of, bits_of, lowest_bit = _child_of, _bits_of, _lowest_bit  # type: ignore[assignment]
