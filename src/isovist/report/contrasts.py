"""Describe which beams favour which of two places, as words and as JSON."""

from typing import Any

from isovist.localization import Contrast

DIRECTIONS = (
    "ahead", "to the left ahead", "to the left", "to the left rear",
    "behind", "to the right rear", "to the right", "to the right ahead",
)  # fmt: skip
NO_RIVAL = "Only one place was found, so there is none to compare it with."


def contrast_text(contrast: Contrast | None) -> str:
    """Describe the beams that distinguish the best place from its strongest rival."""
    if contrast is None:
        return NO_RIVAL
    first, second = contrast.numbers
    count, (for_first, for_second) = int(contrast.telling.sum()), contrast.counts
    if not count:
        return f"None of {len(contrast)} beams tells place {first} from place {second}."
    verb = "tells" if count == 1 else "tell"
    return (
        f"{count} of {len(contrast)} beams {verb} place {first} from place {second}: {for_first} "
        f"for {first}, {for_second} for {second}; {_where(contrast)}."
    )


def contrast_json(contrast: Contrast | None) -> dict[str, Any] | None:
    """Return a contrast of two places as JSON data; sectors go counter-clockwise from ahead."""
    if contrast is None:
        return None
    for_first, for_second = contrast.counts
    return {
        "places": list(contrast.numbers),
        "beams": len(contrast),
        "telling": int(contrast.telling.sum()),
        "for_first": for_first,
        "for_second": for_second,
        "by_sector": contrast.by_sector.tolist(),
        "difference_nats": float(contrast.favour.sum()),
        "text": contrast_text(contrast),
    }


def _where(contrast: Contrast) -> str:
    """Return on which side of the robot most of the distinguishing beams are."""
    counts = contrast.by_sector
    busiest = int(counts.argmax())
    if counts[busiest] == counts.sum():
        return f"all {DIRECTIONS[busiest]}"
    if 2 * counts[busiest] > counts.sum():
        return f"most of them {DIRECTIONS[busiest]}"
    return f"all around, most often {DIRECTIONS[busiest]}"
