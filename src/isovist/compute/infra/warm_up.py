"""All kernels compiled beforehand, into the cache of this machine."""

import os
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter

from isovist.compute.infra.compiled import KERNELS, NOTICE
from isovist.compute.infra.precompile import compile_beside, is_kept
from isovist.compute.infra.threads import COUNT

ROOMS = ("infra", "rays", "trees", "grids", "search", "fitting", "likelihood", "branch_and_bound")
MOST = 8
"""Processes: with more, the kernel that takes longest is the last one."""


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
    for room in ROOMS:
        for module in pkgutil.iter_modules([str(Path(__file__).parents[1] / room)]):
            import_module(f"isovist.compute.{room}.{module.name}")


def compile_all(progress: Callable[[float], None] = lambda _share: None) -> WarmUp:
    """Compile every kernel, or read it from the cache; told the share that is done after each.

    On a machine of several cores by several processes: for commands, not for libraries.
    """
    begin = perf_counter()
    NOTICE.said = True  # whoever warms up knows
    load_all()
    kernels = [each for name, each in KERNELS.items() if name.startswith("isovist.compute.")]
    missing = [kernel for kernel in kernels if not (kernel.ready or is_kept(kernel))]
    count = min(COUNT, MOST)
    for part in range(1, count):
        compile_beside(*missing[part::count])
    own, compiled = missing[::count], 0
    for done, kernel in enumerate((*own, *(other for other in kernels if other not in own)), 1):
        kernel.compile()
        compiled += kernel in missing or bool(kernel.loop.stats.cache_misses)
        progress(done / len(kernels))
    folder = os.path.commonpath([kernel.loop.stats.cache_path for kernel in kernels])
    return WarmUp(len(kernels), compiled, perf_counter() - begin, folder)
