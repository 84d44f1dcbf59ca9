"""Select the cheapest or the heaviest of many, in their order."""

import numpy as np

from isovist.arrays import Float32Array, FloatArray, IntArray


def cheapest(costs: Float32Array, count: int) -> IntArray:
    """Return the indices of the `count` smallest costs, ascending; of equal costs the first.

    Costs are contiguous, 0 or more, and at least `count`.
    """
    from isovist.compute.search.topk import cheapest_keys

    keys = np.empty(count, dtype=np.uint64)
    cheapest_keys(np.ascontiguousarray(costs).view(np.uint32), keys)
    return (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)


def heaviest(weights: FloatArray, count: int) -> IntArray:
    """Return the indices of the `count` largest weights, ascending; of equal weights the first."""
    if count >= len(weights):
        return np.arange(len(weights))
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    threshold = np.partition(weights, -count)[-count]
    indices = np.flatnonzero(weights >= threshold)
    if len(indices) > count:
        ties = np.flatnonzero(weights[indices] == threshold)
        indices = np.delete(indices, ties[count - len(indices) :])
    return indices
