"""Order rays so that neighbours pass the same part of a tree.

The boxes that one ray has read are then still in the cache for the next, and branches go the same
way: unordered rays take half the time. The key of a ray is its start and its direction, each on a
lattice of 16³ boxes, with interleaved bits.
"""

import numpy as np

from isovist.compute.infra.compiled import subroutine

DIGIT_BITS = 12  # bits sorted at a time


@subroutine
def _interleave_bits(u):
    """Return which of 16 boxes from −1 to 1 holds u, its four bits six places apart."""
    box = np.int64(min(max(8.0 * u + 8.0, 0.0), 15.0))
    return (box * 0x8421) & 0x41041


@subroutine
def ray_key(px, py, pz, dx, dy, dz, per_size):
    """Return a key of 24 bits for the ray from p along d.

    per_size is 1 over half the size of the mesh.
    """
    per_length = 1.0 / (abs(dx) + abs(dy) + abs(dz) + 1e-300)
    start = (
        _interleave_bits(px * per_size)
        | _interleave_bits(py * per_size) << 1
        | _interleave_bits(pz * per_size) << 2
    )
    along = (
        _interleave_bits(dx * per_length)
        | _interleave_bits(dy * per_length) << 1
        | _interleave_bits(dz * per_length) << 2
    )
    return start | along << 3


@subroutine
def sort_keys(keys, other):
    """Sort keys (m,) by their bits 32 to 55, stably.

    other (m,) is scratch.
    """
    starts = np.empty((1 << DIGIT_BITS) + 1, np.int64)
    for shift in (32, 32 + DIGIT_BITS):
        starts[:] = 0
        for key in keys:
            starts[((key >> shift) & ((1 << DIGIT_BITS) - 1)) + 1] += 1
        for k in range(1 << DIGIT_BITS):
            starts[k + 1] += starts[k]
        for key in keys:
            digit = (key >> shift) & ((1 << DIGIT_BITS) - 1)
            other[starts[digit]] = key
            starts[digit] += 1
        keys, other = other, keys
