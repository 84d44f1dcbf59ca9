"""How well could any pose of a box explain a scan?  Ceilings from the ends of the beams.

A box holds the poses within a of (x, y), on each axis, and within b of a yaw.  Its poses move the
end of a beam of length z by at most

    ρ = √2 a + 2 z sin(b / 2),                                                            (1)

and the distance to the nearest wall is 1-Lipschitz.  So the code of the cell where the beam ends
from the middle of the box, a class of distances to walls and to unknown space, bounds what the
beam is worth from every pose of the box.  Tables turn codes into deficits: how much less than its
best a beam is worth at least.  A box whose deficits exceed the budget holds no pose that is good
enough.

With D the distance from the end to the nearest wall and U that to the nearest cell through which a
ray can enter unknown space, both less what the box may take off, a beam of length z has

    ℓ ≤ log(Z max(a h + b / max(z, r₀), u h + (1 − u) λ e) + c),                            (2)
    h = N(min(D, s(z)); σ),      e = exp(−λ U), 1 where U ≤ s₀,

in the letters of `kernels.beam`: it hits, is short of a wall that is farther than z, ends behind a
wall by more than s(z), or |z − r| ≥ U beyond where it entered unknown space at r.
"""

import math

import numpy as np
from numpy.typing import NDArray

from isovist.kernels.compiled import inner, kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@inner
def ceiling(model, z, miss, dark):
    """Equation (2) for a beam of z m that ends at least `miss` and `dark` m off, or less than 0."""
    sigma, longest, hits, short, nearest, random, beyond, fading, slack, share = model
    off = min(max(miss, 0.0), slack + share * z)
    hit = math.exp(-0.5 * (off / sigma) ** 2) / (math.sqrt(2.0 * math.pi) * sigma)
    faded = 1.0
    if dark > slack and z <= longest - slack:
        faded = math.exp(-fading * dark)
    seen = hits * hit + short / max(z, nearest)
    unseen = beyond * hit + (1.0 - beyond) * fading * faded
    return math.log(longest * max(seen, unseen) + random)


@kernel("f8[::1], f8[::1], f8[::1], f8[::1], f8[:,::1], f8 -> u2[:,::1], f8[::1]")
def tabulate(
    model: Floats, lengths: Floats, walls: Floats, frontiers: Floats, taken: Floats,
    unit: float, tables: NDArray[np.uint16], tops: Floats,
) -> None:  # fmt: skip
    """Deficits of beams by code, in parts of a nat, rounded down.

    Args:
        model: Of `kernels.beam`, shape (10,).
        lengths: Of the beams in m, shape (m,).
        walls: Least D of each class in m.
        frontiers: Least U of each class in m.
        taken: What boxes take off D and U, in m, shape (m, 2).
        unit: Of deficits in nats.
        tables: Output, shape (m, 256).
        tops: Output, the most that each beam can be worth, in nats, shape (m,).
    """
    for k in range(len(lengths)):
        tops[k] = ceiling(model, lengths[k], 0.0, 0.0)
        for i in range(len(walls)):
            for j in range(len(frontiers)):
                most = ceiling(
                    model, lengths[k], walls[i] - taken[k, 0], frontiers[j] - taken[k, 1]
                )
                lost = max(0.0, (tops[k] - most) / unit - 1e-6)
                tables[k, i * len(frontiers) + j] = np.uint16(min(lost, 65535.0))


@kernel(
    "u1[:,::1], i8[:,::1], i4[:,::1], i4[:,:,::1], u2[:,::1], i8 -> i4[::1], i8[::1]", over="tasks"
)
def bound(
    first: int,
    last: int,
    codes: NDArray[np.uint8],
    tasks: Integers,
    places: NDArray[np.int32],
    offsets: NDArray[np.int32],
    tables: NDArray[np.uint16],
    budget: int,
    deficits: NDArray[np.int32],
    looked: Integers,
) -> None:
    """Sum the deficits of boxes, and drop them as soon as the budget is spent.

    Args:
        codes: Of the cells of the map, padded, shape (height, width).
        tasks: Group, first and end of boxes side by side, shape (t, 3).
        places: Column and row of the cell that holds the middle of each box, shape (n, 2).
        offsets: From there to where beam k ends, for each group, shape (g, m, 2).
        tables: Deficits by code, those beams first that tell most, shape (m, 256).
        budget: Largest sum that is good enough.
        deficits: Output, the sum, or −1 for boxes that are dropped, shape (n,).
        looked: Output, look-ups of each task, shape (t,).
    """
    height, width = codes.shape
    m = len(tables)
    flat = codes.reshape(-1)
    for t in range(first, last):
        group, start, stop = tasks[t, 0], tasks[t, 1], tasks[t, 2]
        alive = stop - start
        sums = np.zeros(alive, dtype=np.int32)
        index = np.empty(alive, dtype=np.int64)
        which = np.empty(alive, dtype=np.int64)
        left, right, low, high = width, -1, height, -1
        for j in range(alive):
            column, row = places[start + j, 0], places[start + j, 1]
            index[j], which[j] = row * width + column, start + j
            left, right = min(left, column), max(right, column)
            low, high = min(low, row), max(high, row)
            deficits[start + j] = -1
        count = 0
        for k in range(m):
            dx, dy = offsets[group, k, 0], offsets[group, k, 1]
            count += alive
            if left + dx >= 0 and right + dx < width and low + dy >= 0 and high + dy < height:
                shift = dy * width + dx
                for j in range(alive):
                    sums[j] += tables[k, flat[np.uint64(index[j] + shift)]]
            else:
                # Beyond the padding nothing is nearer than at its rim.
                for j in range(alive):
                    column, row = places[which[j], 0] + dx, places[which[j], 1] + dy
                    row, column = min(max(row, 0), height - 1), min(max(column, 0), width - 1)
                    sums[j] += tables[k, codes[row, column]]
            if k % 4 == 3 or k == m - 1:
                kept = 0
                for j in range(alive):
                    if sums[j] <= budget:
                        sums[kept], index[kept], which[kept] = sums[j], index[j], which[j]
                        kept += 1
                alive = kept
                if alive == 0:
                    break
        for j in range(alive):
            deficits[which[j]] = sums[j]
        looked[t] = count
