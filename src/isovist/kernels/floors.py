"""What nodes cost at least, from descriptors kept in bytes.

With a step q, let l = ⌊f/q⌋ be the byte of a channel f of a node, so that f < (l + 1) q.  Then each
term of equation (1) of `kernels.correlate` is at least q times

    min(⌊o/q⌋ − l − 1, b/q)   or   min(l − ⌈o/q⌉, a/q)   or   0,                            (1)

whichever is largest.  Bytes lie node beside node, so that one instruction works on dozens of them;
terms are summed `TOGETHER` before they are put into wider numbers.
"""

import numpy as np
from numpy.typing import NDArray

from isovist.kernels.compiled import inner, kernel

Bytes = NDArray[np.uint8]

WIDTH = 256
"""Nodes of a block: its table stays in the first cache."""
TOGETHER = 8
HIGHEST = 31
"""Largest term of (1): eight of them fit a byte."""


@inner
def _term(f: np.uint8, o: tuple[np.uint8, np.uint8], a: np.uint8, b: np.uint8) -> np.uint8:
    """Equation (1) of one channel; o is ⌊o/q⌋ − 1 and ⌈o/q⌉."""
    low, high = o
    longer = min(np.uint8(max(low, f) - f), b)
    shorter = min(np.uint8(max(high, f) - high), a)
    return np.uint8(longer + shorter)


@inner
def _add(
    f0: Bytes, f1: Bytes, f2: Bytes, f3: Bytes, f4: Bytes, f5: Bytes, f6: Bytes, f7: Bytes,
    o: Bytes, a: np.uint8, b: np.uint8, sums: Bytes,
) -> None:  # fmt: skip
    """Terms of eight channels.  Shapes (WIDTH,); o has shape (8, 2)."""
    o0, o1, o2, o3 = (o[0, 0], o[0, 1]), (o[1, 0], o[1, 1]), (o[2, 0], o[2, 1]), (o[3, 0], o[3, 1])
    o4, o5, o6, o7 = (o[4, 0], o[4, 1]), (o[5, 0], o[5, 1]), (o[6, 0], o[6, 1]), (o[7, 0], o[7, 1])
    for i in range(WIDTH):
        s = np.uint8(_term(f0[i], o0, a, b) + _term(f1[i], o1, a, b))
        t = np.uint8(_term(f2[i], o2, a, b) + _term(f3[i], o3, a, b))
        u = np.uint8(_term(f4[i], o4, a, b) + _term(f5[i], o5, a, b))
        v = np.uint8(_term(f6[i], o6, a, b) + _term(f7[i], o7, a, b))
        sums[i] = np.uint8(np.uint8(s + t) + np.uint8(u + v))


@inner
def _widen(sums: Bytes, total: NDArray[np.uint16]) -> None:
    for i in range(WIDTH):
        total[i] += sums[i]


@inner
def _keep_least(total: NDArray[np.uint16], least: NDArray[np.uint16]) -> None:
    for i in range(WIDTH):
        least[i] = min(least[i], total[i])


@kernel("u1[:,:,::1], i8[:,::1], u1[:,::1], i8, b1[::1], i8, i8 -> u2[:,::1]", over="table")
def floors(
    first: int,
    last: int,
    table: NDArray[np.uint8],
    channels: NDArray[np.int64],
    levels: Bytes,
    n: int,
    allowed: NDArray[np.bool_],
    short: int,
    long: int,
    least: NDArray[np.uint16],
) -> None:
    """What each node costs at least, over all headings, in steps.

    Args:
        table: l, block by block, shape (B, rings n, WIDTH).
        channels: Ring and channel of what the scan saw, shape (m, 2), m a multiple of `TOGETHER`.
        levels: ⌊o/q⌋ − 1 and ⌈o/q⌉ of each, shape (m, 2); (0, 255) costs nothing.
        n: Channels of a ring.
        allowed: Which headings count, shape (n,).
        short: a/q, at most `HIGHEST`.
        long: b/q, at most `HIGHEST`.
        least: Lowered, shape (B, WIDTH).
    """
    a, b = np.uint8(short), np.uint8(long)
    sums, total = np.empty(WIDTH, dtype=np.uint8), np.empty(WIDTH, dtype=np.uint16)
    row = np.empty(TOGETHER, dtype=np.int64)
    for block in range(first, last):
        f = table[block]
        for k in range(n):
            if not allowed[k]:
                continue
            total[:] = 0
            for j in range(0, len(channels), TOGETHER):
                for c in range(TOGETHER):
                    turned = k + channels[j + c, 1]
                    row[c] = channels[j + c, 0] * n + (turned - n if turned >= n else turned)
                _add(
                    f[row[0]], f[row[1]], f[row[2]], f[row[3]], f[row[4]], f[row[5]], f[row[6]],
                    f[row[7]], levels[j : j + TOGETHER], a, b, sums,
                )  # fmt: skip
                _widen(sums, total)
            _keep_least(total, least[block])
