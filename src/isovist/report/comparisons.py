"""Describe surveys of one sensor, or of two on the same map, as words and as JSON."""

import math
from collections.abc import Sequence
from typing import Any

from isovist.report.settings import TEXT
from isovist.report.surveys import survey_json, survey_rows, survey_text
from isovist.surveying import Survey


def difference(surveys: Sequence[Survey]) -> tuple[float, float]:
    """Return the share of floor that the second sensor gains, and its standard error."""
    first, second = surveys
    return second.share - first.share, math.hypot(first.standard_error, second.standard_error)


def difference_text(surveys: Sequence[Survey]) -> str:
    """Return a sentence that says which of two sensors is better."""
    gain, error = (100.0 * value for value in difference(surveys))
    measured = f"{abs(gain):.1f} ± {error:.1f} points"
    if abs(gain) < TEXT.min_standard_errors * error:
        return f"The sensors cannot be told apart: their shares differ by {measured}."
    better = "second" if gain > 0.0 else "first"
    return f"The {better} sensor is unique on more of the floor, by {measured}."


def surveys_text(surveys: Sequence[Survey]) -> str:
    """Describe one survey in a few lines, or compare two surveys in a table."""
    if len(surveys) == 1:
        return survey_text(surveys[0])
    columns = [survey_rows(survey) for survey in surveys]
    labels = [label for label, _ in columns[0]]
    texts = [[text for _, text in column] for column in columns]
    widths = [max(map(len, column)) for column in (labels, *texts)]
    lines = [
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(labels, *texts, strict=True)
    ]
    return "\n".join([*lines, difference_text(surveys)])


def surveys_json(surveys: Sequence[Survey]) -> dict[str, Any]:
    """Return one survey as JSON data, or two surveys with the difference of their shares."""
    if len(surveys) == 1:
        return survey_json(surveys[0])
    gain, error = difference(surveys)
    return {
        "surveys": [survey_json(survey) for survey in surveys],
        "difference": gain,
        "standard_error": error,
        "text": difference_text(surveys),
    }
