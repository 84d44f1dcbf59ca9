"""Settings of localization, in the order of its stages."""

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.atlas import BeamModel, SearchSpace
from isovist.renamed import accept_old_names
from isovist.settings import Settings, setting

SIX_LOGS = "isovist bench carmen on six logs, both splits; not varied since"
CALIBRATION = "isovist bench calibrate, seed 51, 104 000 scans of seven kinds of plans"


@dataclass(frozen=True, slots=True)
class SearchSettings(Settings):
    """Set the search for candidate poses by descriptors.

    Attributes:
        max_short_cost: Maximum cost of a channel whose range is shorter than that of the map.
            People and furniture come and go, walls do not vanish: a longer one costs up to twice
            that.
        min_seen_share_2d: Share of a channel that the scan must have seen, in 2D.
        min_seen_share_3d: Share of well covered channels that a channel must have seen, in 3D.
        max_nodes: Number of nodes that are compared in full, after a comparison of all nodes by
            half the channels. Half as many in 3D, where rings tell places apart better.
        headings_per_node: Number of headings of each node. A square room has four.
        first_candidates: Number of candidates that are fitted first. Half as many in 3D.
        full_candidates: Number of candidates if no unique place is among the first ones. Half as
            many in 3D.
        batch_candidates: Number of candidates of the first search by all channels, in 2D.
        batch_growth: Factor from one search by all channels to the next one.
        max_extension: Factor of `full_candidates` if only poses that were not searched keep a place
            from being unique.
        separation_m: Distance at which two candidates are different.
        separation_spacings: The same in spacings of the nodes; the larger distance holds.
        separation_rad: Rotation at which two candidates are different.
        stop_cost_ratio: Cost of the best pose that was not searched, relative to that of the best
            place, at which the search ends.
    """

    max_short_cost: float = setting(
        0.25, unit="log(1 + m)", range=(1e-9, 1e3), evidence=SIX_LOGS,
        raises="people and furniture near the sensor cost more",
    )  # fmt: skip
    min_seen_share_2d: float = setting(
        0.3, unit="1", range=(0.0, 1.0), evidence=SIX_LOGS,
        raises="fewer channels of a scan are compared",
    )  # fmt: skip
    min_seen_share_3d: float = setting(
        0.4, unit="1", range=(0.0, 1.0), evidence=SIX_LOGS,
        raises="fewer channels of a scan are compared",
    )  # fmt: skip
    max_nodes: int = setting(
        3000, unit="1", range=(1, 10**9), evidence=SIX_LOGS,
        raises="fewer places are missed on large sites, with more work",
    )  # fmt: skip
    headings_per_node: int = setting(
        4, unit="1", range=(1, 65536), evidence="a square room has four; not varied",
        raises="fewer headings are missed in regular rooms, with more work",
    )  # fmt: skip
    first_candidates: int = setting(
        400, unit="1", range=(1, 10**9), evidence=SIX_LOGS,
        raises="fewer searches need more candidates, but each takes longer",
    )  # fmt: skip
    full_candidates: int = setting(
        4000, unit="1", range=(1, 10**9), evidence=SIX_LOGS,
        raises="fewer places are missed, with more work",
    )  # fmt: skip
    batch_candidates: int = setting(
        500, unit="1", range=(1, 10**9), evidence="not varied",
        raises="fewer, but longer searches by all channels",
    )  # fmt: skip
    batch_growth: int = setting(
        2, unit="1", range=(2, 1000), evidence="not varied",
        raises="fewer, but longer searches by all channels",
    )  # fmt: skip
    max_extension: int = setting(
        4, unit="1", range=(1, 1000),
        raises="more unique answers, after longer searches",
        evidence="of 120 scans of fhw revisited 7 need 4, all of them right",
    )  # fmt: skip
    separation_m: float = setting(
        0.4, unit="m", range=(1e-9, 1e6), evidence=SIX_LOGS,
        raises="candidates cover more of the map, and narrow places may be missed",
    )  # fmt: skip
    separation_spacings: float = setting(
        1.2, unit="spacings", range=(0.0, 1e3), evidence="not varied",
        raises="candidates cover more of a large map, and narrow places may be missed",
    )  # fmt: skip
    separation_rad: float = setting(
        0.2, unit="rad", range=(1e-9, 1e6), evidence=SIX_LOGS,
        raises="fewer headings of a place are candidates",
    )  # fmt: skip
    stop_cost_ratio: float = setting(
        2.5, unit="1", range=(1.0, 1e18),
        raises="more searches go on to the last candidate",
        evidence="benchmarks.reference: of 6176 scans 5845 are right, with 2.0 5840, with no such "
        "limit 5842",
    )  # fmt: skip

    def candidates(self, *, is_full: bool) -> int:
        """Return the number of candidates of the first or of the full search, in 2D."""
        return self.full_candidates if is_full else self.first_candidates

    def min_seen_share(self, dimension: int) -> float:
        """Return the share of a channel that a scan must have seen.

        Args:
            dimension: Dimension of the map, 2 or 3.
        """
        return self.min_seen_share_2d if dimension == 2 else self.min_seen_share_3d


