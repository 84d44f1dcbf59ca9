"""Where a ray enters the four boxes of a node of `kernels.mesh_tree`.

There are two ways with the same answers to the last bit: a plain loop, which any machine can run,
and vector code, which is taken on ARM, the only machines it has been tried on.
"""

import platform

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from isovist.kernels.compiled import inner
from isovist.kernels.mesh_tree import BIG

WIDER = np.float32(1.0 + 1e-6)  # of the distance at which a ray leaves a box


@inner
def enter_plain(boxes, node, rows, ray, reach, out):
    """Where a ray enters the four boxes of a node, written to out (4,); BIG where it does not.

    boxes (w, 8, 4); rows: the six rows of the node in the order near x, y, z, far x, y, z; ray:
    (ox, oy, oz, ix, iy, iz) with the inverses of the direction, all float32; reach: no box beyond
    it counts.
    """
    ox, oy, oz, ix, iy, iz = ray
    zero = np.float32(0.0)
    for s in range(4):
        x, far_x = (boxes[node, rows[0], s] - ox) * ix, (boxes[node, rows[3], s] - ox) * ix
        y, far_y = (boxes[node, rows[1], s] - oy) * iy, (boxes[node, rows[4], s] - oy) * iy
        z, far_z = (boxes[node, rows[2], s] - oz) * iz, (boxes[node, rows[5], s] - oz) * iz
        near = max(x, y, z, zero)
        far = min(far_x, far_y, far_z, reach) * WIDER
        out[s] = near if near <= far else BIG


@intrinsic
def enter_vector(_typing, boxes, node, rows, ray, reach, out):
    """As `enter_plain`, in vector code by hand: the compiler does not find it in a loop of four."""

    def code(context, builder, signature, arguments):
        boxes_, node_, rows_, ray_, reach_, out_ = arguments
        four = ir.VectorType(ir.FloatType(), 4)
        index = ir.IntType(64)
        flags = ("nnan", "nsz")

        def spread(value):
            first = builder.insert_element(
                ir.Constant(four, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
            )
            mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0, 0, 0, 0])
            return builder.shuffle_vector(first, ir.Constant(four, ir.Undefined), mask)

        def larger(x, y):
            return builder.select(builder.fcmp_ordered(">", x, y, flags=flags), x, y)

        def smaller(x, y):
            return builder.select(builder.fcmp_ordered("<", x, y, flags=flags), x, y)

        def four_at(array, array_type, offset):
            data = make_array(array_type)(context, builder, array).data
            return builder.bitcast(builder.gep(data, [offset]), four.as_pointer())

        start = builder.mul(node_, ir.Constant(index, 32))
        t = []
        for k in range(6):
            row = builder.mul(builder.extract_value(rows_, k), ir.Constant(index, 4))
            place = four_at(boxes_, signature.args[0], builder.add(start, row))
            side = builder.load(place, align=4)
            gap = builder.fsub(side, spread(builder.extract_value(ray_, k % 3)))
            t.append(builder.fmul(gap, spread(builder.extract_value(ray_, 3 + k % 3))))
        near = larger(larger(t[0], t[1]), larger(t[2], ir.Constant(four, [0.0] * 4)))
        far = smaller(smaller(t[3], t[4]), smaller(t[5], spread(reach_)))
        far = builder.fmul(far, ir.Constant(four, [float(WIDER)] * 4))
        met = builder.fcmp_ordered("<=", near, far)
        entered = builder.select(met, near, ir.Constant(four, [float(BIG)] * 4))
        place = four_at(out_, signature.args[5], ir.Constant(index, 0))
        builder.store(entered, place, align=4)
        return context.get_dummy_value()

    return types.void(boxes, node, rows, ray, reach, out), code


enter_four = enter_vector if platform.machine() in ("aarch64", "arm64") else enter_plain
