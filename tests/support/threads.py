"""Loops that are shared out among the threads of a process, or not."""

from isovist.kernels.threads import alone


def in_one_thread(work):
    """What a function returns when no loop is shared out."""
    with alone():
        return work()
