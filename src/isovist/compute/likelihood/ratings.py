"""Ratings of the beams of a scan by `likelihood.beam_model`, many at once, in singles.

There are two ways with the same answers but for the last bits: vector code, which is taken, and a
plain loop that says what it does.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from isovist.compute.infra.fastmath import GONE
from isovist.compute.infra.simd import SINGLES, Lanes, data_of, decay, logarithm, loop, spread_out
from isovist.compute.infra.threads import NUMBA
from isovist.compute.likelihood.beam_model import (
    ASTRAY,
    EXPLAINED,
    PEAK,
    SHORT,
    THROUGH,
    UNSEEN,
    is_through,
    rate_beam,
    sort_beam,
)

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

SIGMA, Z, RANGE, BEHIND, LIMIT, NEAR = range(6)
ROWS = 6
"""Rows of what is known of beams, in m: σ of each, its range z, that of the ray r, that to the wall
behind unknown space w, beyond what range it ends where the map knows nothing (∞ for never), and
the distance of its end to the nearest wall."""


def rate_plain(model: Floats, beams: Singles, ratings: Singles, kinds: NDArray[np.uint8]) -> None:
    """ℓ and kind of each beam.

    Args:
        model: Of `compute.likelihood.beam_model`, shape (10,).
        beams: Shape (ROWS, m), m a multiple of `SINGLES`.
        ratings: Output, shape (m,).
        kinds: Output, shape (m,).
    """
    for k in range(beams.shape[1]):
        sigma, z, r, wall, limit, near = (float(value) for value in beams[:, k])
        unseen, through = z > limit, is_through(model, z, wall)
        miss = z - r if through else near
        ratings[k] = rate_beam(model, sigma, z, r, miss, unseen)
        kinds[k] = sort_beam(sigma, z, r, miss, unseen, through)


@intrinsic
def rate_vector(_typing, model, beams, ratings, kinds):
    """As `rate_plain`, in vector code by hand."""

    def code(context, builder, signature, arguments):
        wide, index = ir.VectorType(ir.FloatType(), SINGLES), ir.IntType(64)
        given, known, out, sorts = (
            data_of(context, builder, array, kind)
            for array, kind in zip(arguments, signature.args, strict=True)
        )
        shape = cgutils.create_struct_proxy(signature.args[1])(context, builder, arguments[1]).shape
        _rows, count = cgutils.unpack_tuple(builder, shape, 2)

        def of_model(k: int) -> Lanes:
            value = builder.load(builder.gep(given, [ir.Constant(index, k)]))
            single = builder.fptrunc(value, ir.FloatType())
            return Lanes(builder, spread_out(builder, single, wide))

        longest, a, b, nearest, random, u, fading, slack, share = (
            of_model(k) for k in range(1, 10)
        )
        vague = (u.of(1.0) - u) * fading
        with loop(builder, count, SINGLES) as (k, _):

            def of_beams(row: int, k: Any = k) -> Lanes:
                start = builder.add(builder.mul(count, ir.Constant(index, row)), k)
                place = builder.bitcast(builder.gep(known, [start]), wide.as_pointer())
                return Lanes(builder, builder.load(place, align=4))

            sigma, z, r, wall, limit, near = (of_beams(row) for row in range(ROWS))
            unseen, through = z > limit, z > wall + slack + share * z
            miss = through.where(z - r, near)
            off = miss / sigma
            hit = decay((off * off * 0.5).at_most(GONE)) * PEAK / sigma
            faded = (fading * (z - r).at_least(0.0)).at_most(GONE)
            beyond = u * hit + vague * decay(faded)
            early = (z < r).where(b / r.at_least(nearest), z.of(0.0))
            p = unseen.where(beyond, a * hit + early)
            place = builder.bitcast(builder.gep(out, [k]), wide.as_pointer())
            builder.store(logarithm(longest * p + random).value, place, align=4)

            def kind(value: int) -> Lanes:
                whole = ir.VectorType(ir.IntType(32), SINGLES)
                return Lanes(builder, ir.Constant(whole, [value] * SINGLES))

            sort = (z < r).where(kind(SHORT), kind(ASTRAY))
            sort = unseen.where(kind(UNSEEN), through.where(kind(THROUGH), sort))
            sort = ((miss > sigma * 3.0) | through).where(sort, kind(EXPLAINED))
            small = ir.VectorType(ir.IntType(8), SINGLES)
            place = builder.bitcast(builder.gep(sorts, [k]), small.as_pointer())
            builder.store(builder.trunc(sort.value, small), place, align=1)
        return context.get_dummy_value()

    return types.none(model, beams, ratings, kinds), code


rate_beams: Any = rate_plain if NUMBA.DISABLE_JIT else rate_vector
