"""The result of an update of a tracker."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from isovist.atlas import SearchSpace
from isovist.localization import Estimate, Facts, Reason, Verdict, estimates_in_map_frames
from isovist.renamed import accept_old_names
from isovist.tracking.advice import advice


@accept_old_names
@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """The place of the robot by the scans of its drive so far.

    Attributes:
        verdict: Unique, ambiguous or lost.
        reasons: All rules of this verdict that apply; the first one decides.
        estimates: Estimates of the present pose T_world_robot, from most to least likely.
        least: λ_min of the Gramian: the information of the stored keyframes about the present pose
            along its weakest axis, per m²; see `tracking.gramian`.
        travelled: Distance driven since the start by odometry, in m.
        timing_ms: Time of the update, in ms: in `total`, and its part for `search`.
        facts: Numbers that the reasons are based on.
    """

    verdict: Verdict
    reasons: tuple[Reason, ...]
    estimates: Sequence[Estimate]
    least: float
    travelled: float
    timing_ms: Mapping[str, float] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)

    @property
    def advice(self) -> str:
        """The verdict as a sentence, and what to do about it."""
        return advice(self.reasons, self.facts)

    @property
    def best(self) -> Estimate | None:
        """The most likely estimate, or `None` when there is none."""
        return self.estimates[0] if self.estimates else None

    @property
    def map(self) -> str | None:
        """Name of the map of the best estimate, where there are several; else `None`."""
        return self.estimates[0].map if self.estimates else None

    def on_own_maps(self, site: SearchSpace) -> "Belief":
        """Return the belief with each pose in the frame of its own map, and with its name."""
        return replace(self, estimates=estimates_in_map_frames(site, self.estimates))
