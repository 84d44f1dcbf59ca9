"""Sum terms of equation (1) of `search.correlate` for many headings at once, in 16 bits.

Two versions give the same answers: vector code, which runs, and a plain loop that defines it. The
sums stay in registers from the first channel to the last.
"""

from functools import partial

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from isovist.compute.infra.compiled import inline
from isovist.compute.infra.simd import broadcast, data_pointer, vector_pointer
from isovist.compute.infra.threads import numba_config

WORD_LANES = 16
"""Headings of a vector: one register of AVX2, two of NEON."""
VECTORS_AT_ONCE = 4
"""Vectors whose sums are kept in registers at once: 64 headings, the usual channels."""
MAX_SUM = 65535
"""Largest sum."""


def add_scalar(f, start, channels, first, last, o, low, high, sums, wide=WORD_LANES):
    """Add |clip(f, low, high) − o| of some channels to the sums of headings from `start` on.

    Args:
        f: Codes of a node by channel, twice around the circle.
        start: The first heading.
        channels: Indices of the channels that count.
        first: Index into `channels` of the first one to add.
        last: One beyond the last one to add.
        o: Codes of the scan by channel; low ≤ o ≤ high.
        low: Codes below which a term grows no more.
        high: Codes above which a term grows no more.
        sums: Added to; at most `MAX_SUM`.
        wide: Number of headings.
    """
    for j in range(first, last):
        c = channels[j]
        for k in range(start, start + wide):
            sums[k] += abs(min(max(int(f[c + k]), int(low[c])), int(high[c])) - int(o[c]))


def _add_intrinsic(vectors):
    """Make `add_scalar` in vector code, for a number of vectors of headings."""

    @intrinsic
    def add_vector(_typing, f, start, channels, first, last, o, low, high, sums):
        def code(context, builder, signature, arguments):
            vector_type, index = ir.VectorType(ir.IntType(16), WORD_LANES), ir.IntType(64)
            f_, start_, channels_, first_, last_, o_, low_, high_, sums_ = arguments
            kinds = dict(zip(arguments, signature.args, strict=True))

            def element(array, k):
                data = data_pointer(context, builder, array, kinds[array])
                return builder.load(builder.gep(data, [k]))

            def at(array, k):
                return vector_pointer(context, builder, vector_type, array, kinds[array], k)

            steps = [ir.Constant(index, v * WORD_LANES) for v in range(vectors)]
            totals = [cgutils.alloca_once(builder, vector_type) for _ in steps]
            zero = ir.Constant(vector_type, [0] * WORD_LANES)

            def select_by(sign, x, y):
                return builder.select(builder.icmp_signed(sign, x, y), x, y)

            for step, total in zip(steps, totals, strict=True):
                place = at(sums_, builder.add(start_, step))
                builder.store(builder.load(place, align=2), total)
            step_by = ir.Constant(index, 1)
            with cgutils.for_range_slice(builder, first_, last_, step_by, intp=index) as (j, _):
                c = element(channels_, j)
                scan_code, lower, upper = (
                    broadcast(builder, element(x, c), vector_type) for x in (o_, low_, high_)
                )
                begin = builder.add(start_, c)
                for step, total in zip(steps, totals, strict=True):
                    place = at(f_, builder.add(begin, step))
                    near = select_by(
                        "<", select_by(">", builder.load(place, align=2), lower), upper
                    )
                    gap = builder.sub(near, scan_code, flags=("nsw",))
                    size = select_by(">", gap, builder.sub(zero, gap, flags=("nsw",)))
                    builder.store(builder.add(builder.load(total), size), total)
            for step, total in zip(steps, totals, strict=True):
                place = at(sums_, builder.add(start_, step))
                builder.store(builder.load(total), place, align=2)
            return context.get_dummy_value()

        return types.none(f, start, channels, first, last, o, low, high, sums), code

    return add_vector


add_vector, add_vectors = _add_intrinsic(1), _add_intrinsic(VECTORS_AT_ONCE)

if numba_config.DISABLE_JIT:  # there is no vector code in plain Python
    add_vector, add_vectors = add_scalar, partial(add_scalar, wide=VECTORS_AT_ONCE * WORD_LANES)


@inline
def add_terms(f, channels, first, last, o, low, high, sums):
    """Apply `add_scalar` to all headings of `sums`; their number is a multiple of `WORD_LANES`."""
    full_length = len(sums) - len(sums) % (VECTORS_AT_ONCE * WORD_LANES)
    for start in range(0, full_length, VECTORS_AT_ONCE * WORD_LANES):
        add_vectors(f, start, channels, first, last, o, low, high, sums)
    for start in range(full_length, len(sums), WORD_LANES):
        add_vector(f, start, channels, first, last, o, low, high, sums)
