"""Compute what a 2D sensor sees from each node, and how well that fixes its pose.

Ranges come from sweeps of the walls (`maps.sweep.sweep2d`).  Beams pass through unknown space, as
those of a real sensor do.  A sensor that does not see all around looks in several directions.

How well a view fixes the pose: `compute.fitting.information.sum_information` gives the normal
matrix that a fit would have, and equation (1) of `covariance` turns it into standard
deviations.  So σ is what an answer would report at that place.

How distinct a view is: over the directions Ω in which a wall is in reach, with f(r) = log(1 + r)
and the basis of `iv.certify`,

    J_i = ∫_Ω ∂f(r(p, θ))/∂(x, y, yaw) w_i(θ) dθ,                                           (1)
    S = G_pp − G_pk G_kp / G_kk,    G = Σ_i J_iᵀ J_i,     μ = √λ_min(S),                    (2)

with p the position and k the heading: μ is σ_min(P J) of the certificate.  Slopes are differences
of ranges over a step to either side, so they contain what corners hide and show.  At a heading, the
sum in (2) goes over the channels whose middle is in view.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, FloatArray
from isovist.atlas import RAYS, Fit, PlaneAtlas, bare_walls, search_basis
from isovist.basis import DirectionalBasis
from isovist.localization import covariances, information
from isovist.maps import Ending, sweep_ranges
from isovist.poses import unit_vectors
from isovist.sensing import Lidar
from isovist.surveying.lattice import thinned
from isovist.surveying.plan import SurveyPlan
from isovist.surveying.views.view_set import Channels, Progress, Views

PARTS = 8
"""Parts in which the directions are swept, with progress after each."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Views2D(Views):
    """The views of a 2D sensor from N nodes at H headings, as ranges along S directions.

    Attributes:
        in_view: Which of the swept directions are in view at each heading, shape (H, S).
        ranges: Ranges along all directions, `inf` where nothing returns, in m, shape (S, N).
    """

    in_view: BoolArray
    ranges: Float32Array

    def channels(self, plan: SurveyPlan, heading: int) -> Channels:
        atlas, _ = _parts_of(plan)
        rays = len(self.ranges)
        basis = search_basis(atlas.settings.channels) if atlas.basis is None else atlas.basis
        W = basis.weights(unit_vectors(2.0 * np.pi * np.arange(rays) / rays))
        in_view = self.in_view[heading][:, None]
        ranges = np.where(in_view, self.ranges[:, self.viewpoints], np.inf).T
        has_returned = np.isfinite(ranges)
        signal = np.log1p(np.where(has_returned, np.minimum(ranges, atlas.settings.reach), 0.0))
        mass = has_returned @ W
        is_seen = mass >= plan.localization.search.min_seen_share_2d * W.sum(axis=0)
        values = np.where(is_seen, signal @ W / np.maximum(mass, 1e-9), 0.0)
        places = plan.places[self.viewpoints]
        return Channels(values.astype(np.float32)[:, None], is_seen[:, None], places)


