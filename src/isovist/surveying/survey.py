"""Find out where on a site a sensor can be localized, and where not.

Three modules do the work. `visibility` simulates the view of a sensor from the nodes. `predict`
locates simulated scans and predicts the probability of a unique answer at each node. `areas` finds
the areas where it is low.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import FloatArray, IntArray, readonly
from isovist.atlas import Atlas, PlaneAtlas, bare_walls, is_even
from isovist.errors import InputError
from isovist.localization import LocalizationSettings
from isovist.renamed import accept_old_names
from isovist.sensing import Lidar, Placement, SpinningLidar, check_lidar, random_scans
from isovist.settings import checked_settings
from isovist.storage import PathLike, replace_file
from isovist.surveying.aliases import Aliases
from isovist.surveying.areas import Area, find_areas
from isovist.surveying.plan import SurveyPlan
from isovist.surveying.predict import min_scans, predict
from isovist.surveying.samples import SampledAnswers
from isovist.surveying.settings import SurveyingSettings
from isovist.surveying.views.view_set import Views
from isovist.surveying.visibility import Visibility


@dataclass(frozen=True, slots=True, eq=False)
class NodeSummary:
    """A summary of the view from each of N nodes, and of the places that look like it.

    If the view is not a full circle, it is computed for several headings.  Arrays hold the mean
    over headings, or the median for standard deviations.

    Attributes:
        sigma_m: Standard deviation of the position along its worst axis, in m, shape (N,).
        sigma_deg: Standard deviation of the heading, in degrees, shape (N,).
        alias_xy: The place that is most easily mistaken for the node, in m, shape (N, 2); NaN where
            no heading sees a wall.
        alias_similarity: Similarity of that place, from 0 to 1, shape (N,).
        rivals: Number of similar places, shape (N,).
        blind_share: Share of headings at which no wall is within reach, shape (N,).
        headings: Headings of the sensor in the world, in rad, shape (H,).
        unique_by_heading: Probability that the answer is unique at each heading, shape (N, H).
    """

    sigma_m: FloatArray
    sigma_deg: FloatArray
    alias_xy: FloatArray
    alias_similarity: FloatArray
    rivals: FloatArray
    blind_share: FloatArray
    headings: FloatArray
    unique_by_heading: FloatArray

    @classmethod
    def of(cls, views: Views, aliases: Aliases, chance: FloatArray) -> "NodeSummary":
        """Combine views, aliases and chances of all headings into one row per node."""
        arrays = (
            np.median(views.sigma, axis=1),
            np.degrees(np.median(views.sigma_yaw, axis=1)),
            aliases.place[np.arange(len(aliases.cost)), aliases.worst],
            aliases.similarity.mean(axis=1),
            aliases.rivals.mean(axis=1),
            (views.beams == 0).mean(axis=1),
            views.headings,
            chance,
        )
        return cls(*(readonly(np.ascontiguousarray(array)) for array in arrays))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, one row per node."""
        names = (field.name for field in fields(self) if field.name != "headings")
        return {name: getattr(self, name) for name in names}


