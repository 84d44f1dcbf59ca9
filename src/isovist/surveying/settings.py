"""What was chosen about surveys: every number with its unit and its origin.

All were chosen while looking at `benchmarks.survey` on the maps of `BENCHMARK.md`, with other
poses, and have not been varied since.  Places are asked, fitted and rated by
`LocalizationSettings`.
"""

from dataclasses import dataclass

import numpy as np

from isovist.atlas.settings import check_numbers

CHANNELS = 32
"""Directions of the basis that describes a 2D view (`views`)."""


@dataclass(frozen=True, slots=True)
class SurveyingSettings:
    """The settings of a survey.

    Attributes:
        views: Headings of a view that is not all around; step of the differences in `views` (1),
            in m, less than the room that every node has; and most views that are compared with
            the nodes, at all headings together.
        rival: Another place is at least this far away, in m, or turned by more than this, in rad;
            it is a rival when it is at least so similar (`aliases`, equation 1).
        compared: Most nodes that a view is compared with, channels to a rough one, nodes that are
            compared in full, and those of them whose neighbours are, too.
        asked: Poses at which `locate` is asked before it may end, at a time, and at most; nodes
            above which these are fewer, since a search takes longer; and the standard error of the
            share at which asking ends.  In 3D, where a search takes longest, the fewest are
            the most.
        chance: Numbers of `predict`: the ridge on β, in units of one standard deviation of its
            measure; c₀, in log(1 + r), and μ₀, per m, of (1); width of K, in m, and m, in poses, of
            (2).
    """

    views: tuple[int, float, int] = (8, 0.1, 8000)
    rival: tuple[float, float, float] = (1.0, float(np.radians(25.0)), 0.8)
    compared: tuple[int, int, int, int] = (7000, 4, 40, 4)
    asked: tuple[int, int, int, int, float] = (250, 50, 1000, 9000, 0.0125)
    chance: tuple[float, float, float, float, float] = (1.0, 0.005, 0.01, 1.5, 3.0)

    def __post_init__(self) -> None:
        check_numbers(self)

    def affordable(self, nodes: int, dimension: int) -> int:
        """Return the most poses to ask at, for a number of nodes and a dimension.

        Usually these are 1000, or 600 with 25 000 nodes; in 3D 250.
        """
        fewest, _, most, many, _ = self.asked
        return fewest if dimension == 3 else round(most * min(1.0, (many / nodes) ** 0.5))
