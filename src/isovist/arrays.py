"""Array types, and checks of the values that callers pass."""

import os
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isovist.errors import InputError

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
K = TypeVar("K")
V = TypeVar("V")


__all__ = [
    "ArrayLike",
    "BoolArray",
    "Float32Array",
    "FloatArray",
    "IntArray",
    "as_floats",
    "check_memory",
    "check_whole",
    "once_for_each",
    "readonly",
    "restore",
]


def once_for_each(make: Callable[[K], V]) -> Callable[[K], V]:
    """Decorate a function of one object: cache its result for as long as the object lives."""
    results: WeakKeyDictionary[K, V] = WeakKeyDictionary()

    @wraps(make)
    def cached(owner: K) -> V:
        if owner not in results:
            results[owner] = make(owner)
        return results[owner]

    return cached


def readonly(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only, and return it."""
    array.flags.writeable = False
    return array


def restore(self: Any, state: list[Any] | dict[str, Any]) -> None:
    """Restore a frozen dataclass from a pickle, with read-only arrays, as `__setstate__`."""
    names = [field.name for field in fields(self)]
    values = state if isinstance(state, dict) else dict(zip(names, state, strict=True))
    for name, value in values.items():
        value = readonly(value) if isinstance(value, np.ndarray) else value  # noqa: PLW2901
        object.__setattr__(self, name, value)


def as_floats(
    name: str, value: ArrayLike, shape: tuple[int | None, ...] | None = None
) -> FloatArray:
    """Return a contiguous float64 array of finite numbers.

    Args:
        name: Name of the argument, for the error text.
        value: Anything NumPy can turn into an array.
        shape: Expected shape; `None` stands for any length.

    Raises:
        InputError: If the value is something else.
    """
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError.about(name, f"must be numbers, got {type(value).__name__}.") from error
    if shape is not None:
        fits = array.ndim == len(shape) and all(
            size in (None, length) for size, length in zip(shape, array.shape, strict=True)
        )
        if not fits:
            sizes = ", ".join("any" if size is None else str(size) for size in shape)
            comma = "," if len(shape) == 1 else ""
            raise InputError.about(name, f"must have shape ({sizes}{comma}), got {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError.about(name, "must be finite, got NaN or infinity.")
    return array


def check_whole(name: str, value: int) -> None:
    """Raise an error unless the value is a whole number of Python or NumPy."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError.about(name, f"must be a whole number, got {value!r}.")


def check_memory(work: str, nbytes: float, remedy: str) -> None:
    """Raise an error if some work needs more memory than the machine has.

    Args:
        work: Name of the work, the subject of the error text.
        nbytes: Its peak memory, in bytes.
        remedy: A sentence that says what to do instead.
    """
    available = memory()
    if nbytes > available:
        raise InputError(
            f"{work} takes about {nbytes / 1e9:.1f} GB of memory, and this machine has "
            f"{available / 1e9:.1f} GB. {remedy}",
            code="too_large",
        )


def memory() -> float:
    """Return the bytes of memory of this machine or container; `inf` if unknown."""
    physical = np.inf
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        physical = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return physical
    return min(physical, float(limit)) if limit.isdigit() else physical
