"""What was chosen about locating one scan: every number with its unit and its origin.

Unless something else is said, a number was chosen while looking at `isovist bench carmen` on six
logs, both splits, and has not been varied since.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.atlas import BeamModel, SearchSpace
from isovist.localization.positional_settings import (
    ANY,
    COUNT,
    POSITIVE,
    SHARE,
    Limits,
    check_numbers,
)
from isovist.storage import MAX_COORDINATE

LIMITS: Limits = {
    "largest": POSITIVE, "finest": POSITIVE, "seen_share": SHARE,
    "lead": (1.0, MAX_COORDINATE), "stop": (1.0, MAX_COORDINATE), "apart": POSITIVE,
    "beams": ((COUNT, POSITIVE), (COUNT, POSITIVE)),
    "coarse": POSITIVE, "fine": POSITIVE, "nearby": (POSITIVE, POSITIVE, ANY),
    "sure": (POSITIVE, ANY, SHARE), "block": POSITIVE, "refuted": (ANY, ANY, POSITIVE, SHARE),
    "loose": (1e-6, MAX_COORDINATE), "same": POSITIVE, "floor": POSITIVE, "scatter": POSITIVE,
}  # fmt: skip
CAREFUL = (4.0 / 3.0, 3.0)
"""Times t_min and ρ of a last look that a first one asks for."""


@dataclass(frozen=True, slots=True)
class ProofSettings:
    """How far a complete search goes (`localization.verification.branch_and_bound`).

    Attributes:
        largest: Width of the first boxes in m and rad.  Wider ones hold a wall near any end, so
            that none is dropped (intel).
        see: Boxes at most this wide, in m, are asked what their beams pass; for wider ones that
            takes longer than to halve them (intel).
        finest: Width of the last boxes in m, an eighth of a usual cell: ceilings are then within
            a tenth of a nat of ratings.
        most: Boxes of a round: beyond that the search is given up as not complete, at about 1 s
            on two cores.
        seconds: After which no further round begins.
    """

    largest: tuple[float, float] = (0.4, float(np.radians(6.0)))
    see: float = 0.1
    finest: float = 0.00625
    most: int = 4_000_000
    seconds: float = 5.0

    def __post_init__(self) -> None:
        check_numbers(self, LIMITS)

    def first(self, cell: float) -> tuple[int, int]:
        """Width of the first boxes in cells, a power of two, and how many headings there are."""
        width, turn = self.largest
        size = 2 ** max(0, round(np.log2(width / cell)))
        return int(size), round(2.0 * np.pi / turn)


@dataclass(frozen=True, slots=True)
class LocalizationSettings:
    """How a scan is located.

    Attributes:
        short: Most that a channel shorter than the map says can cost, in log(1 + r).  People and
            furniture come and go, walls do not vanish: longer ones cost up to twice that.
        seen_share: Least share of a channel that the scan must have seen; in space, of what it
            has seen of well covered ones.
        finalists: Nodes that are tried in full, after a look at half the channels of all, and
            headings kept of each: a square room has four.  In space half as many nodes, as rings
            tell places apart better than one circle.
        seeds: Candidates handed on, and how many when with those nothing fits; in space half.
        lead: A place is unique only if whatever was not looked at costs this many times as much in
            the search; otherwise more is looked at.  Right unique answers on intel have 1.6 and
            more in 99 of 100, the wrong ones on infinite-corridor 1.2 and less.
        stop: Nothing more is searched once whatever was not looked at costs this many times as much
            as the best place: of 6176 recorded questions 5845 are right by 2.5, by no such limit
            5842, and by 2 5840 (benchmarks.reference).
        apart: Candidates, then fits, are farther apart than this, in m, or turned by more, in
            rad; candidates in m at least 1.2 spacings of the nodes.
        beams: Of the first and of the second fit: at most so many in the plane; in space the angle
            between them, in rad, and a finer one where these would be fewer than so many, as those
            of a sensor that sees a small field.  More of them see the same walls again.
        coarse: σ of the steps of the first fit, in spacings of the nodes, a spacing counting as
            at least 0.25 m: from where nodes lie to within two cells.
        fine: σ of the steps of the second fit, in m, scaled up where cells are larger than the
            last of them.
        keep: Fits whose beams are followed, those with the most ends at walls, and of these the
            unlike best that are fitted with many beams; then as many when with those nothing is
            unique; in space half.  Of 798 scans that were looked at again, the right place was
            among the first 1331 of 4000 by its ends, in 99 of 100 cases among the first 235.
        model: What a beam's range is worth at a pose.
        worth: κ of `judge` (1), in nats.  Of 0, 0.5, 1, 2 and 3 the one with which no site of the
            six logs, both splits, loses.
        nearby: Step in m and rad in which the best rating is looked for around fits, halved twice,
            and how far behind the best a fit may lie to be worth it, in nats: what it brings is
            seldom more than half of that.
        sure: β, ℓ₀ (nats) and p_min of `judge` (2).  Right places are likeliest by β = 0.7 over
            both splits of the six logs, and by 0.35 over scans of the office, hall, warehouse and
            symmetric plans of `bench calibrate`, where things stand that the map lacks.  By ℓ₀
            0.5 % of right places on the six logs do not fit well.  p_min is chosen with
            `refuted`.
        block: Width of a block in rad, and in the plane of a column in m.  Of 0 to 3 m
            right places are likeliest by 0.6 to 1.5, fitted with β.
        refuted: t_min, d_min (nats per beam), τ² and ρ of `judge` (3) and (4): more than one
            witness must speak, and differences below 0.2 nats in all say nothing.  p_min and ρ were
            chosen on 104 000 scans of `bench calibrate`, seed 51, seven kinds of plans: about 36
            would be unique and wrong with 0.98 and 0.04, 30 with 0.98 and 0.0675, 29 with 0.99 and
            0.04, but then 3 % fewer scans of real logs are unique.  docs/benchmarks/calibration.md
            has other plans.
        witnesses: Fewest of them for a unique answer.
        loose: Largest standard deviation of a unique position, in m: half a doorway.  Along an
            axis that no beam constrains it is taken as ten times that, and π for angles.
        poor: A mean rating below the first of them explains nothing, in nats; a scan in its own
            map has 4 to 5.  Below the second a place must also stand the mirrored scan (`twists`).
        slip: Most that one disagreement with odometry can cost, in nats.
        same: Estimates nearer than this, in m and rad, are the same place; so near to the truth
            an answer is right.
        listed: Most estimates in an answer.
        floor: Standard deviation that more beams cannot reduce, in m and rad: bent maps, moving
            robots.  The smallest residual that is believed is the first of them.
        scatter: s₀ of `spread` (1), the residual that a perfect map leaves, in m; α: errors of
            neighbouring blocks are not quite independent; and what s₀ has besides, in cells: in
            the plane, 0.02 m together on cells of 5 cm, and in space, where cells of 0.1 to 0.4 m
            leave so much; reckoned from the errors of a few dozen scans of
            `benchmarks.worlds.streets`.
    """

    short: float = 0.25
    seen_share: tuple[float, float] = (0.3, 0.4)
    finalists: tuple[int, int] = (3000, 4)
    seeds: tuple[int, int] = (400, 4000)
    lead: float = 1.4
    stop: float = 2.5
    apart: tuple[tuple[float, float], tuple[float, float]] = ((0.4, 0.2), (0.3, 0.12))
    beams: tuple[tuple[int, float], tuple[int, float]] = (
        (60, float(np.radians(12.0))),
        (180, float(np.radians(5.0))),
    )
    coarse: tuple[float, ...] = (2.0, 1.4, 1.4, 1.0, 1.0, 0.6, 0.6)
    fine: tuple[float, ...] = (0.15, 0.12, 0.1, 0.1, 0.1, 0.1)
    keep: tuple[tuple[int, int], tuple[int, int]] = ((150, 20), (1500, 160))
    model: BeamModel = field(default_factory=BeamModel)
    worth: float = 1.0
    nearby: tuple[float, float, float] = (0.05, 0.012, 8.0)
    sure: tuple[float, float, float] = (0.5, 2.9, 0.98)
    block: tuple[float, float] = (float(np.radians(10.0)), 0.75)
    refuted: tuple[float, float, float, float] = (1.0, 0.3, 0.05, 0.04)
    witnesses: int = 4
    loose: float = 0.5
    poor: tuple[float, float] = (1.5, 4.4)
    slip: float = 3.0
    same: tuple[float, float] = (0.5, float(np.radians(10.0)))
    listed: int = 10
    floor: tuple[float, float] = (0.01, float(np.radians(0.17)))
    scatter: tuple[float, float, float, float] = (0.0193649, 3.4, 0.1, 0.3)

    def __post_init__(self) -> None:
        check_numbers(self, LIMITS)

    def careful(self) -> "LocalizationSettings":
        """These, asking for more agreement (`CAREFUL`): where not all has been looked at yet.

        So a first look is the last only where it leaves no doubt.  With no more agreement than at
        last, the wrong place of one scan of intel revisited is unique at first sight, and the right
        one, which rates higher, is not looked for.
        """
        return _careful(self)

    def candidates_apart(self, atlas: SearchSpace) -> tuple[float, float]:
        """Candidates nearer than this, in m, and turned by less, in rad, are alike."""
        radius, turn = self.apart[0]
        return max(radius, 1.2 * atlas.spacing), turn

    def coarse_widths(self, atlas: SearchSpace) -> FloatArray:
        """σ of the steps of the first fit in m.  Read-only."""
        return _times(self.coarse, max(0.25, atlas.spacing))

    def fine_widths(self, atlas: SearchSpace) -> FloatArray:
        """σ of the steps of the second fit in m.  Read-only."""
        last = self.fine[-1]
        return _times(self.fine, max(last, atlas.resolution), last)

    def all_widths(self, atlas: SearchSpace) -> FloatArray:
        """σ of the steps of both fits, one after the other, in m.  Read-only."""
        return _joined(self, max(0.25, atlas.spacing), max(self.fine[-1], atlas.resolution))

    def share(self, atlas: SearchSpace, count: int) -> int:
        """As many of something as an atlas needs: half in space."""
        return count if atlas.dimension == 2 else max(count // 2, 1)


@lru_cache
def _times(values: tuple[float, ...], factor: float, per: float = 1.0) -> FloatArray:
    return readonly(np.array(values) * factor / per)


@lru_cache
def _joined(settings: LocalizationSettings, spacing: float, cell: float) -> FloatArray:
    fine = _times(settings.fine, cell, settings.fine[-1])
    return readonly(np.append(_times(settings.coarse, spacing), fine))


@lru_cache
def _careful(settings: LocalizationSettings) -> LocalizationSettings:
    agreement, margin, soft, share = settings.refuted
    return replace(settings, refuted=(CAREFUL[0] * agreement, margin, soft, CAREFUL[1] * share))
