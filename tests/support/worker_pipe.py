"""What worker processes write."""

import pickle

from isovist.localization import workers


def unpacked(written):
    """What a worker says next."""
    size = int.from_bytes(written.read(workers.HEAD), "little")
    return pickle.loads(written.read(size))
