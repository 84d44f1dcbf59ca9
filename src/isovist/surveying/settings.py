"""Settings of surveys: where a sensor can be localized.

Simulated scans are located by `LocalizationSettings`.
"""

from dataclasses import dataclass

import numpy as np

from isovist.renamed import accept_old_names
from isovist.settings import Settings, setting

SITES = "benchmarks.survey on the maps of BENCHMARK.md, other poses; not varied since"


@dataclass(frozen=True, slots=True)
class VisibilitySettings(Settings):
    """Set the model of the view of a sensor from the nodes.

    Attributes:
        headings: Number of headings for a sensor whose view is not a full circle.
        step_m: Step of the differences in (1) of `surveying.views2d`, less than the free space
            around each node.
        channels: Number of directions of the basis in (1), in 2D.
        max_views: Number of views that are compared with the nodes, over all headings.
        neighbours: Number of nearest views among which one in the line of sight of a node is
            searched.
    """

    headings: int = setting(
        8, unit="1", range=(1, 1000), evidence=SITES,
        raises="narrow sensors are surveyed at more headings, with more work",
    )  # fmt: skip
    step_m: float = setting(
        0.1, unit="m", range=(1e-3, 10.0), evidence=SITES,
        raises="smoother slopes of descriptors",
    )  # fmt: skip
    channels: int = setting(
        32, unit="1", range=(3, 65536), evidence="the basis of `iv.certify`; not varied",
        raises="finer differences between views count for μ",
    )  # fmt: skip
    max_views: int = setting(
        8000, unit="1", range=(1, 10**9), evidence=SITES,
        raises="finer maps of similar places, with more work",
    )  # fmt: skip
    neighbours: int = setting(
        6, unit="1", range=(1, 1000), evidence="not varied",
        raises="nodes behind corners find a view in sight",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class AliasSettings(Settings):
    """Set the conditions under which places count as similar (`surveying.aliases`).

    Attributes:
        min_distance_m: Distance at which a node counts as another place.
        min_turn_rad: Rotation at which the same node counts as another place.
        min_similarity: Similarity (1) at which another place is an alias.
        max_nodes: Number of nodes that a view is compared with.
        channels_per_group: Number of channels that are averaged for a rough comparison.
        shortlist: Number of nodes that are compared in full after the rough comparison.
        refined: Number of nodes of the shortlist whose neighbours are compared too.
    """

    min_distance_m: float = setting(
        1.0, unit="m", range=(1e-3, 1e6), evidence=SITES,
        raises="fewer aliases nearby, and small areas are left out",
    )  # fmt: skip
    min_turn_rad: float = setting(
        float(np.radians(25.0)), unit="rad", range=(1e-3, np.pi), evidence=SITES,
        raises="fewer places count as aliases of themselves",
    )  # fmt: skip
    min_similarity: float = setting(
        0.8, unit="1", range=(0.0, 1.0), evidence=SITES,
        raises="fewer aliases are counted",
    )  # fmt: skip
    max_nodes: int = setting(
        7000, unit="1", range=(1, 10**9), evidence=SITES,
        raises="fewer aliases are missed on large sites, with more work",
    )  # fmt: skip
    channels_per_group: int = setting(
        4, unit="channels", range=(1, 65536), evidence=SITES,
        raises="a rougher and faster first comparison",
    )  # fmt: skip
    shortlist: int = setting(
        40, unit="1", range=(1, 10**6), evidence=SITES,
        raises="fewer aliases are missed, with more work",
    )  # fmt: skip
    refined: int = setting(
        4, unit="1", range=(1, 10**6), evidence=SITES,
        raises="costs of aliases are closer to the least, with more work",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SamplingSettings(Settings):
    """Set the number of simulated scans.

    Attributes:
        min_scans: Minimum number of scans; in 3D, where a search takes longest, the number of
            scans.
        batch: Number of scans between two computations of the standard error.
        max_scans: Maximum number of scans.
        max_nodes: Number of nodes above which fewer scans are simulated, since a search takes
            longer.
        max_error: Standard error of the share of unique answers at which a survey ends.
    """

    min_scans: int = setting(
        250, unit="1", range=(1, 10**9), evidence=SITES,
        raises="a surer share, with more work",
    )  # fmt: skip
    batch: int = setting(
        50, unit="1", range=(1, 10**6), evidence=SITES,
        raises="a survey may end a little later",
    )  # fmt: skip
    max_scans: int = setting(
        1000, unit="1", range=(1, 10**9), evidence=SITES,
        raises="a surer share where answers differ much, with more work",
    )  # fmt: skip
    max_nodes: int = setting(
        9000, unit="1", range=(1, 10**9), evidence=SITES,
        raises="more work on large sites",
    )  # fmt: skip
    max_error: float = setting(
        0.0125, unit="1", range=(0.0, 1.0), evidence=SITES,
        raises="a less sure share, with less work",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PredictionSettings(Settings):
    """Set the prediction of answers at all nodes (`surveying.predict`).

    Attributes:
        ridge: Ridge on β of (1), per squared standard deviation of its measure.
        cost_offset: Offset c₀ of (1), in log(1 + r).
        mu_offset_per_m: Offset μ₀ of (1).
        width_m: Width of the kernel K of (2).
        shrinkage: Number m of scans in (2), which shrinks corrections towards zero.
        folds: Number of parts of the scans, each predicted from the others, for the standard error.
    """

    ridge: float = setting(
        1.0, unit="1", range=(1e-9, 1e9), evidence=SITES,
        raises="predictions nearer to the mean",
    )  # fmt: skip
    cost_offset: float = setting(
        0.005, unit="1", range=(1e-9, 1e3), evidence=SITES,
        raises="differences among very similar places count less",
    )  # fmt: skip
    mu_offset_per_m: float = setting(
        0.01, unit="1/m", range=(1e-9, 1e3), evidence=SITES,
        raises="differences among very uniform places count less",
    )  # fmt: skip
    width_m: float = setting(
        1.5, unit="m", range=(1e-3, 1e6), evidence=SITES,
        raises="an answer counts farther away",
    )  # fmt: skip
    shrinkage: float = setting(
        3.0, unit="scans", range=(1e-9, 1e9), evidence=SITES,
        raises="answers change the prediction near them less",
    )  # fmt: skip
    folds: int = setting(
        5, unit="1", range=(2, 1000), evidence="not varied",
        raises="a survey needs more scans",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class AreaSettings(Settings):
    """Set the selection of the areas that a survey lists (`surveying.areas`).

    Attributes:
        max_unique_share: Share of unique answers below which a node belongs to an area.
        min_headings_share: Minimum share of headings with too few walls, or with an uncertain
            position, for this to be the reason.
        axis_blocks: Maximum angle between the weakest direction and the direction to an alias that
            is a shift along it.
    """

    max_unique_share: float = setting(
        0.5, unit="1", range=(0.0, 1.0), evidence="half: most answers are not unique",
        raises="more and larger areas",
    )  # fmt: skip
    min_headings_share: float = setting(
        0.5, unit="1", range=(0.0, 1.0), evidence="not varied",
        raises="more areas are aliased instead",
    )  # fmt: skip
    axis_blocks: float = setting(
        2.0, unit="blocks", range=(0.0, 100.0), evidence="not varied",
        raises="more areas slide instead of being aliased",
    )  # fmt: skip


@accept_old_names
@dataclass(frozen=True, slots=True)
class SurveyingSettings(Settings):
    """Set how a site is surveyed.

    Attributes:
        visibility: Model of the view of a sensor.
        aliases: Conditions under which two places count as similar.
        sampling: Number of simulated scans.
        prediction: Prediction of answers at all nodes from those to simulated scans.
        areas: Selection of the areas that are listed.
    """

    visibility: VisibilitySettings = VisibilitySettings()
    aliases: AliasSettings = AliasSettings()
    sampling: SamplingSettings = SamplingSettings()
    prediction: PredictionSettings = PredictionSettings()
    areas: AreaSettings = AreaSettings()

    def affordable(self, nodes: int, dimension: int) -> int:
        """Return the number of scans to simulate in about half a minute, 1000 or fewer.

        Args:
            nodes: Number of nodes; for example, 600 scans for 25 000 nodes.
            dimension: Dimension of the map; in 3D the result is 250.
        """
        sampling = self.sampling
        if dimension == 3:
            return sampling.min_scans
        return round(sampling.max_scans * min(1.0, (sampling.max_nodes / nodes) ** 0.5))
