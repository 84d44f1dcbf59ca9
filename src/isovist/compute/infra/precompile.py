"""Compile kernels in a second process while this one compiles or does something else.

    python -m isovist.compute.infra.precompile MODULE.KERNEL …

A command on a new machine waits for compilation alone, and Numba compiles on one core. Both
processes write to the same cache: a caller of a kernel that the other process compiles waits for
that process and loads the result.
"""

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from isovist.compute.infra.compiled import COMPILING_ELSEWHERE, KERNELS, Kernel, has_cache
from isovist.compute.infra.threads import THREADS


def compile_in_background(*kernels: Kernel) -> None:
    """Start a process that compiles the kernels that are not in the cache.

    Commands call this; a library should not start processes.
    """
    missing = [kernel.name for kernel in kernels if not (kernel.ready or is_cached(kernel))]
    if not missing or not has_cache() or THREADS < 2 or not sys.executable:
        return
    words = [sys.executable, "-m", "isovist.compute.infra.precompile", *missing]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name in missing:
        COMPILING_ELSEWHERE[name] = process.wait


def is_cached(kernel: Kernel) -> bool:
    """Return whether the cache has a kernel that is newer than its source file."""
    source = Path(inspect.getfile(kernel.__wrapped__))
    indices = Path(kernel.loop.stats.cache_path).glob(f"{source.stem}.{kernel.__name__}-*.nbi")
    return any(index.stat().st_mtime >= source.stat().st_mtime for index in indices)


def main(names: list[str]) -> None:
    """Compile kernels, by module and name, into the cache."""
    for name in names:
        import_module(name.rpartition(".")[0])
        KERNELS[name].compile()


if __name__ == "__main__":
    main(sys.argv[1:])
