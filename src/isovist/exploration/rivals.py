"""Collect the places that a tracker has not ruled out, and the evidence against each of them."""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.errors import InputError
from isovist.poses import Pose
from isovist.sensing import Scan
from isovist.tracking import Tracker


def refutation(tracker: Tracker, t: FloatArray, d: FloatArray, explained: float) -> FloatArray:
    """Return how close places are to being refuted by the tracker, from 0 to 1."""
    settings, margin = tracker.settings.competitors, tracker.localization.refutation.min_lead_nats
    by_agreement = np.minimum(t * explained**2 / settings.min_agreement, d / margin)
    by_lead = np.minimum(t / settings.clear_agreement, d / settings.clear_lead_nats)
    return np.clip(np.maximum(by_agreement, by_lead), 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Rivals:
    """The possible places of a robot, most likely first, with the evidence about each pair.

    The sums are those of `tracking.hypotheses.bank`, equation (2).  δ compares place i,
    taken as true, with j.

    Attributes:
        poses: T_world_robot, shape (K,).
        chances: Probability of each place, shape (K,).  Read-only.
        sums: A = Σ w δ, Q = Σ w δ², D = Σ w (difference of mean ratings) and W = Σ w, equal for all
            pairs, shape (4, K, K).  Read-only.
        explained: Share of the beams that the best place explains.
        trail: Earlier poses of the sensor, relative to its current pose, shape (F,).
        weights: Weight w of each earlier pose, shape (F,).  Read-only.
    """

    poses: Pose
    chances: FloatArray
    sums: FloatArray
    explained: float
    trail: Pose
    weights: FloatArray

    @classmethod
    def from_tracker(cls, tracker: Tracker, scan: Scan) -> "Rivals":
        """Collect the possible places of a tracker after its update with this scan."""
        bank = tracker.bank
        if len(bank) == 0:
            raise InputError(
                "The tracker has no pose yet. Update it with a scan first.", code="empty"
            )
        t, d = bank.margins()
        frames, explained = bank.keyframes, bank.explained_share()
        live = refutation(tracker, t, d, explained) < 1.0
        index = np.append(0, 1 + np.flatnonzero(live))[
            : tracker.localization.decision.max_estimates
        ]
        E = bank.evidence()[index]
        chances = np.exp(E - E.max())
        sums = np.zeros((4, len(index), len(index)))
        for frame in frames:
            ratings, scores = frame.group_ratings[index], frame.scores[index]
            delta, lead = ratings[:, None] - ratings, scores[:, None] - scores
            terms = delta.sum(axis=-1), (delta**2).sum(axis=-1), lead, np.ones_like(lead)
            sums += frame.weight * np.stack(terms)
        sensors = Pose.from_vector(bank.poses[index, :3])
        trail = Pose.from_vector([frame.T_odom_sensor.vector[:3] for frame in frames])
        return cls(
            sensors @ scan.T_robot_sensor.inverse,
            readonly(chances / chances.sum()),
            readonly(sums),
            explained,
            trail[-1].inverse @ trail,
            readonly(np.array([frame.weight for frame in frames])),
        )
