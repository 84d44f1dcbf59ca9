"""What the range of a beam is worth at a pose: the measurement model, once.

A ray cast along a beam meets a wall at range r, or enters unknown space at r and would meet a
wall at w.  The measured range z has a likelihood that mixes a hit, a short return from something
the map lacks, and a random one,

    p(z) = a h(z) + b [z < r] / max(r, r₀) + c / Z            where the ray meets a wall,    (1)
    p(z) = u h(z) + (1 − u) λ exp(−λ (z − r)) + c / Z         beyond r in unknown space,     (2)
    h(z) = N(D(z); σ)  if z ≤ w + s(z),  else N(z − r; σ),    s(z) = s₀ + s₁ z,              (3)

with D(z) the distance from the measured end to the nearest wall.  A beam that ends near a wall is
a hit even when the cast ray went astray at a grazing angle or past a corner; but a beam that ends
more than s(z) behind a wall has gone through it.  Beams are rated by ℓ = log(Z p), 0 for a random
return.

With s₁ = 1 nothing is ever behind a wall.  Such a model asks only where beams end: no ray is cast,
and all of them are rated as if r were 0, which is right of those that have gone through a wall.

A model is the row σ, Z, a, b, r₀, c, u, λ, s₀, s₁; lengths in m (`atlas.settings.BeamModel`).
"""

import math

from isovist.compute.infra.compiled import within
from isovist.compute.infra.fastmath import FREELY, decay, logarithm

WALL, UNKNOWN = 0, 1
PEAK = 1.0 / math.sqrt(2.0 * math.pi)
EXPLAINED, SHORT, THROUGH, UNSEEN, ASTRAY = 0, 1, 2, 3, 4


@within
def is_open(model):
    """Whether nothing can be behind a wall, so that no ray need be cast."""
    return model[9] >= 1.0


@within
def is_unseen(model, z, r, ending):
    """Whether a beam of z m ends where the map knows nothing: beyond r, where no wall is."""
    return ending != WALL and z > r - model[8]


@within
def is_through(model, z, wall):
    """Whether a beam of z m has gone through the wall at `wall` m."""
    return z > wall + model[8] + model[9] * z


@within(fastmath=FREELY)
def rate_beam(model, sigma, z, r, miss, unseen):
    """ℓ of a beam of z m, with a σ of its own, that ends `miss` m from where it should."""
    _sigma, longest, a, b, nearest, random, u, fading, _slack, _share = model
    off = miss / sigma
    hit = decay(0.5 * off * off) * PEAK / sigma
    if unseen:
        p = u * hit + (1.0 - u) * fading * decay(fading * max(z - r, 0.0))
    else:
        p = a * hit + (b / max(r, nearest) if z < r else 0.0)
    return logarithm(longest * p + random)


@within
def sort_beam(sigma, z, r, miss, unseen, through):
    """EXPLAINED (ends within 3σ of a wall that it can see), UNSEEN, THROUGH, SHORT or ASTRAY."""
    if miss <= 3.0 * sigma and not through:
        return EXPLAINED
    if unseen:
        return UNSEEN
    if through:
        return THROUGH
    return SHORT if z < r else ASTRAY