@accept_old_names
@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """The result of a survey: where a sensor can and cannot be localized.

    `survey` makes one.

    Attributes:
        lidar: The sensor.
        spacing: Distance between nodes, in m.
        nodes: Numbers of the surveyed nodes in the atlas, shape (N,).
        places: Positions of the nodes in the world, shape (N, d), in m.
        mu: Rate μ at which the descriptor changes in its weakest level direction, per m, shape
            (N,); NaN at 3D nodes without neighbours.
        weakest: The weakest level direction, a unit vector in the world, shape (N, 2).
        unique_share: Probability that the answer of `locate` is unique, over all headings, shape
            (N,).
        share: Share of places and headings at which the answer of `locate` is unique.
        standard_error: Standard error of `share`.
        samples: Answers to the simulated scans, from which `share` is computed.
        summary: View from each node, and the places that it can be mistaken for.
        areas: Areas in which an answer is seldom unique, worst first.
    """

    lidar: Lidar | SpinningLidar
    spacing: float
    nodes: IntArray
    places: FloatArray
    mu: FloatArray
    weakest: FloatArray
    unique_share: FloatArray
    share: float
    standard_error: float
    samples: SampledAnswers
    summary: NodeSummary
    areas: tuple[Area, ...] = ()

    @property
    def area(self) -> float:
        """The area of the floor that was surveyed, in m²."""
        return len(np.unique(self.places[:, :2], axis=0)) * self.spacing**2

    @property
    def sigma_m(self) -> FloatArray:
        """The standard deviation of the position at all nodes, in m, shape (N,)."""
        return self.summary.sigma_m

    @property
    def sigma_deg(self) -> FloatArray:
        """The standard deviation of the heading at all nodes, in degrees, shape (N,)."""
        return self.summary.sigma_deg

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the survey by name, one row per node."""
        named = {name: getattr(self, name) for name in ("mu", "weakest", "unique_share")}
        named |= dict(zip("xyz", self.places.T, strict=False))
        return named | self.summary.arrays()


@accept_old_names
def survey(
    atlas: Atlas,
    lidar: Lidar | SpinningLidar,
    *,
    seed: int = 0,
    max_scans: int | None = None,
    settings: SurveyingSettings | None = None,
    localization: LocalizationSettings | None = None,
    progress: Callable[[float], None] | None = None,
) -> Survey:
    """Find out where on a map a sensor can be localized.

    Scans are simulated at random places and located.  From the answers, and from the views at all
    nodes, follows the probability of a unique answer at each node.

    Args:
        atlas: Atlas of the map, from `build`.
        lidar: The sensor, a `Lidar` in 2D or a `SpinningLidar` in 3D.
        seed: Seed of the random poses at which scans are simulated.
        max_scans: Maximum number of simulated scans.  When `None`, as many as take half a minute.
        settings: Settings of the survey; the defaults when `None`.
        localization: Settings of `locate`; the defaults when `None`.
        progress: Function that is called with the finished share of the work, from 0 to 1.

    Raises:
        InputError: If the sensor does not suit the map, or there are too few scans.

    Examples:
        >>> import isovist as iv
        >>> atlas = iv.build(iv.SegmentMap.room(6.0, 4.0), spacing=0.5)
        >>> result = iv.survey(atlas, iv.Lidar(beams=90, range_max=10.0), max_scans=20)
        >>> 0.0 <= result.share <= 1.0
        True
    """
    settings = checked_settings(SurveyingSettings, settings)
    localization = checked_settings(LocalizationSettings, localization)
    if max_scans is None:
        max_scans = settings.affordable(len(atlas.nodes), atlas.dimension)
    check_lidar(atlas.world, lidar)
    _check(seed, max_scans, settings)
    if isinstance(atlas, PlaneAtlas) and not is_even(atlas.basis):
        raise InputError(
            "A survey compares views by a basis of equal steps. Build the atlas without `basis`.",
            code="conflict",
        )
    report = progress if progress is not None else lambda _share: None
    plan = SurveyPlan.of(atlas, lidar, settings, localization)
    visibility = Visibility.of(plan, lambda share: report(0.3 * share))
    walls = bare_walls(atlas.world)
    scans = random_scans(
        atlas.world, walls, lidar, max_scans, seed=seed,
        placement=Placement(height=visibility.height),
    )  # fmt: skip
    prediction = predict(visibility, scans, lambda share: report(0.3 + 0.7 * share))
    chance = prediction.chance
    unique_share = chance.mean(axis=1)
    areas = find_areas(visibility, unique_share)
    report(1.0)
    return Survey(
        lidar=lidar,
        spacing=atlas.spacing,
        nodes=readonly(plan.nodes),
        places=readonly(plan.places),
        mu=readonly(visibility.mu),
        weakest=readonly(np.ascontiguousarray(visibility.views.weakest)),
        unique_share=readonly(unique_share),
        share=prediction.share,
        standard_error=prediction.standard_error,
        samples=prediction.samples,
        summary=NodeSummary.of(visibility.views, visibility.aliases, chance),
        areas=areas,
    )


def _check(seed: int, max_scans: int, settings: SurveyingSettings) -> None:
    if seed < 0:
        raise InputError.about("seed", f"must not be negative, got {seed}.")
    if max_scans < (least := min_scans(settings.prediction)):
        raise InputError(f"A survey needs {least} simulated scans or more, got {max_scans}.")


def check_suffix(path: PathLike) -> None:
    """Check that a file name for `write_survey` ends in .npz; raise an error otherwise."""
    if Path(path).suffix.lower() != ".npz":
        raise InputError(
            f"{path}: the values of a survey are written as .npz.", code="unknown_format"
        )


@accept_old_names
def write_survey(survey: Survey, path: PathLike) -> None:
    """Write the arrays of a survey to an `.npz` file, completely or not at all.

    The file holds the values at the nodes and the answers to the simulated scans.

    Args:
        survey: The survey.
        path: The file, whose name ends in `.npz`.

    Raises:
        InputError: If the name of the file does not end in `.npz`.
        FileError: If the file cannot be written.
    """
    check_suffix(path)
    stream = io.BytesIO()
    arrays = survey.arrays() | survey.samples.arrays()
    np.savez_compressed(stream, allow_pickle=False, **arrays)
    replace_file(path, stream.getvalue())
