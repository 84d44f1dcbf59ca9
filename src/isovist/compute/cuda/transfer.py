"""What travels between this machine and a card: one piece each way for a call.

Of several calls in one thread each goes on while others wait for the card (`in_turns`): a core has
as much to do for a scan as the card, or more, and would stand still in between.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.compute.backend import Given, Told

ALIGNED = 256
"""Pieces of a parcel begin at multiples of so many bytes, as arrays on the card do."""
TO_CARD, FROM_CARD = 1, 2
"""What CUDA calls the ways."""
BUFFER, SIZE, END = 1, 2, 0
"""What CUDA calls arguments of a kernel that stand in one piece, and how many bytes they take."""
ROOM = 256
"""Bytes of all arguments of a kernel, at most."""
NOT_READY = 600
"""What CUDA says of a stream that has not done everything."""
TURNS = 2
"""Calls that take turns.  16 processes beside a card answer 5652 and 5966 scans a second with one,
6072 and 6950 with two, 6953 with three (`benchmarks.cuda.answering(24000, 16)`, in turns).
"""


class Mail:
    """Memory here and as much on the card, of one call at a time, that grows as it is needed.

    What a call takes is laid side by side here and sent at once; what it makes comes back likewise.

    Attributes:
        held: Arrays on the card that the call needs besides.
        pause: Lets others go on in this thread; `None` where there are none.

    Args:
        cp: CuPy.
        stream: In which the card does it, after what it was told before.
    """

    size = 0

    def __init__(self, cp: Any, stream: int = 0) -> None:
        self.cp, self.stream = cp, stream
        self.pause: Callable[[], None] | None = None
        self.held: list[Any] = []
        self._given, self._length = np.zeros(ROOM, dtype=np.uint8), np.zeros(1, dtype=np.uint64)
        told = BUFFER, self._given.ctypes.data, SIZE, self._length.ctypes.data, END
        self._told = np.array(told, dtype=np.uint64)
        self._extra = self._told.ctypes.data

    def launch(
        self, function: int, layout: Struct, grid: int, block: int, shared: int, *given: float
    ) -> None:
        """Run a kernel, in a third of the time that CuPy takes to look at each argument.

        Args:
            function: Where CUDA has it.
            layout: Of its arguments, as C lays them out.
            grid: Blocks.
            block: Threads of a block.
            shared: Bytes of shared memory of a block.
            given: Its arguments; addresses stand for arrays.
        """
        layout.pack_into(self._given.data, 0, *given)
        self._length[0] = layout.size
        driver = self.cp.cuda.driver
        stream = self.stream
        driver.launchKernel(function, grid, 1, 1, block, 1, 1, shared, stream, 0, self._extra)

    def send(
        self, taken: Sequence[NDArray[Any]], made: Sequence[NDArray[Any]], spare: int = 0
    ) -> list[int]:
        """Where on the card arrays are that a call takes, and where those go that it makes.

        At last where so many bytes are that it may use and that do not come back.
        """
        starts, end = [], 0
        for array in (*taken, *made):
            starts.append(end)
            end += -(-array.nbytes // ALIGNED) * ALIGNED
        if end + spare > self.size:
            self._grow(end + spare)
        for start, array in zip(starts, taken, strict=False):
            if array.nbytes:
                whole = np.ascontiguousarray(array)
                self.bytes[start : start + array.nbytes] = whole.data.cast("B")
        sent = starts[len(taken)]
        self.back = sent, end, tuple(zip(starts[len(taken) :], made, strict=True))
        base = self.base
        self.cp.cuda.runtime.memcpyAsync(base, self.pinned.ptr, sent, TO_CARD, self.stream)
        return [base + start for start in (*starts, end)] if spare else [base + s for s in starts]

    def fetch(self) -> None:
        """Wait until the call is done, and fill the arrays that it makes."""
        begin, end, made = self.back
        runtime, stream, size = self.cp.cuda.runtime, self.stream, end - begin
        runtime.memcpyAsync(self.pinned.ptr + begin, self.base + begin, size, FROM_CARD, stream)
        if self.pause is not None:
            self.pause()
            while runtime.streamQuery(stream) == NOT_READY:
                self.pause()
        runtime.streamSynchronize(stream)
        for start, array in made:
            if array.nbytes:
                array.data.cast("B")[:] = self.bytes[start : start + array.nbytes]
        self.held.clear()

    def _grow(self, size: int) -> None:
        self.size = 1 << (size - 1).bit_length()
        self.pinned = self.cp.cuda.alloc_pinned_memory(self.size)
        self.there = self.cp.cuda.alloc(self.size)
        self.base = int(self.there.ptr)
        self.bytes = np.frombuffer(self.pinned, dtype=np.uint8, count=self.size).data


class Post(threading.local):
    """The mail of each thread.

    Attributes:
        mail: Of the call that goes on now.

    Args:
        cp: CuPy.
    """

    def __init__(self, cp: Any) -> None:
        self.cp, self.mail = cp, Mail(cp)
        self._turns: list[tuple[Any, Mail]] = []

    def turns(self) -> list[Mail]:
        """Mail of calls that take turns, each with a stream of its own."""
        while len(self._turns) < TURNS:
            stream = self.cp.cuda.Stream()
            self._turns.append((stream, Mail(self.cp, stream.ptr)))
        return [mail for _, mail in self._turns]


def in_turns(
    post: Post, ask: Callable[[int, Given], Told], given: Iterable[Given]
) -> Iterator[Told]:
    """Call ask(number, one) for each of many things; what it tells, in order.

    Whatever `ask` does between two calls of the card must not mind that it is done for others in
    between.

    Args:
        post: Of this backend.
        ask: Works on one of them.
        given: All of them.
    """
    from greenlet import getcurrent, greenlet

    here, own, left = getcurrent(), post.mail, enumerate(given)
    told: dict[int, tuple[Any, Exception | None]] = {}
    ending = False

    def work(mail: Mail) -> None:
        def pause() -> None:
            here.switch()
            post.mail = mail

        post.mail, mail.pause = mail, pause
        for number, one in left:
            try:
                told[number] = ask(number, one), None
            except Exception as error:  # raised when all before it are told
                told[number] = None, error
            if ending:
                return
            pause()

    workers = [greenlet(partial(work, mail)) for mail in post.turns()]
    next_one = 0
    try:
        while not all(worker.dead for worker in workers):
            for worker in workers:
                if not worker.dead:
                    worker.switch()
            post.mail = own
            while next_one in told:
                answer, failed = told.pop(next_one)
                if failed is not None:
                    raise failed
                next_one += 1
                yield answer
    finally:
        ending = True
        while any(workers):  # the card still writes to their memory
            for worker in filter(None, workers):
                worker.switch()
        post.mail = own
