"""Run the parts of a compiled loop on all cores, by threads of Python.

Compiled loops release Python's lock, so there is one kind of threads, and none of OpenMP or TBB:
several threads may call a loop at once, and a process may be forked. Each index of a loop is
computed by itself, so the same input gives the same bits for any number of threads.
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

numba_config: Any = config
THREADS: int = 1 if numba_config.DISABLE_JIT else numba_config.NUMBA_NUM_THREADS
"""Threads that a loop may use: the cores of the process, or `NUMBA_NUM_THREADS`."""
PENDING_PER_CORE = 4
"""Items in progress per core in `map_in_order`: no core waits while the first item is computed."""
MAX_JOBS = 8
"""Items that threads of one process work on at once: Python's lock lets no more of them run. 16
cores locate 394 scans a second with 4 threads, 470 with 8 and 354 with 16.
"""
PARTS_PER_THREAD = 4
"""Parts of a loop for each thread, so that a thread that finishes early takes another."""
MAX_PARTS = 16
"""Parts of a loop unless there are more threads: to take a part costs Python's lock."""

Item = TypeVar("Item")
Result = TypeVar("Result")
Work = Callable[[], None]

_reserved = 0
_lock = Lock()
_is_single_threaded = ContextVar("isovist_single_threaded", default=False)


@contextmanager
def reserve_core() -> Iterator[None]:
    """Reserve a core for the calling thread: loops of other threads use one thread less.

    A caller that works on many items at once reserves a core for each. Cores that nobody reserved
    help with all loops.
    """
    global _reserved  # noqa: PLW0603
    with _lock:
        _reserved += 1
    try:
        yield
    finally:
        with _lock:
            _reserved -= 1


def use_one_core() -> None:
    """Run all loops of this process on one core from now on, as beside other worker processes."""
    global THREADS  # noqa: PLW0603
    THREADS = 1


@contextmanager
def single_threaded() -> Iterator[None]:
    """Run loops of the caller on its own thread: for many short loops.

    To wake a helper takes as long as a short loop itself.
    """
    token = _is_single_threaded.set(True)
    try:
        yield
    finally:
        _is_single_threaded.reset(token)


def free_threads() -> int:
    """Return how many threads a loop of the caller may use now."""
    return 1 if _is_single_threaded.get() else max(THREADS - max(_reserved - 1, 0), 1)


def max_jobs() -> int:
    """Return how many items to work on at once, one thread each."""
    return min(THREADS, MAX_JOBS)


@cache
def _helpers(process: int) -> "SimpleQueue[Work]":
    """Start the helper threads of a process, and return their queue. A forked child has its own."""
    del process
    queue: SimpleQueue[Work] = SimpleQueue()

    def serve() -> None:
        while True:
            queue.get()()

    for number in range(THREADS - 1):
        Thread(target=serve, name=f"isovist_{number}", daemon=True).start()
    return queue


def run_parallel(
    loop: Callable[..., None],
    count: int,
    block: int,
    max_rows: int | None,
    arguments: tuple[Any, ...],
) -> None:
    """Call loop(first, last, *arguments) for parts that cover the indices 0 to count − 1.

    Args:
        loop: A compiled loop.
        count: Number of indices.
        block: The first index of each part is a multiple of this.
        max_rows: Largest number of indices of a part; parts are then as large as this allows.
        arguments: Arguments of the loop.
    """
    threads = 1 if count <= block else free_threads()
    if threads == 1:
        loop(0, count, *arguments)
        return
    blocks = -(-count // block)
    parts = min(
        blocks,
        parts_of(threads) if max_rows is None else threads * -(-count // (threads * max_rows)),
    )
    edges = [min(block * (blocks * k // parts), count) for k in range(parts + 1)]
    queue, shared = deque(pairwise(edges)), [arguments]
    finished: SimpleQueue[BaseException | None] = SimpleQueue()

    def help_out() -> None:  # a helper that comes late finds no part left
        while part := _next_part(queue):
            error = None
            try:
                loop(*part, *shared[0])
            except BaseException as raised:  # the caller of the loop raises it
                error = raised
            finished.put(error)

    _wake_helpers(help_out, min(threads, parts) - 1)
    outstanding = parts
    try:
        while part := _next_part(queue):
            outstanding -= 1
            loop(*part, *arguments)
    finally:
        while _next_part(queue):  # after an error
            outstanding -= 1
        outcomes = [finished.get() for _ in range(outstanding)]
        errors = [outcome for outcome in outcomes if outcome is not None]
        shared.clear()  # late helpers hold no array
    if errors:
        raise errors[0]


def parts_of(threads: int) -> int:
    """Return into how many parts a loop is cut for a number of threads."""
    return max(threads, min(PARTS_PER_THREAD * threads, MAX_PARTS))


def _next_part(queue: deque[tuple[int, int]]) -> tuple[int, int] | None:
    """Take a part that no thread has begun; `None` when there is none."""
    try:
        return queue.popleft()
    except IndexError:
        return None


def _wake_helpers(work: Work, count: int) -> None:
    """Give work to helper threads; to none when no thread can start, as when Python exits."""
    with suppress(RuntimeError):
        queue = _helpers(os.getpid())
        # Helpers that have not begun earlier work will not come to this one.
        for _ in range(min(count, THREADS - queue.qsize())):
            queue.put(work)


def map_in_order(
    call: Callable[[int, Item], Result], items: Iterable[Item], cores: int
) -> Iterator[Result]:
    """Call call(number, item) for many items on several cores, and yield the results in order.

    Items may be a generator; it is read a few items ahead of the results.

    Args:
        call: Works on one item.
        items: All items.
        cores: Number of cores that work on an item each.
    """
    if cores == 1:
        yield from (call(number, item) for number, item in enumerate(items))
        return

    def on_own_core(number: int, item: Item) -> Result:
        # If cores are left over, helper threads would only wait for Python's lock too.
        with reserve_core(), single_threaded() if cores < THREADS else nullcontext():
            return call(number, item)

    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(cores, thread_name_prefix="isovist-scan") as pool:
        try:
            for number, item in enumerate(items):
                pending.append(pool.submit(copy_context().run, on_own_core, number, item))
                if len(pending) > PENDING_PER_CORE * cores:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def map_in_groups(
    call: Callable[[Item], Result], items: Sequence[Item], cores: int
) -> list[Result]:
    """Call call(item) for many small items, a few groups of items for each core."""
    if cores == 1 or len(items) < PARTS_PER_THREAD * cores:
        return [call(item) for item in items]
    size = -(-len(items) // (PARTS_PER_THREAD * cores))
    groups = [items[k : k + size] for k in range(0, len(items), size)]

    def on_group(_number: int, group: Sequence[Item]) -> list[Result]:
        return [call(item) for item in group]

    return [result for group in map_in_order(on_group, groups, cores) for result in group]
