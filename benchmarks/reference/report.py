"""The rows of a comparison, and every verdict that changed."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.reference.outcomes import Counts, Outcome, mcnemar
from benchmarks.reference.store import Record

HEADS = ("set", "queries", "right", "unique", "unique and wrong", "listed", "lost", "p",
         "CPU median ms", "ratio", "CPU mean ms", "ratio", "calls per unique", "build ratio",
         "peak MB", "atlas kB")  # fmt: skip


def table(records: Mapping[str, Sequence[Record]]) -> str:
    """Return a row for each set and one for all, of one tree or of two."""
    rows = [row(name, pair) for name, pair in records.items()]
    rows.append(row("all", [joined(side) for side in zip(*records.values(), strict=True)]))
    lines = [f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in rows)])


def joined(records: Sequence[Record]) -> Record:
    """Return the records of all sets as one; its peak is the highest."""
    whole = Record()
    for k, one in enumerate(records):
        whole.outcomes |= {f"{k}/{name}": outcome for name, outcome in one.outcomes.items()}
        whole.cpu |= {f"{k}/{name}": spent for name, spent in one.cpu.items()}
        whole.build_cpu += one.build_cpu
        whole.atlas_bytes += one.atlas_bytes
        whole.calls += one.calls
        whole.counted += one.counted
        whole.peak_mb = max(whole.peak_mb, one.peak_mb)
    return whole


def row(name: str, records: Sequence[Record]) -> list[str]:
    """Return the cells of one set: the recorded tree → the other, unless both are the same."""
    counts = [Counts.of(record.outcomes.values()) for record in records]
    costs = [record.costs() for record in records]
    right = [[one.right for one in record.outcomes.values()] for record in records]
    p = f"{mcnemar(right[0], right[-1]):.2g}"
    numbers = [_pair([getattr(one, key) for one in counts])
               for key in ("right", "unique", "wrong", "listed", "lost")]  # fmt: skip
    spent = [_pair([one[key] for one in costs], _ratio([one[key] for one in costs]))
             for key in ("cpu_median_ms", "cpu_mean_ms")]  # fmt: skip
    return [
        name, str(counts[0].queries), *numbers, p, *spent[0], *spent[1],
        _pair([one["calls_per_unique"] for one in costs]),
        _ratio([one["build_cpu_s"] for one in costs]),
        _pair([round(one["peak_mb"]) for one in costs]),
        _pair([round(one["atlas_bytes"] / 1000) for one in costs]),
    ]  # fmt: skip


def _pair(values: Sequence[Any], ratio: str | None = None) -> Any:
    """Both values, or one where they are the same; with a ratio, a list of two cells."""
    texts = ["–" if value is None else str(value) for value in values]
    text = texts[0] if len(set(texts)) == 1 else " → ".join(texts)
    return text if ratio is None else [text, ratio]


def _ratio(values: Sequence[float]) -> str:
    return f"{values[-1] / values[0]:.3f}" if values[0] else "–"


def pooled(records: Mapping[str, Sequence[Record]]) -> list[float]:
    """CPU time of all questions of the second tree over that of the first, round by round."""
    sides = [
        np.array([spent for pair in records.values() for spent in pair[k].cpu.values()])
        for k in (0, 1)
    ]
    before, after = (side.sum(axis=0) for side in sides)
    return [float(value) for value in after / before]


def changes(name: str, before: Mapping[str, Outcome], after: Mapping[str, Outcome]) -> list[str]:
    """Return a line for every question whose verdict is another."""
    lines = []
    for query, one in before.items():
        other = after[query]
        if one.verdict != other.verdict:
            lines.append(f"{name} {query}: {_words(one)} → {_words(other)}{_moved(one, other)}")
    return lines


def _moved(one: Outcome, other: Outcome) -> str:
    """How far the best pose moves, where both have one on the same map."""
    if not one.hypotheses or not other.hypotheses:
        return ""
    (before, *a), (after, *z) = one.hypotheses[0], other.hypotheses[0]
    if before != after:
        return f", from map {before} to {after}"
    return f", moved by {1e-3 * math.dist(a[:2], z[:2]):.2f} m"


def _words(one: Outcome) -> str:
    right = "right" if one.right else "listed" if one.listed else "wrong"
    return f"{one.verdict} ({', '.join(one.reasons)}; {right})"


def differing(before: Mapping[str, Outcome], after: Mapping[str, Outcome]) -> dict[str, int]:
    """Count questions that both have with other verdicts, reasons, and hypotheses."""
    both = [(before[key], after[key]) for key in after if key in before]
    return {key: sum(getattr(a, key) != getattr(b, key) for a, b in both)
            for key in ("verdict", "reasons", "hypotheses")}  # fmt: skip
