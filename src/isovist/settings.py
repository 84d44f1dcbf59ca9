"""Settings: each chosen number is a named field with its unit, range, effect and evidence.

    @dataclass(frozen=True, slots=True)
    class RefutationSettings(Settings):
        min_lead_nats: float = setting(
            0.3, unit="nats per beam", range=(0.0, 5.0),
            raises="fewer unique answers, fewer wrong ones",
            evidence="isovist bench calibrate --plans 1000 --seed 51",
        )

Values are checked when the settings are made. The documentation page and the JSON schema are made
from the same fields.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from typing import Any, Self, TypeVar, cast

import numpy as np

from isovist.errors import InputError
from isovist.renamed import todays_settings

S = TypeVar("S")
Range = tuple[float, float]
Numbers = float | tuple[float, ...]
"""Value of a setting: a number, a boolean, or a sequence of like numbers."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as a row of a table.

    Attributes:
        name: Name of the field.
        default: Its default value.
        unit: Its unit; "1" for a number without one.
        range: Least and greatest valid value.
        raises: The effect of a higher value.
        evidence: The command or the measurement that the default comes from.
    """

    name: str
    default: Numbers
    unit: str
    range: Range
    raises: str
    evidence: str


def setting(
    default: Numbers, *, unit: str, range: Range, raises: str, evidence: str
) -> Any:  # a field, which dataclasses type as its value
    """Declare a field of a settings dataclass; see the module.

    Args:
        default: Default value. A whole number makes a field of whole numbers, a tuple one of a
            sequence of one or more numbers.
        unit: Unit, such as "m" or "nats per beam"; "1" for a number without one.
        range: Least and greatest valid value.
        raises: The effect of a higher value, in a few words.
        evidence: The command or the measurement that the default comes from.
    """
    row = {"unit": unit, "range": range, "raises": raises, "evidence": evidence}
    return field(default=default, metadata=row)


def unvaried(default: Numbers, *, unit: str, range: Range, raises: str) -> Any:
    """Declare a field like `setting` whose default was chosen and has not been varied."""
    return setting(default, unit=unit, range=range, raises=raises, evidence="not varied")


@dataclass(frozen=True, slots=True)
class Settings:
    """Base of settings whose fields are declared by `setting`, or are settings themselves."""

    def __post_init__(self) -> None:
        for part in fields(self):
            value = getattr(self, part.name)
            if "range" in part.metadata:
                _check_number(part.name, value, part.default, part.metadata["range"])
            elif not isinstance(value, default := type(_default_of(part))):
                raise InputError.about(
                    part.name, f"must be {default.__name__}, got {type(value).__name__}."
                )

    @classmethod
    def rows(cls) -> tuple[SettingRow, ...]:
        """Return the settings as rows of a table, those of parts with the name of the part."""
        rows: list[SettingRow] = []
        for part in fields(cls):
            if "range" in part.metadata:
                rows.append(SettingRow(part.name, cast(Numbers, part.default), **part.metadata))
            else:
                for row in type(_default_of(part)).rows():
                    values = {name: getattr(row, name) for name in SettingRow.__slots__}
                    rows.append(SettingRow(**values | {"name": f"{part.name}.{row.name}"}))
        return tuple(rows)

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return the settings with other values, by their names in `rows`.

            settings.with_values({"robot.radius_m": 0.4})

        Raises:
            InputError: If a name is unknown, or a value is invalid.
        """
        changes: dict[str, Any] = {}
        for name, value in values.items():
            part, _, rest = name.partition(".")
            if part not in [field.name for field in fields(self)]:
                raise InputError.about(name, f"is not one of the {type(self).__name__}.")
            settings = changes.get(part, getattr(self, part))
            changes[part] = settings.with_values({rest: value}) if rest else value
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """Return all settings by name, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Build settings from the result of `to_json`.

        Settings that have other names now are read as well.  Those that an earlier version did not
        have get their default values.

        Raises:
            InputError: If a name is missing or unknown, or a value is invalid.
        """
        values = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in todays_settings(cls.__name__, values).items()
        }
        moved = {name: value for name, value in values.items() if "." in name}
        stored = {name: value for name, value in values.items() if "." not in name}
        parts = {part.name: part for part in fields(cls)}
        if set(stored) - set(parts) or (set(stored) != set(parts) and not moved):
            names = ", ".join(sorted(set(parts) ^ set(stored)))
            raise InputError.about(
                "settings", f"do not match this version: {names}.", code="conflict"
            )
        made = {
            name: value
            if "range" in parts[name].metadata
            else type(_default_of(parts[name])).from_json(value)
            for name, value in stored.items()
        }
        return cls(**made).with_values(moved)


def checked_settings(kind: type[S], settings: S | None, default: S | None = None) -> S:
    """Return the settings, or the default ones if there are none.

    Raises:
        InputError: If they are of another type.
    """
    if settings is None:
        return default or cast(S, default_of(cast(Callable[[], Any], kind)))
    if not isinstance(settings, kind):
        name = type(settings).__name__
        raise InputError.about("settings", f"must be {kind.__name__}, got {name}.")
    return settings


@cache
def default_of(kind: Callable[[], Any]) -> Any:
    """Return the default settings of a type, made and checked only once."""
    return kind()


def _default_of(part: Any) -> Any:
    return default_of(part.default_factory) if callable(part.default_factory) else part.default


def _check_number(name: str, value: Any, default: Any, limits: Range) -> None:
    if isinstance(default, tuple):
        if not isinstance(value, tuple) or not value:
            raise InputError.about(name, f"must be a tuple of numbers, got {value!r}.")
        for number in value:
            _check_number(name, number, default[0], limits)
        return
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise InputError.about(name, f"must be true or false, got {value!r}.")
        return
    kind = int | np.integer if isinstance(default, int) else int | float | np.number
    low, high = limits
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
        number = "a whole number" if isinstance(default, int) else "a number"
        raise InputError.about(name, f"must be {number} from {low:g} to {high:g}, got {value!r}.")
