"""Read a table of rules: the first rule that applies decides the verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from isovist.localization.answer import Answer, Verdict
from isovist.localization.reasons import Facts, Reason

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


def demote(answer: Answer, reasons: tuple[Reason, ...], facts: Facts | None = None) -> Answer:
    """Return a unique answer as an ambiguous one.

    Args:
        answer: The answer.
        reasons: Why it is not unique, found after its decision.
        facts: Further numbers behind these reasons.
    """
    numbers: Facts = {**answer.facts, **(facts or {})}
    return replace(answer, verdict=Verdict.AMBIGUOUS, reasons=reasons, facts=numbers)
