"""Terms of equation (1) of `search.correlate`, of many headings at once, in integers of 16 bits.

There are two ways with the same answers: vector code, which is taken, and a plain loop that says
what it does.  The sums stay in registers from the first channel to the last.
"""

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from isovist.compute.infra.compiled import within
from isovist.compute.infra.simd import data_of, spread_out, vector_at
from isovist.compute.infra.threads import NUMBA

Codes = NDArray[np.int16]

LANES = 16
"""Headings of a vector: one register of AVX2, two of NEON."""
VECTORS = 4
"""Vectors whose sums are kept in registers at once: 64 headings, the usual channels."""
FULL = 65535
"""Largest sum."""


def add_plain(
    f: Codes, start: int, channels: NDArray[np.int64], first: int, last: int, o: Codes, low: Codes,
    high: Codes, sums: NDArray[np.uint16], wide: int = LANES,
) -> None:  # fmt: skip
    """Add |clip(f, low, high) − o| of some channels to the sums of headings from `start` on.

    Args:
        f: Channels of a node, around the circle twice.
        start: The first heading.
        channels: Those that count.
        first: The first of these to add.
        last: One beyond the last.
        o: Of the scan, for each channel; low ≤ o ≤ high.
        low: Below it a term grows no more.
        high: Above it likewise.
        sums: Added to; at most `FULL`.
        wide: How many headings.
    """
    for j in range(first, last):
        c = channels[j]
        for k in range(start, start + wide):
            sums[k] += abs(min(max(int(f[c + k]), int(low[c])), int(high[c])) - int(o[c]))


def _adding(vectors: int) -> Any:
    """`add_plain` for so many vectors of headings, in vector code."""

    @intrinsic
    def add_vector(_typing, f, start, channels, first, last, o, low, high, sums):
        def code(context, builder, signature, arguments):
            wide, index = ir.VectorType(ir.IntType(16), LANES), ir.IntType(64)
            f_, start_, channels_, first_, last_, o_, low_, high_, sums_ = arguments
            kinds = dict(zip(arguments, signature.args, strict=True))

            def of(array: Any, k: Any) -> Any:
                data = data_of(context, builder, array, kinds[array])
                return builder.load(builder.gep(data, [k]))

            def at(array: Any, k: Any) -> Any:
                return vector_at(context, builder, wide, array, kinds[array], k)

            steps = [ir.Constant(index, v * LANES) for v in range(vectors)]
            kept = [cgutils.alloca_once(builder, wide) for _ in steps]
            zero = ir.Constant(wide, [0] * LANES)

            def larger(sign: str, x: Any, y: Any) -> Any:
                return builder.select(builder.icmp_signed(sign, x, y), x, y)

            for step, one in zip(steps, kept, strict=True):
                place = at(sums_, builder.add(start_, step))
                builder.store(builder.load(place, align=2), one)
            step_by = ir.Constant(index, 1)
            with cgutils.for_range_slice(builder, first_, last_, step_by, intp=index) as (j, _):
                c = of(channels_, j)
                mine, least, most = (spread_out(builder, of(x, c), wide) for x in (o_, low_, high_))
                begin = builder.add(start_, c)
                for step, one in zip(steps, kept, strict=True):
                    place = at(f_, builder.add(begin, step))
                    near = larger("<", larger(">", builder.load(place, align=2), least), most)
                    gap = builder.sub(near, mine, flags=("nsw",))
                    size = larger(">", gap, builder.sub(zero, gap, flags=("nsw",)))
                    builder.store(builder.add(builder.load(one), size), one)
            for step, one in zip(steps, kept, strict=True):
                place = at(sums_, builder.add(start_, step))
                builder.store(builder.load(one), place, align=2)
            return context.get_dummy_value()

        return types.none(f, start, channels, first, last, o, low, high, sums), code

    return add_vector


add_vector, add_vectors = _adding(1), _adding(VECTORS)

if NUMBA.DISABLE_JIT:  # there is no vector code in plain Python
    add_vector, add_vectors = add_plain, partial(add_plain, wide=VECTORS * LANES)


@within
def add_terms(
    f: Codes, channels: NDArray[np.int64], first: int, last: int, o: Codes, low: Codes,
    high: Codes, sums: NDArray[np.uint16],
) -> None:  # fmt: skip
    """As `add_plain`, for all headings of `sums`, whose length is a multiple of `LANES`."""
    whole = len(sums) - len(sums) % (VECTORS * LANES)
    for start in range(0, whole, VECTORS * LANES):
        add_vectors(f, start, channels, first, last, o, low, high, sums)
    for start in range(whole, len(sums), LANES):
        add_vector(f, start, channels, first, last, o, low, high, sums)
