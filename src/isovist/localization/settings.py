"""What was chosen about locating one scan: every number with its unit and its origin.

Unless something else is said, a number was chosen while looking at `isovist bench carmen` on six
logs, both splits, and has not been varied since.
"""

from dataclasses import dataclass, field

import numpy as np

from isovist.atlas.base import Atlas
from isovist.atlas.settings import BeamModel
from isovist.types import FloatArray


@dataclass(frozen=True, slots=True)
class LocalizationSettings:
    """How a scan is located.

    Attributes:
        short: Most that a channel shorter than the map says can cost, in log(1 + r).  People and
            furniture come and go, walls do not vanish: longer ones cost up to twice that.
        seen_share: Least share of a channel that the scan must have seen.
        finalists: Nodes that are tried in full, after a look at half the channels of all; in
            space half as many, as rings tell places apart better than one circle.
        minima: Headings kept of each node: a square room has four.
        seeds: Candidates handed on, and how many when with those nothing fits; in space half.
        seeds_apart: Candidates are farther apart than this, in m, or turned by more, in rad; in
            m at least 1.2 spacings of the nodes.
        few: Beams of the first fit: at most so many in the plane, and the angle between them in
            space, in rad.
        many: The same of the second; more of them see the same walls again.
        coarse: σ of the steps of the first fit, in spacings of the nodes, a spacing counting as
            at least 0.25 m: from where nodes lie to within two cells.
        fine: σ of the steps of the second fit, in m, scaled up where cells are larger than the
            last of them.
        damping: Of the fits, as a share of the beams.
        keep: Places that are fitted with many beams; in space half, but for rounding.
        fits_apart: They are farther apart than this, in m, or turned by more, in rad.
        model: What a beam's range is worth at a pose.
        block: Width of a witness in rad: beams nearer to each other see the same thing.
        soft: τ² of `judge` (2): differences below 0.2 nats in all say nothing.
        agreement: t_min of `judge` (3): more than one block must speak.
        margin: d_min of `judge` (3), in nats per beam.
        witnesses: Fewest blocks for a unique answer: 60°.
        loose: Largest standard deviation of a unique position, in m: half a doorway.
        poor: A mean rating below this explains nothing, in nats; a scan in its own map has 4 to 5.
        same: Estimates nearer than this, in m and rad, are the same place; so near to the truth
            an answer is right.
        listed: Most estimates in an answer.
        floor: Standard deviation that more beams cannot reduce, in m and rad: bent maps, moving
            robots.  The smallest residual that is believed is the first of them.
        even: Residual that a perfect map leaves, in m, and in cells besides.
        inflation: α of `judge` (4): errors of neighbouring blocks are not quite independent.
        widest: Standard deviation along an axis that no beam constrains, in m; π for angles.
    """

    short: float = 0.25
    seen_share: float = 0.3
    finalists: int = 3000
    minima: int = 4
    seeds: tuple[int, int] = (400, 4000)
    seeds_apart: tuple[float, float] = (0.4, 0.2)
    few: tuple[int, float] = (60, np.radians(12.0))
    many: tuple[int, float] = (180, np.radians(5.0))
    coarse: tuple[float, ...] = (2.0, 1.4, 1.4, 1.0, 1.0, 0.6, 0.6)
    fine: tuple[float, ...] = (0.15, 0.12, 0.1, 0.1, 0.1, 0.1)
    damping: float = 0.02
    keep: int = 40
    fits_apart: tuple[float, float] = (0.3, 0.12)
    model: BeamModel = field(default_factory=BeamModel)
    block: float = float(np.radians(10.0))
    soft: float = 0.05
    agreement: float = 1.2
    margin: float = 0.3
    witnesses: int = 6
    loose: float = 0.5
    poor: float = 1.5
    same: tuple[float, float] = (0.5, np.radians(10.0))
    listed: int = 10
    floor: tuple[float, float] = (0.01, np.radians(0.17))
    even: tuple[float, float] = (0.02, 0.1)
    inflation: float = 6.0
    widest: float = 5.0

    def coarse_widths(self, atlas: Atlas) -> FloatArray:
        """σ of the steps of the first fit in m."""
        return np.array(self.coarse) * max(0.25, atlas.spacing)

    def fine_widths(self, atlas: Atlas) -> FloatArray:
        """σ of the steps of the second fit in m."""
        last = self.fine[-1]
        return np.array(self.fine) * max(last, atlas.world.resolution) / last

    def share(self, atlas: Atlas, count: int) -> int:
        """As many of something as an atlas needs: half in space."""
        return count if atlas.dimension == 2 else count // 2
