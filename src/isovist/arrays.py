"""Array types, and the checks that stand at every door of the library."""

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
    """What a function makes of an object, made once and kept as long as the object lives."""
    made: WeakKeyDictionary[K, V] = WeakKeyDictionary()

    @wraps(make)
    def kept(owner: K) -> V:
        if owner not in made:
            made[owner] = make(owner)
        return made[owner]

    return kept


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
        raise InputError.about(name, f"must be numbers, got {type(value).__name__}.") from error
    if shape is not None:
        fits = array.ndim == len(shape) and all(
            want is None or want == got for want, got in zip(shape, array.shape, strict=True)
        )
        if not fits:
            wanted = ", ".join("any" if want is None else str(want) for want in shape)
            comma = "," if len(shape) == 1 else ""
            raise InputError.about(name, f"must have shape ({wanted}{comma}), got {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError.about(name, "must be finite, got NaN or infinity.")
    return array


def check_whole(name: str, value: int) -> None:
    """An error unless the value is a whole number of Python or NumPy."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError.about(name, f"must be a whole number, got {value!r}.")


def check_memory(work: str, needed: float, remedy: str) -> None:
    """An error when some work needs more memory than the machine has, before any is taken.

    Args:
        work: What is to be done, the subject of the error text.
        needed: At the peak, in bytes.
        remedy: What to do about it, a sentence.
    """
    held = memory()
    if needed > held:
        raise InputError(
            f"{work} takes about {needed / 1e9:.1f} GB of memory, and this machine has "
            f"{held / 1e9:.1f} GB. {remedy}",
            code="too_large",
        )


def memory() -> float:
    """Bytes of memory that this machine or container has; `inf` where nothing says so."""
    held = np.inf
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        held = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return held
    return min(held, float(limit)) if limit.isdigit() else held
