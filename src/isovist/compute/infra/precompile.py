"""Kernels compiled by another process, while this one compiles or does something else.

    python -m isovist.compute.infra.precompile MODULE.KERNEL …

A command on a machine where nothing is compiled yet waits for compiled code alone, and Numba
compiles on one core.  Both processes keep what they compile in the same cache; whoever calls a
kernel that the other is compiling waits for it and reads it.
"""

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from isovist.compute.infra.compiled import BESIDE, KEPT, KERNELS, Kernel
from isovist.compute.infra.threads import COUNT


def compile_beside(*kernels: Kernel) -> None:
    """Have kernels compiled by another process, those that no cache has yet.

    For commands, not for libraries: it starts a process.
    """
    missing = [kernel.name for kernel in kernels if not (kernel.ready or is_kept(kernel))]
    if not missing or not KEPT or COUNT < 2 or not sys.executable:
        return
    words = [sys.executable, "-m", "isovist.compute.infra.precompile", *missing]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name in missing:
        BESIDE[name] = process.wait


def is_kept(kernel: Kernel) -> bool:
    """Whether the cache has a kernel as its file has it now."""
    source = Path(inspect.getfile(kernel.__wrapped__))
    kept = Path(kernel.loop.stats.cache_path).glob(f"{source.stem}.{kernel.__name__}-*.nbi")
    return any(index.stat().st_mtime >= source.stat().st_mtime for index in kept)


def main(names: list[str]) -> None:
    """Compile kernels into the cache."""
    for name in names:
        import_module(name.rpartition(".")[0])
        KERNELS[name].compile()


if __name__ == "__main__":
    main(sys.argv[1:])
