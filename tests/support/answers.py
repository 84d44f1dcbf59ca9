"""Answers as bytes."""

import numpy as np


def bits(answer):
    """All that an answer says but its times, as bytes."""
    rows = [
        e.pose.vector.tobytes()
        + e.covariance.tobytes()
        + np.array([e.probability, e.inliers, e.score, e.refuted]).tobytes()
        + repr(e.map).encode()
        for e in answer.estimates
    ]
    words = repr((answer.verdict, answer.advice, answer.certificate, answer.frame))
    return b"".join(rows) + words.encode()


def scans_of(site):
    return [site.look(pose, seed=seed) for seed in (1, 2) for pose in site.places]
