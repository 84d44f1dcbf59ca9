"""Check settings that are tuples read by position, until they become fields with names.

Only `LocalizationSettings` and `ProofSettings` are of this kind.  New settings
are declared by `isovist.settings.setting`.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, cast

import numpy as np

from isovist.errors import InputError
from isovist.settings import default_of
from isovist.storage import MAX_COORDINATE, quote

Limit = tuple[float, float]
Limits = Mapping[str, Any]
"""Least and greatest values of settings by name: one `Limit` for all numbers, or one for each."""
ANY: Limit = (0.0, MAX_COORDINATE)
COUNT: Limit = (1.0, MAX_COORDINATE)
POSITIVE: Limit = (1e-9, MAX_COORDINATE)
SHARE: Limit = (0.0, 1.0)


def check_numbers(settings: Any, limits: Limits | None = None) -> None:
    """Check that each setting has as many numbers as its default, all within limits.

    Args:
        settings: A dataclass of numbers and of tuples of numbers, with usual values.
        limits: Limits of its fields; in other fields a whole number is at least 1, and any number
            at least 0.
    """
    for field in fields(settings):
        value, usual = getattr(settings, field.name), field.default
        if usual is MISSING:
            usual = default_of(cast(Callable[[], Any], field.default_factory))
            sound = isinstance(value, type(usual))
        else:
            limit = (limits or {}).get(field.name)
            sound = _is_sound(value, usual, limit, any_number="..." in str(field.type))
        if not sound:
            raise InputError.about(field.name, f"must be like {usual}, got {quote(value)}.")


def _is_sound(value: Any, usual: Any, limit: Any, *, any_number: bool = False) -> bool:
    """Whether numbers are as many as usual, whole where those are, and within limits."""
    if isinstance(usual, tuple):
        if not isinstance(value, tuple) or not value:
            return False
        usual = len(value) * usual[:1] if any_number else usual
        is_one = limit is None or isinstance(limit[0], float)
        limit = len(value) * (limit,) if is_one else limit
        return len(value) == len(usual) and all(map(_is_sound, value, usual, limit))
    kind = int | np.integer if isinstance(usual, int) else int | float | np.number
    low, high = limit or (COUNT if isinstance(usual, int) else ANY)
    return isinstance(value, kind) and not isinstance(value, bool) and bool(low <= value <= high)
