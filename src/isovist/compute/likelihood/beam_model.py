"""Rate the range of a beam at a pose: the measurement model, defined once.

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

With s₁ = 1 nothing is ever behind a wall. Such a model uses only the ends of beams: no ray is cast,
and all beams are rated as if r were 0, as is right for those that have gone through a wall.

A model is the row σ, Z, a, b, r₀, c, u, λ, s₀, s₁; lengths in m (`atlas.settings.BeamModel`).
"""

import math

from isovist.compute.infra.compiled import inline
from isovist.compute.infra.fastmath import FAST_SUMS, decay, logarithm

SIGMA, LONGEST, SLACK, SLACK_SHARE = 0, 1, 8, 9  # places of σ, Z, s₀ and s₁ in the row
WALL, UNKNOWN = 0, 1
PEAK = 1.0 / math.sqrt(2.0 * math.pi)
EXPLAINED, SHORT, THROUGH, IN_UNKNOWN, ASTRAY = 0, 1, 2, 3, 4
EXPLAINED_SIGMAS = 3.0


@inline
def is_open(model):
    """Return whether nothing can be behind a wall, so that no ray need be cast."""
    return model[SLACK_SHARE] >= 1.0


@inline
def ends_in_unknown(model, z, r, ending):
    """Return whether a beam of z m ends beyond r, where the map is unknown."""
    return ending != WALL and z > r - model[SLACK]


@inline
def is_through(model, z, wall):
    """Return whether a beam of z m has gone through the wall at `wall` m."""
    return z > wall + model[SLACK] + model[SLACK_SHARE] * z


@inline(fastmath=FAST_SUMS)
def rate_beam(model, sigma, z, r, miss, in_unknown):
    """Rate a beam of z m that ends `miss` m from where it should: ℓ, with its own σ."""
    _sigma, longest, a, b, nearest, random, u, fading, _slack, _share = model
    off = miss / sigma
    hit = decay(0.5 * off * off) * PEAK / sigma
    if in_unknown:
        p = u * hit + (1.0 - u) * fading * decay(fading * max(z - r, 0.0))
    else:
        p = a * hit + (b / max(r, nearest) if z < r else 0.0)
    return logarithm(longest * p + random)


@inline
def sort_beam(sigma, z, r, miss, in_unknown, through):
    """Classify a beam as EXPLAINED, IN_UNKNOWN, THROUGH, SHORT or ASTRAY.

    EXPLAINED beams end within 3σ of a wall that they can see.
    """
    if miss <= EXPLAINED_SIGMAS * sigma and not through:
        return EXPLAINED
    if in_unknown:
        return IN_UNKNOWN
    if through:
        return THROUGH
    return SHORT if z < r else ASTRAY
