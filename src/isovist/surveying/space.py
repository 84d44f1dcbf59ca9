"""Where can a spinning lidar be localized in space, and where not?

`locate` itself is asked at random free places at the height of the sensor
(`locate.space_protocol.spinning_trials`: those of `isovist bench simulate3d`).  Its verdicts are
carried to every node by smoothing: with s the share that was unique and e_j what was said at x_j
less s, a node gets s + Σ_j K(x − x_j) e_j / (m + Σ_j K(x − x_j)), as in `survey.predict`.

μ is the least singular value of the Jacobian of the descriptor by x and y, by differences between
neighbouring nodes: [F(x + h) − F(x − h)]/2h with h the spacing, one-sided beside walls; channels
that look into the unknown are left out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.plane import FAR
from isovist.atlas.space import VoxelAtlas
from isovist.bench.space_trials import spinning_trials
from isovist.errors import InputError
from isovist.localization.answer import Verdict
from isovist.localization.locate import locate
from isovist.sensing.spinning import SpinningLidar
from isovist.surveying.predict import LEAST, smooth
from isovist.types import FloatArray, readonly

MOST = 250
"""Places at which `locate` is asked, unless something else is said."""


@dataclass(frozen=True, slots=True, eq=False)
class SpaceSurvey:
    """Where a spinning lidar can and cannot be localized.

    Attributes:
        lidar: The sensor.
        spacing: Of the nodes, in m.
        places: Of the nodes in the world, shape (N, 3), in m.
        mu: μ, how fast the descriptor changes in its weakest level direction, per m, shape (N,);
            NaN at nodes without neighbours.
        weakest: That direction, a unit vector, shape (N, 2).
        unique_share: How likely `locate` says unique, shape (N,).
        asked: Where `locate` was asked, shape (k, 3), in m.
        unique: Whether it said unique, shape (k,).
        sigma_m: Standard deviation of the position along its worst level axis, in m, shape (k,).
        sigma_deg: Of the heading, in degrees, shape (k,).
        rivals: Number of other places in the answers that were not unique, shape (k,).
        alias_xy: The likeliest of these, in m, shape (k, 2); NaN where there is none.
    """

    lidar: SpinningLidar
    spacing: float
    places: FloatArray
    mu: FloatArray
    weakest: FloatArray
    unique_share: FloatArray
    asked: FloatArray
    unique: NDArray[np.bool_]
    sigma_m: FloatArray
    sigma_deg: FloatArray
    rivals: FloatArray
    alias_xy: FloatArray

    @property
    def share(self) -> float:
        """Share of the places asked at which `locate` said unique."""
        return float(self.unique.mean())

    @property
    def standard_error(self) -> float:
        """Of `share`, with half a place of each kind added."""
        n = len(self.unique) + 1
        p = (self.unique.sum() + 0.5) / n
        return float(np.sqrt(p * (1.0 - p) / n))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as a file keeps them."""
        names = (
            "places", "mu", "weakest", "unique_share", "asked", "unique", "sigma_m", "sigma_deg",
            "rivals", "alias_xy",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


def survey_space(
    atlas: VoxelAtlas,
    lidar: SpinningLidar,
    *,
    seed: int = 0,
    most: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> SpaceSurvey:
    """Find out where a spinning lidar can be localized.

    Args:
        atlas: The map, described (`build`).
        lidar: The sensor.
        seed: Of the places at which `locate` is asked.
        most: How many these are; `MOST` when `None`.
        progress: Told the share of the work that is done.
    """
    most = MOST if most is None else most
    if most < LEAST:
        raise InputError(f"A survey needs at least {LEAST} simulated scans, got {most}.")
    if seed < 0:
        raise InputError(f"`seed` must not be negative, got {seed}.")
    middle = 0.5 * sum(atlas.heights)
    trials = spinning_trials(atlas.world, most, lidar, seed=seed, height=middle)
    rows = np.full((most, 6), np.nan)
    for k, trial in enumerate(trials):
        answer = locate(atlas, trial.scan())
        sure = answer.verdict is Verdict.UNIQUE
        others = () if sure else answer.estimates[1:]
        rows[k, 0], rows[k, 3] = sure, len(others)
        if answer.best is not None:
            C = answer.best.covariance
            rows[k, 1] = np.sqrt(np.linalg.eigvalsh(C[:2, :2])[-1])
            rows[k, 2] = np.degrees(np.sqrt(C[2, 2]))
        if others:
            rows[k, 4:] = others[0].pose.x, others[0].pose.y
        if progress is not None:
            progress((k + 1) / most)
    asked = np.array([trial.truth.vector for trial in trials])[:, [0, 1, 3]]
    said = rows[:, 0] == 1.0
    places = atlas.positions
    share = float(said.mean())
    near = share + smooth(asked[:, :2], said - share, places[:, :2])
    mu, weakest = descriptor_slopes(atlas)
    return SpaceSurvey(
        lidar, atlas.spacing, readonly(places), readonly(mu), readonly(weakest),
        readonly(np.clip(near, 0.0, 1.0)), readonly(asked), readonly(said),
        readonly(rows[:, 1].copy()), readonly(rows[:, 2].copy()), readonly(rows[:, 3].copy()),
        readonly(rows[:, 4:].copy()),
    )  # fmt: skip


def descriptor_slopes(atlas: VoxelAtlas) -> tuple[FloatArray, FloatArray]:
    """μ and the weakest level direction at each node, shapes (N,) and (N, 2)."""
    stride = round(atlas.spacing / atlas.world.resolution)
    F = atlas.descriptors.reshape(len(atlas.nodes), -1).astype(np.float64)
    known = F < FAR
    J = np.full((len(F), F.shape[1], 2), np.nan)
    for axis, step in enumerate((stride, stride * atlas.world.shape[2])):
        ends = []
        for sign in (1, -1):
            at = np.searchsorted(atlas.nodes, atlas.nodes + sign * step)
            at = np.minimum(at, len(atlas.nodes) - 1)
            there = atlas.nodes[at] == atlas.nodes + sign * step
            ends.append((np.where(there, at, np.arange(len(F))), there))
        (after, ahead), (before, behind) = ends
        width = atlas.spacing * (ahead.astype(np.float64) + behind)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (F[after] - F[before]) / width[:, None]
        J[:, :, axis] = np.where(known[after] & known[before], slope, 0.0)
        J[width == 0.0, :, axis] = np.nan
    W = np.einsum("nci,ncj->nij", J, J)
    bad = ~np.isfinite(W).all(axis=(1, 2))
    values, vectors = np.linalg.eigh(np.where(bad[:, None, None], np.eye(2), W))
    mu = np.where(bad, np.nan, np.sqrt(np.maximum(values[:, 0], 0.0)))
    return mu, np.ascontiguousarray(vectors[:, :, 0])
