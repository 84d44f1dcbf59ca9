"""Bound the costs of nodes from below, from descriptors stored in bytes.

With a step q, let l be the byte of a channel f of a node and k that of a channel o of the scan,
both to the nearest step, so that f and o differ by no less than |l − k| − 1 steps.  Then each term
of equation (1) of `compute.search.correlate` is at least q times

    |clip(l, k − b/q, k + a/q) − k| − 1.                                                    (1)

Bytes are signed, from −128 on, since processors have one instruction for their difference. They are
stored node beside node, so that one instruction works on dozens of them. Terms are summed
`TERMS_PER_BYTE` before they are put into wider numbers; the caller subtracts the ones.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from isovist.compute.infra.compiled import kernel, subroutine
from isovist.compute.infra.simd import broadcast, data_pointer, loop
from isovist.compute.infra.threads import numba_config

BLOCK_NODES = 256
"""Nodes of a block: its table stays in the first cache."""
TERMS_PER_BYTE = 8
MAX_TERM = 31
"""Largest term of (1): eight of them fit a byte."""
BYTE_LANES = 32
"""Bytes of a vector: one register of AVX2, two of NEON."""
VECTORS_AT_ONCE = 2
"""Vectors whose sums stay in registers at once."""


def lower_scalar(f, rows, levels, start, at, bounds):
    """Lower the bounds of some nodes of a block to their bound at one heading.

    Args:
        f: l of the block, shape (rings n, BLOCK_NODES).
        rows: Row of the block for each channel of the scan at this heading, shape (m,).
        levels: k, k − b/q and k + a/q of each, shape (m, 3).
        start: Added to all sums.
        at: The first of the nodes, `BYTE_LANES` times `VECTORS_AT_ONCE` of them.
        bounds: Lowered, shape (BLOCK_NODES,).
    """
    for i in range(at, at + BYTE_LANES * VECTORS_AT_ONCE):
        total = start
        for row, (middle, low, high) in zip(rows, levels.astype(int), strict=True):
            total += abs(min(max(int(f[row, i]), low), high) - middle)
        bounds[i] = min(bounds[i], total)


@intrinsic
def lower_vector(_typing, f, rows, levels, start, at, bounds):
    """Compute `lower_scalar` in vector code."""

    def code(context, builder, signature, arguments):
        start_, at_ = arguments[3:5]
        index = ir.IntType(64)
        byte, word = (ir.VectorType(ir.IntType(bits), BYTE_LANES) for bits in (8, 16))
        table, numbers, level_data, lowered = (
            data_pointer(context, builder, arguments[k], signature.args[k]) for k in (0, 1, 2, 5)
        )
        shape = cgutils.create_struct_proxy(signature.args[1])(context, builder, arguments[1]).shape
        (count,) = cgutils.unpack_tuple(builder, shape, 1)

        def larger(sign, x, y):
            return builder.select(builder.icmp_signed(sign, x, y), x, y)

        def of(data, k):
            return builder.load(builder.gep(data, [k]))

        first = broadcast(builder, builder.trunc(start_, ir.IntType(16)), word)
        totals = [cgutils.alloca_once(builder, word) for _ in range(VECTORS_AT_ONCE)]
        for total in totals:
            builder.store(first, total)
        with loop(builder, count, TERMS_PER_BYTE) as (j, _):
            zero = ir.Constant(byte, [0] * BYTE_LANES)
            sums = [zero] * VECTORS_AT_ONCE
            for c in range(TERMS_PER_BYTE):
                channel = builder.add(j, ir.Constant(index, c))
                number = builder.sext(of(numbers, channel), index)
                row = builder.mul(number, ir.Constant(index, BLOCK_NODES))
                place = builder.mul(channel, ir.Constant(index, 3))
                middle, low, high = (
                    broadcast(
                        builder, of(level_data, builder.add(place, ir.Constant(index, k))), byte
                    )
                    for k in range(3)
                )
                begin = builder.add(row, at_)
                for v in range(VECTORS_AT_ONCE):
                    where = builder.gep(
                        table, [builder.add(begin, ir.Constant(index, v * BYTE_LANES))]
                    )
                    value = builder.load(builder.bitcast(where, byte.as_pointer()), align=1)
                    near = larger("<", larger(">", value, low), high)
                    gap = builder.sub(near, middle, flags=("nsw",))
                    size = larger(">", gap, builder.sub(zero, gap, flags=("nsw",)))
                    sums[v] = builder.add(sums[v], size)
            for total, added in zip(totals, sums, strict=True):
                builder.store(builder.add(builder.load(total), builder.zext(added, word)), total)
        for v, total in enumerate(totals):
            where = builder.gep(lowered, [builder.add(at_, ir.Constant(index, v * BYTE_LANES))])
            where = builder.bitcast(where, word.as_pointer())
            before, after = builder.load(where, align=2), builder.load(total)
            is_lower = builder.icmp_unsigned("<", before, after)
            builder.store(builder.select(is_lower, before, after), where, align=2)
        return context.get_dummy_value()

    return types.none(f, rows, levels, start, at, bounds), code


lower: Any = lower_scalar if numba_config.DISABLE_JIT else lower_vector


@kernel("i1[:,:,::1], i8[:,::1], i1[:,::1], i8, b1[::1], i8 -> u2[:,::1]", over="table")
def lower_bounds(first, last, table, channels, levels, n, allowed, start, bounds):
    """Bound the cost of each node from below, over all headings, in steps.

    The bound is larger by one for each channel; the caller subtracts that.

    Args:
        table: l, block by block, shape (B, rings n, BLOCK_NODES).
        channels: Ring and number of the channels of the scan, shape (m, 2), m a multiple of
            `TERMS_PER_BYTE`.
        levels: k, k − b/q and k + a/q of each, no farther from k than `MAX_TERM`, shape (m, 3);
            three equal ones cost nothing.
        n: Channels of a ring.
        allowed: Whether a heading counts, shape (n,).
        start: Added to all sums.
        bounds: Lowered, shape (B, BLOCK_NODES).
    """
    rows = _rotated_rows(channels, n)
    for block in range(first, last):
        _lower_block(table[block], rows, levels, allowed, start, bounds[block])


@subroutine
def _rotated_rows(channels, n):
    """Return the rows of a block that the channels of a scan meet at each heading, shape (n, m)."""
    rows = np.empty((n, len(channels)), dtype=np.int32)
    for k in range(n):
        for c in range(len(channels)):
            column = k + channels[c, 1]
            rows[k, c] = channels[c, 0] * n + (column - n if column >= n else column)
    return rows


@subroutine
def _lower_block(block, rows, levels, allowed, start, bounds):
    """Lower the bounds of the nodes of a block, heading by heading."""
    for k in range(len(allowed)):
        if allowed[k]:
            for at in range(0, BLOCK_NODES, BYTE_LANES * VECTORS_AT_ONCE):
                lower(block, rows[k], levels, start, at, bounds)
