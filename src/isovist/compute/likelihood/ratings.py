"""Rate many beams of a scan at once by `likelihood.beam_model`, in float32.

Two versions give the same answers but for the last bits: vector code, which runs, and a plain
loop that defines it.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from isovist.compute.infra.fastmath import MAX_EXPONENT
from isovist.compute.infra.simd import (
    FLOAT_LANES,
    FloatVector,
    broadcast,
    data_pointer,
    decay,
    logarithm,
    loop,
)
from isovist.compute.infra.threads import numba_config
from isovist.compute.likelihood.beam_model import (
    ASTRAY,
    EXPLAINED,
    EXPLAINED_SIGMAS,
    IN_UNKNOWN,
    PEAK,
    SHORT,
    THROUGH,
    is_through,
    rate_beam,
    sort_beam,
)

BEAM_SIGMA, Z, RANGE, WALL_BEHIND, LIMIT, NEAR = range(6)
BEAM_ROWS = 6
"""Rows of the table of beams, in m: σ, the range z of the beam, the range r of the ray, the range w
to the wall behind unknown space, the range beyond which it ends in unknown space (∞ for never), and
the distance from its end to the nearest wall."""


def rate_scalar(model, beams, ratings, kinds):
    """Rate and classify each beam.

    Args:
        model: Row of the beam model (`compute.likelihood.beam_model`), shape (10,).
        beams: Rows of `BEAM_ROWS`, shape (BEAM_ROWS, m), m a multiple of `FLOAT_LANES`.
        ratings: Output, ℓ of each beam, shape (m,).
        kinds: Output, kind of each beam (`sort_beam`), shape (m,).
    """
    for k in range(beams.shape[1]):
        sigma, z, r, wall, limit, near = (float(value) for value in beams[:, k])
        in_unknown, through = z > limit, is_through(model, z, wall)
        miss = z - r if through else near
        ratings[k] = rate_beam(model, sigma, z, r, miss, in_unknown)
        kinds[k] = sort_beam(sigma, z, r, miss, in_unknown, through)


@intrinsic
def rate_vector(_typing, model, beams, ratings, kinds):
    """Compute `rate_scalar` in vector code."""

    def code(context, builder, signature, arguments):
        vector_type, index = ir.VectorType(ir.FloatType(), FLOAT_LANES), ir.IntType(64)
        model_data, beam_data, out, sorts = (
            data_pointer(context, builder, array, kind)
            for array, kind in zip(arguments, signature.args, strict=True)
        )
        shape = cgutils.create_struct_proxy(signature.args[1])(context, builder, arguments[1]).shape
        _rows, count = cgutils.unpack_tuple(builder, shape, 2)

        def of_model(k):
            value = builder.load(builder.gep(model_data, [ir.Constant(index, k)]))
            single = builder.fptrunc(value, ir.FloatType())
            return FloatVector(builder, broadcast(builder, single, vector_type))

        longest, a, b, nearest, random, u, fading, slack, share = (
            of_model(k) for k in range(1, 10)
        )
        vague = (u.constant(1.0) - u) * fading
        with loop(builder, count, FLOAT_LANES) as (k, _):

            def of_beams(row, k=k):
                start = builder.add(builder.mul(count, ir.Constant(index, row)), k)
                place = builder.bitcast(builder.gep(beam_data, [start]), vector_type.as_pointer())
                return FloatVector(builder, builder.load(place, align=4))

            sigma, z, r, wall, limit, near = (of_beams(row) for row in range(BEAM_ROWS))
            in_unknown, through = z > limit, z > wall + slack + share * z
            miss = through.choose(z - r, near)
            off = miss / sigma
            hit = decay((off * off * 0.5).at_most(MAX_EXPONENT)) * PEAK / sigma
            faded = (fading * (z - r).at_least(0.0)).at_most(MAX_EXPONENT)
            unknown_density = u * hit + vague * decay(faded)
            early = (z < r).choose(b / r.at_least(nearest), z.constant(0.0))
            p = in_unknown.choose(unknown_density, a * hit + early)
            place = builder.bitcast(builder.gep(out, [k]), vector_type.as_pointer())
            builder.store(logarithm(longest * p + random).value, place, align=4)

            def kind(value):
                code_type = ir.VectorType(ir.IntType(32), FLOAT_LANES)
                return FloatVector(builder, ir.Constant(code_type, [value] * FLOAT_LANES))

            sort = (z < r).choose(kind(SHORT), kind(ASTRAY))
            sort = in_unknown.choose(kind(IN_UNKNOWN), through.choose(kind(THROUGH), sort))
            sort = ((miss > sigma * EXPLAINED_SIGMAS) | through).choose(sort, kind(EXPLAINED))
            byte_type = ir.VectorType(ir.IntType(8), FLOAT_LANES)
            place = builder.bitcast(builder.gep(sorts, [k]), byte_type.as_pointer())
            builder.store(builder.trunc(sort.value, byte_type), place, align=1)
        return context.get_dummy_value()

    return types.none(model, beams, ratings, kinds), code


rate_beams: Any = rate_scalar if numba_config.DISABLE_JIT else rate_vector
