"""Test a ray against the boxes of a tree node, and against the faces of a leaf.

Two versions give the same answers to the last bit: vector code, which runs, and a plain loop that
defines it.
"""

from functools import partial

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from isovist.compute.infra.compiled import subroutine
from isovist.compute.infra.simd import broadcast, data_pointer, vector_pointer
from isovist.compute.infra.threads import numba_config
from isovist.compute.trees.build import LEAF_FACES
from isovist.compute.trees.flatten import CHILD_ROW, NODE_ROWS, NODE_WIDTH

EXIT_SLACK = np.float32(1.0 + 1e-6)  # of the distance at which a ray leaves a box


@intrinsic
def bits_of(_typing, number):
    """Reinterpret the bits of a float32 as an integer."""
    if number != types.float32:
        return None

    def code(_context, builder, _signature, arguments):
        bits = builder.bitcast(arguments[0], ir.IntType(32))
        return builder.sext(bits, ir.IntType(64))

    return types.int64(number), code


@subroutine
def enter_scalar(boxes, node, rows, ray, reach, out):
    """Find where a ray enters the boxes of a node (`compute.trees.flatten`).

    Args:
        boxes: Nodes, shape (w, NODE_ROWS, NODE_WIDTH).
        node: Index of the node.
        rows: Rows of the node in the order near x, y, z, far x, y, z.
        ray: Origin, inverse direction, and inverse direction times `EXIT_SLACK`; nine float32.
        reach: Boxes beyond this distance do not count.
        out: Output, distances as bits of float32, shape (NODE_WIDTH,). They are not negative, so
            their bits have the same order. It has no meaning for boxes that are not entered.

    Returns:
        A bit for each box that is entered.
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


def enter_intrinsic(places):
    """Make `enter_scalar` in vector code, for nodes of a given number of children.

    It is written by hand: compilers do not find it in so short a loop.
    """

    @intrinsic
    def enter_vector(_typing, boxes, node, rows, ray, reach, out):
        def code(context, builder, signature, arguments):
            boxes_, node_, rows_, ray_, reach_, out_ = arguments
            vector_type = ir.VectorType(ir.FloatType(), places)
            index = ir.IntType(64)
            at = partial(vector_pointer, context, builder, vector_type)

            def component(numbers, k):
                return broadcast(builder, builder.extract_value(numbers, k), vector_type)

            def extreme(sign, x, y):
                is_first = builder.fcmp_ordered(sign, x, y, flags=("nnan", "nsz"))
                return builder.select(is_first, x, y)

            larger, smaller = partial(extreme, ">"), partial(extreme, "<")
            start = builder.mul(node_, ir.Constant(index, NODE_ROWS * places))
            t = []
            for k in range(6):
                row = builder.mul(builder.extract_value(rows_, k), ir.Constant(index, places))
                place = at(boxes_, signature.args[0], builder.add(start, row))
                gap = builder.fsub(builder.load(place, align=4), component(ray_, k % 3))
                t.append(builder.fmul(gap, component(ray_, 3 + k)))
            near = larger(
                larger(t[0], t[1]), larger(t[2], ir.Constant(vector_type, [0.0] * places))
            )
            far = smaller(
                smaller(t[3], t[4]), smaller(t[5], broadcast(builder, reach_, vector_type))
            )
            place = data_pointer(context, builder, out_, signature.args[5])
            builder.store(near, builder.bitcast(place, vector_type.as_pointer()), align=4)
            met = builder.fcmp_ordered("<=", near, far)
            return builder.zext(builder.bitcast(met, ir.IntType(places)), index)

        return types.int64(boxes, node, rows, ray, reach, out), code

    return enter_vector


def child_intrinsic(places):
    """Make the look-up of a child of a node: another node, or a leaf (`compute.trees.flatten`).

    Numba would multiply to find it, and the next node waits for this.
    """

    @intrinsic
    def child_of(_typing, boxes, node, s):
        def code(context, builder, signature, arguments):
            boxes_, node_, s_ = arguments
            index = ir.IntType(64)
            start = builder.mul(node_, ir.Constant(index, NODE_ROWS * places))
            place = builder.add(start, builder.add(s_, ir.Constant(index, CHILD_ROW * places)))
            data = data_pointer(context, builder, boxes_, signature.args[0])
            children = builder.bitcast(data, ir.IntType(32).as_pointer())
            return builder.sext(builder.load(builder.gep(children, [place])), index)

        return types.int64(boxes, node, s), code

    return child_of


enter_vector, child_of = enter_intrinsic(NODE_WIDTH), child_intrinsic(NODE_WIDTH)


@subroutine
def meet_scalar(corners, group, axes, sheared, edges):
    """Evaluate the edge functions (1) of `rays.mesh` for a group of faces.

    Args:
        corners: Corners of faces by group, shape (g, 9, LEAF_FACES).
        group: Index of the group.
        axes: kx, ky and kz.
        sheared: Origin along these axes, and the shears of x and y.
        edges: Output, e_a, e_b, e_c, then the sheared z of a, b and c, shape (6, LEAF_FACES).

    Returns:
        A bit for each face of which no two e differ in sign.
    """
    kx, ky, kz = axes
    qx, qy, qz, sx, sy = sheared
    met = 0
    for s in range(LEAF_FACES):
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
    """Compute `meet_scalar` in vector code."""

    def code(context, builder, signature, arguments):
        corners_, group_, axes_, sheared_, edges_ = arguments
        vector_type = ir.VectorType(ir.DoubleType(), LEAF_FACES)
        index = ir.IntType(64)
        at = partial(vector_pointer, context, builder, vector_type)
        zero = ir.Constant(vector_type, [0.0] * LEAF_FACES)
        qx, qy, qz, sx, sy = (
            broadcast(builder, builder.extract_value(sheared_, k), vector_type) for k in range(5)
        )
        start = builder.mul(group_, ir.Constant(index, 9 * LEAF_FACES))

        def along(corner, axis):
            row = builder.add(builder.extract_value(axes_, axis), ir.Constant(index, 3 * corner))
            place = builder.add(start, builder.mul(row, ir.Constant(index, LEAF_FACES)))
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
            place = at(edges_, signature.args[4], ir.Constant(index, k * LEAF_FACES))
            builder.store(value, place, align=8)

        def any_edge(sign):
            a, b, c = (builder.fcmp_ordered(sign, value, zero) for value in e)
            return builder.or_(builder.or_(a, b), c)

        met = builder.not_(builder.and_(any_edge("<"), any_edge(">")))
        return builder.zext(builder.bitcast(met, ir.IntType(LEAF_FACES)), index)

    return types.int64(corners, group, axes, sheared, edges), code


def _bits_of(number):
    return int(np.float32(number).view(np.int32))


def _child_of(boxes, node, s):
    return int(boxes.view(np.int32)[node, CHILD_ROW, s])


def _ignoring_overflow(loop):
    """Silence overflow of NumPy, as compiled code does: what is too far counts as far."""

    def call(*arguments):
        with np.errstate(all="ignore"):
            return loop(*arguments)

    return call


if numba_config.DISABLE_JIT:  # there is no vector code in plain Python
    enter_vector, meet_vector = _ignoring_overflow(enter_scalar), _ignoring_overflow(meet_scalar)
    child_of, bits_of = _child_of, _bits_of  # type: ignore[assignment]
