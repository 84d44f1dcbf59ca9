"""Read a table of rules: the first rule that applies decides the verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from isovist.localization.answer import Answer, Verdict
from isovist.localization.reasons import Reason

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Rule(Generic[E]):
    """A reason, the verdict that it leads to, and the test of the evidence for it."""

    reason: Reason
    verdict: Verdict
    applies: Callable[[E], bool]


def apply_rules(rules: Sequence[Rule[E]], evidence: E) -> tuple[Verdict, tuple[Reason, ...]]:
    """Return the verdict of the first rule that applies, and all reasons for that verdict."""
    fulfilled = [rule for rule in rules if rule.applies(evidence)]
    verdict = fulfilled[0].verdict
    return verdict, tuple(rule.reason for rule in fulfilled if rule.verdict is verdict)


def demote(answer: Answer, reasons: tuple[Reason, ...], **facts: Any) -> Answer:
    """Return a unique answer as an ambiguous one, for reasons found after its decision."""
    every: Any = {**answer.facts, **facts}
    return replace(answer, verdict=Verdict.AMBIGUOUS, reasons=reasons, facts=every)