@dataclass(frozen=True, slots=True)
class FitSettings(Settings):
    """Set the fits of candidates to walls: a coarse one with few beams, then a fine one.

    The beams of a fit in 3D are at least the given angle apart, or less where these would be fewer
    than the given number, as those of a sensor with a narrow field of view.

    Attributes:
        coarse_max_beams: Maximum number of beams of the coarse fit in 2D.
        coarse_beam_spacing_rad: Angle between the beams of the coarse fit in 3D.
        coarse_sigmas: Standard deviations of the steps of the coarse fit: from the distance of
            nodes to two cells.
        min_spacing_m: Minimum spacing of the nodes for `coarse_sigmas`.
        fine_max_beams: Maximum number of beams of the fine fit in 2D.
        fine_beam_spacing_rad: Angle between the beams of the fine fit in 3D. More beams see the
            same walls again.
        fine_sigmas_m: Standard deviations of the steps of the fine fit, scaled up where cells are
            larger than the last of them.
        first_rated: Number of the first candidates that are rated after the coarse fit, those
            with the most beam ends at walls. Half as many in 3D.
        first_refined: Number of these that are always fitted with many beams. Half as many in 3D.
        full_rated: The same as `first_rated` for all `full_candidates`, in proportion for fewer.
        full_refined: The same as `first_refined` for all `full_candidates`, in proportion.
        separation_m: Distance at which two fits are different.
        separation_rad: Rotation at which two fits are different.
    """

    coarse_max_beams: int = setting(
        60, unit="1", range=(1, 10**9), evidence=SIX_LOGS,
        raises="fewer right places are dropped, with more work",
    )  # fmt: skip
    coarse_beam_spacing_rad: float = setting(
        float(np.radians(12.0)), unit="rad", range=(1e-9, 1e6), evidence="not varied",
        raises="fewer beams of a point cloud, and less work",
    )  # fmt: skip
    coarse_sigmas: tuple[float, ...] = setting(
        (2.0, 1.4, 1.4, 1.0, 1.0, 0.6, 0.6), unit="spacings", range=(1e-9, 1e6), evidence=SIX_LOGS,
        raises="candidates reach places farther away, less surely",
    )  # fmt: skip
    min_spacing_m: float = setting(
        0.25, unit="m", range=(1e-9, 1e6), evidence="the usual spacing; not varied",
        raises="a wider coarse fit where nodes are dense",
    )  # fmt: skip
    fine_max_beams: int = setting(
        180, unit="1", range=(1, 10**9), evidence=SIX_LOGS,
        raises="a slower fit; more beams see the same walls again",
    )  # fmt: skip
    fine_beam_spacing_rad: float = setting(
        float(np.radians(5.0)), unit="rad", range=(1e-9, 1e6), evidence="not varied",
        raises="fewer beams of a point cloud, and less work",
    )  # fmt: skip
    fine_sigmas_m: tuple[float, ...] = setting(
        (0.15, 0.12, 0.1, 0.1, 0.1, 0.1), unit="m", range=(1e-9, 1e6), evidence=SIX_LOGS,
        raises="walls that are off pull a fit more",
    )  # fmt: skip
    first_rated: int = setting(
        150, unit="1", range=(1, 10**9), evidence=SIX_LOGS,
        raises="fewer right places are dropped at first, with more work",
    )  # fmt: skip
    first_refined: int = setting(
        20, unit="1", range=(1, 10**9), evidence=SIX_LOGS,
        raises="fewer right places are dropped at first, with more work",
    )  # fmt: skip
    full_rated: int = setting(
        1500, unit="1", range=(1, 10**9),
        raises="fewer right places are dropped, with more work",
        evidence="of 798 scans the right place was among the first 1331 of 4000, in 99 of 100 "
        "cases among the first 235",
    )  # fmt: skip
    full_refined: int = setting(
        160, unit="1", range=(1, 10**9), evidence=SIX_LOGS,
        raises="fewer right places are dropped, with more work",
    )  # fmt: skip
    separation_m: float = setting(
        0.3, unit="m", range=(1e-9, 1e6), evidence=SIX_LOGS,
        raises="fewer fits are refined, and close places may be missed",
    )  # fmt: skip
    separation_rad: float = setting(
        0.12, unit="rad", range=(1e-9, 1e6), evidence=SIX_LOGS,
        raises="fewer fits are refined, and close headings may be missed",
    )  # fmt: skip

    def rated(self, *, is_full: bool) -> int:
        """Return the number of rated candidates of the first or of the full search, in 2D."""
        return self.full_rated if is_full else self.first_rated

    @property
    def coarse_beams(self) -> tuple[int, float]:
        """The selection of beams of the coarse fit: number in 2D, angle in rad in 3D."""
        return self.coarse_max_beams, self.coarse_beam_spacing_rad

    @property
    def fine_beams(self) -> tuple[int, float]:
        """The selection of beams of the fine fit: number in 2D, angle in rad in 3D."""
        return self.fine_max_beams, self.fine_beam_spacing_rad

    @property
    def separation(self) -> tuple[float, float]:
        """Distance in m and rotation in rad at which two fits are different."""
        return self.separation_m, self.separation_rad


