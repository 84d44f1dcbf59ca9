"""Copy the arrays of a call to a graphics card and back, in one piece each way.

Of several calls in one thread, one goes on while another waits for the card (`interleave`): a core
has at least as much to do for a scan as the card, and would be idle in between.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isovist.compute.protocol import Item, Result

ALIGNMENT = 256
"""Arrays begin at multiples of this number of bytes, as CUDA allocates them."""
TO_CARD, FROM_CARD = 1, 2
"""CUDA's codes of the directions of a copy."""
BUFFER, SIZE, END = 1, 2, 0
"""CUDA's tags of packed kernel arguments: their address, their size, and the end of the tags."""
ARGUMENT_BYTES = 256
"""Room for the packed arguments of a kernel."""
NOT_READY = 600
"""CUDA's code of a stream that still has work."""
INTERLEAVED_CALLS = 2
"""Calls that are interleaved.  16 processes beside a card answer 5652 and 5966 scans a second with
one, 6072 and 6950 with two, 6953 with three (`benchmarks.cuda.answering(24000, 16)`)."""

Array = NDArray[Any]  # of any kind of number: bytes are copied


class PackedKernel(NamedTuple):
    """A compiled kernel whose arguments are packed as C lays them out.

    Attributes:
        function: Handle of the function in CUDA.
        layout: Layout of its arguments; addresses stand for arrays.
    """

    function: int
    layout: Struct


class StagingBuffer:
    """Memory on both sides for one call at a time, which grows as needed.

    Inputs are laid side by side here and copied at once; outputs come back in the same way.

    Attributes:
        uploads: Further arrays on the card, kept alive until the call is done.
        pause: Function that lets other calls of this thread go on; `None` if there are none.

    Args:
        cp: CuPy.
        stream: Handle of the stream that copies and computes, in order.
    """

    size = 0

    def __init__(self, cp: Any, stream: int = 0) -> None:
        self.cp, self.stream = cp, stream
        self.pause: Callable[[], None] | None = None
        self.uploads: list[Any] = []
        self._arguments = np.zeros(ARGUMENT_BYTES, dtype=np.uint8)
        self._length = np.zeros(1, dtype=np.uint64)
        tags = BUFFER, self._arguments.ctypes.data, SIZE, self._length.ctypes.data, END
        self._tags = np.array(tags, dtype=np.uint64)
        self._extra = self._tags.ctypes.data

    def launch(
        self, kernel: PackedKernel, blocks: int, threads: int, shared: int, *arguments: float
    ) -> None:
        """Run a kernel, in a third of the time that CuPy takes to inspect each argument.

        Args:
            kernel: The kernel.
            blocks: Number of blocks.
            threads: Threads of a block.
            shared: Bytes of shared memory of a block.
            arguments: Numbers, and addresses of arrays on the card.
        """
        kernel.layout.pack_into(self._arguments.data, 0, *arguments)
        self._length[0] = kernel.layout.size
        self.cp.cuda.driver.launchKernel(
            kernel.function, blocks, 1, 1, threads, 1, 1, shared, self.stream, 0, self._extra
        )

    def send(
        self, inputs: Sequence[Array], outputs: Sequence[Array], scratch: int = 0
    ) -> list[int]:
        """Copy inputs to the card, and return the addresses of inputs and outputs there.

        Args:
            inputs: Arrays that the call reads.
            outputs: Arrays that `fetch` fills.
            scratch: Bytes besides that do not come back; if any, their address comes last.
        """
        starts, end = [], 0
        for array in (*inputs, *outputs):
            starts.append(end)
            end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        if end + scratch > self.size:
            self._grow(end + scratch)
        for start, array in zip(starts, inputs, strict=False):
            if array.nbytes:
                contiguous = np.ascontiguousarray(array)
                self.bytes[start : start + array.nbytes] = contiguous.data.cast("B")
        input_bytes = starts[len(inputs)]
        self._pending = input_bytes, end, tuple(zip(starts[len(inputs) :], outputs, strict=True))
        base = self.base
        self.cp.cuda.runtime.memcpyAsync(base, self.pinned.ptr, input_bytes, TO_CARD, self.stream)
        return [base + start for start in ((*starts, end) if scratch else starts)]

    def fetch(self) -> None:
        """Wait until the call is done, and fill its outputs."""
        begin, end, outputs = self._pending
        runtime, stream, size = self.cp.cuda.runtime, self.stream, end - begin
        runtime.memcpyAsync(self.pinned.ptr + begin, self.base + begin, size, FROM_CARD, stream)
        if self.pause is not None:
            self.pause()
            while runtime.streamQuery(stream) == NOT_READY:
                self.pause()
        runtime.streamSynchronize(stream)
        for start, array in outputs:
            if array.nbytes:
                array.data.cast("B")[:] = self.bytes[start : start + array.nbytes]
        self.uploads.clear()

    def _grow(self, size: int) -> None:
        self.size = 1 << (size - 1).bit_length()
        self.pinned = self.cp.cuda.alloc_pinned_memory(self.size)
        self.allocation = self.cp.cuda.alloc(self.size)
        self.base = int(self.allocation.ptr)
        self.bytes = np.frombuffer(self.pinned, dtype=np.uint8, count=self.size).data


