"""Recognizes that the settled place is wrong: odometry slipped, or the robot was kidnapped.

A scan is inconsistent if it fits the settled place much worse than scans usually do.  It is then
compared with the places that a search finds nearby, and anywhere.
"""

from dataclasses import dataclass

import numpy as np

from isovist.tracking.hypotheses.correction import Correction
from isovist.tracking.search.candidate_search import FittedPlaces
from isovist.tracking.state.tracker_state import TrackerState


@dataclass(frozen=True, slots=True, eq=False)
class Relocalization:
    """Compares the last scan at the settled place with other places.

    Attributes:
        state: The state of the tracker, which is changed.
    """

    state: TrackerState

    def is_inconsistent(self) -> bool:
        """Return whether the last scan fits the first place much worse than usual.

        Without odometry, a place far from the predicted one counts as well.
        """
        last = self.state.bank.keyframes[-1].explanations
        max_slip = self.state.localization.scoring.max_slip_cost_nats
        is_astray = not self.state.motion.has_odometry and last.slips[0] >= max_slip
        return bool(is_astray or last.scores[0] < self._min_score())

    def is_doubted(self) -> bool:
        """Return whether another place may explain the last scan better, or did the one before.

        A place that fits as well as usual would lead by what the last scan lacks.  The typical
        rating is updated.
        """
        search, settings = self.state.search, self.state.settings.relocalization
        score = float(self.state.bank.keyframes[-1].scores[0])
        margin = settings.doubt_margins * self.state.localization.refutation.min_lead_nats
        is_poor = score < search.typical_score - margin
        is_doubted = is_poor or search.inconsistent_scans > 0 or self.is_inconsistent()
        if not self.is_inconsistent():
            search.typical_score += settings.typical_weight * (score - search.typical_score)
        return is_doubted

    def update(self, places: FittedPlaces, near: FittedPlaces | None) -> bool:
        """Compare the settled place with others; return whether the drive so far must be forgotten.

        Args:
            places: Places of a search of the whole map.
            near: Places close to the settled one, if the scan is inconsistent with it.
        """
        state, search, bank = self.state, self.state.search, self.state.bank
        margin, before = state.localization.refutation.min_lead_nats, bank.poses[:1].copy()
        lead = self._lead(places) if near is None else self._recover_from_slip(near, places)
        has_jumped = not bank.is_same_place(before, bank.poses[0])[0]
        search.is_relocalizing = lead < (-margin if near is None else margin)
        search.inconsistent_scans = 0 if lead > -margin else search.inconsistent_scans + 1
        if near is not None or search.is_relocalizing:
            state.stationary = None
        # Across a jump, too, earlier scans say nothing of the other places.
        limit = state.settings.relocalization.max_inconsistent_scans
        return search.inconsistent_scans >= limit or (has_jumped and search.is_relocalizing)

    def _lead(self, places: FittedPlaces) -> float:
        """Return the lead of the first place over others in the last scan, in nats per beam.

        The first place moves to a much better pose there that the search found.  Only others that
        explain the scan about as well as usual count, as the right place would.
        """
        if len(places.poses) == 0:
            return np.inf
        bank, margin = self.state.bank, self.state.localization.refutation.min_lead_nats
        last = bank.keyframes[-1]
        correction = bank.compare(last, places.poses, places.covariances)
        scores = correction.explanations.scores
        is_same = bank.is_same_place(correction.poses, bank.poses[0])
        best = int(np.argmax(np.where(is_same, scores, -np.inf)))
        if is_same.any() and scores[best] > last.scores[0] + margin:
            self._move_first(correction, best)
        is_competitor = ~is_same & (scores >= self.state.search.typical_score - margin)
        return float(last.scores[0] - scores[is_competitor].max(initial=-np.inf))

    def _recover_from_slip(self, near: FittedPlaces, places: FittedPlaces) -> float:
        """Move the first place to the best one nearby, if that explains the last scan.

        Returns:
            Its lead over all other places in the last scan, in nats per beam; −∞ if no place nearby
            explains it.
        """
        bank = self.state.bank
        if len(near.poses) == 0:
            return -np.inf
        poses = np.concatenate([near.poses, places.poses])
        covariances = np.concatenate([near.covariances, places.covariances])
        correction = bank.compare(bank.keyframes[-1], poses, covariances)
        scores = correction.explanations.scores
        best = int(np.argmax(scores[: len(near.poses)]))
        score = float(scores[best])
        is_competitor = ~bank.is_same_place(correction.poses, correction.poses[best])
        lead = score - float(scores[is_competitor].max(initial=-np.inf))
        if score < self._min_score():
            return -np.inf
        if lead > -self.state.localization.refutation.min_lead_nats:
            self._move_first(correction, best)
        return lead

    def _move_first(self, correction: Correction, row: int) -> None:
        """Move the first hypothesis to a pose that the last keyframe was compared at."""
        bank, explanations = self.state.bank, correction.explanations
        explanations.slips[row] = self.state.localization.scoring.max_slip_cost_nats
        bank.poses[0] = correction.poses[row]
        bank.covariances[0] = correction.covariances[row]
        bank.keyframes[-1].explanations.replace_first(explanations, row)

    def _min_score(self) -> float:
        """Return the mean rating below which a scan is inconsistent, in nats.

        It is that of a lost place, or as far below the typical one.
        """
        min_score = self.state.localization.decision.min_score_nats
        return max(min_score, self.state.search.typical_score - min_score)
