"""What was chosen about following a robot: every number with its unit and its origin.

Unless something else is said, a number was chosen while looking at `isovist bench starts` on
infinite-corridor, aces and fhw, and has not been varied since.
"""

from dataclasses import dataclass

import numpy as np

from isovist.localization import LocalizationSettings, check_numbers

ON_THE_WAY = LocalizationSettings(scatter=(0.0193649, 6.0, 0.1, 0.3))
"""Scans of one drive err alike where the map is bent, so that each tells less than one alone."""


@dataclass(frozen=True, slots=True)
class TrackingSettings:
    """How a robot is followed.  Places are searched, fitted and rated by `LocalizationSettings`.

    Attributes:
        keep: A frame is kept when the last kept one is this far, in m or rad, and so many at most.
        fresh: A view is new when it is this far from the last, in m, or turned by this, in rad.
        found: Most places that a search adds: in a long corridor many look alike; and when only
            one place is left, for a check.
        hopeless: A place that explains a scan so much worse than another is not tried, in nats
            per beam.
        search_every: Way between two searches while rivals remain, and when none does, in m.
        agreement: A rival is refuted when t (share of beams explained)² and d of `bank` (2) reach
            the first of these and the margin of `judge`; where much is unexplained the right place
            may be missing from the bank, hence the square.  At the second a place becomes unique
            at once.
        clear: Or when t and d alone reach these: a lead that no missing place would leave.
        lasting: Way for which all rivals must have been refuted otherwise, in m.
        gone: A refuted rival this far behind in E is dropped, in nats, and so many places are
            kept at most.
        surprise: Scans in a row whose mean rating falls below the usual by the `poor` of
            `LocalizationSettings` after which what was seen before is forgotten; and the weight of
            the present scan in the usual.
        slipped: How far odometry may slip between two scans, in m and rad.
        tight: Least standard deviation of a place just found, in m and rad.
        bent: Standard deviation that no way averages out, in m and rad: what the map has wrong.
            From coverage in `isovist bench follow` on intel and fr079.
    """

    keep: tuple[float, float, int] = (0.4, 0.35, 30)
    fresh: tuple[float, float] = (1.0, 1.5)
    found: tuple[int, int] = (120, 20)
    hopeless: float = 2.0
    search_every: tuple[float, float] = (1.0, 8.0)
    agreement: tuple[float, float] = (1.1, 1.25)
    clear: tuple[float, float] = (2.0, 1.2)
    lasting: float = 1.0
    gone: tuple[float, int] = (30.0, 250)
    surprise: tuple[int, float] = (2, 0.2)
    slipped: tuple[float, float] = (1.5, 0.8)
    tight: tuple[float, float] = (0.1, 0.04)
    bent: tuple[float, float] = (0.025, float(np.radians(0.4)))

    def __post_init__(self) -> None:
        check_numbers(self)
