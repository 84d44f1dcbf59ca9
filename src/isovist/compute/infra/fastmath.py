"""Compute exponentials and logarithms in code that vectorizes, unlike calls of a library.

Sums may be taken in any order, and products added unrounded: the last bits differ by machine.
"""

import math
from typing import Any

import numpy as np
from numba.core import types as numba_types
from numba.extending import intrinsic, overload

from isovist.compute.infra.compiled import inline

types: Any = numba_types
_intrinsic: Any = intrinsic

FAST_SUMS = {"reassoc", "nsz", "contract"}
# `decay` is constant beyond this exponent: e⁻⁴⁰ is 4e-18.
MAX_EXPONENT = 40.0
SIGNIFICAND_MASK = (1 << 52) - 1
HALF_EXPONENT = 1022 << 52


@inline(fastmath=FAST_SUMS)
def decay(t):
    """Compute exp(−t) for 0 ≤ t ≤ `MAX_EXPONENT` to a relative error of 1e-12.

    The series at t/256, squared eight times. Beyond `MAX_EXPONENT` it stays constant.
    """
    x = (MAX_EXPONENT if t > MAX_EXPONENT else t) * (-1.0 / 256.0)
    p = 1.0 / 40320.0 + x * (1.0 / 362880.0)
    p = 1.0 / 720.0 + x * (1.0 / 5040.0 + x * p)
    p = 1.0 / 24.0 + x * (1.0 / 120.0 + x * p)
    p = 0.5 + x * (1.0 / 6.0 + x * p)
    p = 1.0 + x * (1.0 + x * p)
    for _ in range(8):
        p *= p
    return p


def _split(p: float) -> tuple[float, float]:
    """Split a number above 0 into m · 2ⁿ with ½ ≤ m < 1."""
    return math.frexp(p)


@_intrinsic
def _bits(_context, number):
    """Reinterpret the 64 bits of a float as an integer, or of an integer as a float."""
    kind = types.int64 if number == types.float64 else types.float64

    def emit(context, builder, _signature, values):
        return builder.bitcast(values[0], context.get_value_type(kind))

    return kind(number), emit


@overload(_split, strict=False)
def _(*_arguments: Any) -> Any:
    return _split_bits


def _split_bits(p: float) -> tuple[float, float]:
    bits = _bits(p)
    return _bits((bits & SIGNIFICAND_MASK) | HALF_EXPONENT), float(np.int32((bits >> 52) - 1022))


@inline(fastmath=FAST_SUMS)
def logarithm(p):
    """Compute log p for a normal p > 0 to 1e-12: the series of log((1 + s)/(1 − s)), |s| < 0.18."""
    m, n = _split(p)
    low = m < math.sqrt(0.5)
    m = 2.0 * m if low else m
    n = n - 1.0 if low else n
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    series = 1.0 / 9.0 + q * (1.0 / 11.0 + q * (1.0 / 13.0))
    series = 1.0 + q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * (1.0 / 7.0 + q * series)))
    return n * math.log(2.0) + 2.0 * s * series
