"""Define statements, and run all of them.

A statement is a sentence of the paper, or its correction, with a check that tries it on random
cases and gives back the worst value it met.  It holds when that value stays within its limit.  A
printed statement that is known to be wrong is expected to fail, with a counter-example.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TypeVar
from zlib import crc32

import numpy as np

from isovist.arrays import ArrayLike, FloatArray

FULL, QUICK = 1000, 40

Case = TypeVar("Case")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Trial:
    """The input of a check: its own random numbers, a dimension and a number of cases."""

    rng: np.random.Generator
    dimension: int
    cases: int


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check.

    Attributes:
        cases: Number of cases that were tried.
        worst: Largest value over all cases.
        limit: Upper limit of the value.
        example: Description of the worst case, or empty.
    """

    cases: int
    worst: float
    limit: float
    example: str = ""

    @property
    def holds(self) -> bool:
        return self.cases > 0 and self.worst <= self.limit


Check = Callable[[Trial], Finding]
Values = Callable[[Trial, Case], ArrayLike]


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim of the paper, and its check.

    Attributes:
        group: "weights", "signal space", "stability", "map space", "localization" or "second
            reading".
        name: Name and section in the paper.
        computed: Quantity that is checked; its worst value is shown.
        check: Function that checks the claim.
        version: "as printed" or "corrected", if the two differ.
        holds: Whether the claim is expected to hold.
        dimensions: Dimensions in which it is checked.
    """

    group: str
    name: str
    computed: str
    check: Check
    version: str = ""
    holds: bool = True
    dimensions: tuple[int, ...] = (2, 3)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report; `right` when the statement holds or fails as it should."""

    group: str
    name: str
    version: str
    computed: str
    dimensions: tuple[int, ...]
    cases: int
    worst: float
    limit: float
    holds: bool
    should_hold: bool
    right: bool
    example: str

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def try_statement(statement: Statement, cases: int) -> Row:
    """Check one statement on cases in all its dimensions; the row holds the worst value."""
    findings = []
    for d in statement.dimensions:
        seed = crc32(f"{statement.name}/{statement.version}/{d}".encode())
        share = -(-cases // len(statement.dimensions))
        findings.append(statement.check(Trial(np.random.default_rng(seed), d, share)))
    worst = max(findings, key=lambda f: f.worst / f.limit if f.limit > 0.0 else f.worst)
    holds = all(f.holds for f in findings)
    # One counter-example, in whichever dimension, refutes a statement.
    return Row(
        statement.group, statement.name, statement.version, statement.computed,
        statement.dimensions, sum(f.cases for f in findings), worst.worst, worst.limit,
        holds, statement.holds, holds == statement.holds,
        "; ".join(f.example for f in findings if f.example and not f.holds),
    )  # fmt: skip


def worst_of(
    values: FloatArray, limit: float, example: Callable[[int], str] | None = None
) -> Finding:
    """Return the finding for one value per case; `example` describes the worst case."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    if not np.isfinite(flat).all():
        flat = np.where(np.isfinite(flat), flat, np.inf)
    k = int(flat.argmax())
    return Finding(flat.size, float(flat[k]), limit, "" if example is None else example(k))


def each(limit: float, cases: Callable[[Trial], Iterable[Case]]) -> Callable[[Values[Case]], Check]:
    """Make a check of a function that gives the value of a case, or the values of several."""

    def check(values: Values[Case]) -> Check:
        return lambda trial: worst_of(
            np.concatenate([np.ravel(values(trial, case)) for case in cases(trial)]), limit
        )

    return check


def each_case(limit: float) -> Callable[[Values[int]], Check]:
    """Make a check of a function that takes the number of a case."""
    return each(limit, lambda trial: range(trial.cases))


def each_room(limit: float, rooms: int = 20) -> Callable[[Values[int]], Check]:
    """Make a check of a function that takes the number of cases to try in one random room."""
    return each(limit, lambda trial: shares(trial.cases, rooms))


def shares(total: int, parts: int) -> list[int]:
    """Share `total` cases out over at most `parts` rooms, five or more to a room."""
    parts = max(1, min(parts, total // 5))
    return [total // parts + (k < total % parts) for k in range(parts)]
