"""Describe blocks of nodes on the workers of a Dask cluster (extra `cluster`).

A block is sent with its own cells.  When a worker is lost, only its present block is lost, and
another worker begins it anew.  Few blocks are sent ahead: the cells of the others are copied when
a worker is free.
"""

import pickle
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any

import numpy as np

from isovist.arrays import Float32Array, IntArray
from isovist.atlas.description.tiles import Block
from isovist.compute import THREADS
from isovist.errors import InputError, MissingExtraError

LOCAL = re.compile(r"local:([1-9][0-9]{0,2})")
TIMEOUT_S = 30
"""Time in which a cluster must answer and have a worker, in s."""
BLOCKS_PER_WORKER = 4
"""Least number of blocks for each worker, so that none is idle for long at the end."""
BLOCKS_IN_FLIGHT = 2
"""Number of blocks for each worker that are sent before it is free."""


class Cluster:
    """The Dask workers that describe nodes.

    `connected` makes one.

    Args:
        client: The Dask client.
        address: Address of the cluster as the user gave it.
    """

    def __init__(self, client: Any, address: str) -> None:
        self.client, self.address = client, address
        self.workers = len(client.scheduler_info(n_workers=-1)["workers"])

    def side(self, cells: int, max_side: int) -> int:
        """Return the side of the square that the nodes of a block lie in, in cells."""
        return min(max_side, int(np.ceil(np.sqrt(cells / (BLOCKS_PER_WORKER * self.workers)))))

    def describe(self, blocks: Iterator[Block]) -> Iterator[tuple[IntArray, Float32Array]]:
        """Describe blocks on the workers, yielding the places and descriptors of their nodes.

        They come in the order in which they are done.
        """
        from dask.distributed import CancelledError, KilledWorker, as_completed

        futures: Any = as_completed(loop=self.client.loop)
        slots: dict[str, IntArray] = {}

        def send() -> None:
            block = next(blocks, None)
            if block is not None:
                packed = zlib.compress(pickle.dumps(block), 1)
                future = self.client.submit(describe_packed, packed, pure=False)
                slots[future.key] = block.slots
                futures.add(future)

        for _ in range(BLOCKS_IN_FLIGHT * self.workers):
            send()
        try:
            for future in futures:
                descriptors = future.result()
                send()
                yield slots.pop(future.key), descriptors
        except KilledWorker as error:
            raise InputError(
                f"One block of nodes ended several workers of the cluster at {self.address}. "
                "Give them more memory, or take a larger `spacing`.",
                code="unavailable",
            ) from error
        except (CancelledError, OSError) as error:
            raise InputError(
                f"The cluster at {self.address} has gone away.", code="unavailable"
            ) from error


def describe_packed(packed: bytes) -> Float32Array:
    """Compute the descriptors of a packed block on the cores of a worker."""
    from isovist.compute import use_backend

    block: Block = pickle.loads(zlib.decompress(packed))
    with use_backend("cpu"):
        return block.describe(lambda _share: None)


def version() -> str:
    """Return the version of isovist that is installed here."""
    return metadata.version("isovist")


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """Connect to the cluster at an address, or to workers started on this machine.

    Such workers last as long as the context.

    Args:
        address: Address of the scheduler, e.g. `tcp://10.0.0.5:8786`, or `local:4` for four
            workers.
    """
    with MissingExtraError.unless_found("Building on a cluster", "cluster"):
        from dask.distributed import Client, LocalCluster
    local = LOCAL.fullmatch(address)
    if local is None and "://" not in address:
        raise InputError.about(
            "cluster",
            "must be the address of a Dask scheduler, e.g. tcp://10.0.0.5:8786, or "
            f"local:4 for four workers on this machine, got {address}.",
        )
    if local is not None:
        workers = int(local[1])
        threads = str(max(THREADS // workers, 1))
        with LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True,
            dashboard_address="127.0.0.1:0", env={"NUMBA_NUM_THREADS": threads},
        ) as own, Client(own) as client:  # fmt: skip
            yield Cluster(client, address)
        return
    try:
        client = Client(address, timeout=TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"No Dask scheduler answers at {address}. Start one: dask scheduler.",
            code="unavailable",
        ) from error
    with client:
        _check_workers(client, address)
        yield Cluster(client, address)


def _check_workers(client: Any, address: str) -> None:
    """Raise an error unless there are workers with this version of isovist."""
    try:
        client.wait_for_workers(1, timeout=TIMEOUT_S)
    except TimeoutError as error:
        raise InputError(
            f"The cluster at {address} has no worker. Start some: dask worker {address}.",
            code="unavailable",
        ) from error
    try:
        versions = set(client.run(version).values())
    except Exception as error:  # whatever unpickling on a worker fails with
        raise InputError(
            f"A worker of the cluster at {address} lacks isovist: install it there, too.",
            code="unavailable",
        ) from error
    if others := versions - {version()}:
        raise InputError(
            f"A worker of the cluster at {address} has isovist {min(others)}, and this is "
            f"{version()}. Install the same there.",
            code="conflict",
        )
