"""Array types, and the checks that stand at every door of the library."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isovist.errors import InputError

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


__all__ = [
    "ArrayLike",
    "BoolArray",
    "Float32Array",
    "FloatArray",
    "IntArray",
    "as_floats",
    "readonly",
    "restore",
]


def readonly(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself, with writing switched off."""
    array.flags.writeable = False
    return array


def restore(self: Any, state: list[Any] | dict[str, Any]) -> None:
    """`__setstate__` of frozen dataclasses: arrays come out of a pickle read-only again."""
    names = [field.name for field in fields(self)]
    named = state if isinstance(state, dict) else dict(zip(names, state, strict=True))
    for name, value in named.items():
        kept = readonly(value) if isinstance(value, np.ndarray) else value
        object.__setattr__(self, name, kept)


def as_floats(
    name: str, value: ArrayLike, shape: tuple[int | None, ...] | None = None
) -> FloatArray:
    """A contiguous float64 array of finite numbers, or an `InputError` naming the argument.

    Args:
        name: What the caller calls it, for the error text.
        value: Anything NumPy can turn into an array.
        shape: Expected shape; `None` stands for any length.
    """
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"`{name}` must be numbers, got {type(value).__name__}.") from error
    if shape is not None:
        fits = array.ndim == len(shape) and all(
            want is None or want == got for want, got in zip(shape, array.shape, strict=True)
        )
        if not fits:
            wanted = ", ".join("any" if want is None else str(want) for want in shape)
            comma = "," if len(shape) == 1 else ""
            raise InputError(f"`{name}` must have shape ({wanted}{comma}), got {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError(f"`{name}` must be finite, got NaN or infinity.")
    return array
