"""Name the profiles of the weights, about equally wide."""

import numpy as np

from isovist.basis import Bump, CosinePower, Profile, Softmax
from isovist.errors import InputError


def profile_of(name: str, temperature: float) -> Profile:
    """Return a profile about as wide as the softmax of a temperature ε.

    The cosine power falls as fast near its direction, k = 1/ε; the bump vanishes where the
    softmax has fallen to e⁻², 1 − cos ρ = 2ε.
    """
    softmax = Softmax(temperature)
    if name == "softmax":
        return softmax
    if name == "bump":
        return Bump(float(np.arccos(max(-1.0, 1.0 - 2.0 * temperature))))
    if name != "cosine":
        raise InputError.about("profile", f"must be softmax, bump or cosine, got {name}.")
    if temperature > 0.5:
        raise InputError.about(
            "temperature", f"of a cosine power is at most 0.5, got {temperature:g}."
        )
    return CosinePower(1.0 / temperature)
