"""What a sensor would see from every node, and how firmly that holds it in place.

Ranges come from sweeps of the walls (`maps.sweep`): beams pass through unknown space, as those of
a real sensor do.  A view of less than a full turn is looked at from `HEADINGS` headings.

How firmly: `kernels.survey.hold` gives the normal matrix that a fit would have, and `spread` turns
it into standard deviations with equation (4) of `locate.judge`, so that σ is what an answer would
report at that place.

How distinctly: over the directions Ω in which a wall is in reach, with f(r) = log(1 + r) and the
rose of `locate.certificate`,

    J_i = ∫_Ω ∂f(r(p, θ))/∂(x, y, yaw) w_i(θ) dθ,                                           (1)
    S = G_pp − G_pk G_kp / G_kk,    G = Σ_i J_iᵀ J_i,     μ = √λ_min(S),                    (2)

with p the position and k the heading: μ is σ_min(P J) of the certificate.  Slopes are differences
of ranges over `STEP` to either side, so what corners hide and show is in them.  At a heading, the
sum in (2) goes over the channels whose middle is in view.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.plane import Atlas, bare_walls
from isovist.localization import judge
from isovist.localization.certificate import CHANNELS
from isovist.localization.refine import FINE, MANY
from isovist.maps.base import Ending
from isovist.maps.cells import OccupancyMap
from isovist.maps.sweep import sweep_ranges
from isovist.poses import unit_vectors
from isovist.roses.rose import Rose
from isovist.sensing.lidar import Lidar
from isovist.types import BoolArray, Float32Array, FloatArray, IntArray

RAYS = 256
"""Directions that are swept."""
HEADINGS = 8
"""Of a view that is not all around."""
STEP = 0.1
"""Of the differences, in m; less than the room that every node has."""
PARTS = 8
"""The directions are swept in so many parts, and progress is told after each."""

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """What the sensor sees from N nodes at H headings.

    Attributes:
        headings: Of the sensor in the world in rad, shape (H,).
        in_view: Which of the swept directions are in view at each heading, shape (H, RAYS).
        ranges: Along all directions, `inf` where nothing returns, in m, shape (RAYS, N).
        beams: Beams that return, shape (N, H).
        witnesses: Blocks of 10° that hold such a beam, shape (N, H).
        sigma: Standard deviation along the worst axis of the position, in m, shape (N, H).
        sigma_yaw: Of the heading, in rad, shape (N, H).
        mu: μ of (2), per m, shape (N, H).
        weakest: Unit vector in the world along which the descriptor changes least, by the mean of
            S over the headings, shape (N, 2).
    """

    headings: FloatArray
    in_view: BoolArray
    ranges: Float32Array
    beams: FloatArray
    witnesses: FloatArray
    sigma: FloatArray
    sigma_yaw: FloatArray
    mu: FloatArray
    weakest: FloatArray


def look(
    atlas: Atlas, lidar: Lidar, rows: IntArray, cols: IntArray, progress: Progress | None = None
) -> Views:
    """Look around from the nodes at `rows` and `cols`, which have `STEP` of room on all sides."""
    headings, blocks = headings_of(lidar)
    angles = 2.0 * np.pi * np.arange(RAYS) / RAYS
    ranges, J = _sweep(bare_walls(atlas.world), lidar, angles, rows, cols, progress)
    normal, seen = _hold(atlas, lidar, angles, blocks, ranges, rows, cols)
    # A beam stands for several swept rays, or a ray for several beams.
    per_ray = lidar.beams / (blocks[0] >= 0).sum()
    beams = np.ceil(seen[..., 0] * per_ray)
    witnesses = np.minimum(seen[..., 1], beams)
    sigma, sigma_yaw = spread(atlas.world, normal, seen[..., 0], beams, witnesses)
    channels = RAYS // CHANNELS
    mu, S = distinctness(J, blocks[:, ::channels] >= 0)
    weakest = np.linalg.eigh(S.mean(axis=1))[1][:, :, 0]
    return Views(
        headings, blocks >= 0, ranges, beams, witnesses, sigma, sigma_yaw, mu, weakest
    )  # fmt: skip


def headings_of(lidar: Lidar) -> tuple[FloatArray, NDArray[np.int16]]:
    """Headings (H,) in rad, and the block of each direction at each, −1 out of view, (H, RAYS)."""
    full = lidar.field_of_view >= 2.0 * np.pi - 1e-9
    count = 1 if full else HEADINGS
    turns = np.arange(count) * (RAYS // count)
    bearings = 2.0 * np.pi * ((np.arange(RAYS) - turns[:, None]) % RAYS) / RAYS
    bearings = np.where(bearings >= np.pi, bearings - 2.0 * np.pi, bearings)
    half = 0.5 * lidar.field_of_view
    block = np.floor((bearings + half) / judge.BLOCK + 1e-9).astype(np.int16)
    visible = full | (np.abs(bearings) <= half + 1e-9)
    return 2.0 * np.pi * turns / RAYS, np.where(visible, block, np.int16(-1))


def spread(
    world: OccupancyMap,
    normal: Float32Array,
    rays: NDArray[np.int16],
    beams: FloatArray,
    witnesses: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Standard deviations of the worst axis (m) and of the heading (rad), by `judge`'s (4)."""
    unit = world.resolution
    used = np.minimum(beams, MANY) / np.maximum(rays, 1)
    parts = normal.astype(np.float64) * used[..., None]
    index = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])
    per = np.array([1.0, 1.0, unit])
    H = parts[..., index] * np.outer(per, per)
    total, square = parts[..., 6], parts[..., 7]
    crowding = np.maximum(1.0, total / np.maximum(witnesses, 1.0))
    residual = np.maximum(square / np.maximum(total, 1.0) * unit**2, judge.LEAST**2)
    variance = judge.INFLATION * residual**2 / judge.EVEN**2 * crowding
    information = H / variance[..., None, None] + np.diag(1.0 / np.square(judge.WIDEST))
    C = np.linalg.inv(information) + np.diag(np.square(judge.FLOOR))
    return np.sqrt(np.linalg.eigvalsh(C[..., :2, :2])[..., -1]), np.sqrt(C[..., 2, 2])


