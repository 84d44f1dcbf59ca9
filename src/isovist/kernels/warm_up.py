"""All kernels compiled beforehand, into the cache of this machine."""

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter

from isovist.kernels.compiled import KERNELS, NOTICE


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What was compiled.

    Attributes:
        kernels: How many there are.
        compiled: How many of them had to be compiled; the others were in the cache.
        seconds: That it took.
        folder: Where they are kept.
    """

    kernels: int
    compiled: int
    seconds: float
    folder: str


def load_all() -> None:
    """Import every module of kernels, so that `KERNELS` has them all."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        import_module(f"isovist.kernels.{module.name}")


def compile_all(progress: Callable[[float], None] = lambda _share: None) -> WarmUp:
    """Compile every kernel, or read it from the cache; told the share that is done after each."""
    begin = perf_counter()
    NOTICE.said = True  # whoever warms up knows
    load_all()
    compiled, folder = 0, ""
    for done, kernel in enumerate(KERNELS.values(), 1):
        kernel.compile()
        compiled += bool(kernel.loop.stats.cache_misses)
        folder = kernel.loop.stats.cache_path
        progress(done / len(KERNELS))
    return WarmUp(len(KERNELS), compiled, perf_counter() - begin, folder)
