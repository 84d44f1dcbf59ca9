"""Slow exact twin of the beam model, which every implementation is held to."""

import math

EXPLAINED, SHORT, THROUGH, IN_UNKNOWN, ASTRAY = range(5)


def rate(model, sigma, z, r, wall, near, in_unknown):
    """Return ℓ and kind of a beam, equations (1) to (3) of `compute.likelihood.beam_model`.

    Args:
        model: σ, Z, a, b, r₀, c, u, λ, s₀ and s₁.
        sigma: σ of this beam in m.
        z: Its range in m.
        r: Range of the ray cast along it in m.
        wall: Range to the wall behind unknown space in m, r where there is none.
        near: Distance from its end to the nearest wall in m.
        in_unknown: Whether the ray entered unknown space before the end of the beam.
    """
    _, longest, a, b, nearest, random, u, fading, slack, share = model
    through = z > wall + slack + share * z
    miss = z - r if through else near
    h = math.exp(-0.5 * (miss / sigma) ** 2) / (math.sqrt(2.0 * math.pi) * sigma)
    if in_unknown:
        p = u * h + (1.0 - u) * fading * math.exp(-fading * max(z - r, 0.0))
    else:
        p = a * h + (b / max(r, nearest) if z < r else 0.0)
    kind = SHORT if z < r else ASTRAY
    kind = THROUGH if through else kind
    kind = IN_UNKNOWN if in_unknown else kind
    kind = EXPLAINED if miss <= 3.0 * sigma and not through else kind
    return math.log(longest * p + random), kind