class ThreadBuffers(threading.local):
    """The staging buffers of each thread.

    Attributes:
        current: The buffer of the call that goes on now.

    Args:
        cp: CuPy.
    """

    def __init__(self, cp: Any) -> None:
        self.cp, self.current = cp, StagingBuffer(cp)
        self._interleaved: list[tuple[Any, StagingBuffer]] = []

    def interleaved(self) -> list[StagingBuffer]:
        """Return a buffer for each interleaved call, each with a stream of its own."""
        while len(self._interleaved) < INTERLEAVED_CALLS:
            stream = self.cp.cuda.Stream()
            self._interleaved.append((stream, StagingBuffer(self.cp, stream.ptr)))
        return [buffer for _, buffer in self._interleaved]

    def activate(self, buffer: StagingBuffer, switch: Callable[[], object]) -> Callable[[], None]:
        """Make a buffer current, now and after each pause of its calls.

        Args:
            buffer: The buffer.
            switch: Lets other calls of this thread go on, and returns when they pause.

        Returns:
            The function that pauses its call.
        """

        def pause() -> None:
            switch()
            self.current = buffer

        self.current, buffer.pause = buffer, pause
        return pause


def interleave(
    buffers: ThreadBuffers, work: Callable[[int, Item], Result], items: Iterable[Item]
) -> Iterator[Result]:
    """Call work(number, item) for each item, two at a time in one thread; yield results in order.

    `work` must not mind that other items are worked on between two of its calls of the card.

    Args:
        buffers: The staging buffers of the card.
        work: Function of an item and its number.
        items: The items.
    """
    from greenlet import getcurrent, greenlet

    main, own_buffer, numbered = getcurrent(), buffers.current, enumerate(items)
    results: dict[int, tuple[Any, Exception | None]] = {}
    is_ending = False

    def run(buffer: StagingBuffer) -> None:
        pause = buffers.activate(buffer, main.switch)
        for number, item in numbered:
            try:
                results[number] = work(number, item), None
            except Exception as error:  # raised after the results of all items before it
                results[number] = None, error
            if is_ending:
                return
            pause()

    workers = [greenlet(partial(run, buffer)) for buffer in buffers.interleaved()]
    number = 0
    try:
        while alive := [worker for worker in workers if not worker.dead]:
            for worker in alive:
                worker.switch()
            buffers.current = own_buffer
            while number in results:
                result, error = results.pop(number)
                if error is not None:
                    raise error
                number += 1
                yield result
    finally:
        is_ending = True
        while any(workers):  # the card still writes to their memory
            for worker in filter(None, workers):
                worker.switch()
        buffers.current = own_buffer
