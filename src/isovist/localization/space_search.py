"""Every node and every heading against one scan in space.

As `search` in the plane.  The scan becomes a table G of the mean log(1 + r) in bins of 1.4° of
azimuth and elevation, and M of the bins that hold returns.  With V_r the weights of the channel of
ring r at azimuth 0, its channels at every azimuth s come from one correlation around the circle,

    F_r(s) = Σ G M V_r(· − s) / Σ M V_r(· − s),                                            (1)

and the mass below the line says which channels the sensor saw.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.plane import REACH
from isovist.atlas.space import AROUND, KEPT, RINGS, VoxelAtlas, search_rings
from isovist.localization.region import Region
from isovist.localization.search import MINIMA, PHASES, POOL, best_headings
from isovist.sensing.cloud_scan import CloudScan
from isovist.types import BoolArray, Float32Array, FloatArray

COLUMNS, ROWS = 4 * AROUND, 128
"""Bins around the circle and from the nadir to the zenith."""
SEEN_SHARE = 0.4
"""Least mass of a channel that counts, as a share of the well covered ones."""
WELL = 0.9
"""Quantile of the masses that is well covered."""
FINALISTS, SEEDS = 1500, 200
"""Nodes that are tried in full, and candidates handed on: rings tell places apart better than one
circle, so half as many as in the plane do."""
RADIUS, TURN = 0.4, 0.2
"""Candidates are farther apart than this, in m, or turned by more, in rad; the radius grows with
the spacing of the nodes."""


def describe_cloud(scan: CloudScan) -> tuple[Float32Array, BoolArray]:
    """Channels of a scan and which of them it saw, both of shape (PHASES, rings, around)."""
    p = scan.level_points
    flat = np.hypot(p[:, 0], p[:, 1])
    column = np.floor(np.arctan2(p[:, 1], p[:, 0]) / (2.0 * np.pi) * COLUMNS).astype(np.int64)
    row = np.floor((np.arctan2(p[:, 2], flat) / np.pi + 0.5) * ROWS).astype(np.int64)
    bins = np.minimum(row, ROWS - 1) * COLUMNS + column % COLUMNS
    signal = np.log1p(np.minimum(np.hypot(flat, p[:, 2]), REACH))
    counts = np.bincount(bins, minlength=ROWS * COLUMNS)
    sums = np.bincount(bins, signal, minlength=ROWS * COLUMNS)
    M = (counts > 0).astype(np.float64).reshape(ROWS, COLUMNS)
    G = (sums / np.maximum(counts, 1)).reshape(ROWS, COLUMNS)
    weights, whole = _channel_weights()
    mass, total = (_around(table, weights) for table in (M, G * M))
    share = mass / whole[:, None]
    well = float(np.quantile(share[share > 0.01], WELL))
    known = share >= SEEN_SHARE * well
    values = np.where(known, total / np.where(known, mass, 1.0), 0.0)
    # Column s of the tables is the channel at azimuth s; phase p looks p/PHASES of a channel back.
    back = np.arange(PHASES)[:, None] * (COLUMNS // AROUND // PHASES)
    at = (np.arange(AROUND) * (COLUMNS // AROUND) - back) % COLUMNS
    return (
        np.ascontiguousarray(np.moveaxis(values[:, at], 1, 0), dtype=np.float32),
        np.ascontiguousarray(np.moveaxis(known[:, at], 1, 0)),
    )


@lru_cache(maxsize=1)
def _channel_weights() -> tuple[NDArray[np.complex128], FloatArray]:
    """Fourier rows of V_r, shape (rings, ROWS, COLUMNS // 2 + 1), and Σ V_r, shape (rings,)."""
    elevation = ((np.arange(ROWS) + 0.5) / ROWS - 0.5)[:, None] * np.pi
    part = COLUMNS // AROUND
    azimuth = 2.0 * np.pi * (np.arange(part) + 0.5) / COLUMNS
    flat = np.cos(elevation)
    up = np.broadcast_to(np.sin(elevation), (ROWS, part))
    centres = np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), up], axis=-1)
    # q channels farther round, the channel at azimuth 0 is what the one q channels back is here.
    back = -np.arange(AROUND) % AROUND
    W = search_rings().weights(centres).reshape(ROWS, part, RINGS, AROUND)[:, :, KEPT][..., back]
    V = W.transpose(2, 0, 3, 1).reshape(-1, ROWS, COLUMNS) * flat
    return np.fft.rfft(V, axis=2), V.sum(axis=(1, 2))


def _around(table: FloatArray, weights: NDArray[np.complex128]) -> FloatArray:
    """Σ table V_r(· − s) at every column s, shape (rings, COLUMNS)."""
    product = (np.fft.rfft(table, axis=1) * np.conj(weights)).sum(axis=1)
    return np.maximum(np.fft.irfft(product, n=COLUMNS, axis=1), 0.0)


def search_in_space(
    atlas: VoxelAtlas, scan: CloudScan, prior: Region | None = None, *, thorough: bool = False
) -> FloatArray:
    """Unlike candidates, best first: (x, y, yaw, z, roll, pitch) of the level frame of the sensor.

    In cells and rad, shape (K, 6).  The arguments are those of `search`.
    """
    from isovist.kernels.correlate import spread

    values, seen = describe_cloud(scan)
    yaws = 2.0 * np.pi * np.arange(AROUND * PHASES) / (AROUND * PHASES)
    active = np.arange(len(atlas.nodes))
    allowed = np.ones(len(yaws), dtype=np.bool_)
    if prior is not None:
        active = np.flatnonzero(prior.contains(atlas.positions[:, :2], atlas.spacing))
        allowed = prior.heads(yaws, np.pi / AROUND)
    if active.size == 0 or not allowed.any() or not seen.any():
        return np.empty((0, 6))
    # Rings that the sensor does not see need not be looked at.
    looked = np.flatnonzero(seen.any(axis=(0, 2)))
    rings = slice(looked[0], looked[-1] + 1)
    nodes = atlas.descriptors[:, rings]
    values, seen = np.ascontiguousarray(values[:, rings]), np.ascontiguousarray(seen[:, rings])
    if len(active) > FINALISTS and not thorough:
        rough = seen[:1].copy()
        rough[:, :, 1::2] = False
        costs, _ = best_headings(nodes, active, values[:1], rough, allowed[::PHASES], 1)
        order = np.argpartition(costs[:, 0], FINALISTS - 1)[:FINALISTS]
        active = np.sort(active[order])
    costs, headings = best_headings(nodes, active, values, seen, allowed, MINIMA)
    flat = costs.ravel()
    seeds = 10 * SEEDS if thorough else SEEDS
    pool = min(POOL * seeds, int(np.isfinite(flat).sum()))
    best = np.argsort(flat, kind="stable")[:pool]
    level, row, column = np.unravel_index(atlas.nodes[active[best // MINIMA]], atlas.world.shape)
    poses = np.zeros((pool, 6))
    poses[:, :4] = np.column_stack(
        [column + 0.5, row + 0.5, yaws[headings.ravel()[best]], level + 0.5]
    )
    chosen = np.empty(seeds, dtype=np.int64)
    radius = max(RADIUS, 1.2 * atlas.spacing) / atlas.world.resolution
    return poses[chosen[: spread(poses, radius, TURN, chosen)]]
