"""What vector code that is written by hand is made of; it is for loops that compilers leave be."""

from typing import Any

from llvmlite import ir
from numba.np.arrayobj import make_array


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


def function_of(builder: Any, name: str, wide: Any) -> Any:
    """A function of vectors of doubles: `floor`, `fabs`."""
    name = f"llvm.{name}.v{wide.count}f64"
    known = builder.module.globals.get(name)
    return known or ir.Function(builder.module, ir.FunctionType(wide, [wide]), name)