@dataclass(frozen=True, slots=True)
class ScoreSettings(Settings):
    """Set the score of a place (equation (1) of `localization.decision.decide`).

    Attributes:
        explained_weight: Weight κ of the share of beams explained in (1).
        group_rad: Width of a block of beams.
        group_length_m: Width of a beam group in 2D, in which blocks see the same object.
        climb_step_m: Step of the search for the best score near a fit, halved twice.
        climb_step_rad: Rotation of a step of this search, halved twice.
        climb_range_nats: Distance from the best score at which this search is worth it. It seldom
            gains more than half of that.
        max_slip_cost_nats: Maximum cost of one disagreement of several scans with odometry.
    """

    explained_weight: float = setting(
        1.0, unit="nats", range=(0.0, 1e18),
        raises="places that leave much unexplained score less",
        evidence="of 0, 0.5, 1, 2 and 3 the one with which no site of the six logs loses",
    )  # fmt: skip
    group_rad: float = setting(
        float(np.radians(10.0)), unit="rad", range=(1e-9, 1e6), evidence=SIX_LOGS,
        raises="fewer groups, and fewer unique answers",
    )  # fmt: skip
    group_length_m: float = setting(
        0.75, unit="m", range=(1e-9, 1e6),
        raises="fewer groups, and fewer unique answers",
        evidence="of 0 to 3 m right places are likeliest with 0.6 to 1.5, fitted with β",
    )  # fmt: skip
    climb_step_m: float = setting(
        0.05, unit="m", range=(1e-9, 1e6), evidence=SIX_LOGS,
        raises="the best score is searched farther away, more coarsely",
    )  # fmt: skip
    climb_step_rad: float = setting(
        0.012, unit="rad", range=(1e-9, 1e6), evidence=SIX_LOGS,
        raises="the best score is searched farther away, more coarsely",
    )  # fmt: skip
    climb_range_nats: float = setting(
        8.0, unit="nats", range=(0.0, 1e18), evidence=SIX_LOGS,
        raises="more places are scored nearby, with more work",
    )  # fmt: skip
    max_slip_cost_nats: float = setting(
        3.0, unit="nats", range=(0.0, 1e18), evidence="not varied",
        raises="wheels that slip cost a right place more",
    )  # fmt: skip

    @property
    def group(self) -> tuple[float, float]:
        """Width of a block in rad and of a beam group in m."""
        return self.group_rad, self.group_length_m

    @property
    def climb_step(self) -> tuple[float, float]:
        """Step of the search for the best score near a fit, in m and rad."""
        return self.climb_step_m, self.climb_step_rad


