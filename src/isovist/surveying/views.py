"""What a sensor would see from every node of the plane, and how firmly that holds it in place.

Ranges come from sweeps of the walls (`maps.sweep.sweep2d`): beams pass through unknown space, as
those of a real sensor do.  A view of less than a full turn is looked at from several headings.

How firmly: `compute.fitting.information.sum_information` gives the normal matrix that a fit would
have, and `spread` turns it into standard deviations with equation (1) of `localization.spread`, so
that σ is what an answer would report at that place.

How distinctly: over the directions Ω in which a wall is in reach, with f(r) = log(1 + r) and the
basis of `iv.certify`,

    J_i = ∫_Ω ∂f(r(p, θ))/∂(x, y, yaw) w_i(θ) dθ,                                           (1)
    S = G_pp − G_pk G_kp / G_kk,    G = Σ_i J_iᵀ J_i,     μ = √λ_min(S),                    (2)

with p the position and k the heading: μ is σ_min(P J) of the certificate.  Slopes are differences
of ranges over a step to either side, so what corners hide and show is in them.  At a heading, the
sum in (2) goes over the channels whose middle is in view.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, FloatArray, IntArray
from isovist.atlas.base import Atlas
from isovist.atlas.data.atlas2d import PlaneAtlas
from isovist.atlas.data.surfaces import bare_walls
from isovist.atlas.matching.beams import Fit
from isovist.atlas.matching.channels import RAYS
from isovist.atlas.matching.windows import search_basis
from isovist.basis.directional_basis import DirectionalBasis
from isovist.localization.settings import LocalizationSettings
from isovist.localization.spread import covariances, information
from isovist.maps.base import Ending
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.maps.sweep.sweep2d import sweep_ranges
from isovist.poses import unit_vectors
from isovist.sensing.models.lidar2d import Lidar
from isovist.surveying.lattice import thinned
from isovist.surveying.settings import CHANNELS, SurveyingSettings

PARTS = 8
"""The directions are swept in so many parts, and progress is told after each."""

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Views(ABC):
    """What the sensor sees from N nodes at H headings, in 2D or in 3D (`space_views`).

    Attributes:
        headings: Headings of the sensor in the world, in rad, shape (H,).
        asked: Which of the N nodes are compared with others (`aliases`), shape (A,).
        beams: Beams that return, shape (N, H).
        witnesses: Blocks of 10° that hold such a beam, shape (N, H).
        sigma: Standard deviation along the worst axis of the position, in m, shape (N, H).
        sigma_yaw: Standard deviation of the heading, in rad, shape (N, H).
        mu: μ of (2), per m, shape (N, H).
        weakest: Unit vector in the world along which the descriptor changes least, by the mean of
            S over the headings, shape (N, 2).
    """

    headings: FloatArray
    asked: IntArray
    beams: FloatArray
    witnesses: FloatArray
    sigma: FloatArray
    sigma_yaw: FloatArray
    mu: FloatArray
    weakest: FloatArray

    @abstractmethod
    def channels(self, atlas: Atlas, heading: int, share: float) -> tuple[Float32Array, BoolArray]:
        """Return the channels of the `asked` views at a heading, and which count.

        Both have shape (A, rings, n).

        Headings are those of the world.  A channel counts when `share` of it is seen.
        """


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PlaneViews(Views):
    """What a 2D sensor sees from N nodes at H headings, by ranges along S directions.

    Attributes:
        in_view: Which of the swept directions are in view at each heading, shape (H, S).
        ranges: Ranges along all directions, `inf` where nothing returns, in m, shape (S, N).
    """

    in_view: BoolArray
    ranges: Float32Array

    def channels(self, atlas: Atlas, heading: int, share: float) -> tuple[Float32Array, BoolArray]:
        """Return the channels of the `asked` views at a heading, and which count.

        They are made from the swept ranges, as those of a scan.
        """
        assert isinstance(atlas, PlaneAtlas)
        rays = len(self.ranges)
        basis = search_basis(atlas.settings.channels) if atlas.basis is None else atlas.basis
        W = basis.weights(unit_vectors(2.0 * np.pi * np.arange(rays) / rays))
        in_view = self.in_view[heading][:, None]
        ranges = np.where(in_view, self.ranges[:, self.asked], np.inf).T
        returned = np.isfinite(ranges)
        signal = np.log1p(np.where(returned, np.minimum(ranges, atlas.settings.reach), 0.0))
        mass = returned @ W
        seen = mass >= share * W.sum(axis=0)
        values = np.where(seen, signal @ W / np.maximum(mass, 1e-9), 0.0)
        return values.astype(np.float32)[:, None], seen[:, None]


def look(
    atlas: PlaneAtlas,
    lidar: Lidar,
    floor: IntArray,
    settings: SurveyingSettings,
    localization: LocalizationSettings,
    progress: Progress = lambda _share: None,
) -> PlaneViews:
    """Simulate what a 2D sensor sees from the nodes `floor`.

    These nodes have a step of room on all sides.
    """
    rays = RAYS * atlas.settings.channels
    headings, blocks = headings_of(lidar, rays, settings.views[0], localization.block[0])
    angles = 2.0 * np.pi * np.arange(rays) / rays
    rows, columns = (k[floor] for k in atlas.rows_columns)
    walls = bare_walls(atlas.world)
    ranges, J = _sweep(walls, lidar, angles, rows, columns, settings.views[1], progress)
    fit, beams, witnesses = _fit(atlas, lidar, angles, blocks, ranges, floor, localization)
    known = information(fit, witnesses, atlas.world.resolution, localization)
    C = covariances(known, localization)
    middles = np.round(np.arange(CHANNELS) * rays / CHANNELS).astype(np.int64)
    mu, S = distinctness(J, blocks[:, middles] >= 0)
    return PlaneViews(
        headings=headings,
        asked=thinned(atlas, floor, settings.views[2] // len(headings))[0],
        in_view=blocks >= 0,
        ranges=ranges,
        beams=beams,
        witnesses=witnesses,
        sigma=np.sqrt(np.linalg.eigvalsh(C[..., :2, :2])[..., -1]),
        sigma_yaw=np.sqrt(C[..., 2, 2]),
        mu=mu,
        weakest=np.linalg.eigh(S.mean(axis=1))[1][:, :, 0],
    )


def headings_of(
    lidar: Lidar, rays: int, headings: int, width: float
) -> tuple[FloatArray, NDArray[np.int16]]:
    """Return the headings in rad, shape (H,), and the block of each direction, (H, rays).

    The block is −1 where a direction is out of view at that heading.

    Args:
        lidar: The sensor.
        rays: Directions around the circle.
        headings: Number of headings of a view that is not all around.
        width: Width of a block, in rad.
    """
    full = lidar.field_of_view >= 2.0 * np.pi - 1e-9
    count = 1 if full else headings
    turns = np.arange(count) * rays // count
    bearings = 2.0 * np.pi * ((np.arange(rays) - turns[:, None]) % rays) / rays
    bearings = np.where(bearings >= np.pi, bearings - 2.0 * np.pi, bearings)
    half = 0.5 * lidar.field_of_view
    block = np.floor((bearings + half) / width + 1e-9).astype(np.int16)
    visible = full | (np.abs(bearings) <= half + 1e-9)
    return 2.0 * np.pi * turns / rays, np.where(visible, block, np.int16(-1))


def distinctness(J: Float32Array, in_view: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return μ, shape (N, H), and S, shape (N, H, 2, 2), of (2) from channel derivatives.

    Args:
        J: Derivatives of the channels by x, y and yaw, shape (3, N, n).
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
    aside: float,
    progress: Progress,
) -> tuple[Float32Array, Float32Array]:
    """Ranges (S, N) in m from the nodes, and J of (1), shape (3, N, n)."""
    rays = len(angles)
    step = max(1, round(aside / walls.resolution))
    all_rows = np.concatenate([rows, rows, rows, rows + step, rows - step])
    all_cols = np.concatenate([cols, cols + step, cols - step, cols, cols])
    W = DirectionalBasis.circle(CHANNELS).weights(unit_vectors(angles)).astype(np.float32)
    W *= np.float32(2.0 * np.pi / rays)
    ranges = np.empty((rays, len(rows)), dtype=np.float32)
    J = np.zeros((3, len(rows), CHANNELS), dtype=np.float32)
    apart = np.float32(2 * step * walls.resolution)
    longest = min(lidar.range_max, float(np.finfo(np.float32).max))
    for part in range(PARTS):
        some = slice(part * rays // PARTS, (part + 1) * rays // PARTS)
        r, endings = sweep_ranges(walls, angles[some], all_rows, all_cols)
        seen = (endings == Ending.WALL) & (r >= lidar.range_min) & (r < longest)
        here, *beside = np.split(np.where(seen, r, np.float32(np.inf)), 5, axis=1)
        ranges[some] = here
        for axis in range(2):
            J[axis] += _slopes(beside[2 * axis], beside[2 * axis + 1], apart).T @ W[some]
        progress((part + 1) / PARTS)
    ahead, behind = np.roll(ranges, -1, axis=0), np.roll(ranges, 1, axis=0)
    J[2] = _slopes(ahead, behind, np.float32(4.0 * np.pi / rays)).T @ W
    J[:2] = np.tensordot(walls.origin.rotation, J[:2], axes=1)  # from the grid to the world
    return ranges, J


def _slopes(one: Float32Array, other: Float32Array, apart: np.float32) -> Float32Array:
    """Differences of log(1 + r) where both return, else 0."""
    with np.errstate(invalid="ignore"):
        slope = (np.log1p(one) - np.log1p(other)) / apart
    return np.where(np.isfinite(slope), slope, np.float32(0.0))


def _fit(
    atlas: PlaneAtlas,
    lidar: Lidar,
    angles: FloatArray,
    blocks: NDArray[np.int16],
    ranges: Float32Array,
    floor: IntArray,
    localization: LocalizationSettings,
) -> tuple[Fit, FloatArray, FloatArray]:
    """What a fit of as many beams as `refine` takes would give, in m and rad; beams, witnesses."""
    from isovist.compute.fitting.information import sum_information

    unit, width = atlas.world.resolution, float(localization.fine_widths(atlas)[-1])
    places = np.ascontiguousarray(atlas.world.to_grid(atlas.positions[floor]))
    normal = np.empty((len(floor), len(blocks), 8), dtype=np.float32)
    seen = np.empty((len(floor), len(blocks), 2), dtype=np.int16)
    sum_information(
        atlas.wall_distance, places, ranges / np.float32(unit), angles - atlas.heading, blocks,
        lidar.noise / unit, width / unit, normal, seen,
    )  # fmt: skip
    # A beam stands for several swept rays, or a ray for several beams.
    per_ray = lidar.beams / (blocks[0] >= 0).sum()
    beams = np.ceil(seen[..., 0] * per_ray)
    used = np.minimum(beams, localization.beams[1][0]) / np.maximum(seen[..., 0], 1)
    parts = normal.astype(np.float64) * used[..., None]
    per = np.array([1.0, 1.0, unit])
    H = parts[..., [[0, 1, 2], [1, 3, 4], [2, 4, 5]]] * np.outer(per, per)
    fit = Fit(np.empty(0), H, parts[..., 6], parts[..., 7] * unit**2)
    return fit, beams, np.minimum(seen[..., 1], beams)
