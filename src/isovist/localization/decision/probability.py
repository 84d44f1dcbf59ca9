"""Probabilities of places from their log-likelihoods, equation (2) of `decide`."""

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.localization.settings import LocalizationSettings


def probabilities(
    log_likelihoods: FloatArray, groups: int, settings: LocalizationSettings
) -> FloatArray:
    """Return the probability of each place, and last that no place is right, shape (K + 1,).

    Args:
        log_likelihoods: L of equation (1) of `decide` in nats, shape (K,).
        groups: Number C of groups of beams.
        settings: Gives β and ℓ₀ of equation (2).
    """
    rules = settings.decision
    values = np.empty(len(log_likelihoods) + 1)
    values[:-1], values[-1] = log_likelihoods, rules.no_place_score_nats * groups
    values *= rules.likelihood_power
    values -= values.max()
    np.exp(values, out=values)
    values /= values.sum()
    return values


def discount_other_maps(
    values: FloatArray,
    is_elsewhere: BoolArray | None,
    is_refuted: BoolArray,
    settings: LocalizationSettings,
) -> FloatArray:
    """Return probabilities without the unlikely places of other maps.

    Args:
        values: What `probabilities` returns, shape (K + 1,).
        is_elsewhere: Whether each place is on another map than the first, shape (K,); `None` where
            there is one map.
        is_refuted: Whether the scan rules out each place, shape (K,).
        settings: Gives p_min.
    """
    if is_elsewhere is not None and is_elsewhere.any():
        is_unlikely = values[:-1] < (1.0 - settings.decision.min_probability) * values[0]
        values[:-1][is_elsewhere & is_refuted & is_unlikely] = 0.0
        values /= values.sum()
    return values
