"""What nodes cost at least, from descriptors kept in bytes.

With a step q, let l be the byte of a channel f of a node and k that of a channel o of the scan,
both to the nearest step, so that f and o differ by no less than |l − k| − 1 steps.  Then each term
of equation (1) of `compute.search.correlate` is at least q times

    |clip(l, k − b/q, k + a/q) − k| − 1.                                                    (1)

Bytes are signed, from −128 on, since machines tell how far such numbers are apart in one go.  They
lie node beside node, so that one instruction works on dozens of them; terms are summed
`TOGETHER` before they are put into wider numbers, and the ones are left to whoever asks.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from isovist.compute.infra.compiled import inner, kernel
from isovist.compute.infra.simd import data_of, loop, spread_out
from isovist.compute.infra.threads import NUMBA

Bytes = NDArray[np.int8]

WIDTH = 256
"""Nodes of a block: its table stays in the first cache."""
TOGETHER = 8
HIGHEST = 31
"""Largest term of (1): eight of them fit a byte."""
LANES = 32
"""Bytes of a vector: a register of AVX2, two of NEON."""
VECTORS = 2
"""Whose sums are kept in registers at once."""


def lower_plain(
    f: Bytes, rows: NDArray[np.int32], levels: Bytes, start: int, at: int, least: NDArray[np.uint16]
) -> None:
    """Lower what some nodes of a block cost at least to what they do at one heading.

    Args:
        f: l of the block, shape (rings n, WIDTH).
        rows: Of the channels that the scan saw, at this heading, shape (m,).
        levels: k, k − b/q and k + a/q of each, shape (m, 3).
        start: Added to all sums.
        at: The first of the nodes, `LANES` times `VECTORS` of them.
        least: Lowered, shape (WIDTH,).
    """
    for i in range(at, at + LANES * VECTORS):
        total = start
        for row, (middle, low, high) in zip(rows, levels.astype(int), strict=True):
            total += abs(min(max(int(f[row, i]), low), high) - middle)
        least[i] = min(least[i], total)


@intrinsic
def lower_vector(_typing, f, rows, levels, start, at, least):
    """As `lower_plain`, in vector code by hand."""

    def code(context, builder, signature, arguments):
        start_, at_ = arguments[3:5]
        index = ir.IntType(64)
        byte, word = (ir.VectorType(ir.IntType(bits), LANES) for bits in (8, 16))
        table, numbers, bounds, lowered = (
            data_of(context, builder, arguments[k], signature.args[k]) for k in (0, 1, 2, 5)
        )
        shape = cgutils.create_struct_proxy(signature.args[1])(context, builder, arguments[1]).shape
        (count,) = cgutils.unpack_tuple(builder, shape, 1)

        def larger(sign: str, x: Any, y: Any) -> Any:
            return builder.select(builder.icmp_signed(sign, x, y), x, y)

        def of(data: Any, k: Any) -> Any:
            return builder.load(builder.gep(data, [k]))

        first = spread_out(builder, builder.trunc(start_, ir.IntType(16)), word)
        totals = [cgutils.alloca_once(builder, word) for _ in range(VECTORS)]
        for total in totals:
            builder.store(first, total)
        with loop(builder, count, TOGETHER) as (j, _):
            zero = ir.Constant(byte, [0] * LANES)
            sums = [zero] * VECTORS
            for c in range(TOGETHER):
                channel = builder.add(j, ir.Constant(index, c))
                number = builder.sext(of(numbers, channel), index)
                row = builder.mul(number, ir.Constant(index, WIDTH))
                place = builder.mul(channel, ir.Constant(index, 3))
                middle, low, high = (
                    spread_out(builder, of(bounds, builder.add(place, ir.Constant(index, k))), byte)
                    for k in range(3)
                )
                begin = builder.add(row, at_)
                for v in range(VECTORS):
                    where = builder.gep(table, [builder.add(begin, ir.Constant(index, v * LANES))])
                    known = builder.load(builder.bitcast(where, byte.as_pointer()), align=1)
                    near = larger("<", larger(">", known, low), high)
                    gap = builder.sub(near, middle, flags=("nsw",))
                    size = larger(">", gap, builder.sub(zero, gap, flags=("nsw",)))
                    sums[v] = builder.add(sums[v], size)
            for total, added in zip(totals, sums, strict=True):
                builder.store(builder.add(builder.load(total), builder.zext(added, word)), total)
        for v, total in enumerate(totals):
            where = builder.gep(lowered, [builder.add(at_, ir.Constant(index, v * LANES))])
            where = builder.bitcast(where, word.as_pointer())
            before, now = builder.load(where, align=2), builder.load(total)
            less = builder.icmp_unsigned("<", before, now)
            builder.store(builder.select(less, before, now), where, align=2)
        return context.get_dummy_value()

    return types.none(f, rows, levels, start, at, least), code


lower: Any = lower_plain if NUMBA.DISABLE_JIT else lower_vector


@kernel("i1[:,:,::1], i8[:,::1], i1[:,::1], i8, b1[::1], i8 -> u2[:,::1]", over="table")
def floors(
    first: int,
    last: int,
    table: NDArray[np.int8],
    channels: NDArray[np.int64],
    levels: Bytes,
    n: int,
    allowed: NDArray[np.bool_],
    start: int,
    least: NDArray[np.uint16],
) -> None:
    """What each node costs at least, over all headings, in steps, and one for each channel more.

    Args:
        table: l, block by block, shape (B, rings n, WIDTH).
        channels: Ring and channel of what the scan saw, shape (m, 2), m a multiple of `TOGETHER`.
        levels: k, k − b/q and k + a/q of each, no farther from k than `HIGHEST`, shape (m, 3);
            three equal ones cost nothing.
        n: Channels of a ring.
        allowed: Which headings count, shape (n,).
        start: Added to all sums.
        least: Lowered, shape (B, WIDTH).
    """
    rows = _turned(channels, n)
    for block in range(first, last):
        _lower_all(table[block], rows, levels, allowed, start, least[block])


@kernel("i1[:,:,::1], i8[::1], i8[:,::1], i1[:,::1], i8, b1[::1], i8 -> u2[:,::1]", over="least")
def floors_of(
    first: int,
    last: int,
    table: NDArray[np.int8],
    some: NDArray[np.int64],
    channels: NDArray[np.int64],
    levels: Bytes,
    n: int,
    allowed: NDArray[np.bool_],
    start: int,
    least: NDArray[np.uint16],
) -> None:
    """As `floors`, for some nodes in order: their numbers, shape (A,), and `least` of A of them."""
    rows = _turned(channels, n)
    block = np.full(table.shape[1:], 0, dtype=np.int8)
    for k in range(first, last):
        _pick(table, some[k * WIDTH : (k + 1) * WIDTH], block)
        _lower_all(block, rows, levels, allowed, start, least[k])


@inner
def _turned(channels: NDArray[np.int64], n: int) -> NDArray[np.int32]:
    """Rows of a block that the channels of a scan are at each heading, shape (n, m)."""
    rows = np.empty((n, len(channels)), dtype=np.int32)
    for k in range(n):
        for c in range(len(channels)):
            turned = k + channels[c, 1]
            rows[k, c] = channels[c, 0] * n + (turned - n if turned >= n else turned)
    return rows


@inner
def _lower_all(
    block: Bytes,
    rows: NDArray[np.int32],
    levels: Bytes,
    allowed: NDArray[np.bool_],
    start: int,
    least: NDArray[np.uint16],
) -> None:
    """Lower what the nodes of a block cost at least, heading by heading."""
    for k in range(len(allowed)):
        if allowed[k]:
            for at in range(0, WIDTH, LANES * VECTORS):
                lower(block, rows[k], levels, start, at, least)


@inner
def _pick(table: NDArray[np.int8], some: NDArray[np.int64], block: Bytes) -> None:
    """Put some nodes into a block, shape (rings n, WIDTH), at most so many."""
    lanes = np.empty(WIDTH, dtype=np.uint8)  # no index is negative or too large
    at = 0
    while at < len(some):
        source, count = some[at] // WIDTH, 0
        while at + count < len(some) and some[at + count] // WIDTH == source:
            lanes[count] = np.uint8(some[at + count] % WIDTH)
            count += 1
        for row in range(len(block)):  # one after the other, as they lie in memory
            known, mine = table[source, row], block[row, at : at + count]
            for k in range(np.uint64(count)):
                mine[k] = known[lanes[k]]
        at += count
