"""Compile all kernels beforehand into the cache of this machine."""

import os
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter

from isovist.compute.infra.compiled import COMPILE_NOTICE, KERNELS
from isovist.compute.infra.precompile import compile_in_background, is_cached
from isovist.compute.infra.threads import THREADS

ROOMS = ("infra", "rays", "trees", "grids", "search", "fitting", "likelihood", "branch_and_bound")
MAX_PROCESSES = 8
"""Processes: with more, all wait for the kernel that takes longest."""


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Report of a warm-up.

    Attributes:
        kernels: Number of kernels.
        compiled: Number of kernels that were compiled; the others were in the cache.
        seconds: Duration in s.
        folder: Folder of the cache.
    """

    kernels: int
    compiled: int
    seconds: float
    folder: str


def load_all() -> None:
    """Import every module of kernels, so that `KERNELS` is complete."""
    for room in ROOMS:
        for module in pkgutil.iter_modules([str(Path(__file__).parents[1] / room)]):
            import_module(f"isovist.compute.{room}.{module.name}")


def compile_all(progress: Callable[[float], None] = lambda _share: None) -> WarmUp:
    """Compile every kernel, or load it from the cache.

    On several cores it starts several processes; commands call it, libraries should not.

    Args:
        progress: Called after each kernel with the share that is finished, from 0 to 1.
    """
    begin = perf_counter()
    COMPILE_NOTICE.is_shown = True  # the command says it itself
    load_all()
    kernels = [each for name, each in KERNELS.items() if name.startswith("isovist.compute.")]
    missing = [kernel for kernel in kernels if not (kernel.ready or is_cached(kernel))]
    count = min(THREADS, MAX_PROCESSES)
    for part in range(1, count):
        compile_in_background(*missing[part::count])
    own, compiled = missing[::count], 0
    for finished, kernel in enumerate((*own, *(other for other in kernels if other not in own)), 1):
        kernel.compile()
        compiled += kernel in missing or bool(kernel.loop.stats.cache_misses)
        progress(finished / len(kernels))
    folder = os.path.commonpath([kernel.loop.stats.cache_path for kernel in kernels])
    return WarmUp(len(kernels), compiled, perf_counter() - begin, folder)
