"""Workers of the library: threads that share loops or do not, and what processes write."""

import pickle

from isovist.compute.infra.threads import single_threaded
from isovist.localization import workers


def in_one_thread(work):
    """What a function returns when no loop is shared out."""
    with single_threaded():
        return work()


def unpacked(written):
    """What a worker process says next."""
    size = int.from_bytes(written.read(workers.SIZE_BYTES), "little")
    return pickle.loads(written.read(size))
