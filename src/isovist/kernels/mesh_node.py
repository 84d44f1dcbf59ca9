"""Where a ray enters the boxes of a node of `kernels.mesh_tree`, and which faces it meets.

There are two ways with the same answers to the last bit: vector code, which is taken, and a plain
loop that says what it does.
"""

from functools import partial

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from isovist.kernels.compiled import inner
from isovist.kernels.mesh_tree import BIG, LEAF, WIDE
from isovist.kernels.threads import NUMBA

WIDER = np.float32(1.0 + 1e-6)  # of the distance at which a ray leaves a box


@inner
def enter_plain(boxes, node, rows, ray, reach, out):
    """Where a ray enters the boxes of a node, written to out (WIDE,); BIG where it does not.

    boxes (w, 8, WIDE); rows: the six rows of the node in the order near x, y, z, far x, y, z; ray:
    (ox, oy, oz, ix, iy, iz) with the inverses of the direction, all float32; reach: no box beyond
    it counts.  Returns a bit for each box that is entered.
    """
    ox, oy, oz, ix, iy, iz = ray
    zero = np.float32(0.0)
    entered = 0
    for s in range(WIDE):
        x, far_x = (boxes[node, rows[0], s] - ox) * ix, (boxes[node, rows[3], s] - ox) * ix
        y, far_y = (boxes[node, rows[1], s] - oy) * iy, (boxes[node, rows[4], s] - oy) * iy
        z, far_z = (boxes[node, rows[2], s] - oz) * iz, (boxes[node, rows[5], s] - oz) * iz
        near = max(x, y, z, zero)
        far = min(far_x, far_y, far_z, reach) * WIDER
        out[s] = near if near <= far else BIG
        entered |= (near <= far) << s
    return entered


@intrinsic
def enter_vector(_typing, boxes, node, rows, ray, reach, out):
    """As `enter_plain`, in vector code by hand: compilers do not find it in so short a loop."""

    def code(context, builder, signature, arguments):
        boxes_, node_, rows_, ray_, reach_, out_ = arguments
        wide = ir.VectorType(ir.FloatType(), WIDE)
        index = ir.IntType(64)
        flags = ("nnan", "nsz")
        at = partial(_vector_at, context, builder, wide)

        def of(numbers, k):
            return _spread(builder, builder.extract_value(numbers, k), wide)

        def larger(x, y):
            return builder.select(builder.fcmp_ordered(">", x, y, flags=flags), x, y)

        def smaller(x, y):
            return builder.select(builder.fcmp_ordered("<", x, y, flags=flags), x, y)

        start = builder.mul(node_, ir.Constant(index, 8 * WIDE))
        t = []
        for k in range(6):
            row = builder.mul(builder.extract_value(rows_, k), ir.Constant(index, WIDE))
            place = at(boxes_, signature.args[0], builder.add(start, row))
            gap = builder.fsub(builder.load(place, align=4), of(ray_, k % 3))
            t.append(builder.fmul(gap, of(ray_, 3 + k % 3)))
        near = larger(larger(t[0], t[1]), larger(t[2], ir.Constant(wide, [0.0] * WIDE)))
        far = smaller(smaller(t[3], t[4]), smaller(t[5], _spread(builder, reach_, wide)))
        far = builder.fmul(far, ir.Constant(wide, [float(WIDER)] * WIDE))
        met = builder.fcmp_ordered("<=", near, far)
        entered = builder.select(met, near, ir.Constant(wide, [float(BIG)] * WIDE))
        builder.store(entered, at(out_, signature.args[5], ir.Constant(index, 0)), align=4)
        return builder.zext(builder.bitcast(met, ir.IntType(WIDE)), index)

    return types.int64(boxes, node, rows, ray, reach, out), code


@inner
def meet_plain(corners, group, axes, sheared, edges):
    """Edge functions (1) of `kernels.mesh` and the sheared z of the corners of a group of faces.

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
        at = partial(_vector_at, context, builder, wide)
        zero = ir.Constant(wide, [0.0] * LEAF)
        qx, qy, qz, sx, sy = (
            _spread(builder, builder.extract_value(sheared_, k), wide) for k in range(5)
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


def _spread(builder, value, wide):
    """A vector of one number."""
    undefined = ir.Constant(wide, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), wide.count), [0] * wide.count)
    return builder.shuffle_vector(first, undefined, mask)


def _vector_at(context, builder, wide, array, array_type, offset):
    """Where a vector of an array begins."""
    data = make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), wide.as_pointer())


@intrinsic
def lowest_bit(_typing, bits):
    """Number of the lowest bit that is set, of an int64 that is not 0."""

    def code(_context, builder, _signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(bits), code


def _lowest_bit(bits):
    return (int(bits) & -int(bits)).bit_length() - 1


def _quietly(loop):
    """Compiled code tells of no overflow, and is right about it: what is too far counts as far."""

    def call(*given):
        with np.errstate(all="ignore"):
            return loop(*given)

    return call


if NUMBA.DISABLE_JIT:  # there is no vector code in plain Python
    enter_vector, meet_vector = _quietly(enter_plain), _quietly(meet_plain)
    lowest_bit = _lowest_bit  # type: ignore[assignment]
