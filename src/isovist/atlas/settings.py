"""What was chosen about atlases and about beams: every number with its unit and its origin."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, cast

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import InputError
from isovist.settings import default_of
from isovist.storage.files import MAX_COORDINATE, quote

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


@dataclass(frozen=True, slots=True)
class AtlasSettings:
    """The settings that an atlas is built with and keeps.

    Attributes:
        spacing: Spacing of the nodes, in m; in 3D at least three cells.  That of the first
            experiments on twelve real logs; not varied since.
        channels: Number n of channels around the circle.  On intel, ranked first by the descriptor
            alone: 43, 77, 87 and 88 % of held-out scans for 16, 32, 64 and 128.
        rings: Number of rings of equal height from the nadir to the zenith.  Chosen on geb079 with
            `isovist bench simulate3d`; not varied since.
        elevation: Rings above or below this are not described, in rad: lidars see within ±45°.
        reach: Longest range that counts, in m: what indoor lidars return.
        gap: Unknown cells nearer than this to free ones, in m, are gaps between the rays of the
            map's maker: 1° at 9 m.
        height: Height of the sensor above the floor of a 3D map, in m, unless something else is
            said: a table's height, between a cleaner and a person.
        cell: Side of the cells that a plan of walls is drawn into, in m, as ROS maps have them;
            of those for a mesh, twice that, since they fill a volume.
    """

    spacing: float = 0.25
    channels: int = 64
    rings: int = 16
    elevation: float = float(np.arcsin(0.75))
    reach: float = 30.0
    gap: float = 0.15
    height: float = 1.0
    cell: float = 0.05

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (isinstance(value, int | float) and np.isfinite(value) and value > 0.0):
                raise InputError.about(field.name, f"must be a positive number, got {value}.")

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "AtlasSettings":
        """Build settings from what `to_json` returned.

        Raises an error when a name is missing or unknown.
        """
        names = {field.name for field in fields(cls)}
        if set(values) != names:
            strange = ", ".join(sorted(names ^ set(values)))
            raise InputError(
                f"it was built with other settings than this version has: {strange}.",
                code="conflict",
            )
        return cls(**values)

    def to_json(self) -> dict[str, float]:
        """Return all settings by name, ready for JSON."""
        return asdict(self)

    def differing(self, other: "AtlasSettings") -> str:
        """Return the names of the settings that differ from others, with both values.

        The text is empty when none differs.
        """
        mine, yours = self.to_json(), other.to_json()
        return ", ".join(
            f"{name} {mine[name]:g} and {yours[name]:g}"
            for name in mine
            if mine[name] != yours[name]
        )


@dataclass(frozen=True, slots=True)
class BeamModel:
    """The numbers of the beam model, which rates a range at a pose (`compute.likelihood`).

    Chosen while looking at `isovist bench carmen` on six logs, both splits; `gloss` on a room whose
    walls differ in reflectance alone (`tests/behaviour/test_locate.py`).

    Attributes:
        noise: σ of a beam against a map of scans, in m, besides what the cells add: sensor, and
            the poses that the map was made with.
        mixture: a, b, r₀ (m) and c: share of hits, of short returns and of random ones; walls
            nearer than r₀ do not make short returns likelier.
        unseen: u and λ (1/m): share of hits beyond what the map knows, and how fast returns fade.
        slack: s₀ (m) and s₁: a beam must end this far behind a wall to have gone through it.
        gloss: σ′ as a share of the width of the map's reflectances, and a′: how far an intensity
            can be trusted.
    """

    noise: float = 0.055
    mixture: tuple[float, float, float, float] = (0.75, 0.06, 0.5, 0.08)
    unseen: tuple[float, float] = (0.5, 0.6)
    slack: tuple[float, float] = (0.1, 0.1)
    gloss: tuple[float, float] = (0.2, 0.8)

    def __post_init__(self) -> None:
        check_numbers(self)

    def row(self, reach: float, off: float, *, extra: float = 0.0) -> FloatArray:
        """Return the numbers that `compute.likelihood.beam_model` takes, shape (10,).

        Args:
            reach: Longest range Z, in m.
            off: Standard deviation that the cells of the map add, in m.
            extra: Added to both slacks, in m, and as a share of 1 m.
        """
        near, far = self.slack
        sigma = float(np.hypot(self.noise, off))
        return np.array([sigma, reach, *self.mixture, *self.unseen, near + extra, far + extra])
