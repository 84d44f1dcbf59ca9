"""Searches of the map for the place of the robot, when it is time to."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from isovist.atlas import AnyScan
from isovist.localization import SearchRegion, as_level_robot, region_around, to_robot_frame
from isovist.sensing import StationaryScans
from isovist.tracking.hypotheses.keyframe import Keyframe
from isovist.tracking.motion.level_frame import (
    follow_up_directions,
    tilt_of_mount,
    to_level_robot,
    up_directions_of,
)
from isovist.tracking.motion.observation import comparison_beams
from isovist.tracking.search.attitude_search import AttitudeSearch
from isovist.tracking.search.candidate_search import CandidateSearch, FittedPlaces, SearchScope
from isovist.tracking.search.relocalization import Relocalization
from isovist.tracking.state.tracker_state import TrackerState


@dataclass(frozen=True, slots=True, eq=False)
class MapSearch:
    """Searches the map during a drive, and adds hypotheses.

    While competitors remain, it searches every metre.  Once a place is settled, it checks rarely,
    and whenever a scan does not fit.

    Attributes:
        state: The state of the tracker, which is changed.
    """

    state: TrackerState

    def update(self, scan: AnyScan) -> float:
        """Search the map if it is time to; return the time spent, in ms.

        Args:
            scan: The scan that corrected the hypotheses last.
        """
        start, search = perf_counter(), self.state.search
        relocalization = Relocalization(self.state)
        is_doubted = search.is_settled and relocalization.is_doubted()
        if is_doubted or self._is_due():
            search.searched_at = self.state.motion.travelled
            self._search(scan, relocalization, is_doubted)
        if not is_doubted:
            search.is_relocalizing, search.inconsistent_scans = False, 0
        return 1e3 * (perf_counter() - start)

    def _is_due(self) -> bool:
        search, settings = self.state.search, self.state.settings.search
        distance = settings.settled_distance_m if search.is_settled else settings.distance_m
        return self.state.motion.travelled - search.searched_at >= distance

    def _search(self, scan: AnyScan, relocalization: Relocalization, is_doubted: bool) -> None:
        """Search the map, and add what explains the scan."""
        state, search, bank = self.state, self.state.search, self.state.bank
        is_inconsistent = is_doubted and relocalization.is_inconsistent()
        # A kidnapped robot is not where the region said that it began.
        is_at_start = state.motion.odometry == search.start and not is_inconsistent
        region = state.region if is_at_start else None
        is_lost = is_inconsistent or not search.is_settled
        places = self._find(scan, region, is_lost=is_lost, is_repeated=is_lost or is_doubted)
        if is_doubted:
            near = self._find_after_slip(scan) if is_inconsistent else None
            if relocalization.update(places, near):
                self._forget()
        if bank.any_attitude and len(bank) == 0 and len(places.poses):
            places = self._level_by(scan, places)
        bank.add(places.poses, places.covariances)
        self._keep_to_region()

    def _find_after_slip(self, scan: AnyScan) -> FittedPlaces:
        """Return the places close to the settled one, in case odometry slipped."""
        bank, settings = self.state.bank, self.state.settings.relocalization
        robot = self.state.space.lift(bank.poses[0]) @ scan.T_level_robot  # the level one
        return self._find(
            scan, region_around(self.state.space, robot, settings.slip_m, settings.slip_rad)
        )

    def _find(
        self,
        scan: AnyScan,
        region: SearchRegion,
        *,
        is_lost: bool = False,
        is_repeated: bool = False,
    ) -> FittedPlaces:
        """Return the places that explain a scan; of a lost robot, in any attitude it may have."""
        state, bank = self.state, self.state.bank
        scope = SearchScope(region, state.search.is_settled, bank.tilt, is_repeated)
        level = CandidateSearch(state.space, state.settings.search, state.localization)
        if is_lost and bank.any_attitude:
            return AttitudeSearch(level).find(scan, state.motion.mount, scope)
        return level.find(scan, scope)

    def _keep_to_region(self) -> None:
        """Drop hypotheses that, moved back to the start, begin outside the region."""
        state, bank, search = self.state, self.state.bank, self.state.search
        if state.region is None or search.start is None or len(bank) == 0:
            return
        first = search.first_sensor
        if first is None or bank.keyframes[0].T_odom_sensor != first:
            state.region = None  # the first keyframe is gone, and its hypotheses were judged
            return
        # From the first keyframe to the odometry at the time when the region was given.
        motion = first.inverse @ search.start
        starts = state.space.lift(bank.keyframes[0].explanations.poses) @ motion
        is_inside = state.region.holds(starts.vector, *state.localization.decision.same_place)
        bank.select(np.flatnonzero(is_inside))

    def _level_by(self, scan: AnyScan, places: FittedPlaces) -> FittedPlaces:
        """Level the last keyframe by the first of the places; return the places in its frame."""
        state, bank, motion = self.state, self.state.bank, self.state.motion
        mount, tilt = motion.mount, tilt_of_mount(motion.mount)
        ups = up_directions_of(state.space, places.poses, mount)
        new_tilt = follow_up_directions(tilt, ups, state.settings.motion)
        level, motion.mount = to_level_robot(as_level_robot(scan, tilt.inverse), new_tilt)
        poses, covariances = to_robot_frame(
            state.space, mount.inverse @ motion.mount, places.poses, places.covariances
        )
        last, sensor = bank.keyframes.pop(), motion.sensor
        assert motion.odometry is not None  # as there is a keyframe
        motion.sensor = motion.odometry @ motion.mount
        if state.search.first_sensor == sensor:
            state.search.first_sensor = motion.sensor
        state.stationary = StationaryScans.start(motion.sensor, level)
        beams = comparison_beams(state, level)
        bank.correct(Keyframe(beams, motion.sensor, last.weight, last.time), bank.share)
        return FittedPlaces(poses.vector, covariances, places.scores)

    def _forget(self) -> None:
        """Forget all but the last keyframe: odometry before it does not count any more."""
        state, bank = self.state, self.state.bank
        del bank.keyframes[:-1]
        bank.keyframes[-1].weight = 1.0
        state.search.is_settled, state.search.leading_since = False, np.inf
        state.region = None
        if bank.any_attitude:  # the places of this search have their own up direction
            bank.select(np.empty(0, dtype=np.int64))
