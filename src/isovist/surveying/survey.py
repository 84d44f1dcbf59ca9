"""The verb: where can a sensor be localized on this site, and where not?

Nodes are those of the atlas where the sensor has room to stand (`locate.protocol.standing_room`).
`survey.views` says what is seen from each and how firmly it holds, `survey.aliases` what each can
be taken for, `survey.predict` how likely an answer is unique, and `survey.regions` where it is
seldom so.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.plane import Atlas
from isovist.atlas.space import VoxelAtlas
from isovist.bench.trials import standing_room
from isovist.errors import InputError
from isovist.io.files import PathLike, replace_file
from isovist.sensing.lidar import Lidar
from isovist.sensing.spinning import SpinningLidar
from isovist.surveying.aliases import Aliases, find_aliases
from isovist.surveying.predict import LEAST, affordable, predict
from isovist.surveying.regions import Area, find_areas
from isovist.surveying.space import SpaceSurvey, survey_space
from isovist.surveying.views import Views, look
from isovist.types import FloatArray, IntArray, readonly


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Where a sensor can and cannot be localized.

    A measure of a view that is not all around is taken at several headings; arrays hold its mean
    over these, medians for the standard deviations.

    Attributes:
        lidar: The sensor.
        spacing: Of the nodes, in m.
        nodes: Their numbers in the atlas, shape (N,).
        x: Of the nodes in the world, in m, shape (N,).
        y: The same.
        mu: μ, how fast the descriptor changes in its weakest direction, per m, shape (N,).
        weakest: That direction, a unit vector in the world, shape (N, 2).
        sigma_m: Standard deviation of the position along its worst axis, in m, shape (N,).
        sigma_deg: Of the heading, in degrees, shape (N,).
        alias_xy: The place that can best be mistaken for the node, in m, shape (N, 2); NaN where
            no heading sees a wall, at the node or where its alias is taken from.
        alias_similarity: Of the best alias, from 0 to 1, shape (N,).
        rivals: Number of places that are alike, shape (N,).
        headings: Of the sensor in the world that were looked at, in rad, shape (H,).
        unique_by_heading: How likely `locate` would say unique at each, shape (N, H).
        unique_share: The mean of that over the headings, shape (N,).
        blind_share: Share of headings at which no wall is in reach, shape (N,).
        standard_error: Of `share`.
        asked: Simulated scans that `share` rests on.
        unique: How many of them were unique.
        areas: Where an answer is seldom unique, worst first.
    """

    lidar: Lidar
    spacing: float
    nodes: IntArray
    x: FloatArray
    y: FloatArray
    mu: FloatArray
    weakest: FloatArray
    sigma_m: FloatArray
    sigma_deg: FloatArray
    alias_xy: FloatArray
    alias_similarity: FloatArray
    rivals: FloatArray
    headings: FloatArray
    unique_by_heading: FloatArray
    unique_share: FloatArray
    blind_share: FloatArray
    standard_error: float
    asked: int
    unique: int
    areas: tuple[Area, ...]

    @property
    def share(self) -> float:
        """Share of places and headings at which `locate` would say unique."""
        return float(self.unique_share.mean())

    @property
    def area(self) -> float:
        """Of the floor that was surveyed, in m²."""
        return len(self.x) * self.spacing**2

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as `write_survey` keeps them."""
        names = (
            "x", "y", "mu", "weakest", "sigma_m", "sigma_deg", "alias_xy", "alias_similarity",
            "rivals", "unique_by_heading", "unique_share", "blind_share",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


def survey(
    atlas: Atlas,
    lidar: Lidar,
    *,
    seed: int = 0,
    most: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Survey:
    """Find out where a sensor can be localized.

    Args:
        atlas: The map, described (`build`).
        lidar: The sensor.
        seed: Of the poses at which `locate` is asked.
        most: Poses at which it is asked, at most; as many as half a minute allows when `None`.
        progress: Told the share of the work that is done.
    """
    most = affordable(len(atlas.nodes)) if most is None else most
    _check(lidar, seed, most)
    tell = progress if progress is not None else lambda _: None
    room = standing_room(atlas.world)
    floor = np.flatnonzero(room[atlas.nodes[:, 0], atlas.nodes[:, 1]])
    if floor.size == 0:
        raise InputError(
            f"No node of the atlas has room for a sensor; build it with less than "
            f"{atlas.spacing:g} m between nodes."
        )
    rows, cols = atlas.nodes[floor].astype(np.int64).T
    views = look(atlas, lidar, rows, cols, lambda share: tell(0.15 * share))
    if not views.beams.any():
        raise InputError(
            f"From nowhere on the map does the sensor see a wall within {lidar.range_max:g} m."
        )
    aliases = find_aliases(atlas, views, floor)
    tell(0.3)
    places = atlas.positions[floor]
    prediction = predict(
        atlas, lidar, places, views, aliases, seed=seed, most=most,
        progress=lambda share: tell(0.3 + 0.7 * share),
    )  # fmt: skip
    unique_share = prediction.chance.mean(axis=1)
    tell(1.0)
    return Survey(
        lidar=lidar,
        spacing=atlas.spacing,
        nodes=readonly(floor),
        x=readonly(places[:, 0].copy()),
        y=readonly(places[:, 1].copy()),
        **_over_headings(views, aliases),
        headings=readonly(views.headings),
        unique_by_heading=readonly(prediction.chance),
        unique_share=readonly(unique_share),
        standard_error=prediction.error,
        asked=prediction.asked,
        unique=prediction.unique,
        areas=find_areas(atlas, floor, views, aliases, unique_share),
    )


def survey_any(
    atlas: Atlas | VoxelAtlas,
    lidar: Lidar | SpinningLidar,
    *,
    seed: int = 0,
    most: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Survey | SpaceSurvey:
    """`survey` in the plane, `survey_space` in space; the arguments are theirs."""
    if isinstance(atlas, VoxelAtlas) and isinstance(lidar, SpinningLidar):
        return survey_space(atlas, lidar, seed=seed, most=most, progress=progress)
    if isinstance(atlas, Atlas) and isinstance(lidar, Lidar):
        return survey(atlas, lidar, seed=seed, most=most, progress=progress)
    raise InputError("A map in space needs a spinning lidar, one of the plane a planar one.")


def _check(lidar: Lidar, seed: int, most: int) -> None:
    if not lidar.range_max > lidar.range_min:
        raise InputError(
            f"`range_max` must be more than `range_min`, {lidar.range_min:g} m, "
            f"got {lidar.range_max:g} m."
        )
    if not np.isfinite(lidar.noise):
        raise InputError(f"`noise` must be a length in m, got {lidar.noise}.")
    if seed < 0:
        raise InputError(f"`seed` must not be negative, got {seed}.")
    if most < LEAST:
        raise InputError(f"A survey needs at least {LEAST} simulated scans, got {most}.")


def _over_headings(views: Views, aliases: Aliases) -> dict[str, FloatArray]:
    arrays = {
        "mu": views.mu.mean(axis=1),
        "weakest": views.weakest,
        "sigma_m": np.median(views.sigma, axis=1),
        "sigma_deg": np.degrees(np.median(views.sigma_yaw, axis=1)),
        "alias_xy": aliases.place[np.arange(len(aliases.cost)), aliases.worst],
        "alias_similarity": aliases.similarity.mean(axis=1),
        "rivals": aliases.rivals.mean(axis=1),
        "blind_share": (views.beams == 0).mean(axis=1),
    }
    return {name: readonly(np.ascontiguousarray(array)) for name, array in arrays.items()}


def check_suffix(path: PathLike) -> None:
    """An error unless the name of a file for `write_survey` ends in .npz."""
    if Path(path).suffix.lower() != ".npz":
        raise InputError(f"{path}: the values of a survey are written as .npz.")


def write_survey(survey: Survey | SpaceSurvey, path: PathLike) -> None:
    """Write the arrays as .npz, all or nothing."""
    check_suffix(path)
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **survey.arrays())
    replace_file(path, stream.getvalue())
