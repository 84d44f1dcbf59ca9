"""The verdict of a tracker: which hypotheses are refuted, and whether one place is left."""

from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import BoolArray, FloatArray, IntArray, readonly
from isovist.localization import Estimate, Reason, Verdict, apply_rules
from isovist.tracking.belief import Belief
from isovist.tracking.decision.recent_scans import is_only_place
from isovist.tracking.decision.rules import RULES, Evidence, facts_of, is_position_uncertain
from isovist.tracking.motion.motion_model import MotionModel
from isovist.tracking.state.tracker_state import TrackerState


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """Decides what the hypotheses of a tracker say about the place of the robot.

    Attributes:
        state: The state of the tracker, which is changed.
    """

    state: TrackerState

    def judge(self) -> Belief:
        """Return the belief after an update, and drop hypotheses that are far behind."""
        belief = self._judge_drive(self.state.bank.sort())
        if not self._may_settle_by_recent_scans(belief):
            return belief
        if not is_only_place(self.state.bank, self.refutation):
            return belief
        return self._settled_by_recent_scans(belief)

    def lost(self, reason: Reason) -> Belief:
        """Return a belief without a place."""
        return Belief(Verdict.LOST, (reason,), (), 0.0, self.state.motion.travelled)

    def refutation(self, t: FloatArray, d: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Return which hypotheses are refuted, and which of them at once.

        Args:
            t: Agreement of (2) of `hypotheses.bank`, shape (K,).
            d: Lead of (2), in nats per beam, shape (K,).
        """
        settings = self.state.settings.competitors
        agreement = t * self.state.bank.explained_share() ** 2
        is_clear = (t >= settings.clear_agreement) & (d >= settings.clear_lead_nats)
        is_ahead = d >= self.state.localization.refutation.min_lead_nats
        refuted, at_once = (
            is_clear | ((agreement >= limit) & is_ahead)
            for limit in (settings.min_agreement, settings.immediate_agreement)
        )
        return refuted, at_once

    def _judge_drive(self, E: FloatArray) -> Belief:
        """Return the belief by all keyframes.

        Args:
            E: Evidence (1) of `hypotheses.bank`, in nats, shape (K,).
        """
        bank, search = self.state.bank, self.state.search
        if len(bank) == 0:
            return self.lost(Reason.NO_CANDIDATES)
        refuted, at_once = self.refutation(*bank.margins())
        is_new = self._leads_too_briefly(refuted, at_once)
        out = np.append(False, refuted)
        index = self._remaining(E, out)
        estimates = self._estimates(E, out, index[: self.state.localization.decision.max_estimates])
        maps = self.state.space.names_of(bank.poses[~out])
        facts = facts_of(bank, int((~refuted).sum()), maps)
        score = float(bank.keyframes[-1].scores[0])
        evidence = Evidence(
            facts, self._recent_score(score), search.is_relocalizing, is_new, bank.localization
        )
        verdict, reasons = apply_rules(RULES, evidence)
        bank.select(index)
        if verdict is Verdict.UNIQUE and not search.is_settled:
            search.settle(score)
        least, travelled = bank.gramian().least, self.state.motion.travelled
        return Belief(verdict, reasons, estimates, least, travelled, facts=facts)

    def _leads_too_briefly(self, refuted: BoolArray, at_once: BoolArray) -> bool:
        """Return whether the first hypothesis must lead for longer before it is believed."""
        search, travelled = self.state.search, self.state.motion.travelled
        is_leading = refuted.all()
        search.leading_since = min(search.leading_since, travelled) if is_leading else np.inf
        distance = travelled - search.leading_since
        is_lasting = distance >= self.state.settings.competitors.min_distance_m
        return not (search.is_settled or is_lasting or at_once.all())

    def _remaining(self, E: FloatArray, refuted: BoolArray) -> IntArray:
        """Return the indices of the hypotheses that stay in the bank."""
        settings = self.state.settings.competitors
        is_behind = E[0] - E >= settings.max_gap_nats
        return np.flatnonzero(~(refuted & is_behind))[: settings.max_hypotheses]

    def _recent_score(self, score: float) -> float:
        """Return the mean rating of the last scans at the first place, in nats.

        Before a place is settled, the last scan itself must fit, too.
        """
        count = self.state.settings.competitors.recent_keyframes
        keyframes = self.state.bank.keyframes[-count:]
        recent = float(np.mean([keyframe.scores[0] for keyframe in keyframes]))
        return recent if self.state.search.is_settled else min(recent, score)

    def _estimates(
        self, E: FloatArray, refuted: BoolArray, index: IntArray
    ) -> tuple[Estimate, ...]:
        """Return estimates of the pose of the robot by hypotheses."""
        explanations = self.state.bank.keyframes[-1].explanations
        probabilities = np.exp(E - E[0])
        probabilities /= probabilities.sum()
        robots, covariances = MotionModel(self.state).robots(index)
        return tuple(
            Estimate(robots[i], readonly(covariances[i]), float(probabilities[k]),
                     float(explanations.inliers[k]), float(explanations.scores[k]),
                     bool(refuted[k]))
            for i, k in enumerate(index)
        )  # fmt: skip

    def _may_settle_by_recent_scans(self, belief: Belief) -> bool:
        """Return whether the last scans, located as one, may settle what the drive leaves open."""
        search = self.state.search
        if belief.verdict is not Verdict.AMBIGUOUS or search.is_settled:
            return False
        if is_position_uncertain(self.state.bank):
            return False
        return search.searched_at == self.state.motion.travelled

    def _settled_by_recent_scans(self, belief: Belief) -> Belief:
        """Return a belief in the first hypothesis alone, and drop the others."""
        bank = self.state.bank
        bank.select(np.zeros(1, dtype=np.int64))
        self.state.search.settle(float(bank.keyframes[-1].scores[0]))
        return replace(
            belief,
            verdict=Verdict.UNIQUE,
            reasons=(Reason.RECENT_SCANS_DECIDE,),
            estimates=(replace(belief.estimates[0], probability=1.0),),
        )
