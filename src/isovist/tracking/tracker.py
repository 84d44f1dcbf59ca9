"""Follow a robot on a map through many scans, from an unknown start.

The bank holds each place where the robot may be.  At each update, odometry moves the places, and
the scan corrects and rates them.  While competitors remain, the map is searched again every metre.
A new place is moved back along the drive so far, and compared on all of it (`hypotheses`).  Places
that the drive refutes are dropped.  If a scan does not fit the one place that is left, the robot
may have been kidnapped: earlier scans are forgotten, and the search starts again (`search`).  A
scan that shows next to nothing is left out, and odometry alone moves the places.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from isovist.arrays import BoolArray, FloatArray, readonly
from isovist.atlas import AnyScan, Atlas
from isovist.errors import InputError
from isovist.localization import (
    AnyMaps,
    AnyRegion,
    Facts,
    LocalizationSettings,
    Reason,
    Verdict,
    check_attitude,
    search_region,
    search_space_of,
)
from isovist.poses import AnyPose, Pose, Pose3
from isovist.renamed import accept_old_names, moved
from isovist.sensing import Drift
from isovist.settings import checked_settings
from isovist.tracking.belief import Belief
from isovist.tracking.decision.judgement import Judgement
from isovist.tracking.decision.rules import is_position_uncertain, position_std
from isovist.tracking.gramian import least_needed
from isovist.tracking.hypotheses.bank import HypothesisBank
from isovist.tracking.links import Link, check_links, cross_links
from isovist.tracking.motion.motion_model import MotionModel
from isovist.tracking.motion.observation import observe, shows_enough
from isovist.tracking.search.map_search import MapSearch
from isovist.tracking.settings import DRIVE_LOCALIZATION, TrackingSettings
from isovist.tracking.state.saved_state import from_state, to_state
from isovist.tracking.state.tracker_state import MotionState, TrackerState


@accept_old_names
class Tracker:
    """Follow a robot on a map, from an unknown start, through kidnappings.

    Attributes:
        bank: The places where the robot may be, best first.
        travelled: Distance driven by odometry, in m.
        drift: Error model of the odometry.

    Args:
        space: The atlas of a map (`build`), or several by name.
        links: Lifts and doors between several maps.
        region: Where the robot may be at the first scan, such as at its dock; anywhere if `None`.
            For several maps, regions by name.
        drift: Error model of the odometry.
        settings: How the robot is followed.
        localization: How places are searched, fitted and rated; `DRIVE_LOCALIZATION` if `None`.
        tilt: In 3D, fit roll and pitch if neither scan nor odometry has them.  They are fitted in
            any case if the ground in the first scan is not level.
        any_attitude: In 3D, take the up direction as unknown.  At the start, and after a
            kidnapping, the robot is searched in any attitude; then roll and pitch are fitted.  Roll
            and pitch of scans are ignored, and so is the up direction of the odometry frame.
            Odometry is then Pose3 or `None`, and a region has no heading.
    """

    def __init__(
        self,
        space: AnyMaps,
        *,
        links: Sequence[Link] = (),
        region: AnyRegion = None,
        drift: Drift | None = None,
        settings: TrackingSettings | None = None,
        localization: LocalizationSettings | None = None,
        tilt: bool = False,
        any_attitude: bool = False,
    ) -> None:
        if not isinstance(space, Atlas | Mapping):
            raise InputError(
                f"A tracker needs an atlas, got {type(space).__name__}. "
                "Build one of the map: Tracker(build(world)).",
                field="space",
            )
        self.site = search_space_of(space)
        self.site.fitted(tilt)
        self.settings = checked_settings(TrackingSettings, settings)
        self.any_attitude, self.tilt = any_attitude, tilt or any_attitude
        self.links = check_links(self.site, links)
        self.localization = checked_settings(LocalizationSettings, localization, DRIVE_LOCALIZATION)
        origin: AnyPose = Pose() if self.site.dimension == 2 else Pose3()
        motion = MotionState(origin, origin, origin, has_default_drift=drift is None)
        self._begin(motion, Drift() if drift is None else drift, region)

    @property
    def bank(self) -> HypothesisBank:
        """The places where the robot may be, best first."""
        return self._state.bank

    @property
    def travelled(self) -> float:
        """Distance driven by odometry, in m."""
        return self._state.motion.travelled

    @property
    def drift(self) -> Drift:
        """Error model of the odometry; a wider one where there is no odometry."""
        return self.bank.drift

    @property
    def atlas(self) -> Atlas:
        """The atlas, if there is a single map."""
        if not isinstance(self.site, Atlas):
            raise InputError(
                "This tracker has several maps, and one is needed.", code="conflict", field="atlas"
            )
        return self.site

    @accept_old_names
    def reset(self, region: AnyRegion = None) -> None:
        """Forget all places and scans, but not the distance driven.

        Args:
            region: Where the robot may be at the next scan; anywhere if `None`.
        """
        self._begin(self._state.motion, self.drift, region)

    def _begin(self, motion: MotionState, drift: Drift, region: AnyRegion) -> None:
        """Begin to search for the place of the robot."""
        regions = search_region(self.site, region)
        if self.any_attitude:
            check_attitude(self.site, regions, ())
        bank = HypothesisBank(
            self.site, drift, self.settings, self.localization,
            tilt=self.tilt, any_attitude=self.any_attitude,
        )  # fmt: skip
        self._resume(TrackerState(bank, motion, region=regions))

    def _resume(self, state: TrackerState) -> None:
        """Go on from a state."""
        self._state = state
        self._motion, self._search = MotionModel(state), MapSearch(state)
        self._judgement = Judgement(state)
        self._last: Belief | None = None

    def state(self) -> dict[str, Any]:
        """Return everything that the tracker stores, ready for JSON; see `from_state`."""
        return to_state(self._state, self.links, self.tilt)

    @classmethod
    def from_state(cls, atlas: AnyMaps, state: dict[str, Any]) -> "Tracker":
        """Return the tracker that had this `state`, on the same atlas or the same maps."""
        return from_state(cls, atlas, state)

    def update(
        self, odometry: AnyPose | None, scan: AnyScan, *, time: float | None = None
    ) -> Belief:
        """Move by odometry, use a scan, and return where the robot is.

        Args:
            odometry: T_odom_robot in any fixed frame; only its changes count.  `None` at every
                update if there is no odometry.  Then the robot is taken to go on at an even pace,
                which the scans correct.
            scan: The scan at this pose.  In 3D, roll and pitch come from the scan; if it has none,
                from odometry; if that has none either, from the ground in the scan.  If the scan
                has `times` and `time` is given, it is straightened.
            time: Time of the scan in s, from any origin.  Updates without it count as 1 s apart.
        """
        start = perf_counter()
        if not isinstance(scan, AnyScan):
            raise InputError(
                f"A tracker follows robots by scans, got {type(scan).__name__}.", field="scan"
            )
        self.site.check(scan)
        arrival = self._motion.move_to_scan(odometry, scan, time)
        search_ms, state = 0.0, self._state
        near_scan = arrival.scan.within(self.site.diagonal)
        if near_scan is not None and shows_enough(near_scan, self.localization):
            merged = observe(state, near_scan, arrival.share)
            self._motion.correct_pace(arrival)
            state.search.first_sensor = state.search.first_sensor or state.motion.sensor
            search_ms = self._search.update(merged)
            self._motion.correct_pace(arrival)
            if cross_links(state.bank, self.links, state.motion.mount):
                state.region = None  # places on other maps than those of the region may be right
        if not state.bank.keyframes:
            belief = self._judgement.lost(Reason.SCAN_BLIND)
        else:
            belief = self._judgement.judge()
        return self._report(belief, search_ms, start)

    def move(self, odometry: AnyPose, *, time: float | None = None) -> Belief:
        """Move the places and their covariances by odometry, without a scan.

        Args:
            odometry: T_odom_robot in any fixed frame; only its changes count.
            time: Time as in `update`.
        """
        start = perf_counter()
        if (pose := self._motion.check_odometry(odometry)) is None:
            raise InputError(
                "A tracker moves by odometry, got None. Update it with a scan.",
                code="missing",
                field="odometry",
            )
        self._motion.move(pose, self._state.motion.mount, self._motion.advance_clock(time))
        last = self._last
        if last is None or len(self.bank) == 0:
            return self._judgement.lost(Reason.NO_SCAN)
        robots, covariances = self._motion.robots(np.arange(len(last.estimates)))
        estimates = tuple(
            replace(estimate, pose=robots[k], covariance=readonly(covariances[k]))
            for k, estimate in enumerate(last.estimates)
        )
        belief = replace(last, estimates=estimates, travelled=self.travelled)
        if belief.verdict is Verdict.UNIQUE and is_position_uncertain(self.bank):
            facts: Facts = {**belief.facts, "position_std": position_std(self.bank)}
            slides = (Reason.POSITION_SLIDES,)
            belief = replace(belief, verdict=Verdict.AMBIGUOUS, reasons=slides, facts=facts)
        return self._report(belief, 0.0, start)

    def _report(self, belief: Belief, search_ms: float, start: float) -> Belief:
        """Store a belief, and return it with each pose on its own map."""
        timing = {"search": search_ms, "total": 1e3 * (perf_counter() - start)}
        self._last = replace(belief, timing_ms=timing)
        return self._last.on_own_maps(self.site)

    def refutation(self, t: FloatArray, d: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Return which hypotheses t and d of (2) of `hypotheses.bank` refute, and which at once."""
        return self._judgement.refutation(t, d)

    def refine_start(self, accuracy: float = 0.1) -> Any:
        """Refine the pose of the first stored keyframe with all stored keyframes.

        Args:
            accuracy: Required standard deviation of the start, in m.

        Returns:
            T_world_robot at the first keyframe by the belief, and its `StartFit`. `None` while the
            least eigenvalue of the information is below `gramian.least_needed`.
        """
        mount = self._state.motion.mount
        if not isinstance(mount, Pose):
            raise InputError.about(
                "refine_start", "is for 2D maps, and this atlas is 3D.", code="wrong_dimension"
            )
        if len(self.bank) == 0 or self.bank.gramian().least < least_needed(accuracy):
            return None
        refine = moved("isovist.paper.dynamic.start_fit", "refine_frames")
        return refine(self.atlas, self.bank, mount)