def view_in_2d(plan: SurveyPlan, progress: Progress = lambda _share: None) -> Views2D:
    """Simulate the view of a 2D sensor from the nodes of a plan.

    Each node has room on all sides for one step of the differences in (1).
    """
    atlas, lidar = _parts_of(plan)
    visibility, localization = plan.settings.visibility, plan.localization
    rays = RAYS * atlas.settings.channels
    headings, blocks = headings_of(lidar, rays, visibility.headings, localization.scoring.group_rad)
    angles = 2.0 * np.pi * np.arange(rays) / rays
    ranges, J = _sweep(plan, angles, progress)
    fit, beams, witnesses = _fit(plan, angles, blocks, ranges)
    normal = information(fit, witnesses, atlas.world.resolution, localization)
    C = covariances(normal, localization)
    count = visibility.channels
    middles = np.round(np.arange(count) * rays / count).astype(np.int64)
    mu, S = distinctness(J, blocks[:, middles] >= 0)
    return Views2D(
        headings=headings,
        viewpoints=thinned(atlas, plan.nodes, visibility.max_views // len(headings))[0],
        in_view=blocks >= 0,
        ranges=ranges,
        beams=beams,
        witnesses=witnesses,
        sigma=np.sqrt(np.linalg.eigvalsh(C[..., :2, :2])[..., -1]),
        sigma_yaw=np.sqrt(C[..., 2, 2]),
        mu=mu,
        weakest=np.linalg.eigh(S.mean(axis=1))[1][:, :, 0],
    )


def _parts_of(plan: SurveyPlan) -> tuple[PlaneAtlas, Lidar]:
    assert isinstance(plan.atlas, PlaneAtlas)
    assert isinstance(plan.lidar, Lidar)  # `survey` has checked that the sensor fits
    return plan.atlas, plan.lidar


def headings_of(
    lidar: Lidar, rays: int, headings: int, width: float
) -> tuple[FloatArray, NDArray[np.int16]]:
    """Return the headings of a view in rad, (H,), and the block of each direction, (H, rays).

    The block is −1 for a direction that is out of view at that heading.

    Args:
        lidar: The sensor.
        rays: Number of directions around the circle.
        headings: Number of headings, for a view that is not a full circle.
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
    """Return μ, shape (N, H), and S, shape (N, H, 2, 2), of (2), from derivatives of the channels.

    Args:
        J: Derivatives of the channels with respect to x, y and yaw, shape (3, N, n).
        in_view: Mask of the channels in view at each heading, shape (H, n).
    """
    G = np.einsum("ain,bin,hn->ihab", J, J, in_view.astype(np.float32), optimize=True)
    G = G.astype(np.float64)
    turn = G[..., :2, 2]
    S = G[..., :2, :2] - turn[..., :, None] * turn[..., None, :] / np.maximum(
        G[..., 2, 2, None, None], 1e-12
    )
    return np.sqrt(np.maximum(np.linalg.eigvalsh(S)[..., 0], 0.0)), S


def _sweep(
    plan: SurveyPlan, angles: FloatArray, progress: Progress
) -> tuple[Float32Array, Float32Array]:
    """Return ranges from the nodes in m, shape (S, N), and J of (1), shape (3, N, n)."""
    atlas, lidar = _parts_of(plan)
    visibility, walls, rays = plan.settings.visibility, bare_walls(atlas.world), len(angles)
    rows, columns = (index[plan.nodes] for index in atlas.rows_columns)
    step = max(1, round(visibility.step_m / walls.resolution))
    star_rows = np.concatenate([rows, rows, rows, rows + step, rows - step])
    star_columns = np.concatenate([columns, columns + step, columns - step, columns, columns])
    basis = DirectionalBasis.circle(visibility.channels)
    W = basis.weights(unit_vectors(angles)).astype(np.float32)
    W *= np.float32(2.0 * np.pi / rays)
    ranges = np.empty((rays, len(rows)), dtype=np.float32)
    J = np.zeros((3, len(rows), visibility.channels), dtype=np.float32)
    width = np.float32(2 * step * walls.resolution)
    longest = min(lidar.range_max, float(np.finfo(np.float32).max))
    for part in range(PARTS):
        sector = slice(part * rays // PARTS, (part + 1) * rays // PARTS)
        r, endings = sweep_ranges(walls, angles[sector], star_rows, star_columns)
        is_seen = (endings == Ending.WALL) & (r >= lidar.range_min) & (r < longest)
        centre, *sides = np.split(np.where(is_seen, r, np.float32(np.inf)), 5, axis=1)
        ranges[sector] = centre
        for axis in range(2):
            J[axis] += _slopes(sides[2 * axis], sides[2 * axis + 1], width).T @ W[sector]
        progress((part + 1) / PARTS)
    left, right = np.roll(ranges, -1, axis=0), np.roll(ranges, 1, axis=0)
    J[2] = _slopes(left, right, np.float32(4.0 * np.pi / rays)).T @ W
    J[:2] = np.tensordot(walls.origin.rotation, J[:2], axes=1)  # from the grid to the world
    return ranges, J


def _slopes(after: Float32Array, before: Float32Array, width: np.float32) -> Float32Array:
    """Return differences of log(1 + r) per width where both return, else 0."""
    with np.errstate(invalid="ignore"):
        slope = (np.log1p(after) - np.log1p(before)) / width
    return np.where(np.isfinite(slope), slope, np.float32(0.0))


def _fit(
    plan: SurveyPlan, angles: FloatArray, blocks: NDArray[np.int16], ranges: Float32Array
) -> tuple[Fit, FloatArray, FloatArray]:
    """Return the information of a fit at each node and heading, its beams and its witnesses.

    The fit takes as many beams as the last fit of `locate`.
    """
    from isovist.compute import sum_information

    atlas, lidar = _parts_of(plan)
    unit, width = atlas.world.resolution, float(plan.localization.fine_widths(atlas)[-1])
    places = np.ascontiguousarray(atlas.world.to_grid(plan.places))
    normal = np.empty((len(places), len(blocks), 8), dtype=np.float32)
    counts = np.empty((len(places), len(blocks), 2), dtype=np.int16)
    sum_information(
        atlas.wall_distance, places, ranges / np.float32(unit), angles - atlas.heading, blocks,
        lidar.noise / unit, width / unit, normal, counts,
    )  # fmt: skip
    # A beam stands for several swept rays, or a ray for several beams.
    per_ray = lidar.beams / (blocks[0] >= 0).sum()
    beams = np.ceil(counts[..., 0] * per_ray)
    per_count = np.minimum(beams, plan.localization.fit.fine_max_beams) / np.maximum(
        counts[..., 0], 1
    )
    parts = normal.astype(np.float64) * per_count[..., None]
    per = np.array([1.0, 1.0, unit])
    H = parts[..., [[0, 1, 2], [1, 3, 4], [2, 4, 5]]] * np.outer(per, per)
    fit = Fit(np.empty(0), H, parts[..., 6], parts[..., 7] * unit**2)
    return fit, beams, np.minimum(counts[..., 1], beams)
