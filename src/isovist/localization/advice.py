"""Turn reasons into sentences: the verdict in words, and what to do about it."""

import math
from collections.abc import Callable, Sequence

from isovist.localization.reasons import Facts, Reason

UP_TO_DATE = "Check that the map is of this place and up to date"


def _scale(facts: Facts) -> str:
    factor = facts["scale"]
    size = "larger" if factor > 1.0 else "smaller"
    return (
        f"The scan would fit better here if it were {abs(round(100.0 * (factor - 1.0)))} % {size}. "
        "Is the resolution of the map right, and are the ranges in m?"
    )


def _competitors(facts: Facts) -> str:
    count = facts["competitors"]
    return (
        f"{count} other place{'s' if count > 1 else ''} would explain the scan about as well. "
        "Move and look again."
    )


def _other_attitudes(facts: Facts) -> str:
    count = facts["competitors"]
    return (
        f"Turned another way, the robot could be at {count} other place{'s' if count > 1 else ''} "
        "that would explain the scan about as well. Move and look again."
    )


def _several_maps(facts: Facts) -> str:
    *others, last = facts["maps"]
    return f"The maps look alike from here: it may be {', '.join(others)} or {last}."


SENTENCES: dict[Reason, Callable[[Facts], str]] = {
    Reason.OUTSIDE_MAP: lambda _: (
        "Every beam is longer than the map is wide, so none can end in it. Are the ranges in m, "
        "and is the map of this place?"
    ),
    Reason.NO_CANDIDATES: lambda _: (
        "No place of the map can be tried: the region leaves none, or the scan sees nothing."
    ),
    Reason.POOR_FIT: lambda facts: (
        f"Nowhere in the map does the scan fit: at best {facts['inliers']:.0%} of the beams end at "
        f"a wall. {UP_TO_DATE}."
    ),
    Reason.NOTHING_FITS_WELL: lambda facts: (
        f"Nothing fits well: at best {facts['inliers']:.0%} of the beams end at a wall. "
        f"{UP_TO_DATE}, or move and look again."
    ),
    Reason.POSITION_SLIDES: lambda facts: (
        f"The place can slide by {facts['position_std']:.1f} m (standard deviation) along one "
        "axis, as in a corridor. Move until an end or a door is in view."
    ),
    Reason.HEADING_UNCERTAIN: lambda facts: (
        f"The heading is known to ± {math.degrees(facts['heading_std']):.0f}° (standard deviation) "
        "alone, as in a round room. Move until something else is in view."
    ),
    Reason.FEW_GROUPS: lambda facts: (
        f"The scan shows only {facts['groups']:g} things apart from each other, too few to exclude "
        "other places. Turn, or take more beams."
    ),
    Reason.COMPETITORS: _competitors,
    Reason.SEVERAL_MAPS: _several_maps,
    Reason.LOW_PROBABILITY: lambda facts: (
        f"One place explains the scan best, with a probability of {facts['probability']:.2f}; "
        "something that moved since the map was made could be why. Move and look again."
    ),
    Reason.SEARCH_INCOMPLETE: lambda _: (
        "One place explains the scan best, but more places are like it than were tried. Give a "
        "region, or move and look again."
    ),
    Reason.FIRST_SEARCH_ONLY: lambda _: (
        "After a short search one place explains the scan. A full search may find others."
    ),
    Reason.TILT_FITS_BETTER: lambda _: (
        "The scan would fit better here if the sensor leaned more than the scan states, and only "
        "here. Give its roll and pitch, or move and look again."
    ),
    Reason.ATTITUDE_UNCERTAIN: lambda facts: (
        "One place explains the scan, but the attitude there is known to "
        f"± {math.degrees(facts['attitude_std']):.1f}° (standard deviation) alone. Move until "
        "floor or ceiling is in view."
    ),
    Reason.OTHER_ATTITUDES: _other_attitudes,
    Reason.MIRROR_FITS_BETTER: lambda _: (
        "The mirrored scan would fit better than the scan does anywhere. "
        "Is the sensor mounted upside down?"
    ),
    Reason.SCALE_FITS_BETTER: _scale,
    Reason.MAPS_NOT_SEARCHED: lambda facts: (
        f"Only {facts['maps_searched']} of {facts['maps_given']} maps were looked at; some of the "
        "others may explain the scan as well."
    ),
    Reason.ONLY_PLACE: lambda _: "One place explains the scan, and no other comes near.",
    Reason.POSE_CONFIRMED: lambda _: (
        "The pose explains the scan, and no other place that was tried comes near."
    ),
    Reason.NO_FIT_NEARBY: lambda _: "Nothing near the pose explains the scan.",
    Reason.BETTER_ELSEWHERE: lambda facts: (
        f"Another place explains the scan better: {facts['place']}."
    ),
    Reason.FIT_DISPLACED: lambda facts: (
        f"The scan does not fit here; it does {facts['distance']:.2f} m and "
        f"{math.degrees(facts['rotation']):.1f}° from the pose."
    ),
}
ADDITIONAL_REASONS = (Reason.SEVERAL_MAPS, Reason.MAPS_NOT_SEARCHED)
"""Reasons that are reported besides the decisive one."""


def advice(reasons: Sequence[Reason], facts: Facts) -> str:
    """Return the decisive reason in words, what else matters, and what to do about it."""
    decisive = [reasons[0], *(reason for reason in reasons[1:] if reason in ADDITIONAL_REASONS)]
    return " ".join([*(SENTENCES[reason](facts) for reason in decisive), *remarks(facts)])


def remarks(facts: Facts) -> list[str]:
    """Return sentences on what matters but does not decide the verdict."""
    sentences = []
    if "lean" in facts:
        lean = math.degrees(facts["lean"])
        sentences.append(
            f"The sensor leans by {lean:.1f}° more than the scan states; "
            "roll and pitch were fitted."
        )
    if "ignored_intensities" in facts:
        sentences.append(_ignored_intensities(facts["ignored_intensities"]))
    return sentences


def _ignored_intensities(intensities: tuple[float, ...]) -> str:
    if not intensities:
        return "Intensities were ignored: they are used on a single map only."
    median, dull, bright = intensities
    return (
        f"Intensities were ignored: their median is {median:.3g}, and the walls of the map have "
        f"{dull:.3g} to {bright:.3g}."
    )