@dataclass(frozen=True, slots=True)
class RefutationSettings(Settings):
    """Set when the evidence refutes a competing place ((3), (4) of `localization.decision.decide`).

    The scans of `docs/benchmarks/calibration.md` are of other plans than those of the evidence.

    Attributes:
        min_agreement: Agreement t_min of the beam groups in (4). More than one group must speak.
        min_lead_nats: Lead d_min in (4).
        softness: Softness τ² of the agreement (3). Differences below τ in all say nothing.
        min_group_share: Share ρ of the groups in (4).
        early_agreement_factor: Factor of `min_agreement` while not all has been searched.
        early_share_factor: Factor of `min_group_share` while not all has been searched.
    """

    min_agreement: float = setting(
        1.0, unit="1", range=(0.0, 1e18), evidence=SIX_LOGS,
        raises="fewer unique answers, fewer wrong ones",
    )  # fmt: skip
    min_lead_nats: float = setting(
        0.3, unit="nats per beam", range=(0.0, 1e18), evidence=SIX_LOGS,
        raises="fewer unique answers, fewer wrong ones",
    )  # fmt: skip
    softness: float = setting(
        0.05, unit="nats²", range=(1e-9, 1e18), evidence=SIX_LOGS,
        raises="small differences refute less",
    )  # fmt: skip
    min_group_share: float = setting(
        0.04, unit="1", range=(0.0, 1.0),
        raises="fewer unique answers, fewer wrong ones",
        evidence=f"{CALIBRATION}: 36 unique and wrong with 0.04, 30 with 0.0675",
    )  # fmt: skip
    early_agreement_factor: float = setting(
        4.0 / 3.0, unit="1", range=(1.0, 1e6),
        raises="more searches go on to more candidates",
        evidence="intel revisited: with 1 the wrong place of one scan is unique before the right "
        "one is searched",
    )  # fmt: skip
    early_share_factor: float = setting(
        3.0, unit="1", range=(1.0, 1e6), evidence="as `early_agreement_factor`",
        raises="more searches go on to more candidates",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class DecisionSettings(Settings):
    """Set when a place is unique (`localization.decision.decide`).

    Attributes:
        likelihood_power: Power β of the likelihood in (2).
        no_place_score_nats: Score ℓ₀ per beam group in (2) if none of the places is right.
        min_probability: Probability of a unique place.
        min_cost_ratio: Cost of the best pose that was not searched, relative to that of a unique
            place.
        min_groups: Number of beam groups of a unique place.
        max_position_std_m: Standard deviation of a unique position: half a doorway. Along an axis
            that no beam constrains ten times as much counts, and π for angles.
        min_score_nats: Mean score of a beam below which a place explains nothing. A scan in its own
            map has 4 to 5.
        same_place_m: Distance within which two estimates are the same place, and an answer is
            right.
        same_place_rad: Rotation within which two estimates are the same place, and an answer is
            right.
        max_estimates: Maximum number of estimates of an answer.
    """

    likelihood_power: float = setting(
        0.5, unit="1", range=(0.0, 1e18),
        raises="surer probabilities",
        evidence="right places are likeliest by 0.7 on the six logs, and by 0.35 on office, hall, "
        "warehouse and symmetric plans of isovist bench calibrate, with things that the map lacks",
    )  # fmt: skip
    no_place_score_nats: float = setting(
        2.9, unit="nats per group", range=(0.0, 1e18),
        raises="fewer unique answers",
        evidence="0.5 % of right places on the six logs do not fit well",
    )  # fmt: skip
    min_probability: float = setting(
        0.98, unit="1", range=(0.0, 1.0),
        raises="fewer unique answers, fewer wrong ones",
        evidence=f"{CALIBRATION}: 36 unique and wrong with 0.98, 29 with 0.99, but 3 % fewer "
        "unique on real logs",
    )  # fmt: skip
    min_cost_ratio: float = setting(
        1.4, unit="1", range=(1.0, 1e18),
        raises="fewer unique answers, and longer searches",
        evidence="right unique answers on intel have 1.6 and more in 99 of 100, the wrong ones on "
        "infinite-corridor 1.2 and less",
    )  # fmt: skip
    min_groups: int = setting(
        4, unit="1", range=(1, 10**9), evidence=SIX_LOGS,
        raises="fewer unique answers of scans that see little",
    )  # fmt: skip
    max_position_std_m: float = setting(
        0.5, unit="m", range=(1e-6, 1e18), evidence="half a doorway; not varied",
        raises="more unique answers in corridors, less exact",
    )  # fmt: skip
    min_score_nats: float = setting(
        1.5, unit="nats per beam", range=(0.0, 1e18), evidence=SIX_LOGS,
        raises="more answers are lost",
    )  # fmt: skip
    same_place_m: float = setting(
        0.5, unit="m", range=(1e-9, 1e18), evidence="not varied",
        raises="fewer places nearby compete",
    )  # fmt: skip
    same_place_rad: float = setting(
        float(np.radians(10.0)), unit="rad", range=(1e-9, 1e18), evidence="not varied",
        raises="fewer headings at the same position compete",
    )  # fmt: skip
    max_estimates: int = setting(
        10, unit="1", range=(1, 10**9), evidence="not varied",
        raises="longer answers",
    )  # fmt: skip

    @property
    def same_place(self) -> tuple[float, float]:
        """Distance in m and rotation in rad within which two estimates are the same place."""
        return self.same_place_m, self.same_place_rad


@dataclass(frozen=True, slots=True)
class CovarianceSettings(Settings):
    """Set the covariance of a pose (equation (1) of `localization.fitting.covariance`).

    Attributes:
        min_std_m: Standard deviation of a position that more beams cannot reduce, since maps are
            bent and robots move. It is also the smallest residual.
        min_std_rad: Standard deviation of an angle that more beams cannot reduce.
        residual_m: Residual s₀ of (1) that a perfect map leaves.
        inflation: Factor α of (1), since errors of neighbouring blocks are not quite independent.
        residual_cells_2d: Part of s₀ in 2D that grows with the cells: 0.02 m together on cells of
            5 cm.
        residual_cells_3d: Part of s₀ in 3D, where cells are 0.1 to 0.4 m wide.
    """

    min_std_m: float = setting(
        0.01, unit="m", range=(1e-9, 1e6), evidence=SIX_LOGS,
        raises="larger standard deviations of the best poses",
    )  # fmt: skip
    min_std_rad: float = setting(
        float(np.radians(0.17)), unit="rad", range=(1e-9, 1e6), evidence=SIX_LOGS,
        raises="larger standard deviations of the best headings",
    )  # fmt: skip
    residual_m: float = setting(
        0.0193649, unit="m", range=(1e-9, 1e6), evidence=SIX_LOGS,
        raises="smaller standard deviations",
    )  # fmt: skip
    inflation: float = setting(
        3.4, unit="1", range=(1e-9, 1e6), evidence=SIX_LOGS,
        raises="larger standard deviations",
    )  # fmt: skip
    residual_cells_2d: float = setting(
        0.1, unit="cells", range=(1e-9, 1e6), evidence=SIX_LOGS,
        raises="smaller standard deviations on maps with large cells",
    )  # fmt: skip
    residual_cells_3d: float = setting(
        0.3, unit="cells", range=(1e-9, 1e6),
        raises="smaller standard deviations on maps with large cells",
        evidence="errors of a few dozen scans of benchmarks.worlds.streets",
    )  # fmt: skip

    def residual_cells(self, dimension: int) -> float:
        """Return the part of s₀ that grows with the cells.

        Args:
            dimension: Dimension of the map, 2 or 3.
        """
        return self.residual_cells_2d if dimension == 2 else self.residual_cells_3d

    @property
    def min_std(self) -> tuple[float, float]:
        """Standard deviations in m and rad that more beams cannot reduce."""
        return self.min_std_m, self.min_std_rad


@dataclass(frozen=True, slots=True)
class AlternativeSettings(Settings):
    """Set when other readings of a scan are tried (`localization.interpretations`).

    Attributes:
        good_score_nats: Mean score of a beam below which a unique place must also stand the
            mirrored scan and larger changes of its size.
    """

    good_score_nats: float = setting(
        4.4, unit="nats per beam", range=(0.0, 1e18), evidence=SIX_LOGS,
        raises="more scans are tried mirrored and at other sizes, with more work",
    )  # fmt: skip


@accept_old_names
@dataclass(frozen=True, slots=True)
class ProofSettings(Settings):
    """Set how far a complete search goes (`localization.verification.branch_and_bound`).

    Attributes:
        max_box_m: Width of the first boxes. A wider one holds a wall near any end, so that none is
            excluded.
        max_box_rad: Range of headings of the first boxes.
        max_ray_box_m: Width of boxes up to which walls that beams pass count. For wider ones that
            takes longer than to halve them.
        min_box_m: Width of the last boxes.
        max_boxes: Number of boxes of a round beyond which the search ends incomplete.
        max_time_s: Time after which no further round begins.
    """

    max_box_m: float = setting(
        0.4, unit="m", range=(1e-9, 1e18), evidence="isovist bench carmen on intel",
        raises="a first round that excludes less",
    )  # fmt: skip
    max_box_rad: float = setting(
        float(np.radians(6.0)), unit="rad", range=(1e-9, 1e18),
        evidence="isovist bench carmen on intel",
        raises="a first round that excludes less",
    )  # fmt: skip
    max_ray_box_m: float = setting(
        0.1, unit="m", range=(0.0, 1e18), evidence="isovist bench carmen on intel",
        raises="rays are followed earlier, with more work per box",
    )  # fmt: skip
    min_box_m: float = setting(
        0.00625, unit="m", range=(1e-9, 1e18),
        raises="less work, and places that are not excluded are less exact",
        evidence="an eighth of a usual cell: bounds are within a tenth of a nat of scores",
    )  # fmt: skip
    max_boxes: int = setting(
        4_000_000, unit="1", range=(1, 10**12), evidence="about 1 s on two cores",
        raises="more searches are complete, with more time and memory",
    )  # fmt: skip
    max_time_s: float = setting(
        5.0, unit="s", range=(0.0, 1e18), evidence="not varied",
        raises="more searches are complete, with more time",
    )  # fmt: skip

    def first(self, cell: float) -> tuple[int, int]:
        """Return the width of the first boxes in cells, a power of two, and their headings."""
        size = 2 ** max(0, round(np.log2(self.max_box_m / cell)))
        return int(size), round(2.0 * np.pi / self.max_box_rad)


@accept_old_names
@dataclass(frozen=True, slots=True)
class LocalizationSettings(Settings):
    """Set how a scan is located.

    Attributes:
        search: Search for candidate poses.
        fit: Fits of candidates to walls.
        model: Likelihood of the range of a beam.
        scoring: Score of a place.
        refutation: Evidence that refutes a competing place.
        decision: Conditions of a unique place.
        covariance: Covariance of a pose.
        alternatives: Other readings of a scan.
    """

    search: SearchSettings = SearchSettings()
    fit: FitSettings = FitSettings()
    model: BeamModel = field(default_factory=BeamModel)
    scoring: ScoreSettings = ScoreSettings()
    refutation: RefutationSettings = RefutationSettings()
    decision: DecisionSettings = DecisionSettings()
    covariance: CovarianceSettings = CovarianceSettings()
    alternatives: AlternativeSettings = AlternativeSettings()

    def careful(self) -> "LocalizationSettings":
        """Return settings that ask for more agreement, while not all has been searched.

        So a search ends early only where it leaves no doubt.
        """
        return _careful(self)

    def candidates_apart(self, atlas: SearchSpace) -> tuple[float, float]:
        """Return the distance in m and rotation in rad at which two candidates are different."""
        search = self.search
        distance = max(search.separation_m, search.separation_spacings * atlas.spacing)
        return distance, search.separation_rad

    def coarse_widths(self, atlas: SearchSpace) -> FloatArray:
        """Return σ of the steps of the coarse fit in m, read-only."""
        return _times(self.fit.coarse_sigmas, max(self.fit.min_spacing_m, atlas.spacing))

    def fine_widths(self, atlas: SearchSpace) -> FloatArray:
        """Return σ of the steps of the fine fit in m, read-only."""
        sigmas = self.fit.fine_sigmas_m
        return _times(sigmas, max(sigmas[-1], atlas.resolution), sigmas[-1])

    def all_widths(self, atlas: SearchSpace) -> FloatArray:
        """Return σ of the steps of both fits, one after the other, in m."""
        return np.append(self.coarse_widths(atlas), self.fine_widths(atlas))

    def share(self, atlas: SearchSpace, count: int) -> int:
        """Return a count for an atlas: half of it in 3D."""
        return count if atlas.dimension == 2 else max(count // 2, 1)


@lru_cache
def _times(values: tuple[float, ...], factor: float, per: float = 1.0) -> FloatArray:
    return readonly(np.array(values) * factor / per)


@lru_cache
def _careful(settings: LocalizationSettings) -> LocalizationSettings:
    rules = settings.refutation
    return replace(
        settings,
        refutation=replace(
            rules,
            min_agreement=rules.early_agreement_factor * rules.min_agreement,
            min_group_share=rules.early_share_factor * rules.min_group_share,
        ),
    )
