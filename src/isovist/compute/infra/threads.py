"""Parts of a loop on all cores, by threads of Python: compiled loops let go of its lock.

So there is one kind of threads, and none of OpenMP or TBB: several threads may ask at once, and a
process may be forked.  Each index of a loop is worked on by itself, so that the same input gives
the same bits whatever the number of threads.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from functools import cache
from itertools import pairwise
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from numba.core import config

NUMBA: Any = config
COUNT: int = 1 if NUMBA.DISABLE_JIT else NUMBA.NUMBA_NUM_THREADS
"""Threads that a loop may use: the cores of the process, or what `NUMBA_NUM_THREADS` says."""
AHEAD = 4
"""Of what is worked on in order for each core, so that none waits while the first is still open."""
AT_ONCE = 8
"""Things that threads of one process work on at once: Python's lock lets no more of them go on.  16
cores locate 394 scans a second by 4 threads, 470 by 8 and 354 by 16.
"""
Given = TypeVar("Given")
Told = TypeVar("Told")
PARTS = 4
"""Of a loop for each thread: one that is done early takes another."""
ENOUGH = 16
"""Parts of a loop unless there are more threads: whoever takes one needs Python's lock."""


_callers = 0
_lock = Lock()


@contextmanager
def own_core() -> Iterator[None]:
    """While this lasts, loops of others leave a core to the caller, and its own leave them theirs.

    Whoever works on many things at once takes one for each; cores that nobody took help them.
    """
    global _callers  # noqa: PLW0603
    with _lock:
        _callers += 1
    try:
        yield
    finally:
        with _lock:
            _callers -= 1


def stay_on_one_core() -> None:
    """In a process beside others, from now on: its loops are not shared out."""
    global COUNT  # noqa: PLW0603
    COUNT = 1


_alone = ContextVar("isovist_alone", default=False)


@contextmanager
def alone() -> Iterator[None]:
    """While this lasts, loops of the caller are not shared out: for many short ones, where waking
    a helper takes as long as it saves.
    """
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def hands() -> int:
    """Threads that a loop may use now."""
    return 1 if _alone.get() else max(COUNT - max(_callers - 1, 0), 1)


def at_once() -> int:
    """Threads that work on many things, one each."""
    return min(COUNT, AT_ONCE)


Work = Callable[[], None]


@cache
def _helpers(process: int) -> "SimpleQueue[Work]":
    """Where the helpers of a process wait for something to do; a forked child has its own."""
    del process
    asked: SimpleQueue[Work] = SimpleQueue()

    def wait() -> None:
        while True:
            asked.get()()

    for number in range(COUNT - 1):
        Thread(target=wait, name=f"isovist_{number}", daemon=True).start()
    return asked


def share(
    loop: Callable[..., None], count: int, block: int, most: int | None, arguments: tuple[Any, ...]
) -> None:
    """Call loop(first, last, *arguments) until 0 to `count` are done.

    Args:
        loop: A compiled loop.
        count: Of its indices.
        block: Parts begin at multiples of this.
        most: Indices of a part, when parts are to be as large as that allows.
        arguments: Of the loop.
    """
    free = 1 if count <= block else hands()
    if free == 1:
        loop(0, count, *arguments)
        return
    blocks = -(-count // block)
    parts = min(blocks, parts_of(free) if most is None else free * -(-count // (free * most)))
    edges = [min(block * (blocks * k // parts), count) for k in range(parts + 1)]
    left, given = deque(pairwise(edges)), [arguments]
    ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def help_out() -> None:  # whoever comes late finds nothing left
        while part := _next(left):
            error = None
            try:
                loop(*part, *given[0])
            except BaseException as raised:  # it is raised where the loop was asked for
                error = raised
            ended.put(error)

    _ask_for_help(help_out, min(free, parts) - 1)
    others = parts
    try:
        while part := _next(left):
            others -= 1
            loop(*part, *arguments)
    finally:
        while _next(left):  # after an error
            others -= 1
        failed = [error for error in (ended.get() for _ in range(others)) if error is not None]
        given.clear()  # those who come late hold no array
    if failed:
        raise failed[0]


def parts_of(threads: int) -> int:
    """Of a loop, for so many threads."""
    return max(threads, min(PARTS * threads, ENOUGH))


def _next(left: deque[tuple[int, int]]) -> tuple[int, int] | None:
    """A part that nobody has begun, which is then begun; `None` when there is none."""
    try:
        return left.popleft()
    except IndexError:
        return None


def _ask_for_help(work: Work, helpers: int) -> None:
    """Have helpers do the same; none when no thread can be started, as when Python ends."""
    with suppress(RuntimeError):
        asked = _helpers(os.getpid())
        # Where they have not come to what they were asked before, they will not come to this.
        for _ in range(min(helpers, COUNT - asked.qsize())):
            asked.put(work)


def in_order(
    ask: Callable[[int, Given], Told], given: Iterable[Given], cores: int
) -> Iterator[Told]:
    """Call ask(number, one) for each of many things, on several cores; what it tells, in order.

    What is given may be made one by one, a few ahead of what is told.

    Args:
        ask: Works on one of them.
        given: All of them.
        cores: That have one of them each.
    """
    if cores == 1:
        yield from (ask(number, one) for number, one in enumerate(given))
        return

    def by_itself(number: int, one: Given) -> Told:
        # Where cores are left, those who could help would only wait for Python's lock too.
        with own_core(), alone() if cores < COUNT else nullcontext():
            return ask(number, one)

    waiting: deque[Future[Told]] = deque()
    with ThreadPoolExecutor(cores, thread_name_prefix="isovist-scan") as pool:
        try:
            for number, one in enumerate(given):
                waiting.append(pool.submit(copy_context().run, by_itself, number, one))
                if len(waiting) > AHEAD * cores:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for answer in waiting:
                answer.cancel()


def in_groups(ask: Callable[[Given], Told], given: Sequence[Given], cores: int) -> list[Told]:
    """The same at once for things too small to be handed out singly: a few groups for each core."""
    if cores == 1 or len(given) < PARTS * cores:
        return [ask(one) for one in given]
    size = -(-len(given) // (PARTS * cores))
    groups = [given[k : k + size] for k in range(0, len(given), size)]

    def each(_number: int, group: Sequence[Given]) -> list[Told]:
        return [ask(one) for one in group]

    return [told for group in in_order(each, groups, cores) for told in group]