def distinctness(J: Float32Array, in_view: BoolArray) -> tuple[FloatArray, FloatArray]:
    """μ (N, H) and S (N, H, 2, 2) of (2).

    Args:
        J: By x, y and yaw, shape (3, N, n).
        in_view: Channels in view at each heading, shape (H, n).
    """
    G = np.einsum("ain,bin,hn->ihab", J, J, in_view.astype(np.float32), optimize=True)
    G = G.astype(np.float64)
    turn = G[..., :2, 2]
    S = G[..., :2, :2] - turn[..., :, None] * turn[..., None, :] / np.maximum(
        G[..., 2, 2, None, None], 1e-12
    )
    return np.sqrt(np.maximum(np.linalg.eigvalsh(S)[..., 0], 0.0)), S


def _sweep(
    walls: OccupancyMap,
    lidar: Lidar,
    angles: FloatArray,
    rows: IntArray,
    cols: IntArray,
    progress: Progress | None,
) -> tuple[Float32Array, Float32Array]:
    """Ranges (RAYS, N) in m from the nodes, and J of (1), shape (3, N, n)."""
    step = max(1, round(STEP / walls.resolution))
    all_rows = np.concatenate([rows, rows, rows, rows + step, rows - step])
    all_cols = np.concatenate([cols, cols + step, cols - step, cols, cols])
    W = Rose.circle(CHANNELS).weights(unit_vectors(angles)).astype(np.float32)
    W *= np.float32(2.0 * np.pi / RAYS)
    ranges = np.empty((RAYS, len(rows)), dtype=np.float32)
    J = np.zeros((3, len(rows), CHANNELS), dtype=np.float32)
    apart = np.float32(2 * step * walls.resolution)
    for part in range(PARTS):
        some = slice(part * RAYS // PARTS, (part + 1) * RAYS // PARTS)
        r, endings = sweep_ranges(walls, angles[some], all_rows, all_cols)
        seen = (endings == Ending.WALL) & (r >= lidar.range_min) & (r < lidar.range_max)
        here, *aside = np.split(np.where(seen, r, np.float32(np.inf)), 5, axis=1)
        ranges[some] = here
        for axis in range(2):
            J[axis] += _slopes(aside[2 * axis], aside[2 * axis + 1], apart).T @ W[some]
        if progress is not None:
            progress((part + 1) / PARTS)
    ahead, behind = np.roll(ranges, -1, axis=0), np.roll(ranges, 1, axis=0)
    J[2] = _slopes(ahead, behind, np.float32(4.0 * np.pi / RAYS)).T @ W
    J[:2] = np.tensordot(walls.origin.rotation, J[:2], axes=1)  # from the grid to the world
    return ranges, J


def _slopes(one: Float32Array, other: Float32Array, apart: np.float32) -> Float32Array:
    """Differences of log(1 + r) where both return, else 0."""
    with np.errstate(invalid="ignore"):
        slope = (np.log1p(one) - np.log1p(other)) / apart
    return np.where(np.isfinite(slope), slope, np.float32(0.0))


def _hold(
    atlas: Atlas,
    lidar: Lidar,
    angles: FloatArray,
    blocks: NDArray[np.int16],
    ranges: Float32Array,
    rows: IntArray,
    cols: IntArray,
) -> tuple[Float32Array, NDArray[np.int16]]:
    from isovist.kernels.survey import hold

    unit = atlas.world.resolution
    places = np.stack([cols + 0.5, rows + 0.5], axis=-1)
    normal = np.empty((len(rows), len(blocks), 8), dtype=np.float32)
    seen = np.empty((len(rows), len(blocks), 2), dtype=np.int16)
    hold(
        atlas.wall_distance, places, ranges / np.float32(unit), angles - atlas.world.origin.yaw,
        blocks, lidar.noise / unit, FINE[-1] / unit, normal, seen,
    )  # fmt: skip
    return normal, seen
