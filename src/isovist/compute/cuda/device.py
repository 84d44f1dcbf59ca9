"""A graphics card: its kernels, and the arrays that stay on it.

Sources are compiled when the first of their kernels is called.  Products are never fused with
sums, so that what is exact on the cores is the same here bit by bit.
"""

import weakref
from functools import cache
from importlib.resources import files
from struct import Struct
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from isovist.compute.cuda.transfer import Array, PackedKernel, StagingBuffer, ThreadBuffers

DeviceArray: TypeAlias = Any  # an array of CuPy, which has no types
Argument: TypeAlias = Any  # of a kernel: an array of CuPy, or a NumPy number

OPTIONS = ("--std=c++17", "--fmad=false")
HEADER = '#include "common.cuh"'
SHARED_BYTES = 48 << 10
"""Shared memory that a block has without asking for more."""
BLOCK_THREADS = 256
"""Threads of a block of the kernels with a cell or a box for each thread."""


class Kernel(NamedTuple):
    """A kernel of a source beside this file."""

    source: str
    name: str


CORRELATE = Kernel("search.cu", "correlate")
CHEAPEST = Kernel("search.cu", "cheapest")
ALIGN = Kernel("fit.cu", "align")
SCORE = Kernel("fit.cu", "score")
LAYOUTS = {
    CORRELATE: Struct("PiiiiPqPPPiiPffdiiiPP"),
    CHEAPEST: Struct("PqPqPP"),
    ALIGN: Struct("PiiPiPidPiPP"),
    SCORE: Struct("PPiiPdPPiPiPP"),
}
"""Arguments of the kernels that every scan needs: P is an array, the others are numbers."""


class Device:
    """The graphics card that CuPy uses.

    Attributes:
        cp: CuPy.
        buffers: Staging buffers of the calls.
    """

    def __init__(self, cp: Any) -> None:
        self.cp, self.buffers = cp, ThreadBuffers(cp)
        self._copies: dict[Any, DeviceArray] = {}
        self._recent: dict[int, tuple[Any, DeviceArray, int]] = {}

    @property
    def buffer(self) -> StagingBuffer:
        """The staging buffer of the call that goes on now."""
        return self.buffers.current

    def upload(self, array: Array) -> DeviceArray:
        """Return a copy of an array on the card.

        The copy of a read-only array is made once and stays as long as the array here.
        """
        entry = self._recent.get(id(array))
        if entry is not None and entry[0]() is array:
            return entry[1]
        if array.flags.writeable:
            return self.cp.asarray(array)
        pointer = array.__array_interface__["data"][0]
        key = pointer, array.shape, array.strides, array.dtype.str
        if key not in self._copies:
            owner = array
            while isinstance(owner.base, np.ndarray):
                owner = owner.base
            self._copies[key] = self.cp.asarray(array)
            weakref.finalize(owner, self._copies.pop, key, None)
        number = id(array)
        reference = weakref.ref(array, lambda _: self._recent.pop(number, None))
        copy = self._copies[key]
        self._recent[number] = reference, copy, int(copy.data.ptr)
        return copy

    def address(self, array: Array) -> int:
        """Return the address of a copy on the card, which lasts at least until `fetch`."""
        entry = self._recent.get(id(array))
        if entry is not None and entry[0]() is array:
            return entry[2]
        copy = self.upload(array)
        self.buffer.uploads.append(copy)
        return int(copy.data.ptr)

    def launch(
        self, kernel: Kernel, grid: tuple[int, int], threads: int, *arguments: Argument,
        shared: int = 0,
    ) -> None:  # fmt: skip
        """Run a kernel through CuPy.

        Args:
            kernel: The kernel.
            grid: Blocks along x and y.
            threads: Threads of a block.
            arguments: Its arguments.
            shared: Bytes of shared memory of a block.
        """
        function = _function(kernel)
        if shared > SHARED_BYTES:
            function.max_dynamic_shared_size_bytes = shared
        function(grid, (threads,), arguments, shared_mem=shared)

    def launch_packed(
        self, kernel: Kernel, blocks: int, threads: int, *arguments: float, shared: int = 0
    ) -> None:
        """Run one of the kernels of `LAYOUTS`; addresses stand for arrays."""
        if shared > SHARED_BYTES:
            _function(kernel).max_dynamic_shared_size_bytes = shared
        self.buffer.launch(_packed(kernel), blocks, threads, shared, *arguments)


@cache
def _module(source: str) -> Any:
    import cupy

    folder = files("isovist.compute.cuda")
    text = folder.joinpath(source).read_text(encoding="utf-8")
    if HEADER in text:
        text = text.replace(HEADER, folder.joinpath("common.cuh").read_text(encoding="utf-8"))
    return cupy.RawModule(code=text, options=OPTIONS)


@cache
def _function(kernel: Kernel) -> Any:
    return _module(kernel.source).get_function(kernel.name)


@cache
def _packed(kernel: Kernel) -> PackedKernel:
    return PackedKernel(int(_function(kernel).kernel.ptr), LAYOUTS[kernel])
