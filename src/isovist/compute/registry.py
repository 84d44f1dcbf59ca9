"""Choose the backend that computes: by the call, by ISOVIST_BACKEND, or else the CPU.

A new backend is a class with the operations of `compute.protocol` and a row of `FACTORIES`.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache

from isovist.compute.protocol import Compute
from isovist.errors import InputError

BACKEND_VARIABLE = "ISOVIST_BACKEND"


def _cpu() -> Compute:
    from isovist.compute.cpu import CpuCompute

    return CpuCompute()


def _cuda() -> Compute:
    from isovist.compute.cuda.backend import CudaCompute

    return CudaCompute()


FACTORIES: dict[str, Callable[[], Compute]] = {"cpu": _cpu, "cuda": _cuda}
"""How each backend is made, by its name; a factory raises an error on a machine without it."""
BACKENDS = tuple(FACTORIES)

_active: ContextVar[str | None] = ContextVar("isovist_backend", default=None)


@cache
def backend_named(name: str) -> Compute:
    """Return the backend of a name.

    Raises:
        InputError: If there is none, or if this machine lacks what it needs.
    """
    if name not in FACTORIES:
        raise InputError.about("backend", f"must be one of {', '.join(BACKENDS)}, got {name}.")
    return FACTORIES[name]()


def active_backend() -> Compute:
    """Return the backend that computes now."""
    return backend_named(_active.get() or os.environ.get(BACKEND_VARIABLE) or "cpu")


@contextmanager
def use_backend(name: str | None) -> Iterator[Compute]:
    """Compute everything inside the context by a backend; `None` changes nothing."""
    backend = active_backend() if name is None else backend_named(name)
    token = _active.set(backend.name)
    try:
        yield backend
    finally:
        _active.reset(token)


def set_default_backend(name: str) -> None:
    """Compute the whole process by a backend, its threads and children too."""
    os.environ[BACKEND_VARIABLE] = backend_named(name).name


def available_backends() -> tuple[str, ...]:
    """Return the names of the backends that this machine has, the fastest last."""
    names = []
    for name in BACKENDS:
        with suppress(InputError):
            names.append(backend_named(name).name)
    return tuple(names)
