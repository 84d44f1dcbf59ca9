"""What became of a question, and whether two trees differ in that.

An answer is right when its best pose is near the truth and, of several maps, on the right one; the
truth is listed when any of its poses is.  McNemar's exact test asks whether questions that only one
of two trees answers rightly are as often those of one as of the other:

    p = min(1, 2 Σ_{k ≤ min(b, c)} C(b + c, k) / 2^(b + c)),                                  (1)

b and c being how many only the first and only the second answers rightly.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

Hypothesis = tuple[str | None, list[float], float]
"""Name of its map, pose as (x, y, yaw) or (x, y, yaw, z, roll, pitch), probability."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question.

    Attributes:
        verdict: Of the answer.
        reasons: Of the verdict.
        hypotheses: The first three, rounded; see `rounded`.
        right: Whether the best pose is near the truth.
        listed: Whether some pose of the answer is.
    """

    verdict: str
    reasons: tuple[str, ...]
    hypotheses: tuple[Any, ...]
    right: bool
    listed: bool


@dataclass(frozen=True, slots=True)
class Counts:
    """How many questions came out in which way."""

    queries: int = 0
    right: int = 0
    unique: int = 0
    wrong: int = 0
    listed: int = 0
    lost: int = 0

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> "Counts":
        """Count them; `wrong` are unique and wrong."""
        rows = list(outcomes)
        unique = [one for one in rows if one.verdict in UNIQUE]
        return cls(
            len(rows), sum(one.right for one in rows), len(unique),
            sum(not one.right for one in unique), sum(one.listed for one in rows),
            sum(one.verdict in LOST for one in rows),
        )  # fmt: skip

    def __add__(self, other: "Counts") -> "Counts":
        mine, theirs = asdict(self), asdict(other)
        return Counts(**{name: mine[name] + theirs[name] for name in mine})


UNIQUE = "unique", "agrees"
LOST = "lost", "disagrees"
"""Verdicts of `locate` and of `check` that count as these."""


def outcome_of(answer: dict[str, Any], query: dict[str, Any], near: Sequence[float]) -> Outcome:
    """Hold what a tree answered against the truth of a question.

    A pose that was checked is a question, too: "agrees" is right where the pose is.
    """
    found: list[Hypothesis] = [tuple(one) for one in answer["hypotheses"]]  # type: ignore[misc]
    verdict, kept = answer["verdict"], tuple(rounded(one) for one in found[:3])
    hits = [is_right(one, query, near) for one in found]
    right, listed = bool(hits and hits[0]), any(hits)
    if query.get("verb") == "check":
        claim = is_right((None, query["pose"], 1.0), query, near)
        right = verdict == ("agrees" if claim else "disagrees")
        listed = right or verdict == "cannot tell"
    return Outcome(verdict, tuple(answer["reasons"]), kept, right, listed)


def is_right(found: Hypothesis, query: dict[str, Any], near: Sequence[float]) -> bool:
    """Whether a pose is near the truth, and on its map."""
    name, pose, _ = found
    if query.get("map") is not None and name != query["map"]:
        return False
    gap, turn = gap_of(pose, query["truth"])
    return gap <= near[0] and turn <= near[1]


def gap_of(pose: Sequence[float], truth: Sequence[float]) -> tuple[float, float]:
    """Distance in the plane and angle between two poses, in m and rad."""
    gap = math.hypot(pose[0] - truth[0], pose[1] - truth[1])
    if len(pose) < 6 or len(truth) < 6:
        return gap, abs((pose[2] - truth[2] + math.pi) % (2.0 * math.pi) - math.pi)
    trace = float(np.trace(_rotation(pose).T @ _rotation(truth)))
    return gap, math.acos(min(max(0.5 * (trace - 1.0), -1.0), 1.0))


def _rotation(pose: Sequence[float]) -> Any:
    """R = R_z(yaw) R_y(pitch) R_x(roll)."""
    yaw, roll, pitch = pose[2], pose[4], pose[5]
    (cy, sy), (cp, sp), (cr, sr) = ((math.cos(a), math.sin(a)) for a in (yaw, pitch, roll))
    return (
        np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
        @ np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
        @ np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    )


def rounded(found: Hypothesis) -> tuple[Any, ...]:
    """Map, coordinates in whole mm and mrad, probability in thousandths."""
    name, pose, probability = found
    return name, *(round(1e3 * value) for value in pose), round(1e3 * probability)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Equation (1) over the same questions, asked of two trees."""
    pairs = list(zip(first, second, strict=True))
    b, c = sum(a and not z for a, z in pairs), sum(z and not a for a, z in pairs)
    tail = sum(math.comb(b + c, k) for k in range(min(b, c) + 1))
    return min(1.0, 2.0 * tail / 2.0 ** (b + c))
