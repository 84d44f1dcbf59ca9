"""How well poses explain a scan, beam by beam, by ray casting.

A ray cast along a beam meets a wall at range r, or enters unknown space at r and would meet a
wall at w.  The measured range z has a likelihood that mixes a hit, a short return from something
the map lacks, and a random one,

    p(z) = a h(z) + b [z < r] / max(r, r₀) + c / Z            where the ray meets a wall,    (1)
    p(z) = u h(z) + v λ exp(−λ (z − r)) + c / Z               beyond r in unknown space,     (2)
    h(z) = N(D(z); σ)  if z ≤ w + s(z),  else N(z − r; σ),    s(z) = s₀ + s₁ z,              (3)

with D(z) the distance from the measured end to the nearest wall.  A beam that ends near a wall is
a hit even when the cast ray went astray at a grazing angle or past a corner; but a beam that ends
more than s(z) behind a wall has gone through it.  Beams are rated by ℓ = log(Z p), 0 for a random
return.
"""

import math

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from isovist.kernels.align import distance_at
from isovist.kernels.occupancy import cast_one

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

WALL, UNKNOWN = 0, 1
EXPLAINED, SHORT, THROUGH, UNSEEN, ASTRAY = 0, 1, 2, 3, 4


@njit(cache=True, nogil=True, parallel=True)
def score(
    skip: NDArray[np.uint8],
    walls: NDArray[np.uint8],
    field: Singles,
    unit: float,
    model: Floats,
    bearings: Floats,
    ranges: Floats,
    poses: Floats,
    ratings: Singles,
    kinds: NDArray[np.uint8],
) -> None:
    """Rate each beam from each pose.

    Args:
        skip: The map as `cast_one` wants it.
        walls: The same with unknown cells free, so that only walls end a ray.
        field: D in cells, shape (height, width).
        unit: Side of a cell in m.
        model: σ, Z, a, b, r₀, c, u, v, λ, s₀, s₁; lengths in m.
        bearings: In rad, shape (m,).
        ranges: z in m, shape (m,).
        poses: (x, y, yaw) in cells and rad, shape (K, 3).
        ratings: Output, ℓ, shape (K, m).
        kinds: Output, EXPLAINED (ends within 3σ of a wall that it can see), SHORT, THROUGH a wall,
            UNSEEN (ends in unknown space) or ASTRAY, shape (K, m).
    """
    sigma, longest, a, b, nearest, random, u, v, fading, slack, rate = model
    peak = 1.0 / (math.sqrt(2.0 * math.pi) * sigma)
    reach = longest / unit
    for q in prange(len(poses)):
        x, y, yaw = poses[q, 0], poses[q, 1], poses[q, 2]
        for k in range(len(bearings)):
            z = ranges[k]
            c, s = math.cos(yaw + bearings[k]), math.sin(yaw + bearings[k])
            free, ending, _cell, _axis = cast_one(skip, x, y, c, s, reach)
            r = free * unit
            wall = r
            unseen = ending != WALL and z > r - slack
            if unseen and ending == UNKNOWN:
                wall = cast_one(walls, x, y, c, s, reach)[0] * unit
            through = z > wall + slack + rate * z
            if through:
                miss = z - r
            else:
                miss = distance_at(field, x + z * c / unit, y + z * s / unit)[0] * unit
            hit = peak * math.exp(-0.5 * (miss / sigma) ** 2)
            if unseen:
                p = u * hit + v * fading * math.exp(-fading * max(z - r, 0.0))
            elif z < r:
                p = a * hit + b / max(r, nearest)
            else:
                p = a * hit
            ratings[q, k] = math.log(longest * p + random)
            kind = ASTRAY
            if miss <= 3.0 * sigma and not through:
                kind = EXPLAINED
            elif unseen:
                kind = UNSEEN
            elif through:
                kind = THROUGH
            elif z < r:
                kind = SHORT
            kinds[q, k] = kind
