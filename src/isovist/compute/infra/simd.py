"""Build vector code by hand, for loops that compilers do not vectorize.

Such a kernel has two versions with one contract: a plain loop that says what it computes, and an
intrinsic that emits LLVM code. Tests hold the second to the first.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from isovist.compute.infra.threads import numba_config

FLOAT_LANES = 8
"""Float32 values of a vector: one register of AVX2, two of NEON, which hides their latency."""
FUSED = ("contract",)


def broadcast(builder, value, vector_type):
    """Return a vector with one number in all lanes."""
    undefined = ir.Constant(vector_type, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), vector_type.count), [0] * vector_type.count)
    return builder.shuffle_vector(first, undefined, mask)


def data_pointer(context, builder, array, array_type):
    """Return the pointer to the first number of an array."""
    return make_array(array_type)(context, builder, array).data


def vector_pointer(context, builder, vector_type, array, array_type, offset):
    """Return the pointer to the vector that begins at an offset of an array."""
    data = data_pointer(context, builder, array, array_type)
    return builder.bitcast(builder.gep(data, [offset]), vector_type.as_pointer())


class FloatVector:
    """A vector of float32 values, or of the bits of a comparison, with the operators of numbers.

    A product may be added without rounding it first.
    """

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def constant(self, number: "FloatVector | float") -> "FloatVector":
        """Return a vector with a number in all lanes."""
        if isinstance(number, FloatVector):
            return number
        kind = self.value.type
        return FloatVector(self.builder, ir.Constant(kind, [number] * kind.count))

    def _binary(self, name: str, other: "FloatVector | float") -> "FloatVector":
        emit = getattr(self.builder, name)
        return FloatVector(self.builder, emit(self.value, self.constant(other).value, flags=FUSED))

    def __add__(self, other: "FloatVector | float") -> "FloatVector":
        return self._binary("fadd", other)

    def __sub__(self, other: "FloatVector | float") -> "FloatVector":
        return self._binary("fsub", other)

    def __mul__(self, other: "FloatVector | float") -> "FloatVector":
        return self._binary("fmul", other)

    def __truediv__(self, other: "FloatVector | float") -> "FloatVector":
        return self._binary("fdiv", other)

    def __gt__(self, other: "FloatVector | float") -> "FloatVector":
        """Compare lane by lane; NaN is never larger."""
        value = self.builder.fcmp_ordered(">", self.value, self.constant(other).value)
        return FloatVector(self.builder, value)

    def __lt__(self, other: "FloatVector | float") -> "FloatVector":
        return self.constant(other) > self

    def __invert__(self) -> "FloatVector":
        return FloatVector(self.builder, self.builder.not_(self.value))

    def __or__(self, other: "FloatVector") -> "FloatVector":
        return FloatVector(self.builder, self.builder.or_(self.value, other.value))

    def choose(self, yes: "FloatVector", no: "FloatVector") -> "FloatVector":
        """Choose between two vectors, lane by lane, by the bits of a comparison."""
        return FloatVector(self.builder, self.builder.select(self.value, yes.value, no.value))

    def at_least(self, bound: "FloatVector | float") -> "FloatVector":
        """Return the larger of each lane and `bound`; `bound` for NaN."""
        bound = self.constant(bound)
        return (self > bound).choose(self, bound)

    def at_most(self, bound: "FloatVector | float") -> "FloatVector":
        """Return the smaller of each lane and `bound`; `bound` for NaN."""
        bound = self.constant(bound)
        return (self < bound).choose(self, bound)

    def call(self, name: str) -> "FloatVector":
        """Apply `floor`, `fabs` or `sqrt` to each lane."""
        kind = self.value.type
        return self._function(f"llvm.{name}.v{kind.count}f32", kind, [self.value])

    def _function(self, name: str, kind: Any, arguments: list[Any], **flags: Any) -> "FloatVector":
        shape = ir.FunctionType(kind, [value.type for value in arguments])
        declared = self.builder.module.globals.get(name)
        function = declared or ir.Function(self.builder.module, shape, name)
        return FloatVector(self.builder, self.builder.call(function, arguments, **flags))

    def to_int(self) -> "FloatVector":
        """Truncate to 32-bit integers."""
        kind = ir.VectorType(ir.IntType(32), self.value.type.count)
        return FloatVector(self.builder, self.builder.fptosi(self.value, kind))

    def any(self) -> Any:
        """Return one bit: whether a comparison holds in any lane."""
        bits_type = ir.IntType(self.value.type.count)
        bits = self.builder.bitcast(self.value, bits_type)
        return self.builder.icmp_unsigned("!=", bits, ir.Constant(bits_type, 0))

    def total(self) -> Any:
        """Return the sum of all lanes as a float64."""
        kind, zero = self.value.type, ir.Constant(self.value.type.element, 0.0)
        name = f"llvm.vector.reduce.fadd.v{kind.count}f32"
        total = self._function(name, kind.element, [zero, self.value], fastmath=("reassoc",))
        return self.builder.fpext(total.value, ir.DoubleType())


def decay(t):
    """Compute exp(−t) for 0 ≤ t ≤ 80 to a relative error of 1e-5.

    A power of two times the series of the remaining factor.
    """
    builder = t.builder
    y = t * 1.4426950408889634
    n = (y + 0.5).call("floor")
    x = (n - y) * 0.6931471805599453
    p = t.constant(1.0 / 720.0)
    for factor in (120.0, 24.0, 6.0, 2.0, 1.0, 1.0):
        p = p * x + 1.0 / factor
    exponent = n.to_int().value
    bias, places = (ir.Constant(exponent.type, [v] * exponent.type.count) for v in (127, 23))
    power = builder.shl(builder.sub(bias, exponent), places)
    return p * FloatVector(builder, builder.bitcast(power, t.value.type))


def logarithm(p):
    """Compute log p for a normal p > 0 to 1e-6: its series about the nearest power of two."""
    builder = p.builder
    kind = ir.VectorType(ir.IntType(32), p.value.type.count)
    half_root, places = (ir.Constant(kind, [v] * kind.count) for v in (0x3F3504F3, 23))  # √½
    bits = builder.bitcast(p.value, kind)
    n = builder.ashr(builder.sub(bits, half_root), places)
    m = FloatVector(
        builder, builder.bitcast(builder.sub(bits, builder.shl(n, places)), p.value.type)
    )
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    series = q * (1.0 / 9.0) + 1.0 / 7.0
    for factor in (5.0, 3.0, 1.0):
        series = series * q + 1.0 / factor
    return (
        FloatVector(builder, builder.sitofp(n, p.value.type)) * 0.6931471805599453
        + s * series * 2.0
    )


def loop(builder, count, step):
    """Emit a loop over 0, step, … below `count`: a context manager that yields the index."""
    index = ir.IntType(64)
    first, by = ir.Constant(index, 0), ir.Constant(index, step)
    return cgutils.for_range_slice(builder, first, count, by, intp=index)


def lowest_bit_scalar(bits):
    """Return the number of the lowest bit that is set in an integer other than 0."""
    return (int(bits) & -int(bits)).bit_length() - 1


@intrinsic
def lowest_bit_vector(_typing, bits):
    """Compute `lowest_bit_scalar` in one instruction."""

    def code(_context, builder, _signature, arguments):
        count = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.zext(count, ir.IntType(64))

    return types.int64(bits), code


lowest_bit: Any = lowest_bit_scalar if numba_config.DISABLE_JIT else lowest_bit_vector
