"""Exponentials and logarithms that become vector code, which calls of a library do not.

Sums are taken in any order here, and products added unrounded: the last bits differ by machine.
"""

import math
from typing import Any

import numpy as np
from numba.core import types as numba_types
from numba.extending import intrinsic, overload

from isovist.compute.infra.compiled import within

types: Any = numba_types
_intrinsic: Any = intrinsic

FREELY = {"reassoc", "nsz", "contract"}
# Beyond this exponent `decay` has come to nothing.
GONE = 40.0
SIGNIFICAND = (1 << 52) - 1
HALF = 1022 << 52


@within(fastmath=FREELY)
def decay(t: float) -> float:
    """exp(−t) for t ≥ 0, to 1e-12 of it up to `GONE`, where it ends: its series at t/256."""
    x = (GONE if t > GONE else t) * (-1.0 / 256.0)
    p = 1.0 / 40320.0 + x * (1.0 / 362880.0)
    p = 1.0 / 720.0 + x * (1.0 / 5040.0 + x * p)
    p = 1.0 / 24.0 + x * (1.0 / 120.0 + x * p)
    p = 0.5 + x * (1.0 / 6.0 + x * p)
    p = 1.0 + x * (1.0 + x * p)
    for _ in range(8):
        p *= p
    return p


def _split(p: float) -> tuple[float, float]:
    """A number above 0 as m · 2ⁿ, m from ½ to 1."""
    return math.frexp(p)


@_intrinsic
def _bits(_context: Any, number: Any) -> Any:
    """The 64 bits of a float as an integer, or the float of 64 bits."""
    kind = types.int64 if number == types.float64 else types.float64

    def emit(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.bitcast(values[0], context.get_value_type(kind))

    return kind(number), emit


@overload(_split, strict=False)
def _(*_given: Any) -> Any:
    return _split_bits


def _split_bits(p: float) -> tuple[float, float]:
    bits = _bits(p)
    return _bits((bits & SIGNIFICAND) | HALF), float(np.int32((bits >> 52) - 1022))


@within(fastmath=FREELY)
def logarithm(p: float) -> float:
    """log p of a normal p > 0, to 1e-12: the series of log((1 + s)/(1 − s)), s up to 0.172."""
    m, n = _split(p)
    low = m < math.sqrt(0.5)
    m = 2.0 * m if low else m
    n = n - 1.0 if low else n
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    series = 1.0 / 9.0 + q * (1.0 / 11.0 + q * (1.0 / 13.0))
    series = 1.0 + q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * (1.0 / 7.0 + q * series)))
    return n * math.log(2.0) + 2.0 * s * series
