"""What vector code that is written by hand is made of; it is for loops that compilers leave be."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from isovist.compute.infra.threads import NUMBA

SINGLES = 8
"""Singles of a vector: a register of AVX2, two of NEON, where one would wait for itself."""
FREELY = ("contract",)


def spread_out(builder: Any, value: Any, wide: Any) -> Any:
    """A vector of one number."""
    undefined = ir.Constant(wide, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), wide.count), [0] * wide.count)
    return builder.shuffle_vector(first, undefined, mask)


def data_of(context: Any, builder: Any, array: Any, array_type: Any) -> Any:
    """Where the numbers of an array begin."""
    return make_array(array_type)(context, builder, array).data


def vector_at(
    context: Any, builder: Any, wide: Any, array: Any, array_type: Any, offset: Any
) -> Any:
    """Where a vector of an array begins."""
    data = data_of(context, builder, array, array_type)
    return builder.bitcast(builder.gep(data, [offset]), wide.as_pointer())


class Lanes:
    """A vector of singles, or of what a comparison of them gave, to reckon with as with numbers.

    Products may be added unrounded.
    """

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def of(self, number: "Lanes | float") -> "Lanes":
        """A number in all lanes."""
        if isinstance(number, Lanes):
            return number
        kind = self.value.type
        return Lanes(self.builder, ir.Constant(kind, [number] * kind.count))

    def _by(self, name: str, other: "Lanes | float") -> "Lanes":
        emit = getattr(self.builder, name)
        return Lanes(self.builder, emit(self.value, self.of(other).value, flags=FREELY))

    def __add__(self, other: "Lanes | float") -> "Lanes":
        return self._by("fadd", other)

    def __sub__(self, other: "Lanes | float") -> "Lanes":
        return self._by("fsub", other)

    def __mul__(self, other: "Lanes | float") -> "Lanes":
        return self._by("fmul", other)

    def __truediv__(self, other: "Lanes | float") -> "Lanes":
        return self._by("fdiv", other)

    def __gt__(self, other: "Lanes | float") -> "Lanes":
        """Where it is so; what is no number is not."""
        value = self.builder.fcmp_ordered(">", self.value, self.of(other).value)
        return Lanes(self.builder, value)

    def __lt__(self, other: "Lanes | float") -> "Lanes":
        return self.of(other) > self

    def __invert__(self) -> "Lanes":
        return Lanes(self.builder, self.builder.not_(self.value))

    def __or__(self, other: "Lanes") -> "Lanes":
        return Lanes(self.builder, self.builder.or_(self.value, other.value))

    def where(self, yes: "Lanes", no: "Lanes") -> "Lanes":
        """One of two by what a comparison gave."""
        return Lanes(self.builder, self.builder.select(self.value, yes.value, no.value))

    def at_least(self, least: "Lanes | float") -> "Lanes":
        """The larger; `least` of what is no number."""
        least = self.of(least)
        return (self > least).where(self, least)

    def at_most(self, most: "Lanes | float") -> "Lanes":
        """The smaller; `most` of what is no number."""
        most = self.of(most)
        return (self < most).where(self, most)

    def call(self, name: str) -> "Lanes":
        """`floor`, `fabs` or `sqrt` of it."""
        kind = self.value.type
        return self._function(f"llvm.{name}.v{kind.count}f32", kind, [self.value])

    def _function(self, name: str, kind: Any, given: list[Any], **flags: Any) -> "Lanes":
        shape = ir.FunctionType(kind, [value.type for value in given])
        known = self.builder.module.globals.get(name)
        function = known or ir.Function(self.builder.module, shape, name)
        return Lanes(self.builder, self.builder.call(function, given, **flags))

    def whole(self) -> "Lanes":
        """Cut off to integers."""
        kind = ir.VectorType(ir.IntType(32), self.value.type.count)
        return Lanes(self.builder, self.builder.fptosi(self.value, kind))

    def any(self) -> Any:
        """One bit: whether a comparison holds in any lane."""
        together = ir.IntType(self.value.type.count)
        bits = self.builder.bitcast(self.value, together)
        return self.builder.icmp_unsigned("!=", bits, ir.Constant(together, 0))

    def total(self) -> Any:
        """The sum of all lanes, as a double."""
        kind, zero = self.value.type, ir.Constant(self.value.type.element, 0.0)
        name = f"llvm.vector.reduce.fadd.v{kind.count}f32"
        total = self._function(name, kind.element, [zero, self.value], fastmath=("reassoc",))
        return self.builder.fpext(total.value, ir.DoubleType())


def decay(t: Lanes) -> Lanes:
    """exp(−t) for t from 0 to 80, to 1e-5 of it: its series at what is left of a power of two."""
    builder = t.builder
    y = t * 1.4426950408889634
    n = (y + 0.5).call("floor")
    x = (n - y) * 0.6931471805599453
    p = t.of(1.0 / 720.0)
    for factor in (120.0, 24.0, 6.0, 2.0, 1.0, 1.0):
        p = p * x + 1.0 / factor
    whole = n.whole().value
    bias, places = (ir.Constant(whole.type, [v] * whole.type.count) for v in (127, 23))
    power = builder.shl(builder.sub(bias, whole), places)
    return p * Lanes(builder, builder.bitcast(power, t.value.type))


def logarithm(p: Lanes) -> Lanes:
    """log p of a normal p > 0, to 1e-6: its series about the nearest power of two."""
    builder = p.builder
    kind = ir.VectorType(ir.IntType(32), p.value.type.count)
    root, places = (ir.Constant(kind, [v] * kind.count) for v in (0x3F3504F3, 23))  # √½
    bits = builder.bitcast(p.value, kind)
    n = builder.ashr(builder.sub(bits, root), places)
    m = Lanes(builder, builder.bitcast(builder.sub(bits, builder.shl(n, places)), p.value.type))
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    series = q * (1.0 / 9.0) + 1.0 / 7.0
    for factor in (5.0, 3.0, 1.0):
        series = series * q + 1.0 / factor
    return Lanes(builder, builder.sitofp(n, p.value.type)) * 0.6931471805599453 + s * series * 2.0


def loop(builder: Any, count: Any, step: int) -> Any:
    """Code for 0, step, … below `count`: a context that gives the index and a way out of it."""
    index = ir.IntType(64)
    first, by = ir.Constant(index, 0), ir.Constant(index, step)
    return cgutils.for_range_slice(builder, first, count, by, intp=index)


def lowest_plain(bits: int) -> int:
    """Number of the lowest bit of an integer that is set; one must be."""
    return (int(bits) & -int(bits)).bit_length() - 1


@intrinsic
def lowest_vector(_typing, bits):
    """As `lowest_plain`, in one instruction."""

    def code(_context, builder, _signature, arguments):
        found = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.zext(found, ir.IntType(64))

    return types.int64(bits), code


lowest_bit: Any = lowest_plain if NUMBA.DISABLE_JIT else lowest_vector
