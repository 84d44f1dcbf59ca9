"""Why a verdict was reached: codes that stay the same, for programs.

Sentences are made from them in `localization.advice` and `tracking.advice`.
"""

from enum import StrEnum
from typing import TypedDict


class Reason(StrEnum):
    """Why a verdict was reached.  The values are stable.

    Those of one verdict stand in the order in which they decide.
    """

    # Lost.
    OUTSIDE_MAP = "outside_map"
    """Every beam is longer than the map is wide."""
    SCAN_BLIND = "scan_blind"
    """The scan sees next to nothing."""
    NO_SCAN = "no_scan"
    """A tracker has not had a scan yet."""
    NO_CANDIDATES = "no_candidates"
    """No place of the map can be tried."""
    POOR_FIT = "poor_fit"
    """The scan fits nowhere in the map."""

    # Ambiguous.
    POSE_DOUBTED = "pose_doubted"
    """The last scan does not fit the place that the tracker believed."""
    NOTHING_FITS_WELL = "nothing_fits_well"
    """It is more likely that no place is right than that one is."""
    POSITION_SLIDES = "position_slides"
    """The position is uncertain along one axis, as in a corridor."""
    HEADING_UNCERTAIN = "heading_uncertain"
    """The heading is uncertain, as in a round room."""
    FEW_GROUPS = "few_groups"
    """The scan shows too few things apart from each other."""
    COMPETITORS = "competitors"
    """Other places would explain the scan about as well."""
    SEVERAL_MAPS = "several_maps"
    """Places that are not ruled out lie on several maps."""
    OTHER_ATTITUDES = "other_attitudes"
    """In another attitude other places would explain the scan about as well."""
    LOW_PROBABILITY = "low_probability"
    """One place is the best, but its probability is too low."""
    LEAD_TOO_NEW = "lead_too_new"
    """One place leads, but not for long enough."""
    SEARCH_INCOMPLETE = "search_incomplete"
    """More places are like the best one than were tried."""
    """A larger search found another place than the first one did."""
    FIRST_SEARCH_ONLY = "first_search_only"
    """A preview searches once, and `locate` would search more."""
    TILT_FITS_BETTER = "tilt_fits_better"
    """The scan fits better with another roll and pitch."""
    ATTITUDE_UNCERTAIN = "attitude_uncertain"
    """Roll and pitch are uncertain."""
    MIRROR_FITS_BETTER = "mirror_fits_better"
    """The mirrored scan fits better somewhere."""
    SCALE_FITS_BETTER = "scale_fits_better"
    """The scan fits better at another scale."""
    MAPS_NOT_SEARCHED = "maps_not_searched"
    """Some of the maps could not be searched, nor ruled out."""

    # Unique.
    ONLY_PLACE = "only_place"
    """One place explains the scan, and all others are ruled out."""
    RECENT_SCANS_DECIDE = "recent_scans_decide"
    """The last scans, taken as one, rule all other places out."""

    # Of a pose that is checked.
    POSE_CONFIRMED = "pose_confirmed"
    """The pose explains the scan, and all other places are ruled out."""
    NO_FIT_NEARBY = "no_fit_nearby"
    """Nothing near the pose explains the scan."""
    BETTER_ELSEWHERE = "better_elsewhere"
    """Another place explains the scan better."""
    FIT_DISPLACED = "fit_displaced"
    """The scan fits near the pose, but not at it."""


class Facts(TypedDict, total=False):
    """What reasons rest on; each is there where it was looked at."""

    groups: float
    """Groups of beams that err apart from each other."""
    competitors: int
    """Other places that are not ruled out."""
    maps: tuple[str, ...]
    """Maps that hold places which are not ruled out, where there are several."""
    inliers: float
    """Share of the beams that the best place explains."""
    probability: float
    """Of the best place."""
    position_std: float
    """Standard deviation of the position along its worst axis, in m."""
    heading_std: float
    """Standard deviation of the heading, in rad."""
    attitude_std: float
    """Standard deviation of roll and pitch together, in rad."""
    scale: float
    """Factor of the ranges with which the scan fits better."""
    maps_searched: int
    """Maps that were searched, where not all were."""
    maps_given: int
    """Maps there are, where not all were searched."""
    lean: float
    """Tilt that was fitted beyond what the scan says of itself, in rad."""
    ignored_intensities: tuple[float, ...]
    """Intensities were ignored: their median, and the least and greatest of the walls of the map;
    nothing where several maps were asked for."""
    distance: float
    """From a pose that is checked to where the scan fits, in m."""
    rotation: float
    """From a pose that is checked to where the scan fits, in rad."""
    place: str
    """Where a scan fits better than at the pose that is checked."""
